from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from roost.core.messages import StopReason, text_of
from roost.core.models import ModelEvent, ModelFailed, ModelRequest, TextDelta
from roost.engine.asking import Asking
from roost.testing.scripts import Hang, Say
from tests.unit.engine.scenes import Scene


async def test_what_was_said_when_the_run_was_ended_is_kept_as_broken_off() -> None:
    scene = Scene()
    scene.model.add((Say("half "), Say("an answer"), Hang()))
    played = await scene.turn(await scene.claimed())
    assert played.left_off(StopReason.ABORTED, "stopped") is None
    async with anyio.create_task_group() as group:
        group.start_soon(played.play)
        await anyio.wait_all_tasks_blocked()
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
    work.part = replace(work.part, model=BreaksOff())
    with pytest.raises(ModelFailed, match="no end"):
        await Asking(work).ask(())


class BreaksOff:
    """A model that does not keep its promise: the stream just stops."""

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        async def nothing() -> AsyncIterator[ModelEvent]:
            for text in ("half",):
                yield TextDelta(text)

        yield nothing()


# -- taken up again ----------------------------------------------------------------------------------
