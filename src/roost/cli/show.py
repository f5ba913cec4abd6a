"""What a command says: tables and lines for people, JSON for programs. What others wrote is shown without control
characters."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from typing import TYPE_CHECKING, TextIO

import orjson

from roost.cli.here import Local
from roost.core.figures import age, ahead, moment, span
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.localtime import local

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 10_000
_KEPT = frozenset("\n\t\u200c\u200d")
"""Beside what is printable: the joiners too, without which emoji fall apart and some scripts cannot be read."""
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+|[^A-Za-z0-9]+")
_MOMENTS = ("At", "AtMs")
_UNIT = re.compile(r"(?<=[a-z])(AtMs|At|Ms|Usd)$")


def plain(text: str) -> str:
    """Text that does nothing to a terminal but stand there."""
    return "".join(char if char in _KEPT or char.isprintable() else "�" for char in text)


def console(out: TextIO | None = None) -> "Console":
    """Colour on a terminal, unless NO_COLOR is set; elsewhere lines as long as they are."""
    from rich.console import Console  # noqa: PLC0415 — who serves, and who wants JSON, draws nothing

    stream = out or sys.stdout
    return Console(file=stream, highlight=False, markup=False, width=None if stream.isatty() else WIDE)


def say(text: str) -> None:
    _write(plain(text))


def say_wrong(text: str) -> None:
    """On the error output, where no program takes it for what it asked for."""
    sys.stderr.write(f"roost: {plain(text)}\n")


def as_json(value: object) -> None:
    # The standard library indents in Python: seconds for the sessions of a large gateway.
    _write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def as_json_line(value: object) -> None:
    _write(json.dumps(value, ensure_ascii=False))


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    from roost.cli.drawing import draw_table  # noqa: PLC0415 — see above

    draw_table(console(), heads, [tuple(plain(cell(value)) for value in row) for row in rows])


def answer(where: Local, found: object, words: str) -> None:
    """What came of it: words for people, JSON for programs."""
    if where.json:
        as_json(found)
    else:
        say(words)


def answer_table(
    where: Local, found: object, heads: Sequence[str], rows: Iterable[Sequence[object]], nothing: str
) -> None:
    """What there is: a table for people, or that there is nothing; JSON for programs."""
    if where.json:
        as_json(found)
    elif shown := tuple(rows):
        table(heads, shown)
    else:
        say(nothing)


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """One thing a line, its name first."""
    from roost.cli.drawing import draw_facts  # noqa: PLC0415 — see above

    draw_facts(console(), [(name, plain(cell(value))) for name, value in pairs if value is not None])


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
    here = local(at, UTC).astimezone().tzinfo or UTC
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
