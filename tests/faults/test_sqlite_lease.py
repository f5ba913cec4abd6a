"""Several processes on one file: one owns it, and one that lost it can write nothing."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from roost.core.leases import LEASE_MS
from roost.stores.sqlite import SqliteStore
from tests import forks
from tests.faults.lease_process import SESSION_ID, SharedClock

NAMES = ("ada", "ben", "cleo", "dan", "eve")


class Peer:
    """The other end of one gateway's process."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        heard, says = os.pipe()
        hears, said = os.pipe()
        database, clock = str(folder / "roost.db"), str(folder / "clock")
        self._process = forks.started(
            "tests.faults.lease_process", database, clock, name, streams=(hears, says, 2)
        )
        os.close(hears)
        os.close(says)
        self._heard, self._said = open(heard), open(said, "w")  # noqa: SIM115 — until it ends

    def hear(self) -> str:
        return self._heard.readline().strip()

    def say(self, line: str) -> None:
        self._said.write(f"{line}\n")
        self._said.flush()

    def ask(self, line: str) -> str:
        self.say(line)
        return self.hear()

    def stop(self) -> None:
        forks.signalled(self._process, signal.SIGSTOP)

    def resume(self) -> None:
        forks.signalled(self._process, signal.SIGCONT)

    def end(self) -> None:
        self.resume()
        self._said.close()
        self._process.join()
        self._heard.close()


StartPeers = Callable[..., list[Peer]]


@pytest.fixture
def clock(tmp_path: Path) -> SharedClock:
    return SharedClock(tmp_path / "clock")


@pytest.fixture
def start(tmp_path: Path, clock: SharedClock) -> Iterator[StartPeers]:
    started: list[Peer] = []

    def start(*names: str) -> list[Peer]:
        """Processes that all open the same new file at the same moment."""
        peers = [Peer(tmp_path, name) for name in names]
        started.extend(peers)
        assert [peer.hear() for peer in peers] == ["ready"] * len(peers)
        for peer in peers:
            peer.say("open")
        assert [peer.hear() for peer in peers] == ["open"] * len(peers)
        return peers

    yield start
    for peer in started:
        peer.end()


async def transcript(path: Path, clock: SharedClock) -> list[str]:
    """What a sound file holds of the session they share."""
    store = SqliteStore.open(path, clock)
    assert await store.check() == ()
    entries = [entry.id for entry in await store.entries(SESSION_ID)]
    await store.close()
    return entries


@pytest.mark.requirement("P30")
def test_one_of_five_processes_gets_the_store_and_the_others_are_told_who(start: StartPeers) -> None:
    peers = start(*NAMES)
    for peer in peers:
        peer.say("acquire")
    answers = {peer.name: peer.hear() for peer in peers}
    (owner,) = [name for name, answer in answers.items() if answer == "epoch 1"]
    for name in set(NAMES) - {owner}:
        assert answers[name].startswith(
            f"lease_held: the store belongs to gateway {owner} (process of {owner})"
        )
        assert f"http://{owner}" in answers[name]


@pytest.mark.requirement("P30")
async def test_a_process_stopped_past_its_lease_comes_back_to_nothing(
    tmp_path: Path, clock: SharedClock, start: StartPeers
) -> None:
    owner, standby = start("owner", "standby")
    assert owner.ask("acquire") == "epoch 1"
    assert owner.ask("accept m-1") == "accepted"
    assert owner.ask("accept m-2") == "accepted"
    assert owner.ask("claim") == "run-m-1"

    owner.stop()
    clock.advance(LEASE_MS - 1)
    assert standby.ask("acquire").startswith("lease_held")
    clock.advance(1)
    assert standby.ask("acquire") == "epoch 2"
    assert standby.ask("reap") == "run-m-1"
    assert standby.ask("claim") == "run-m-1"
    assert standby.ask("finish run-m-1") == "finished"

    owner.resume()
    for late in ("finish run-m-1", "append e-late", "accept m-late", "renew", "claim"):
        assert owner.ask(late).startswith("fenced"), late
    assert owner.ask("acquire").startswith("lease_held: the store belongs to gateway standby")

    assert standby.ask("claim") == "run-m-2"
    assert standby.ask("finish run-m-2") == "finished"
    everything = ["said-m-1", "final-run-m-1", "said-m-2", "final-run-m-2"]
    assert await transcript(tmp_path / "roost.db", clock) == everything


@pytest.mark.requirement("P30")
async def test_a_process_that_gets_the_store_back_sees_what_was_written_meanwhile(
    tmp_path: Path, clock: SharedClock, start: StartPeers
) -> None:
    first, second = start("first", "second")
    assert first.ask("acquire") == "epoch 1"
    assert first.ask("accept m-1") == "accepted"
    assert first.ask("append e-1") == "seq 1"
    assert first.ask("release") == "released"
    assert second.ask("acquire") == "epoch 2"
    assert second.ask("append e-2") == "seq 2"
    assert second.ask("release") == "released"
    assert first.ask("acquire") == "epoch 3"
    assert first.ask("append e-3") == "seq 3"
    assert second.ask("append e-late").startswith("fenced")
    assert await transcript(tmp_path / "roost.db", clock) == ["e-1", "e-2", "e-3"]


@pytest.mark.requirement("P30")
def test_a_process_that_starts_again_under_its_name_need_not_wait(start: StartPeers) -> None:
    before, after = start("gateway", "gateway")
    assert before.ask("acquire") == "epoch 1"
    assert before.ask("accept m-1") == "accepted"
    assert before.ask("claim") == "run-m-1"
    assert after.ask("acquire") == "epoch 2"
    assert before.ask("finish run-m-1").startswith("fenced")
    assert after.ask("reap") == "run-m-1"


def test_a_process_without_the_lease_writes_nothing(start: StartPeers) -> None:
    owner, reader = start("owner", "reader")
    assert owner.ask("acquire") == "epoch 1"
    assert owner.ask("accept m-1") == "accepted"
    assert reader.ask("append e-1").startswith("fenced: this store is open without a lease")
