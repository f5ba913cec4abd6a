"""Where the code is in a Markdown text: fenced blocks and inline spans, found in one pass each.

Not a Markdown parser: indented code counts as prose, and a fence that never closes is code to the end.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Bounds: TypeAlias = tuple[int, int]

NUL = "\0"

_FENCE = re.compile(
    r"(?m)^(?P<margin>[ \t>]*+)(?P<item>(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?P<run>`{3,}+(?=[^`\n]*$)|~{3,}+)(?P<info>[^\n]*)$"
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_TICKS = re.compile(r"(?<!\\)`+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A fenced block: its opening line is `start` to `inside`, its closing one `outside` to `end`.

    `opening` and `closing` are lines that open and close the same code once more, without their line ends.
    """

    start: int
    inside: int
    outside: int
    end: int
    opening: str
    closing: str


def mask_code(text: str) -> str:
    """The text with every character of code replaced by NUL, so that only prose is left to look at."""
    if "`" not in text and "~~~" not in text:
        return text
    pieces: list[str] = []
    done = 0
    for start, end in code_spans(text):
        pieces += (text[done:start], NUL * (end - start))
        done = end
    return "".join(pieces) + text[done:]


def code_spans(text: str) -> Iterator[Bounds]:
    """Every stretch of code, delimiters included, in order. A fence spans whole lines."""
    done = 0
    for fence in fences(text):
        yield from _inline(text, done, fence.start)
        yield fence.start, fence.end
        done = fence.end
    yield from _inline(text, done, len(text))


def fences(text: str) -> Iterator[Fence]:
    """Every fenced block, in order; one that never closes ends with the text."""
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            opened = line
        elif _closes(line, opened["run"]):
            yield _fence(text, opened, closed=line)
            opened = None
    if opened is not None:
        yield _fence(text, opened, closed=None)


def _fence(text: str, opened: re.Match[str], *, closed: re.Match[str] | None) -> Fence:
    margin = opened["margin"] + " " * len(opened["item"] or "")
    return Fence(
        start=opened.start(),
        inside=min(opened.end() + 1, len(text)),
        outside=closed.start() if closed else len(text),
        end=closed.end() if closed else len(text),
        opening=(margin + opened["run"] + opened["info"]).rstrip(),
        closing=closed.group().rstrip() if closed else margin + opened["run"],
    )


def _closes(line: re.Match[str], run: str) -> bool:
    return line["run"].startswith(run) and not line["item"] and not line["info"].strip()


def _inline(text: str, start: int, end: int) -> Iterator[Bounds]:
    """Spans between equal runs of backticks; a span never crosses a blank line."""
    for gap in _BLANK_LINE.finditer(text, start, end):
        yield from _paired_runs(text, start, gap.start())
        start = gap.end()
    yield from _paired_runs(text, start, end)


def _paired_runs(text: str, start: int, end: int) -> Iterator[Bounds]:
    runs = [run.span() for run in _TICKS.finditer(text, start, end)]
    next_of_length: dict[int, int] = {}
    closer: list[int | None] = [None] * len(runs)
    for index in reversed(range(len(runs))):
        length = runs[index][1] - runs[index][0]
        closer[index] = next_of_length.get(length)
        next_of_length[length] = index
    index = 0
    while index < len(runs):
        closing = closer[index]
        if closing is None:
            index += 1
        else:
            yield runs[index][0], runs[closing][1]
            index = closing + 1
