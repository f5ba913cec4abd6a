"""Lines within limits."""

import tracemalloc
from io import BufferedReader, BytesIO, RawIOBase

import pytest

from roost.core.errors import InvalidInput
from roost.transfer.lines import AnyLine, Limits, Line, LongLine, read_lines, read_whole
from tests.scale import count

SMALL = Limits(line_bytes=8, file_bytes=64, file_lines=5)


def lines(content: bytes, limits: Limits = SMALL) -> list[AnyLine]:
    return list(read_lines(BytesIO(content), limits))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", []),
        (b"\n", [Line(number=1, content=b"")]),
        (b"a", [Line(number=1, content=b"a", ended=False)]),
        (b"a\r\nb\n", [Line(number=1, content=b"a\r"), Line(number=2, content=b"b")]),
        (b"12345678\n", [Line(number=1, content=b"12345678")]),
        (b"12345678", [Line(number=1, content=b"12345678", ended=False)]),
        (b"123456789\nb", [LongLine(number=1, size=10), Line(number=2, content=b"b", ended=False)]),
        (b"123456789", [LongLine(number=1, size=9)]),
    ],
)
def test_a_file_is_read_line_by_line(content: bytes, found: list[AnyLine]) -> None:
    assert lines(content) == found


@pytest.mark.parametrize("content", [b"x\n" * 6, (b"x" * 7 + b"\n") * 9, b"x" * 65])
def test_a_file_over_the_limits_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidInput, match="more than 64 bytes or 5 lines"):
        lines(content, Limits(line_bytes=8, file_bytes=64, file_lines=5))


def test_a_file_at_the_limits_is_read() -> None:
    assert len(lines(b"x\n" * 5)) == 5
    assert lines(b"x" * 64) == [LongLine(number=1, size=64)]


def test_a_small_file_is_read_whole_and_a_larger_one_refused() -> None:
    assert read_whole(BytesIO(b"12345678"), 8) == b"12345678"
    with pytest.raises(InvalidInput, match="more than 8 bytes"):
        read_whole(BytesIO(b"123456789"), 8)


class Endless(RawIOBase):
    """A file of one byte repeated, which exists only as it is read."""

    def __init__(self, size: int) -> None:
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size = min(len(buffer), self._left)
        buffer[:size] = b"x" * size
        self._left -= size
        return size


@pytest.mark.requirement("S25")
def test_a_line_far_over_the_limit_is_not_held_in_memory() -> None:
    size = count(20, 100) * 2**20
    limits = Limits(line_bytes=count(1, 16) * 2**20)
    stream = BufferedReader(Endless(size))
    tracemalloc.start()
    try:
        assert list(read_lines(stream, limits)) == [LongLine(number=1, size=size)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * (limits.line_bytes + 2**20)


def test_a_line_without_end_is_given_up_at_the_limit_of_the_file() -> None:
    stream = BufferedReader(Endless(2**60))
    with pytest.raises(InvalidInput):
        list(read_lines(stream, Limits(line_bytes=1024, file_bytes=4 * 2**20)))
