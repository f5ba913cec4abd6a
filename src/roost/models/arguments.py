"""What models write, made fit to be kept: texts without half characters, arguments of calls as JSON objects."""

import json
import math
import re

from roost.core.jsonl import Malformed, read_object
from roost.core.jsonvalue import JsonObject, compact
from roost.core.models import UNREADABLE_ARGUMENTS

_HALF = re.compile("[\ud800-\udfff]")
_LEADING = re.compile("[\ud800-\udbff]\\Z")
_LONGEST_INTEGER = 20


def mended(text: str) -> str:
    """The text with halves of a character joined where they meet and replaced where they do not."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class PieceMender:
    """Mends a text that comes in pieces; a piece may end within a character."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        if not self._held and not _HALF.search(piece):
            return piece
        text = self._held + piece
        self._held = text[-1] if _LEADING.search(text) else ""
        return mended(text.removesuffix(self._held))

    def end(self) -> str:
        held, self._held = self._held, ""
        return mended(held)


def read_arguments(text: str) -> JsonObject:
    """The arguments a model wrote. What is no JSON object is kept under `UNREADABLE_ARGUMENTS`."""
    text = mended(text)
    if not text.strip() or text.strip() == "null":
        return {}
    try:
        value = json.loads(
            text, strict=False, parse_constant=_no_number, parse_float=_float, parse_int=_integer
        )
        found = read_object(mended(compact(value)))
    except (ValueError, RecursionError):
        return {UNREADABLE_ARGUMENTS: text}
    return {UNREADABLE_ARGUMENTS: text} if isinstance(found, Malformed) else found


def _no_number(_: str) -> None:
    return None


def _float(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _integer(digits: str) -> int | float | None:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else _float(digits)
