from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from roost.core.budgets import BudgetScope, Limit, Measure
from roost.core.deliveries import Delivery, DeliveryKind, DeliveryState
from roost.core.effects import Effects, KillInput, OpenGeneration, RequestStop
from roost.core.errors import InvalidInput, StoreUnavailable
from roost.core.messages import AssistantMessage, StopReason, text_of
from roost.core.models import FailureKind, ModelEvent, ModelRequest, TextDelta
from roost.core.principals import OWNER
from roost.core.runs import Request, Run, RunKind, RunState, StopRequest
from roost.core.sessions import Session
from roost.core.snapshots import Snapshot
from roost.core.tools import WorkspaceAccess
from roost.core.upkeep import ContextSettings
from roost.engine.rules import Part
from roost.engine.stops import Stops
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.clock import NOON
from roost.testing.scripts import Fail, Hang, Say, Script, Until, calls
from tests.unit.engine.scenes import HOME, Doing, Failing, Scene, call, outcome, runner
from tests.waiting import until_all_wait


async def waiting(scene: Scene) -> tuple[Delivery, ...]:
    return await scene.store.deliveries(DeliveryState.INTENT, 10)


async def test_an_answer_is_in_the_transcript_and_on_its_way_with_the_model_and_its_reason() -> None:
    scene = Scene()
    scene.model.add((Say("Hello."),))
    run = await scene.claimed()
    await runner(scene).run(run)
    (delivery,) = await waiting(scene)
    assert (delivery.text, delivery.address, delivery.kind) == ("Hello.", CHAT, DeliveryKind.REPLY)
    after = await scene.store.run(run.id)
    assert after is not None
    assert after.outcome is not None
    assert (after.outcome.model, after.outcome.model_reason) == ("scripted/one", "the only model")


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (InvalidInput("no model x", hint="pick another"), "invalid_input", "no model x (pick another)"),
        (ZeroDivisionError(), "internal", "something broke"),
    ],
)
async def test_a_run_that_cannot_be_cast_is_told_to_who_asked(error: Exception, code: str, told: str) -> None:
    def refuse(session: Session, run: Run) -> Part:
        raise error

    scene = Scene()
    scene.rules = replace(scene.rules, cast=refuse)
    run = await scene.claimed()
    await runner(scene).run(run)
    assert await outcome(scene, run) == (RunState.FAILED, code)
    assert any(told in delivery.text for delivery in await waiting(scene))
    assert {delivery.kind for delivery in await waiting(scene)} == {DeliveryKind.NOTICE}


@pytest.mark.parametrize("before", [(), ("earlier",)])
async def test_a_run_whose_messages_were_cleared_before_it_began_asks_no_model_and_says_nothing(
    before: tuple[str, ...],
) -> None:
    def buried(snapshot: Snapshot) -> Effects:
        return tuple(KillInput(inbound_id=one.inbound.id, reason="gone") for one in snapshot.pending)

    scene = Scene()
    for name in before:
        scene.model.add((Say("Answered."),))
        await runner(scene).run(await scene.claimed(name))
    run = await scene.claimed("emptied")
    await scene.store.change_session(MAIN, buried)
    await runner(scene).run(run)
    assert await outcome(scene, run) == (RunState.KILLED, "nothing_to_answer")
    assert len(scene.model.requests) == len(before)
    assert [one.text for one in await waiting(scene) if one.kind is DeliveryKind.REPLY] == [
        "Answered." for _ in before
    ]


async def test_what_breaks_within_a_run_ends_that_run_only() -> None:
    def broken(request: object) -> tuple[Say, ...]:
        raise ZeroDivisionError

    scene = Scene()
    scene.model.add(broken)
    run = await scene.claimed()
    await runner(scene).run(run)
    assert await outcome(scene, run) == (RunState.FAILED, "internal")


async def test_what_had_been_said_when_something_broke_stays_in_the_transcript() -> None:
    scene = Scene()
    run = await scene.claimed()
    scene.rules = replace(
        scene.rules, cast=lambda session, run: replace(scene.cast(session, run), model=Breaks())
    )
    await runner(scene).run(run)
    assert await outcome(scene, run) == (RunState.FAILED, "internal")
    last = (await scene.bodies())[-1]
    assert isinstance(last, AssistantMessage)
    assert (text_of(last), last.stop) == ("half an answer", StopReason.ERROR)


class Breaks:
    """A model with a mistake in it."""

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        async def words() -> AsyncIterator[ModelEvent]:
            yield TextDelta("half an answer")
            raise ZeroDivisionError

        yield words()


