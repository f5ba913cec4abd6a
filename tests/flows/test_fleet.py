"""Two gateways on one PostgreSQL: what is said or asked at one takes effect at the other."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from roost.core.addresses import Account
from roost.core.deliveries import DeliveryState
from roost.core.envelopes import Envelope
from roost.core.events import Event, EventKind
from roost.core.feeds import SessionChanged
from roost.core.leases import Lease
from roost.core.messages import ToolCall, text_of
from roost.core.principals import OWNER
from roost.core.queuesettings import QueueMode, QueuePolicy, QueueSettings
from roost.core.runs import RunState
from roost.core.sessions import OpenedBy
from roost.core.turntaking import Limits
from roost.core.visibility import PersonCaller
from roost.engine.comparing import compare
from roost.engine.gateway import Engine
from roost.engine.rules import Housekeeping, ShownConfig
from roost.ports import Accepted
from roost.testing.scripts import CallTool, Hang, Say, Until
from tests.flows.fleets import LONG_S, MAIN, Fleet, ended, say
from tests.flows.gateways import ADA, Bench, chat, place
from tests.unit.engine.scenes import Doing

ME = PersonCaller(principal=OWNER)
LOOPBACK = Account("loopback")

DIRECT_AND_POOLED = pytest.mark.parametrize("fleet", ["", "&pooler=true"], indirect=True)

pytestmark = pytest.mark.timeout(2 * LONG_S)

Stop = Callable[[Engine], Awaitable[object]]


async def by_operator(there: Engine) -> object:
    return await there.operations.stop(ME, MAIN)


async def by_command(there: Engine) -> object:
    return await say(there, "/stop", "m-2")


async def by_reset(there: Engine) -> object:
    return await there.operations.reset(ME, MAIN, OpenedBy.RESET)


async def by_message(there: Engine) -> object:
    """In a chat whose newer messages interrupt."""
    return await say(there, "something else", "m-2")


@pytest.mark.requirement("P30")
@pytest.mark.parametrize("stop", [by_operator, by_command, by_reset, by_message])
async def test_a_stop_at_one_gateway_ends_the_model_call_at_another(fleet: Fleet, stop: Stop) -> None:
    fleet.there.change(queue=QueuePolicy(base=QueueSettings(mode=QueueMode.INTERRUPT, debounce_ms=0)))
    fleet.here.model.add((Say("Well"), Hang()), (Say("else"),))
    async with fleet.serving() as (here, there):
        await say(here, "think long")
        await fleet.here.model.asked(1)
        await stop(there)
        assert (await ended(fleet.there.store, "run of m-1")).state is RunState.KILLED


@DIRECT_AND_POOLED
async def test_a_stop_at_one_gateway_ends_the_tool_call_at_another(fleet: Fleet) -> None:
    begun = anyio.Event()

    async def linger() -> str:
        begun.set()
        await anyio.sleep_forever()
        return ""

    fleet.here.tools = (Doing("linger", linger),)
    fleet.here.model.add((CallTool(ToolCall(id="c1", name="linger", arguments={})),))
    async with fleet.serving() as (here, there):
        await say(here, "use it")
        await begun.wait()
        await there.operations.stop(ME, MAIN)
        assert (await ended(fleet.there.store, "run of m-1")).state is RunState.KILLED


async def test_what_is_said_at_one_gateway_steers_the_run_at_another(fleet: Fleet) -> None:
    said, go_on = anyio.Event(), anyio.Event()

    async def wait() -> str:
        said.set()
        await go_on.wait()
        return "done"

    fleet.here.tools = (Doing("wait", wait),)
    fleet.here.model.add((CallTool(ToolCall(id="c1", name="wait", arguments={})),), (Say("Both."),))
    async with fleet.serving() as (here, there):
        first = await say(here, "one")
        await said.wait()
        second = await say(there, "two", "m-2")
        go_on.set()
        waited = await there.waits.for_message(second.record.inbound.id, LONG_S * 1000)
    assert second.record.run_id == first.record.run_id
    assert waited.reply == "Both."
    assert "two" in text_of(fleet.here.model.requests[-1].messages[-1])


@DIRECT_AND_POOLED
async def test_who_waits_at_one_gateway_hears_how_the_run_at_another_ended(fleet: Fleet) -> None:
    go_on = anyio.Event()
    fleet.here.model.add((Say("Here "), Until(go_on), Say("it is.")))
    async with fleet.serving() as (_, there), anyio.create_task_group() as group:
        accepted = await say(there, "hi")
        await fleet.here.model.asked(1)
        waiting: list[str | None] = []

        async def wait() -> None:
            waited = await there.waits.for_message(accepted.record.inbound.id, LONG_S * 1000)
            waiting.append(waited.reply)

        group.start_soon(wait)
        go_on.set()
    assert waiting == ["Here it is."]


async def test_who_listens_at_one_gateway_sees_the_stored_events_of_a_run_at_another(fleet: Fleet) -> None:
    fleet.here.model.add((Say("Hello."),))
    async with fleet.serving() as (here, there), there.feed.subscribe(MAIN, ME, after=0) as items:
        await say(here, "hi")
        found: list[Event] = []
        while not found or found[-1].kind is not EventKind.RUN_ENDED:
            item = await anext(items)
            if isinstance(item, Event):
                found.append(item)
    stored = await fleet.there.store.events(MAIN, after=0, limit=100)
    assert tuple(found) == stored[: len(found)]


@DIRECT_AND_POOLED
async def test_who_lists_at_one_gateway_sees_that_a_session_at_another_changed(fleet: Fleet) -> None:
    fleet.here.model.add((Say("Hello."),))
    async with fleet.serving() as (here, there), there.feed.subscribe_all(ME) as items:
        await say(here, "hi")
        while not isinstance(item := await anext(items), SessionChanged):
            pass
    assert item.session.key == MAIN


async def test_a_channel_is_served_by_one_gateway_and_by_the_other_when_that_goes(fleet: Fleet) -> None:
    fleet.there.change(limits=Limits(ceiling=4))
    fleet.there.model.add((Say("from there"),))
    async with fleet.there.serving("there") as (there, _), fleet.here.serving("here"):
        seen = await fleet.here.store.fleet()
        assert seen.host_of(LOOPBACK) == "there"
        assert {one.gateway.name for one in seen.live} == {"here", "there"}
        await there.drain(LONG_S * 1000)
        fleet.here.model.add((Say("from here"),))
        # Nobody takes it from the queue of a channel that is not served.
        await fleet.here.say("hi")
        assert await fleet.here.replies() == ("from here",)
        assert (await fleet.here.store.fleet()).host_of(LOOPBACK) == "here"
    assert fleet.there.model.requests == []


async def test_the_answer_of_a_run_at_one_gateway_is_sent_by_the_one_that_serves_the_channel(
    fleet: Fleet,
) -> None:
    fleet.here.model.add((Say("Hello Ada."),))
    async with fleet.there.serving("there"), fleet.here.serving("here"):
        await fleet.there.say("hi")
        assert await fleet.there.replies() == ("Hello Ada.",)
    assert fleet.here.channel.replies(place(ADA)) == ()
    assert await fleet.here.store.deliveries(DeliveryState.FAILED, 10) == ()


async def test_a_gateway_that_drains_ends_its_run_and_starts_no_other(fleet: Fleet) -> None:
    go_on = anyio.Event()
    fleet.here.model.add((Say("one"), Until(go_on)))
    fleet.there.model.add((Say("two"),))
    async with fleet.here.serving("here") as (here, _):
        await say(here, "first")
        await fleet.here.model.asked(1)
        async with anyio.create_task_group() as group:
            group.start_soon(here.drain, LONG_S * 1000)
            await anyio.wait_all_tasks_blocked()
            second = await here.inbox.receive(
                Envelope(channel="loopback", sender=ADA, conversation=chat(ADA), text="second")
            )
            go_on.set()
        assert (await ended(fleet.here.store, "run of m-1")).state is RunState.DONE
        assert len(fleet.here.model.requests) == 1
    assert isinstance(second, Accepted)
    fleet.there.change(limits=Limits(ceiling=4))
    async with fleet.there.serving("there") as (there, _):
        waited = await there.waits.for_message(second.record.inbound.id, LONG_S * 1000)
        assert waited.reply == "two"


async def test_a_drain_has_a_limit_and_others_go_on_with_what_was_left(fleet: Fleet) -> None:
    fleet.here.model.add((Say("never"), Hang()))
    fleet.there.model.add((Say("done there"),))
    async with fleet.here.serving("here") as (here, _):
        first = await say(here, "first")
        await fleet.here.model.asked(1)
        await here.drain(10)
    fleet.there.change(limits=Limits(ceiling=4))
    async with fleet.there.serving("there") as (there, _):
        waited = await there.waits.for_message(first.record.inbound.id, LONG_S * 1000)
        assert waited.reply == "done there"


async def differing(bench: Bench, lease: Lease) -> str:
    """What a gateway finds out about the others."""
    found: list[str] = []
    async with anyio.create_task_group() as group:

        def tell(part: str, error: str | None) -> None:
            if error is not None:
                found.append(error)
                group.cancel_scope.cancel()

        group.start_soon(compare, bench.store, bench.clock, lease, tell)
    return found[0]


async def test_gateways_of_different_configurations_name_each_other(fleet: Fleet) -> None:
    fleet.here.change(house=Housekeeping(shown=ShownConfig(shared="one")))
    fleet.there.change(house=Housekeeping(shown=ShownConfig(shared="another")))
    async with fleet.here.serving("here") as (_, here), fleet.there.serving("there") as (_, there):
        assert await differing(fleet.here, here) == "gateway here goes by another configuration than there"
        assert await differing(fleet.there, there) == "gateway there goes by another configuration than here"
