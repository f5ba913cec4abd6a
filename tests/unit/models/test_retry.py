"""Trying again."""

import anyio
import pytest

from roost.core.messages import text_of
from roost.core.models import FailureKind, Finished, ModelEvent, ModelFailed, NeverSent, TextDelta
from roost.models.retry import LONGEST_WAIT_MS, RetryingModel
from roost.testing.clock import FakeClock
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import Fail, Hang, Say, says
from tests.asking import request


class Waits(FakeClock):
    """A clock on which every sleep is over at once, and remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[int] = []

    async def sleep(self, milliseconds: int) -> None:
        self.slept.append(milliseconds)


def retrying(model: ScriptedModel, clock: Waits, attempts: int = 3) -> RetryingModel:
    return RetryingModel(model, clock, attempts=attempts, chance=lambda: 1.0)


async def events_of(model: RetryingModel) -> list[ModelEvent]:
    async with model.stream(request()) as events:
        return [event async for event in events]


async def test_a_passing_failure_is_tried_again_with_longer_waits() -> None:
    inner = ScriptedModel([Fail(FailureKind.TRANSIENT)], [Fail(FailureKind.TRANSIENT)], says("at last"))
    clock = Waits()
    events = await events_of(retrying(inner, clock))
    assert isinstance(events[-1], Finished)
    assert text_of(events[-1].message) == "at last"
    assert clock.slept == [500, 1000]
    assert inner.open_calls == 0


async def test_a_provider_is_given_the_time_it_asks_for() -> None:
    clock = Waits()
    inner = ScriptedModel([Fail(FailureKind.RATE_LIMIT, retry_after_ms=7_000)], says("yes"))
    await events_of(retrying(inner, clock))
    assert clock.slept == [7_250]


async def test_a_provider_that_asks_for_too_much_has_failed() -> None:
    clock = Waits()
    inner = ScriptedModel([Fail(FailureKind.RATE_LIMIT, retry_after_ms=LONGEST_WAIT_MS)], says("late"))
    with pytest.raises(ModelFailed):
        await events_of(retrying(inner, clock))
    assert clock.slept == []


async def test_attempts_are_bounded() -> None:
    clock = Waits()
    inner = ScriptedModel(otherwise=[Fail(FailureKind.TRANSIENT)])
    with pytest.raises(ModelFailed):
        await events_of(retrying(inner, clock, attempts=4))
    assert len(inner.requests) == 4


@pytest.mark.parametrize("kind", [FailureKind.AUTH, FailureKind.OVERFLOW, FailureKind.PERMANENT])
async def test_a_lasting_failure_is_not_tried_again(kind: FailureKind) -> None:
    inner = ScriptedModel([Fail(kind)], says("no"))
    with pytest.raises(ModelFailed) as failed:
        await events_of(retrying(inner, Waits()))
    assert failed.value.kind is kind
    assert len(inner.requests) == 1


async def test_after_the_first_event_nothing_is_tried_again() -> None:
    inner = ScriptedModel([Say("a"), Fail(FailureKind.TRANSIENT)], says("no"))
    async with retrying(inner, Waits()).stream(request()) as events:
        assert await anext(events) == TextDelta("a")
        with pytest.raises(ModelFailed):
            await anext(events)
    assert len(inner.requests) == 1


async def test_leaving_leaves_the_inner_call() -> None:
    inner = ScriptedModel([Say("a"), Hang()], [Hang()])
    model = retrying(inner, Waits())
    async with model.stream(request()) as events:
        await anext(events)
    assert inner.open_calls == 0
    async with anyio.create_task_group() as group:
        group.start_soon(events_of, model)
        await inner.asked(2)
        group.cancel_scope.cancel()
    assert inner.open_calls == 0


@pytest.mark.parametrize("sent", [True, False])
async def test_a_call_that_reached_somebody_once_may_have_cost_something_whoever_was_there_last(
    sent: bool,
) -> None:
    nobody = Fail(FailureKind.TRANSIENT, sent=False)
    inner = ScriptedModel([nobody], [Fail(FailureKind.TRANSIENT, sent=sent)], [nobody])
    with pytest.raises(ModelFailed) as failed:
        await events_of(retrying(inner, Waits()))
    assert isinstance(failed.value, NeverSent) is not sent
