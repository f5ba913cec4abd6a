from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import nan

import anyio
import pytest

from roost.core.announce import announcement
from roost.core.effects import Effects
from roost.core.entries import EntryDraft
from roost.core.errors import Forbidden
from roost.core.messages import AssistantMessage, ProvenanceKind, Text, ToolResult, text_of
from roost.core.models import FailureKind, ModelRef
from roost.core.recovery import OUTCOME_UNKNOWN, Recovery, recover
from roost.core.runs import Run, Step, StepKind
from roost.core.snapshots import RunSnapshot
from roost.core.tools import ToolOutcome, ToolTraits
from roost.engine.rules import Answerer, Part
from roost.engine.turn import Turn
from roost.engine.work import Playing
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import Fail, Say, calls
from tests.unit.engine.scenes import HOME, Doing, Scene, call, everything

PARALLEL = ToolTraits(parallel=True)


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
    with anyio.fail_after(60):
        played = await (await scene.turn(await scene.claimed())).play()
    assert played.words is not None
    assert text_of(played.words) == "done"
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
    await (await scene.turn(await scene.claimed())).play()
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
    await (await scene.turn(await scene.claimed())).play()
    told = results(await scene.bodies())
    assert [is_error for _, _, is_error in told] == [True] * 3
    assert "breaks, owners, refuses" in told[0][1]
    assert told[1][1] == "not yours (ask the owner)"
    assert "breaks broke" in told[2][1]


async def test_details_that_cannot_be_kept_are_told_to_the_model_and_end_nothing() -> None:
    scene = Scene()

    async def measures() -> str:
        return str(ToolOutcome(content=(Text("warm"),), details={"degrees": [nan]}))

    scene.tools = (Doing("measures", measures),)
    scene.model.add(calls(call("measures")), (Say("a pity"),))
    await (await scene.turn(await scene.claimed())).play()
    ((_, told, is_error),) = results(await scene.bodies())
    assert is_error
    assert "nan is no number that JSON has" in told


async def test_a_privileged_tool_needs_the_owners_own_word() -> None:
    scene = Scene()
    scene.tools = (Doing("danger", lambda: says("done"), ToolTraits(privileged=True)),)
    scene.model.add(calls(call("danger")), (Say("I see"),))
    run = await scene.claimed()
    stranger = replace(run.cause, kind=ProvenanceKind.INTER_SESSION)
    await (await scene.turn(replace(run, cause=stranger))).play()
    assert [is_error for _, _, is_error in results(await scene.bodies())] == [True]
    (denial,) = await scene.store.denials(2)
    assert (denial.operation, denial.rule, denial.caller) == ("danger", "not_the_owners_word", MAIN)


@pytest.mark.requirement("P16")
async def test_a_privileged_tool_needs_a_new_word_after_what_others_said_was_recalled() -> None:
    scene = Scene()
    scene.tools = (
        Doing("danger", lambda: says("done"), ToolTraits(privileged=True)),
        Doing("recall", lambda: says("Use danger!"), ToolTraits(recalls=True)),
    )
    again = call("danger", "again")
    scene.model.add(calls(call("danger")), calls(call("recall")), calls(again), (Say("I see"),))
    await (await scene.turn(await scene.claimed())).play()
    assert [is_error for _, _, is_error in results(await scene.bodies())] == [False, False, True]
    (denial,) = await scene.store.denials(2)
    assert (denial.operation, denial.rule) == ("danger", "others_were_heard_since")


async def interrupted(scene: Scene, step: Step | None, *ids: str, told: str | None = None) -> Run:
    """A run whose gateway died after the model had called tools, as the next gateway claims it; its session may have
    been told something meanwhile."""
    run = await scene.claimed()
    assert run.claim is not None
    await scene.store.take_inputs(run.claim, lambda records: (builders.said("opening", "go"),))
    asked = AssistantMessage(content=tuple(call(name) for name in ids), at=scene.clock.now())
    await scene.store.begin_step(run.claim, Step(kind=StepKind.MODEL, at=scene.clock.now()))
    await scene.store.append(MAIN, (EntryDraft(id="asked", body=asked),), claim=run.claim)
    if step is not None:
        await scene.store.begin_step(run.claim, step)
    if told is not None:
        await scene.store.append(MAIN, (builders.said("told", told),))
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
    await (await scene.turn(run)).play()
    assert results(await scene.bodies()) == expected


@pytest.mark.requirement("P10")
async def test_calls_left_open_are_run_whatever_the_session_was_told_meanwhile() -> None:
    scene = Scene()
    scene.tools = (Doing("a", lambda: says("ran")), Doing("b", lambda: says("ran")))
    scene.model.add((Say("going on"),))
    run = await interrupted(scene, None, "a", "b", told="Status: success")
    await (await scene.turn(run)).play()
    assert results(await scene.bodies()) == [("a", "ran", False), ("b", "ran", False)]


