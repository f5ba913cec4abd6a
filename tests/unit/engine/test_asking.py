from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from roost.core.budgets import Budgets, BudgetScope, Limit, Measure
from roost.core.effects import RequeueRun
from roost.core.errors import StoreUnavailable
from roost.core.ledger import LedgerRow
from roost.core.messages import StopReason, Usage, text_of
from roost.core.models import FailureKind, ModelEvent, ModelFailed, ModelRef, ModelRequest, TextDelta
from roost.core.queries import LedgerQuery
from roost.core.runs import Claim, Step
from roost.core.transcript import gateway_message
from roost.engine.asking import Asking
from roost.engine.means import HasToWait
from roost.engine.rules import Answerer
from roost.ports import Clock
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import Fail, Hang, Say, Spend
from tests.flows.gateways import SPEC
from tests.unit.engine.scenes import HOME, Scene, everything
from tests.waiting import until_all_wait

SPARE = replace(SPEC, ref=ModelRef("spare", "two"))


async def test_what_was_said_when_the_run_was_ended_is_kept_as_broken_off() -> None:
    scene = Scene()
    scene.model.add((Say("half "), Say("an answer"), Hang()))
    played = await scene.turn(await scene.claimed())
    assert played.left_off(StopReason.ABORTED, "stopped") is None
    async with anyio.create_task_group() as group:
        group.start_soon(played.play)
        await until_all_wait()
        group.cancel_scope.cancel()
    partial = played.left_off(StopReason.ABORTED, "stopped")
    assert partial is not None
    assert (text_of(partial), partial.stop, partial.error) == (
        "half an answer",
        StopReason.ABORTED,
        "stopped",
    )


async def test_an_answer_without_an_end_has_failed() -> None:
    scene = Scene()
    work = await scene.work(await scene.claimed())
    work.playing.part = replace(work.part, model=BreaksOff())
    with pytest.raises(ModelFailed, match="no end"):
        await Asking(work).ask(())


@pytest.mark.requirement("P19")
async def test_a_run_that_goes_on_under_a_new_claim_counts_its_calls_anew() -> None:
    scene = Scene()
    scene.model.add((Say("one"),), (Say("two"),))
    run = await scene.claimed()
    await Asking(await scene.work(run)).ask(())
    again = RequeueRun(run_id=run.id, ready_at=scene.clock.now(), progress=run.progress)
    lease = await scene.store.acquire_lease(HOME)
    await scene.store.reap_runs(lease, lambda snapshot: (again,))
    (run,) = await scene.store.claim_runs(lease, everything)
    work = await scene.work(run)
    await Asking(work).ask(())
    await scene.store.append(MAIN, (), claim=work.claim, spent=work.bill())
    assert (await scene.store.usage(LedgerQuery())).calls == 2


@pytest.mark.requirement("P20")
@pytest.mark.parametrize(
    ("failure", "said", "kept"),
    [
        (Fail(FailureKind.AUTH), (), False),
        (Fail(FailureKind.AUTH), (Say("well"),), True),
        (Fail(FailureKind.TRANSIENT), (), True),
        (Fail(FailureKind.TRANSIENT, sent=False), (), False),
    ],
)
async def test_a_failed_call_keeps_its_means_unless_it_was_refused_outright_or_reached_nobody(
    failure: Fail, said: tuple[Say, ...], *, kept: bool
) -> None:
    scene = Scene()
    scene.model.add((*said, failure), (Say("fits"),))
    work = await scene.work(await scene.claimed())
    hard = SPEC.max_tokens + 100
    work = replace(
        work, budgets=Budgets(limits=(Limit(scope=BudgetScope.DAY, measure=Measure.TOKENS, hard=hard),))
    )
    asking = Asking(work)
    with pytest.raises(ModelFailed):
        await asking.ask(())
    if kept:
        with pytest.raises(HasToWait):
            await asking.ask(())
    else:
        await asking.ask(())


