import asyncio

import pytest

from roost.stores.tables import drive


async def deep(depth: int) -> int:
    return depth if depth == 0 else 1 + await deep(depth - 1)


def test_a_coroutine_that_never_waits_is_run_without_a_loop() -> None:
    assert drive(deep(5)) == 5


def test_what_it_raises_is_raised() -> None:
    async def fail() -> None:
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        drive(fail())


def test_one_that_waits_is_refused_and_closed() -> None:
    closed = []

    async def wait() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            closed.append(True)

    with pytest.raises(RuntimeError, match="waited"):
        drive(wait())
    assert closed == [True]