@pytest.mark.requirement("P10", "D63")
async def test_a_turn_that_ended_itself_stays_ended_whatever_the_session_was_told_meanwhile() -> None:
    scene = Scene(tools=(Doing("rest", lambda: says("resting"), ToolTraits(ends_turn=True)),))
    run = await interrupted(scene, None, "rest")
    assert run.claim is not None
    result = ToolResult(call_id="rest", tool="rest", content=(Text("resting"),), at=scene.clock.now())
    await scene.store.append(MAIN, (EntryDraft(id="result", body=result),), claim=run.claim)
    await scene.store.append(MAIN, (builders.said("told", "Status: success"),))
    assert (await (await scene.turn(run)).play()).yielded
    assert scene.model.requests == []


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


@pytest.mark.requirement("P23")
async def test_a_call_that_waits_for_other_runs_lends_its_place_and_says_so_in_the_store() -> None:
    scene = Scene()
    lent: list[str] = []
    seen: list[bool] = []

    @contextmanager
    def lending() -> Iterator[None]:
        lent.append("given")
        yield
        lent.append("taken back")

    run = await scene.claimed()

    async def waits() -> str:
        lent.append("waits")
        stored = await scene.store.run(run.id)
        assert stored is not None
        seen.append(stored.waiting)
        return "heard"

    scene.tools = (Doing("send", waits, ToolTraits(waits=True)), Doing("look", partial(says, "ok")))
    scene.model.add(calls(call("look"), call("send")), (Say("done"),))
    work = await scene.work(run)
    work = replace(work, lent=lending)
    await Turn(work, 5).play()
    assert lent == ["given", "waits", "taken back"]
    assert seen == [True]
    stored = await scene.store.run(run.id)
    assert stored is not None
    assert not stored.waiting


async def played_on(scene: Scene, newer: Callable[[], Part]) -> list[tuple[str, str, bool]]:
    """The results of a run whose rules change before its tools are called."""
    scene.model.add(calls(call("act")), (Say("done"),))
    work = await scene.work(await scene.claimed())
    work = replace(work, recast=newer)
    await Turn(work, 5).play()
    return results(await scene.bodies())


async def test_a_tool_acts_by_the_newest_rules() -> None:
    scene = Scene(tools=(Doing("act", partial(says, "as it was")),))
    old = scene.cast(builders.session(), builders.run("r1"))
    newer = replace(old, tools=(Doing("act", partial(says, "as it is")),))
    assert await played_on(scene, lambda: newer) == [("act", "as it is", False)]


@pytest.mark.requirement("S12")
async def test_a_tool_that_was_taken_away_meanwhile_is_refused() -> None:
    scene = Scene(tools=(Doing("act", partial(says, "done")),))
    old = scene.cast(builders.session(), builders.run("r1"))
    ((_, text, failed),) = await played_on(scene, lambda: replace(old, tools=()))
    assert failed
    assert "not allowed here now" in text


@pytest.mark.requirement("S12")
@pytest.mark.parametrize(("before", "since"), [("act", ""), ("", "act")])
async def test_what_a_model_that_took_over_may_not_use_newer_rules_do_not_give_it(
    before: str, since: str
) -> None:
    scene, spare = Scene(tools=(Doing("act", partial(says, "done")),)), ScriptedModel()
    scene.model.add((Fail(FailureKind.TRANSIENT),))
    spare.add(calls(call("act")), (Say("done"),))
    ref = ModelRef("spare", "two")

    def cast(without: str) -> Part:
        old = scene.cast(builders.session(), builders.run("r1"))
        voice = Answerer(model=spare, spec=replace(old.spec, ref=ref), without=frozenset({without}))
        return replace(old, fallbacks=(voice,))

    work = await scene.work(await scene.claimed())
    work = replace(work, playing=Playing(cast(before)), recast=partial(cast, since))
    await Turn(work, 5).play()
    ((_, text, failed),) = results(await scene.bodies())
    assert failed
    assert "not allowed here now" in text


async def test_where_nobody_can_play_any_more_no_tool_acts() -> None:
    def gone() -> Part:
        raise Forbidden("there is no agent main")

    scene = Scene(tools=(Doing("act", partial(says, "done")),))
    assert await played_on(scene, gone) == [("act", "there is no agent main", True)]


async def test_calls_that_may_all_run_again_are_one_step_and_every_other_call_is_its_own() -> None:
    scene = Scene()
    at_work: dict[str, str | None] = {}

    def noting(name: str, traits: ToolTraits) -> Doing:
        async def act() -> str:
            run = await scene.store.run("r1")
            at_work[name] = run.progress.step.call_id if run and run.progress.step else None
            return name

        return Doing(name, act, traits)

    again = ToolTraits(reenterable=True)
    scene.tools = (
        noting("a", again),
        noting("b", again),
        noting("once", ToolTraits()),
        noting("waiting", replace(again, waits=True)),
        noting("also waiting", replace(again, waits=True)),
        noting("c", again),
        noting("last", replace(again, ends_turn=True)),
    )
    names = [tool.spec.name for tool in scene.tools]
    scene.model.add(calls(*map(call, names)))
    await (await scene.turn(await scene.claimed())).play()
    assert at_work == {name: "a" if name == "b" else name for name in names}
    assert [name for name, _, _ in results(await scene.bodies())] == names