class Noting(MemoryStore):
    """A store that shows which calls were accounted for."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.rows: list[LedgerRow] = []

    async def record_usage(self, row: LedgerRow) -> None:
        self.rows.append(row)
        await super().record_usage(row)


@pytest.mark.requirement("P19")
async def test_a_call_is_counted_by_its_provider_or_estimated_and_marked_so() -> None:
    scene = Scene()
    store = scene.store = Noting(scene.clock)
    usage = Usage(input=5, output=6, total=11)
    scene.model.add((Say("counted"), Spend(usage)), (Say("not counted"),))
    work = await scene.work(await scene.claimed())
    asking = Asking(work)
    await asking.ask(())
    await asking.ask(())
    counted, guessed = *store.rows, *work.bill()
    assert (counted.usage, counted.estimated) == (usage, False)
    assert guessed.estimated
    assert guessed.usage.total > 0


async def test_the_next_model_plays_on_and_nothing_of_the_first_is_left() -> None:
    scene = Scene()
    spare = ScriptedModel((Say("whole"),), (Say("again"),))
    scene.model.add((Say("half"), Fail(FailureKind.TRANSIENT, "gone")))
    work = await scene.work(await scene.claimed())
    work.playing.part = replace(work.part, fallbacks=(Answerer(model=spare, spec=SPARE, thinking="low"),))
    asking = Asking(work)
    assert text_of(await asking.ask(())) == "whole"
    assert text_of(await asking.ask(())) == "again"
    assert (work.part.spec, work.part.thinking, work.part.fallbacks) == (SPARE, "low", ())
    assert work.part.reason == "fallback because scripted/one (the only model) failed: transient, gone"
    assert [asked.spec for asked in spare.requests] == [SPARE, SPARE]
    partial = asking.left_off(StopReason.ABORTED, "stopped")
    assert partial is not None
    assert (text_of(partial), partial.model) == ("again", "two")


@pytest.mark.requirement("P10")
async def test_a_model_that_falls_silent_has_failed_and_the_next_one_is_asked() -> None:
    scene, spare = Scene(), ScriptedModel((Say("whole"),))
    scene.model.add((Say("half"), Hang()))
    work = await scene.work(await scene.claimed())
    work = replace(work, silence_ms=7_000)
    work.playing.part = replace(work.part, fallbacks=(Answerer(model=spare, spec=SPARE),))
    answers = []

    async def ask() -> None:
        answers.append(text_of(await Asking(work).ask(())))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await until_all_wait()
        for _ in range(7):
            scene.clock.advance(1_000)
            await until_all_wait()
    assert answers == ["whole"]
    assert "transient, scripted/one said nothing for 7 s" in work.part.reason


async def test_what_the_first_model_said_is_its_own_until_the_next_one_speaks() -> None:
    scene = Scene()
    scene.model.add((Say("half"), Fail(FailureKind.TRANSIENT)))
    scene.store = Refusing(scene.clock)
    work = await scene.work(await scene.claimed())
    work.playing.part = replace(work.part, fallbacks=(Answerer(model=ScriptedModel(), spec=SPARE),))
    asking = Asking(work)
    with pytest.raises(StoreUnavailable):
        await asking.ask(())
    partial = asking.left_off(StopReason.ERROR, "the disk is full")
    assert partial is not None
    assert (work.part.spec, text_of(partial), partial.model) == (SPARE, "half", "one")


class Refusing(MemoryStore):
    """Records the first step of a run and no other."""

    steps = 1

    async def begin_step(self, claim: Claim, step: Step, call: LedgerRow | None = None) -> None:
        if not self.steps:
            raise StoreUnavailable("full")
        self.steps -= 1
        await super().begin_step(claim, step, call)


@pytest.mark.requirement("P19")
@pytest.mark.parametrize(("kind", "calls"), [(FailureKind.TRANSIENT, 1), (FailureKind.AUTH, 0)])
async def test_a_call_that_was_cut_off_is_in_the_ledger_without_any_budget(
    kind: FailureKind, calls: int
) -> None:
    scene = Scene()
    scene.model.add((Fail(kind),))
    run = await scene.claimed()
    with pytest.raises(ModelFailed):
        await Asking(await scene.work(run)).ask((gateway_message("twelve chars", 0),))
    assert run.claim is not None
    await scene.store.take_inputs(run.claim, lambda records: (builders.said("e1", "hello"),))
    await scene.store.finish_run(run.claim, lambda snapshot: (builders.done(run.id),))
    total = await scene.store.usage(LedgerQuery())
    assert (total.calls, total.usage.input > 0) == (calls, bool(calls))


class BreaksOff:
    """A model that does not keep its promise: the stream just stops."""

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        async def nothing() -> AsyncIterator[ModelEvent]:
            for text in ("half",):
                yield TextDelta(text)

        yield nothing()


# -- taken up again ----------------------------------------------------------------------------------
