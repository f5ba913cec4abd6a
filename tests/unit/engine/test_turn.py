from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from roost.core.effects import AcceptInput, AppendEntries, Effects, OpenGeneration, RunSnapshot, Snapshot
from roost.core.entries import EntryDraft
from roost.core.errors import Forbidden
from roost.core.inbound import InputMode
from roost.core.messages import AssistantMessage, ProvenanceKind, StopReason, Text, ToolResult, text_of
from roost.core.models import ModelEvent, ModelFailed, ModelRequest, TextDelta
from roost.core.queries import LedgerQuery
from roost.core.recovery import OUTCOME_UNKNOWN, Recovery, recover
from roost.core.runs import Run, Step, StepKind
from roost.core.sessions import Base, OpenedBy
from roost.core.tools import ToolTraits
from roost.engine.runner import announcement
from roost.engine.turn import Turn
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from roost.testing.scripts import Hang, Say, Think, calls
from tests.unit.engine.scenes import HOME, Doing, Scene, call, everything

PARALLEL = ToolTraits(parallel=True)


async def turn(scene: Scene, run: Run, *, most_steps: int = 5) -> Turn:
    session = await scene.store.session(run.key)
    assert session is not None
    assert run.claim is not None
    part = scene.cast(session, run)
    return Turn(scene.store, scene.clock, run, run.claim, session, part, most_steps)


def results(bodies: list[object]) -> list[tuple[str, str, bool]]:
    return [(body.call_id, text_of(body), body.is_error) for body in bodies if isinstance(body, ToolResult)]


async def says(text: str) -> str:
    return text


async def test_tools_that_may_run_beside_each_other_do_and_their_results_keep_the_order_of_the_calls() -> (
    None
):
    scene = Scene()
    second = anyio.Event()

    async def waits() -> str:
        await second.wait()
        return "slow"

    async def sets() -> str:
        second.set()
        return "quick"

    scene.tools = (Doing("slow", waits, PARALLEL), Doing("quick", sets, PARALLEL))
    scene.model.add(calls(call("slow"), call("quick")), (Say("done"),))
    with anyio.fail_after(5):
        answer = await (await turn(scene, await scene.claimed())).play()
    assert text_of(answer) == "done"
    assert results(await scene.bodies()) == [("slow", "slow", False), ("quick", "quick", False)]


async def test_one_tool_that_must_run_alone_makes_all_run_one_after_another() -> None:
    scene = Scene()
    order: list[str] = []

    async def first() -> str:
        order.append("first begins")
        await anyio.lowlevel.checkpoint()
        order.append("first ends")
        return "1"

    async def second() -> str:
        order.append("second")
        return "2"

    scene.tools = (Doing("first", first, PARALLEL), Doing("second", second))
    scene.model.add(calls(call("first"), call("second")), (Say("done"),))
    await (await turn(scene, await scene.claimed())).play()
    assert order == ["first begins", "first ends", "second"]
    assert [name for name, _, _ in results(await scene.bodies())] == ["first", "second"]


async def test_what_a_tool_cannot_do_is_told_to_the_model() -> None:
    scene = Scene()

    async def refuses() -> str:
        raise Forbidden("not yours", hint="ask the owner")

    async def breaks() -> str:
        raise ZeroDivisionError

    scene.tools = (
        Doing("refuses", refuses),
        Doing("breaks", breaks),
        Doing("owners", refuses, ToolTraits(privileged=True)),
    )
    scene.model.add(calls(*map(call, ("nothing", "refuses", "breaks"))), (Say("I see"),))
    await (await turn(scene, await scene.claimed())).play()
    told = results(await scene.bodies())
    assert [is_error for _, _, is_error in told] == [True] * 3
    assert "breaks, owners, refuses" in told[0][1]
    assert told[1][1] == "not yours (ask the owner)"
    assert "breaks broke" in told[2][1]


async def test_a_privileged_tool_needs_the_owners_own_word() -> None:
    scene = Scene()
    scene.tools = (Doing("danger", lambda: says("done"), ToolTraits(privileged=True)),)
    scene.model.add(calls(call("danger")), (Say("I see"),))
    run = await scene.claimed()
    stranger = replace(run.cause, kind=ProvenanceKind.INTER_SESSION)
    await (await turn(scene, replace(run, cause=stranger))).play()
    assert [is_error for _, _, is_error in results(await scene.bodies())] == [True]


async def test_a_run_that_only_calls_tools_is_ended() -> None:
    scene = Scene()
    scene.tools = (Doing("again", lambda: says("ok")),)
    scene.model.add(*[calls(call("again", f"c{number}")) for number in range(4)])
    with pytest.raises(ModelFailed, match="3 steps"):
        await (await turn(scene, await scene.claimed(), most_steps=3)).play()
    assert len(results(await scene.bodies())) == 3
    assert (await scene.store.usage(LedgerQuery(key=MAIN))).calls == 3


async def test_what_is_said_during_a_tool_is_read_before_the_next_answer() -> None:
    scene = Scene()
    run = await scene.claimed()
    steer = builders.inbound("steer", text="rather this")

    async def meanwhile() -> str:
        def join(snapshot: Snapshot) -> Effects:
            return (AcceptInput(inbound=steer, run_id=run.id, mode=InputMode.STEER),)

        await scene.store.accept_inbound(steer, join)
        return "ok"

    scene.tools = (Doing("work", meanwhile),)
    scene.model.add(calls(call("work")), (Say("as you say"),))
    await (await turn(scene, run)).play()
    assert "rather this" in text_of(scene.model.requests[1].messages[-1])


