import anyio
import anyio.lowlevel
import pytest

from roost.core.errors import Fenced, StoreUnavailable
from roost.engine.keeping import until_kept
from roost.testing.clock import FakeClock
from tests.waiting import until_all_wait


class Writes:
    """A write that fails a few times."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.tried = 0

    async def __call__(self) -> str:
        self.tried += 1
        await anyio.lowlevel.checkpoint()
        if self.errors:
            raise self.errors.pop(0)
        return "kept"


async def test_a_write_is_tried_again_until_the_store_takes_it() -> None:
    clock, write, kept = FakeClock(), Writes(*[StoreUnavailable("full")] * 3), []
    async with anyio.create_task_group() as group:

        async def keep() -> None:
            kept.append(await until_kept(clock, write))

        group.start_soon(keep)
        for wait in (250, 500, 1_000):
            await until_all_wait()
            assert kept == []
            clock.advance(wait)
    assert kept == ["kept"]
    assert write.tried == 4


async def test_any_other_refusal_is_the_callers() -> None:
    with pytest.raises(Fenced):
        await until_kept(FakeClock(), Writes(Fenced("lost")))


async def test_who_was_cancelled_still_writes_once() -> None:
    write = Writes()
    with anyio.CancelScope() as scope:
        scope.cancel()
        assert await until_kept(FakeClock(), write) == "kept"
    assert write.tried == 1


async def test_who_was_cancelled_does_not_wait_for_the_store() -> None:
    write = Writes(*[StoreUnavailable("full")] * 3)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await until_kept(FakeClock(), write)
    assert scope.cancelled_caught
    assert write.tried == 1
