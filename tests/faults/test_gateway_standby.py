"""Five gateways on one file, in processes of their own: one serves, and when it is stopped another takes over."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from roost.clock import SystemClock
from roost.core.deliveries import DeliveryState
from roost.core.keys import KeyKind, SessionKey
from roost.core.leases import LEASE_MS
from roost.core.messages import text_of
from roost.core.queries import HistoryQuery
from roost.stores.sqlite import SqliteStore
from roost.testing.fake_http import Asked, Reply
from roost.testing.fake_openai import FakeOpenAI, reply_of
from roost.testing.scripts import Say, Until
from tests.faults.platform import NAME, Platform
from tests.faults.processes import Process, stop_between_writes

GATEWAYS = ("ada", "ben", "cleo", "dan", "eve")
TAKEN_OVER_WITHIN_S = LEASE_MS / 1000 + 10


@contextmanager
def gateways(platform: Platform, folder: Path, model_url: str) -> Iterator[list[Process]]:
    started = [Process(platform, folder, model_url, name) for name in GATEWAYS]
    try:
        yield started
    finally:
        for process in started:
            process.kill()


class HoldingModel:
    """Answers with the words it was asked; the first call that asks to be held waits."""

    def __init__(self) -> None:
        self.held = anyio.Event()
        self.release = anyio.Event()

    def __call__(self, asked: Asked) -> Reply:
        said = str(asked.body["messages"][-1]["content"]).splitlines()[-1]  # type: ignore[index, call-overload]
        answer = Say(f"re {said}")
        if "hold" in said and not self.held.is_set():
            self.held.set()
            return reply_of([answer, Until(self.release)])
        return reply_of([answer])


@pytest.mark.requirement("P30", "F6")
@pytest.mark.timeout(300)
async def test_of_five_gateways_one_serves_and_a_standby_takes_over_from_one_that_was_stopped(
    tmp_path: Path,
) -> None:
    model = HoldingModel()
    database = tmp_path / "roost.db"
    async with Platform(tmp_path / "platform").opened() as platform, FakeOpenAI(otherwise=model) as server:
        with gateways(platform, tmp_path, server.base_url) as started:
            owner = await one_serves(platform, started)
            platform.say("e1", "one", "bob")
            await platform.until(lambda: platform.texts("bob") == ["re one"])

            platform.say("e2", "two, hold", "bob")
            await model.held.wait()
            platform.hold_answers()
            platform.say("e3", "three", "eve")
            await platform.until(lambda: platform.texts("eve") == ["re three"])
            stop_between_writes(owner, database)
            stopped_at = time.monotonic()

            await platform.until(lambda: len(platform.texts("bob")) == 2, within_s=TAKEN_OVER_WITHIN_S)
            assert time.monotonic() - stopped_at <= TAKEN_OVER_WITHIN_S
            # It answers before its word is read: that comes by another pipe.
            await platform.until(lambda: any(one.said("serves") for one in started if one is not owner))
            (successor,) = [one for one in started if one is not owner and one.said("serves")]
            for one in started:
                if one not in (owner, successor):
                    await one.until_said("waits", f"gateway {successor.name}")

            owner.send_signal(signal.SIGCONT)
            platform.release_answers()
            model.release.set()
            platform.say("e4", "four", "bob")
            await platform.until(lambda: len(platform.texts("bob")) == 3)
            assert await owner.ended() == 1
            *logged, told = owner.errors.splitlines()
            assert told.startswith(f"roost: gateway {owner.name} lost the store")
            assert all("the store has a new owner (epoch 2, this gateway holds 1)" in line for line in logged)
            assert platform.acknowledged == {"e1", "e2", "e3", "e4"}
        assert platform.texts("bob") == ["re one", "re two, hold", "re four"]
        assert platform.texts("eve") == ["re three"]
    await assert_told_apart(database)


async def one_serves(platform: Platform, started: list[Process]) -> Process:
    """Every other one says who owns the store."""
    await platform.until(lambda: any(one.said("serves") for one in started))
    (owner,) = (one for one in started if one.said("serves"))
    for one in started:
        if one is not owner:
            await one.until_said("waits")
            (told,) = one.said("waits")
            assert f"the store belongs to gateway {owner.name} (process {owner.process.pid})" in told
            assert not one.said("serves")
    return owner


async def assert_told_apart(database: Path) -> None:
    """Each answer is in the transcript once; of the send that was cut short nobody knows."""
    store = SqliteStore.open(database, SystemClock())
    assert await store.check() == ()
    bob = SessionKey(agent="main", kind=KeyKind.DIRECT, channel=NAME, name="bob")
    page = await store.history(HistoryQuery(key=bob, limit=100))
    answers = [text_of(entry.body) for entry in page.entries]  # type: ignore[arg-type]
    assert answers == ["one", "re one", "two, hold", "re two, hold", "four", "re four"]
    uncertain = await store.deliveries(DeliveryState.UNCERTAIN, 10)
    assert [delivery.text for delivery in uncertain] == ["re three"]
    await store.close()
