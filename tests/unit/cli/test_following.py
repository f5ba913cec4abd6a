"""Commands that go on until nobody reads what they say."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import anyio
import pytest

from roost.cli.following import while_read


@contextmanager
def read_by(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Whoever reads what is said."""
    reads, writes = os.pipe()
    with ExitStack() as stack:
        out = stack.enter_context(open(writes, "w", encoding="utf-8"))
        stack.callback(_close, reads)
        monkeypatch.setattr("sys.stdout", out)
        yield reads


def _close(reads: int) -> None:
    with suppress(OSError):
        os.close(reads)


async def test_whoever_has_read_enough_ends_what_waits_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    with read_by(monkeypatch) as reader, anyio.fail_after(60), pytest.RaisesGroup(BrokenPipeError):
        async with while_read():
            os.close(reader)
            await anyio.sleep_forever()


async def test_what_is_done_ends_as_ever_where_somebody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    with read_by(monkeypatch), anyio.fail_after(60):
        async with while_read():
            await anyio.lowlevel.checkpoint()
