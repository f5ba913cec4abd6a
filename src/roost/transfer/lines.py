"""The lines of a file that may be hostile: read one by one, never more of one than a limit."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias

from roost.core.errors import InvalidInput

MIB = 2**20
_GULP = MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much is taken in at once. A longer line is left out, a larger file is refused whole."""

    line_bytes: int = 16 * MIB
    file_bytes: int = 1024 * MIB
    file_lines: int = 1_000_000
    index_bytes: int = 64 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line without its line break; `ended` says whether it had one."""

    number: int
    content: bytes
    ended: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LongLine:
    """A line over the limit, of which only the length was kept, its line break included."""

    number: int
    size: int


AnyLine: TypeAlias = Line | LongLine


def read_lines(stream: BinaryIO, limits: Limits) -> Iterator[AnyLine]:
    """Every line of a file; `InvalidInput` once it turns out to be larger than a file may be."""
    number = total = 0
    while content := stream.readline(limits.line_bytes + 1):
        number += 1
        ended = content.endswith(b"\n")
        size = len(content)
        long = size - ended > limits.line_bytes
        while long and not ended and total + size <= limits.file_bytes:
            more = stream.readline(_GULP)
            ended = more.endswith(b"\n") or not more
            size += len(more)
        total += size
        if total > limits.file_bytes or number > limits.file_lines:
            raise InvalidInput(
                f"the file has more than {limits.file_bytes} bytes or {limits.file_lines} lines",
                hint="split it, or raise the limits of the import",
            )
        if long:
            yield LongLine(number=number, size=size)
        else:
            yield Line(number=number, content=content.removesuffix(b"\n"), ended=ended)


def read_whole(stream: BinaryIO, limit: int) -> bytes:
    """All of a small file."""
    content = stream.read(limit + 1)
    if len(content) > limit:
        raise InvalidInput(f"the file has more than {limit} bytes", hint="raise the limits of the import")
    return content
