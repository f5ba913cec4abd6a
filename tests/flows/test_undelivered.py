"""Announcements to a chat that cannot be reached, from a child's end to what its requester is told."""

from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from roost.core.addresses import Account
from roost.core.backoff import GIVE_UP_MS
from roost.core.deliveries import DeliveryKind, DeliveryState, Postponed, Rejected
from roost.core.leases import Gateway
from roost.core.messages import ProvenanceKind, ToolResult, UserMessage, text_of
from roost.core.models import ModelRequest
from roost.core.queries import HistoryQuery
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope
from roost.ports import Store
from roost.testing.clock import NOON, FakeClock
from roost.testing.scripts import Say, Script, Until
from tests.flows.agents import spawn
from tests.flows.conftest import Home
from tests.flows.driver import Driver, Said
from tests.flows.gateways import Bench
from tests.flows.nursery import MAIN, Nursery, newest, nurseries, spawns, task_of, until_at_rest
from tests.flows.parenting import asked
from tests.grounds import Ground
from tests.waiting import until_all_wait

pytestmark = pytest.mark.timeout(60)

GATEWAY = Gateway(name="flow", holder="flow")
ATTEMPTS = 100


def acting(begun: anyio.Event) -> Callable[[ModelRequest], Script]:
    """An agent whose child ends after its own answer was sent."""

    def act(request: ModelRequest) -> Script:
        if task_of(request):
            return [Until(begun), Say("Nine crates.")]
        return [Say("Begun.")] if isinstance(newest(request), ToolResult) else spawns("count")

    return act


async def events_in(store: Store) -> list[UserMessage]:
    """What the gateway itself said in the main session."""
    page = await store.history(HistoryQuery(key=MAIN, limit=100))
    bodies = [entry.body for entry in page.entries if isinstance(entry.body, UserMessage)]
    return [body for body in bodies if body.provenance.kind is ProvenanceKind.SYSTEM]


async def going_by(clock: FakeClock, bench: Bench) -> str:
    """Time passes, but not while something is being sent, until the channel's last chance is over."""
    while not (found := await bench.store.deliveries(DeliveryState.FAILED, 10)):
        if not await bench.store.deliveries(DeliveryState.SENDING, 1):
            clock.advance(5_000)
        await anyio.lowlevel.checkpoint()
    return found[0].error or ""


@pytest.mark.requirement("P1", "D27")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_the_requester_is_told_once_that_its_chat_never_heard_how_a_child_ended(
    kind: str, tmp_path: Path, clock: FakeClock
) -> None:
    begun = anyio.Event()
    async with nurseries(Ground(kind, tmp_path), acting(begun), clock) as nursery:
        nursery.bench.change(routing=RoutingRules(dm_scope=DmScope.OWNER_MAIN))
        await expires(nursery, begun, clock)


async def expires(nursery: Nursery, begun: anyio.Event, clock: FakeClock) -> None:
    bench = nursery.bench
    async with nursery.engine().serving(GATEWAY):
        await bench.say("go")
        assert await bench.replies() == ("Begun.",)
        for _ in range(ATTEMPTS):
            bench.channel.answer_next(Postponed(ready_at=0, error="the network is down"))
        begun.set()
        (child,) = await nursery.descendants()
        # A commit takes the time it takes: what the child writes for the chat must not come too late meanwhile.
        await until_at_rest(bench.store, child.key)
        assert await going_by(clock, bench) == "expired: the network is down"
    assert clock.now() >= NOON + GIVE_UP_MS
    async with nursery.engine().serving(GATEWAY):
        clock.advance(GIVE_UP_MS)
        await until_all_wait()
    (told,) = await events_in(bench.store)
    assert told.provenance.source_session == str(child.key)
    assert text_of(told).startswith(
        f"How {child.key} ended was not told in the chat on loopback: its time to be sent is over."
    )
    assert await bench.replies() == ("Begun.",)
    # Two of the turn, one of the child, one of its announcement: the news of its end starts no run.
    assert len(bench.model.requests) == 4


@pytest.mark.requirement("P1", "D27")
@pytest.mark.parametrize("written", [True, False], ids=["after it was written down", "before"])
async def test_it_is_told_once_also_where_the_gateway_dies_over_the_last_attempt(
    driver: Driver, home: Home, written: bool
) -> None:
    turn = await asked(driver)
    await spawn(driver, turn, "find it")
    await driver.finish(turn, Said(yielded=False))
    await driver.play(lambda run: Said(text="it is here"))
    (announced,) = await home.store.claim_deliveries(home.lease, 10)
    assert announced.kind is DeliveryKind.ANNOUNCE
    assert announced.claim is not None
    if written:
        await home.store.settle_delivery(announced.claim, Rejected(error="expired: no answer"))
        assert len(await events_in(home.store)) == 1
    await home.restart()
    lost = await home.store.reap_deliveries(home.lease)
    assert [one.id for one in lost] == [announced.id] * (not written)
    assert len(await events_in(home.store)) == written
    for one in lost:
        # A channel that can be asked says so when there is no time left to send it.
        await home.store.resolve_delivery(one, DeliveryState.FAILED, driver.clock.now())
    assert await home.store.reap_deliveries(home.lease) == ()
    assert len(await events_in(home.store)) == 1


@pytest.mark.requirement("P1", "D27")
async def test_of_an_announcement_in_parts_it_is_told_once_each_time_it_was_sent(
    driver: Driver, home: Home
) -> None:
    turn = await asked(driver)
    await spawn(driver, turn, "find it")
    await driver.finish(turn, Said(yielded=False))
    home.store.limit_messages({Account("telegram"): 40})
    await driver.play(lambda run: Said(text="it is here, and there, and everywhere else " * 3))
    for times in (1, 2):
        given_up = 0
        while claimed := await home.store.claim_deliveries(home.lease, 10):
            for part in claimed:
                assert part.claim is not None
                await home.store.settle_delivery(part.claim, Rejected(error="there is no such chat"))
                given_up += 1
        assert given_up > 1
        assert len(await events_in(home.store)) == times
        for part in await home.store.deliveries(DeliveryState.FAILED, 10):
            await home.store.resolve_delivery(part, DeliveryState.INTENT, driver.clock.now())