async def test_a_model_that_says_nothing_for_too_long_is_given_up_long_before_the_run_is() -> None:
    scene = Scene()
    scene.model.add((Say("well"), Hang()))
    scene.rules = replace(scene.rules, idle_ms=1_000_000, stream_idle_ms=7_000)
    run = await scene.claimed()
    async with anyio.create_task_group() as group:
        group.start_soon(runner(scene).run, run)
        await scene.model.asked(1)
        await until_all_wait()
        for _ in range(8):
            scene.clock.advance(1_000)
            await until_all_wait()
    ended = await scene.store.run(run.id)
    assert ended is not None
    assert ended.state is RunState.FAILED
    assert ended.outcome is not None
    assert ended.outcome.error == "scripted/one said nothing for 7 s (try again)"


@pytest.mark.parametrize("limit", [{"deadline": NOON + 1000}, {"longest_ms": 1000, "deadline": NOON + 5000}])
async def test_a_run_past_its_deadline_or_its_longest_time_is_given_up(limit: dict[str, int]) -> None:
    scene = Scene()
    scene.model.add((Say("so"), Hang()))
    run = await scene.claimed(request=replace(Request(reply_to=CHAT), **limit))  # type: ignore[arg-type]
    async with anyio.create_task_group() as group:
        group.start_soon(runner(scene).run, run)
        await until_all_wait()
        scene.clock.advance(1000)
    assert await outcome(scene, run) == (RunState.TIMEOUT, "timeout")
    assert [delivery.kind for delivery in await waiting(scene)] == [DeliveryKind.NOTICE]


async def test_a_run_whose_time_is_over_before_it_begins_reads_nothing() -> None:
    scene = Scene()
    run = await scene.claimed(request=Request(deadline=scene.clock.now()))
    await runner(scene).run(run)
    assert await outcome(scene, run) == (RunState.TIMEOUT, "timeout")
    assert scene.model.requests == []


async def test_a_run_in_which_nothing_happens_is_given_up() -> None:
    scene = Scene()
    scene.rules = replace(scene.rules, idle_ms=500)
    scene.model.add((Hang(),))
    run = await scene.claimed()
    async with anyio.create_task_group() as group:
        group.start_soon(runner(scene).run, run)
        await until_all_wait()
        scene.clock.advance(500)
    assert (await outcome(scene, run))[0] is RunState.TIMEOUT


async def test_an_exchange_is_not_answered_in_a_chat() -> None:
    scene = Scene()
    scene.model.add((Say("between us"),))
    run = await scene.claimed(request=Request(kind=RunKind.EXCHANGE, reply_to=CHAT))
    await runner(scene).run(run)
    assert await waiting(scene) == ()


async def reset(scene: Scene) -> None:
    def again(snapshot: Snapshot) -> Effects:
        return (OpenGeneration(generation=builders.generation(MAIN, "gen-2", 2)),)

    await scene.store.change_session(MAIN, again)


async def test_the_last_words_of_a_run_whose_session_was_reset_belong_nowhere() -> None:
    scene = Scene()
    release = anyio.Event()
    scene.model.add((Until(release), Say("too late")))
    run = await scene.claimed()
    async with anyio.create_task_group() as group:
        group.start_soon(runner(scene).run, run)
        await scene.model.asked(1)
        await reset(scene)
        release.set()
    assert (await outcome(scene, run))[0] is RunState.DONE
    assert await scene.store.entries("gen-2") == ()


@pytest.mark.requirement("P9")
async def test_a_run_whose_steps_are_refused_because_of_a_reset_is_ended_and_the_session_goes_on() -> None:
    scene = Scene()

    async def resets() -> str:
        await reset(scene)
        return "ok"

    scene.tools = (Doing("resets", resets),)
    scene.model.add(calls(call("resets")))
    run = await scene.claimed()
    await runner(scene).run(run)
    assert await outcome(scene, run) == (RunState.KILLED, "fenced")
    assert (await scene.claimed("r2")).id == "r2"


async def test_a_run_that_is_no_longer_ours_is_left_alone() -> None:
    scene = Scene()
    scene.model.add((Say("lost"),))
    run = await scene.claimed()
    await scene.store.acquire_lease(HOME)
    await runner(scene).run(run)
    after = await scene.store.run(run.id)
    assert after is not None
    assert after.state is RunState.RUNNING
    assert await waiting(scene) == ()


async def test_a_run_that_was_stopped_keeps_what_it_had_said_and_sends_nothing() -> None:
    scene, stops = Scene(), Stops()
    scene.model.add((Say("half"), Hang()))
    run = await scene.claimed()
    async with anyio.create_task_group() as group:
        group.start_soon(runner(scene, stops).run, run)
        await until_all_wait()
        assert stops.end(run.id, "enough")
    assert await outcome(scene, run) == (RunState.KILLED, "stopped")
    assert [text_of(body) for body in await scene.bodies() if isinstance(body, AssistantMessage)] == ["half"]
    assert await waiting(scene) == ()


