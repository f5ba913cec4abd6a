"""A model that fails, and the one that plays on in its place."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from roost.core.messages import AssistantMessage, ToolCall, Usage
from roost.core.models import FailureKind, ModelRef
from roost.core.queries import HistoryQuery, LedgerQuery
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.engine.rules import Answerer, Part
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import CallTool, Fail, Say, Spend
from tests.flows.gateways import SPEC, Bench, benches
from tests.flows.test_engine import MAIN, said

SPARE = replace(SPEC, ref=ModelRef("spare", "two"))
LAST = replace(SPEC, ref=ModelRef("spare", "three"))


class Understudies:
    """A bench whose model has two others to fall back on."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.spare, self.last = ScriptedModel(), ScriptedModel()
        bench.change(cast=self.cast)

    def cast(self, session: Session, run: Run) -> Part:
        voices = (Answerer(model=self.spare, spec=SPARE), Answerer(model=self.last, spec=LAST))
        return replace(self.bench.cast(session, run), fallbacks=voices)

    async def answers(self, *texts: str) -> tuple[str, ...]:
        """The replies, one message after another."""
        found: tuple[str, ...] = ()
        async with self.bench.serving():
            for number, text in enumerate(texts, 1):
                await self.bench.say(text)
                found = await self.bench.replies(at_least=number)
        return found

    async def runs(self) -> list[tuple[str | None, str | None]]:
        page = await self.bench.store.history(HistoryQuery(key=MAIN))
        answers = [entry for entry in page.entries if isinstance(entry.body, AssistantMessage)]
        runs = [await self.bench.store.run(entry.run_id) for entry in answers if entry.run_id]
        return [(run.outcome.model, run.outcome.model_reason) for run in runs if run and run.outcome]


@pytest.fixture(params=["memory", "sqlite"])
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Understudies]:
    async with benches(request.param, tmp_path) as bench:
        yield Understudies(bench)


@pytest.mark.requirement("P18")
@pytest.mark.parametrize("kind", [kind for kind in FailureKind if kind is not FailureKind.OVERFLOW])
async def test_a_fallback_answers_says_why_and_lasts_one_turn(stage: Understudies, kind: FailureKind) -> None:
    stage.bench.model.add((Fail(kind, "out of order"),), (Say("from the first"),))
    stage.spare.add((Say("from the second"),))
    assert await stage.answers("one", "two") == ("from the second", "from the first")
    assert await stage.runs() == [
        ("spare/two", f"fallback because scripted/one (the only model) failed: {kind}, out of order"),
        ("scripted/one", "the only model"),
    ]


async def test_what_was_half_said_is_not_said_again(stage: Understudies) -> None:
    stage.bench.model.add((Say("Half an "), Fail(FailureKind.TRANSIENT)))
    stage.spare.add((Say("A whole answer."),))
    assert await stage.answers("hi") == ("A whole answer.",)
    assert await said(stage.bench) == ["hi", "A whole answer."]


async def test_the_fallback_plays_on_to_the_end_of_the_turn(stage: Understudies) -> None:
    call = ToolCall(id="c1", name="nothing", arguments={})
    stage.bench.model.add((Fail(FailureKind.RATE_LIMIT),))
    stage.spare.add((CallTool(call),), (Say("done"),))
    assert await stage.answers("hi") == ("done",)
    assert (len(stage.bench.model.requests), len(stage.spare.requests)) == (1, 2)


async def test_each_is_tried_in_order_and_the_last_failure_is_told(stage: Understudies) -> None:
    for model, name in ((stage.bench.model, "first"), (stage.spare, "second"), (stage.last, "third")):
        model.add((Fail(FailureKind.AUTH, f"{name} is closed"),))
    assert await stage.answers("hi") == ("No answer: third is closed.",)


async def test_a_conversation_too_long_for_one_is_not_taken_to_another(stage: Understudies) -> None:
    stage.bench.model.add(*[(Fail(FailureKind.OVERFLOW, "too long"),)] * 2)
    await stage.answers("hi")
    assert stage.spare.requests == []


@pytest.mark.requirement("P19")
async def test_a_call_that_its_provider_did_not_count_is_estimated(stage: Understudies) -> None:
    usage = Usage(input=5, output=6, total=11)
    stage.bench.model.add((Say("counted"), Spend(usage)), (Say("not counted"),))
    await stage.answers("one", "two")
    total = await stage.bench.store.usage(LedgerQuery(key=MAIN))
    assert total.calls == 2
    assert total.usage.total > usage.total
