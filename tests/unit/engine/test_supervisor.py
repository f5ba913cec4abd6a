from collections.abc import Callable

import anyio
import pytest

from roost.core.errors import Fenced, StoreUnavailable
from roost.core.health import STEADY_MS, Condition, PartHealth
from roost.engine.supervisor import ENDED, Supervisor, leaves
from roost.testing.clock import FakeClock
from tests.waiting import until_all_wait


class Part:
    """Work that fails as often as there are errors, and then goes on for ever."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.begun = 0

    async def __call__(self) -> None:
        self.begun += 1
        if self.errors:
            raise self.errors.pop(0)
        await anyio.sleep_forever()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def supervisor(clock: FakeClock) -> Supervisor:
    return Supervisor(clock, jitter=lambda: 0.0)


def told(supervisor: Supervisor) -> PartHealth:
    (part,) = supervisor.health().parts
    return part


async def test_a_part_that_breaks_is_begun_again_after_growing_waits(
    supervisor: Supervisor, clock: FakeClock
) -> None:
    part = Part(ZeroDivisionError("a"), StoreUnavailable("b"), ExceptionGroup("tasks", [OSError("c")]))
    async with anyio.create_task_group() as group:
        group.start_soon(supervisor.keep, "it", part)
        await until_all_wait()
        began = clock.now()
        for number, (wait, error) in enumerate([(250, "a"), (500, "b"), (1_000, "c")], start=1):
            health = told(supervisor)
            assert (health.condition, health.since) == (Condition.RETRYING, began)
            assert (health.failures, health.error) == (number, error)
            clock.advance(wait - 1)
            await until_all_wait()
            assert part.begun == number
            clock.advance(1)
            await until_all_wait()
            assert part.begun == number + 1
        clock.advance(STEADY_MS)
        assert told(supervisor).condition is Condition.OK
        group.cancel_scope.cancel()


async def test_a_wait_can_be_bounded(supervisor: Supervisor, clock: FakeClock) -> None:
    part = Part(*[StoreUnavailable("full")] * 5)

    async def keep() -> None:
        await supervisor.keep("it", part, longest_wait_ms=400)

    async with anyio.create_task_group() as group:
        group.start_soon(keep)
        for _ in range(5):
            await until_all_wait()
            clock.advance(400)
        await until_all_wait()
        assert part.begun == 6
        group.cancel_scope.cancel()


async def test_a_part_that_ends_by_itself_is_begun_again(supervisor: Supervisor, clock: FakeClock) -> None:
    times = []

    async def ends() -> None:
        times.append(clock.now())

    async with anyio.create_task_group() as group:
        group.start_soon(supervisor.keep, "it", ends)
        await until_all_wait()
        assert told(supervisor).error == ENDED
        clock.advance(250)
        await until_all_wait()
        group.cancel_scope.cancel()
    assert len(times) == 2


async def test_work_with_an_end_is_done_until_it_succeeds(supervisor: Supervisor, clock: FakeClock) -> None:
    failing = [StoreUnavailable("full")]

    async def once() -> None:
        if failing:
            raise failing.pop()

    async with anyio.create_task_group() as group:
        group.start_soon(supervisor.finish, "it", once)
        await until_all_wait()
        clock.advance(250)
    assert told(supervisor).error == "full"


LOST: tuple[Callable[[], Exception], ...] = (
    lambda: Fenced("taken over"),
    lambda: ExceptionGroup("tasks", [OSError("other"), ExceptionGroup("inner", [Fenced("taken over")])]),
)


@pytest.mark.parametrize("error", LOST)
async def test_a_lost_lease_is_not_worked_around(
    supervisor: Supervisor, error: Callable[[], Exception]
) -> None:
    with pytest.raises(Fenced, match="taken over"):
        await supervisor.keep("it", Part(error()))


async def test_parts_are_told_one_by_one(supervisor: Supervisor) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(supervisor.keep, "well", Part())
        group.start_soon(supervisor.keep, "ill", Part(OSError("gone")))
        await until_all_wait()
        health = supervisor.health()
        assert {part.name: part.condition for part in health.parts} == {
            "well": Condition.OK,
            "ill": Condition.RETRYING,
        }
        assert not health.ok
        group.cancel_scope.cancel()


def test_an_error_without_words_is_told_by_its_kind() -> None:
    assert [repr(leaf) for leaf in leaves(ExceptionGroup("x", [ValueError()]))] == ["ValueError()"]


def test_a_part_may_tell_of_itself(supervisor: Supervisor, clock: FakeClock) -> None:
    supervisor.tell("file", "it cannot be read")
    assert (told(supervisor).condition, told(supervisor).error) == (Condition.RETRYING, "it cannot be read")
    supervisor.tell("file", None)
    assert (told(supervisor).condition, told(supervisor).error) == (Condition.OK, None)