@pytest.mark.requirement("P27")
async def test_nothing_follows_a_run_that_was_stopped_as_it_came_to_its_end() -> None:
    scene, release = Scene(), anyio.Event()

    async def write() -> str:
        return "written"

    scene.tools = (Doing("write", write),)
    scene.rules = replace(scene.rules, cast=lambda session, run: flushed(scene.cast(session, run)))
    scene.model.add((Say("done"), Until(release)))
    run = await scene.claimed()
    async with anyio.create_task_group() as group:
        group.start_soon(runner(scene).run, run)
        await scene.model.asked(1)
        stop = StopRequest(reason="enough", by=OWNER, at=scene.clock.now())
        await scene.store.change_session(MAIN, lambda snapshot: (RequestStop(run_id=run.id, stop=stop),))
        release.set()
    assert await outcome(scene, run) == (RunState.KILLED, "stopped")
    assert await scene.store.active_runs(MAIN) == ()


def flushed(part: Part) -> Part:
    """A part after whose every turn notes are due."""
    place = replace(part.place, access=WorkspaceAccess.WRITE)
    return replace(part, place=place, context=ContextSettings(flush_from_chars=0))


@pytest.mark.parametrize(
    ("script", "state", "reason"),
    [
        (
            (Say("half"), Fail(FailureKind.AUTH, "the key was refused")),
            RunState.FAILED,
            "the key was refused",
        ),
        ((Say("half"), Hang()), RunState.TIMEOUT, "it took too long"),
    ],
)
async def test_what_was_said_before_a_failure_is_kept_as_broken_off_and_who_asked_is_told_once(
    script: Script, state: RunState, reason: str
) -> None:
    scene = Scene()
    scene.model.add(script)
    run = await scene.claimed(request=Request(reply_to=CHAT, deadline=scene.clock.now() + 1000))
    async with anyio.create_task_group() as group:
        group.start_soon(runner(scene).run, run)
        await until_all_wait()
        scene.clock.advance(1000)
    assert (await outcome(scene, run))[0] is state
    (kept,) = [body for body in await scene.bodies() if isinstance(body, AssistantMessage)]
    assert (text_of(kept), kept.stop, kept.error) == ("half", StopReason.ERROR, reason)
    (told,) = await waiting(scene)
    assert (told.kind, told.text) == (DeliveryKind.NOTICE, f"No answer: {reason}.")


async def test_a_failure_before_the_first_word_leaves_no_words() -> None:
    scene = Scene()
    scene.model.add((Say(" "), Fail(FailureKind.AUTH, "no")))
    await runner(scene).run(await scene.claimed())
    assert not any(isinstance(body, AssistantMessage) for body in await scene.bodies())


@pytest.mark.requirement("P20")
async def test_a_run_that_has_to_wait_for_its_budget_has_not_ended() -> None:
    scene = Scene()
    limit = Limit(scope=BudgetScope.DAY, measure=Measure.TOKENS, hard=1)
    scene.rules = replace(scene.rules, budgets=(limit,))
    run = await scene.claimed()
    await runner(scene).run(run)
    after = await scene.store.run(run.id)
    assert after is not None
    assert (after.state, after.outcome, after.claim) == (RunState.QUEUED, None, None)
    (told,) = await waiting(scene)
    assert told.kind is DeliveryKind.NOTICE


async def test_the_end_of_a_run_is_kept_once_the_store_can_keep_it() -> None:
    scene = Scene()
    scene.store = Failing(scene.clock, *[StoreUnavailable("full")] * 2)
    scene.model.add((Say("Hello."),))
    run = await scene.claimed()
    async with anyio.create_task_group() as group:
        group.start_soon(runner(scene).run, run)
        for _ in range(3):
            await until_all_wait()
            scene.clock.advance(500)
    assert await outcome(scene, run) == (RunState.DONE, None)
    assert [delivery.text for delivery in await waiting(scene)] == ["Hello."]


@pytest.mark.requirement("P13")
async def test_a_run_whose_end_cannot_be_written_as_it_was_ends_all_the_same() -> None:
    scene = Scene()
    scene.store = Failing(scene.clock, ZeroDivisionError())
    scene.model.add((Say("Hello."),))
    run = await scene.claimed()
    await runner(scene).run(run)
    assert await outcome(scene, run) == (RunState.FAILED, "internal")
    assert ["something broke" in delivery.text for delivery in await waiting(scene)] == [True]
