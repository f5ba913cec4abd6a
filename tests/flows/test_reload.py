"""The configuration changes while a gateway works: what is decided then goes by it, what is under way goes on."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.budgets import BudgetScope, Limit, Measure
from roost.core.envelopes import Envelope
from roost.core.errors import StoreUnavailable
from roost.core.leases import Gateway, Lease
from roost.core.messages import ToolCall
from roost.core.runs import Run
from roost.core.sendpolicy import SendAction, SendPolicy
from roost.core.sessions import Session
from roost.engine.inbox import TurnedAway
from roost.engine.rules import Part
from roost.stores.memory import MemoryStore
from roost.testing.clock import FakeClock
from roost.testing.scripts import CallTool, Say, Until
from tests.flows.gateways import ADA, BOB, SPEC, Bench, benches, chat, place
from tests.unit.engine.scenes import Doing


@pytest.fixture(params=["memory", "sqlite"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    async with benches(request.param, tmp_path) as bench:
        yield bench
        assert await bench.store.check() == ()


def renamed(bench: Bench, name: str) -> None:
    """From now on runs are played by a model of another name."""
    ref = replace(SPEC.ref, model=name)

    def cast(session: Session, run: Run) -> Part:
        return replace(bench.cast(session, run), spec=replace(SPEC, ref=ref))

    bench.change(cast=cast)


async def test_a_run_keeps_the_model_it_began_with_and_the_next_one_has_the_new(bench: Bench) -> None:
    go_on = anyio.Event()
    bench.tools = (Doing("act", go_on_when(go_on)),)
    bench.model.add((CallTool(ToolCall(id="c1", name="act", arguments={})),), (Say("one"),), (Say("two"),))
    with anyio.fail_after(60):
        async with bench.serving() as (engine, _):
            await bench.say("first")
            await bench.model.asked(1)
            renamed(bench, "other")
            out_of_use = await engine.reload(bench.rules)
            go_on.set()
            assert await bench.replies() == ("one",)
            await out_of_use()
            await bench.say("second")
            assert await bench.replies(at_least=2) == ("one", "two")
    assert [request.spec.ref.model for request in bench.model.requests] == ["one", "one", "other"]


def go_on_when(event: anyio.Event) -> Callable[[], Awaitable[str]]:
    async def act() -> str:
        await event.wait()
        return "acted"

    return act


async def test_a_door_that_is_closed_lets_nobody_in_from_that_moment(bench: Bench) -> None:
    bench.model.add((Say("hello"),))
    with anyio.fail_after(60):
        async with bench.serving() as (engine, _):
            await bench.say("hi")
            await bench.replies()
            bench.change(doors={"loopback": ChannelPolicy(dm_policy=DmPolicy.DISABLED)})
            await engine.reload(bench.rules)
            late = Envelope(channel="loopback", sender=BOB, conversation=chat(BOB), text="and I?")
            assert isinstance(await engine.inbox.receive(late), TurnedAway)


@pytest.mark.requirement("S12")
async def test_an_answer_under_way_is_not_sent_where_sending_is_forbidden_meanwhile(bench: Bench) -> None:
    go_on = anyio.Event()
    bench.model.add((Until(go_on), Say("too late")))
    with anyio.fail_after(60):
        async with bench.serving() as (engine, _):
            await bench.say("hi")
            await bench.model.asked(1)
            bench.change(sending=SendPolicy(default=SendAction.DENY))
            await engine.reload(bench.rules)
            go_on.set()
            await bench.model.left()
            await engine.settled()
    assert bench.channel.replies(place(ADA)) == ()


async def test_what_waits_for_a_budget_goes_on_when_the_limit_is_raised(bench: Bench) -> None:
    limit = Limit(scope=BudgetScope.SESSION, measure=Measure.TOKENS, hard=10)
    bench.change(budgets=(limit,))
    bench.model.add((Say("paid"),))
    with anyio.fail_after(60):
        async with bench.serving() as (engine, _):
            await bench.say("hi")
            assert "used up" in (await bench.replies())[0]
            bench.change(budgets=())
            await engine.reload(bench.rules)
            assert (await bench.replies(at_least=2))[1] == "paid"


class Away(MemoryStore):
    """A store that cannot be written for a while."""

    failures = 1

    async def wake_parked(self, lease: Lease) -> tuple[Run, ...]:
        self.failures -= 1
        if self.failures == 0:
            raise StoreUnavailable("the disk is full")
        return await super().wake_parked(lease)


async def test_a_store_that_is_away_delays_a_reload_and_does_not_end_it() -> None:
    clock = FakeClock()
    store = Away(clock)
    store.failures = 2  # The first is for the start.
    bench = Bench(store, clock)
    done = anyio.Event()
    async with bench.serving() as (engine, _), anyio.create_task_group() as group:

        async def reload() -> None:
            await engine.reload(bench.rules)
            done.set()

        group.start_soon(reload)
        await anyio.wait_all_tasks_blocked()
        assert not done.is_set()
        clock.advance(2_000)
        with anyio.fail_after(60):
            await done.wait()


async def test_before_it_serves_a_gateway_only_takes_the_rules(bench: Bench) -> None:
    bench.model.add((Say("hello"),))
    engine = bench.engine()
    renamed(bench, "other")
    await engine.reload(bench.rules)
    with anyio.fail_after(60):
        async with engine.serving(Gateway(name="flow", holder="flow")):
            await bench.say("hi")
            await bench.replies()
    assert bench.model.requests[0].spec.ref.model == "other"
