"""What a command says: tables and lines for people, JSON for programs. What others wrote is shown without control
characters."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from roost.core.figures import age, ahead, moment, span
from roost.core.jsonvalue import JsonObject, JsonValue

WIDE = 10_000
LAST = 16
"""As narrow as the last column of a table may be."""
GAP = 2
_KEPT = frozenset("\n\t")
_NOTHING = frozenset({"", "-"})
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+|[^A-Za-z0-9]+")
_MOMENTS = ("At", "AtMs")
_UNIT = re.compile(r"(?<=[a-z])(AtMs|At|Ms|Usd)$")


def plain(text: str) -> str:
    """Text that does nothing to a terminal but stand there."""
    return "".join(char if char in _KEPT or char.isprintable() else "�" for char in text)


def console(out: TextIO | None = None) -> Console:
    """Colour on a terminal, unless NO_COLOR is set; elsewhere lines as long as they are."""
    stream = out or sys.stdout
    return Console(file=stream, highlight=False, markup=False, width=None if stream.isatty() else WIDE)


def say(text: str) -> None:
    sys.stdout.write(f"{plain(text)}\n")
    sys.stdout.flush()


def as_json(value: object, indent: int | None = 2) -> None:
    sys.stdout.write(f"{json.dumps(value, indent=indent, ensure_ascii=False)}\n")
    sys.stdout.flush()


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Nothing is cut: the last column takes several lines where it must, and rows that are too wide for the terminal stand
    below each other, each cell with its name."""
    cells = [tuple(Text(plain(cell(value))) for value in row) for row in rows]
    out = console()
    widths = [max(_wide(one) for one in column) for column in zip(map(Text, heads), *cells, strict=True)]
    if sum(widths[:-1]) + min(widths[-1], LAST) + GAP * (len(widths) - 1) <= out.width:
        out.print(_columns(heads, cells))
        return
    for row in cells:
        _below(out, heads, row)


def _columns(heads: Sequence[str], cells: Iterable[Sequence[Text]]) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads[:-1]:
        shown.add_column(head, no_wrap=True)
    shown.add_column(heads[-1], overflow="fold")
    for row in cells:
        shown.add_row(*row)
    return shown


def _below(out: Console, heads: Sequence[str], row: Sequence[Text]) -> None:
    """What it is called, and the rest of it on lines below."""
    first = next((place for place, head in enumerate(heads) if head), 0) + 1
    out.print(Text("  ").join(row[:first]), style="bold", overflow="fold")
    rest = zip(heads[first:], row[first:], strict=True)
    named = [Text.assemble((head, "dim"), " ", one) for head, one in rest if one.plain not in _NOTHING]
    if named:
        out.print(Padding(Text(" · ").join(named), (0, 0, 0, GAP)), overflow="fold")


def _wide(text: Text) -> int:
    return max(map(cell_len, text.plain.splitlines()), default=0)


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """One thing a line, its name first."""
    shown = Table(box=None, pad_edge=False, show_header=False)
    shown.add_column(style="bold", no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in pairs:
        if value is not None:
            shown.add_row(name, Text(plain(cell(value))))
    console().print(shown)


def cell(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case list() if all(isinstance(one, str) for one in value):
            return ", ".join(map(str, value)) or "-"
        case list() | dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)


def ago(at: JsonValue, now: JsonValue) -> str | None:
    """How long before `now` something was, both in UTC milliseconds."""
    if not isinstance(at, int | float) or not isinstance(now, int | float):
        return None
    return age(int(now - at))


def due(at: JsonValue, now: int) -> str:
    """When something is, from now and as the clocks here show it."""
    if not isinstance(at, int):
        return "never"
    told = ahead(at - now) if at > now else age(now - at)
    here = datetime.fromtimestamp(at / 1_000, UTC).astimezone().tzinfo or UTC
    return f"{told} ({moment(at, here)})"


def told(row: Mapping[str, object], now: int) -> Iterator[tuple[str, object]]:
    """A row as a person reads it: names in words, moments from now, spans and money in their units."""
    for name, value in row.items():
        words = " ".join(_WORDS.findall(_UNIT.sub("", name))).lower()
        match value:
            case int() if name.endswith(_MOMENTS) and not isinstance(value, bool):
                yield words, due(value, now)
            case int() if name.endswith("Ms"):
                yield words, span(value)
            case int() | float() if name.endswith("Usd"):
                yield words, f"${value:.4f}"
            case dict():
                inner = [f"{one} {cell(other)}" for one, other in told(value, now) if other is not None]
                yield words, ", ".join(inner) or None
            case list() if all(isinstance(one, str) for one in value):
                yield words, ", ".join(map(str, value)) or None
            case _:
                yield words, value


def part(value: JsonValue, *path: str) -> JsonValue:
    """What lies at a path in a JSON value; None if nothing does."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def objects(value: JsonValue) -> list[JsonObject]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
