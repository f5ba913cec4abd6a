from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from roost.core.ledger import LedgerRow
from roost.core.messages import StopReason, Usage, text_of
from roost.core.models import FailureKind, ModelEvent, ModelFailed, ModelRef, ModelRequest, TextDelta
from roost.engine.asking import Asking
from roost.engine.rules import Voice
from roost.ports import Clock
from roost.stores.memory import MemoryStore
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import Fail, Hang, Say, Spend
from tests.flows.gateways import SPEC
from tests.unit.engine.scenes import Scene

SPARE = replace(SPEC, ref=ModelRef("spare", "two"))


async def test_what_was_said_when_the_run_was_ended_is_kept_as_broken_off() -> None:
    scene = Scene()
    scene.model.add((Say("half "), Say("an answer"), Hang()))
    played = await scene.turn(await scene.claimed())
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
    work = await scene.work(await scene.claimed())
    work.part = replace(work.part, model=BreaksOff())
    with pytest.raises(ModelFailed, match="no end"):
        await Asking(work).ask(())


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
    asking = Asking(await scene.work(await scene.claimed()))
    await asking.ask(())
    await asking.ask(())
    counted, guessed = store.rows
    assert (counted.usage, counted.estimated) == (usage, False)
    assert guessed.estimated
    assert guessed.usage.total > 0


async def test_the_next_model_plays_on_and_nothing_of_the_first_is_left() -> None:
    scene = Scene()
    spare = ScriptedModel((Say("whole"),), (Say("again"),))
    scene.model.add((Say("half"), Fail(FailureKind.TRANSIENT, "gone")))
    work = await scene.work(await scene.claimed())
    work.part = replace(work.part, fallbacks=(Voice(model=spare, spec=SPARE, thinking="low"),))
    asking = Asking(work)
    assert text_of(await asking.ask(())) == "whole"
    assert text_of(await asking.ask(())) == "again"
    assert (work.part.spec, work.part.thinking, work.part.fallbacks) == (SPARE, "low", ())
    assert work.part.reason == "fallback because scripted/one (the only model) failed: transient, gone"
    assert [asked.spec for asked in spare.requests] == [SPARE, SPARE]
    partial = asking.left_off("stopped")
    assert partial is not None
    assert (text_of(partial), partial.model) == ("again", "two")


class BreaksOff:
    """A model that does not keep its promise: the stream just stops."""

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        async def nothing() -> AsyncIterator[ModelEvent]:
            for text in ("half",):
                yield TextDelta(text)

        yield nothing()


# -- taken up again ----------------------------------------------------------------------------------