async def test_the_context_goes_back_through_the_base_of_a_generation() -> None:
    scene = Scene()
    row = builders.session()
    drafts = (builders.said("e1", "kept"), builders.answered("e2", "yes"), builders.said("e3", "left out"))

    def build(snapshot: Snapshot) -> Effects:
        fork = replace(
            builders.generation(MAIN, "gen-2", 2),
            opened_by=OpenedBy.BACK,
            base=Base(session_id="gen-1", seq=2),
        )
        return (
            builders.opening(row, "gen-1"),
            AppendEntries(key=MAIN, drafts=drafts),
            OpenGeneration(generation=fork),
        )

    await scene.store.change_session(MAIN, build)
    scene.model.add((Think("hm"), Say("here")))
    await (await turn(scene, await scene.claimed())).play()
    assert [text_of(message) for message in scene.model.requests[0].messages] == ["kept", "yes", "r1"]


async def test_what_was_said_when_the_run_was_ended_is_kept_as_broken_off() -> None:
    scene = Scene()
    scene.model.add((Say("half "), Say("an answer"), Hang()))
    played = await turn(scene, await scene.claimed())
    assert played.left_off("stopped") is None
    async with anyio.create_task_group() as group:
        group.start_soon(played.play)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    partial = played.left_off("stopped")
    assert partial is not None
    assert (text_of(partial), partial.stop, partial.error) == (
        "half an answer",
        StopReason.ABORTED,
        "stopped",
    )


async def test_an_answer_without_an_end_has_failed() -> None:
    scene = Scene()
    played = await turn(scene, await scene.claimed())
    played.part = replace(played.part, model=BreaksOff())
    with pytest.raises(ModelFailed, match="no end"):
        await played.play()


class BreaksOff:
    """A model that does not keep its promise: the stream just stops."""

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        async def nothing() -> AsyncIterator[ModelEvent]:
            for text in ("half",):
                yield TextDelta(text)

        yield nothing()


# -- taken up again ----------------------------------------------------------------------------------


async def interrupted(scene: Scene, step: Step | None, *ids: str) -> Run:
    """A run whose gateway died after the model had called tools, as the next gateway claims it."""
    run = await scene.claimed()
    assert run.claim is not None
    played = await turn(scene, run)
    await played.store.take_inputs(run.claim, lambda records: (builders.said("opening", "go"),))
    asked = AssistantMessage(content=tuple(call(name) for name in ids), at=scene.clock.now())
    await scene.store.begin_step(run.claim, Step(kind=StepKind.MODEL, at=scene.clock.now()))
    await scene.store.append(MAIN, (EntryDraft(id="asked", body=asked),), claim=run.claim)
    if step is not None:
        await scene.store.begin_step(run.claim, step)
    lease = await scene.store.acquire_lease(HOME)
    recovery = Recovery(now=scene.clock.now(), announce=announcement)

    def fate(snapshot: RunSnapshot) -> Effects:
        return recover(snapshot, recovery)

    await scene.store.reap_runs(lease, fate)
    (again,) = await scene.store.claim_runs(lease, everything)
    return again


def begun(name: str, *, reenterable: bool = False) -> Step:
    return Step(kind=StepKind.TOOL, at=NOON, tool=name, call_id=name, reenterable=reenterable)


@pytest.mark.requirement("P10")
@pytest.mark.parametrize(
    ("traits", "step", "expected"),
    [
        (ToolTraits(), None, [("a", "ran", False), ("b", "ran", False)]),
        (ToolTraits(), begun("a"), [("a", OUTCOME_UNKNOWN, True), ("b", "ran", False)]),
        (
            ToolTraits(reenterable=True),
            begun("a", reenterable=True),
            [("a", "ran", False), ("b", "ran", False)],
        ),
        (PARALLEL, None, [("a", "ran", False), ("b", "ran", False)]),
        (PARALLEL, begun("a"), [("a", OUTCOME_UNKNOWN, True), ("b", OUTCOME_UNKNOWN, True)]),
    ],
)
async def test_calls_left_open_are_run_unless_they_may_have_begun_and_must_not_run_twice(
    traits: ToolTraits, step: Step | None, expected: list[tuple[str, str, bool]]
) -> None:
    scene = Scene()
    scene.tools = (Doing("a", lambda: says("ran"), traits), Doing("b", lambda: says("ran"), traits))
    scene.model.add((Say("going on"),))
    run = await interrupted(scene, step, "a", "b")
    await (await turn(scene, run)).play()
    assert results(await scene.bodies()) == expected


@pytest.mark.requirement("P10")
async def test_a_call_whose_result_was_kept_gets_no_second_one() -> None:
    scene = Scene()
    run = await scene.claimed()
    assert run.claim is not None
    result = ToolResult(call_id="a", tool="a", content=(Text("ran"),), at=scene.clock.now())
    await scene.store.begin_step(run.claim, begun("a"))
    await scene.store.append(MAIN, (EntryDraft(id="result", body=result),), claim=run.claim)
    lease = await scene.store.acquire_lease(HOME)
    recovery = Recovery(now=scene.clock.now(), announce=announcement)
    await scene.store.reap_runs(lease, lambda snapshot: recover(snapshot, recovery))
    assert results(await scene.bodies()) == [("a", "ran", False)]
