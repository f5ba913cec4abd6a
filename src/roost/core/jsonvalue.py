"""The types of a parsed JSON document, and their text."""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from roost.core.numbers import refuse_infinite

JsonValue: TypeAlias = bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"] | None
JsonObject: TypeAlias = Mapping[str, JsonValue]


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain)


def compact(value: JsonValue) -> str:
    """The one-line text of a value: no spaces, no escaped letters, keys in their own order."""
    return _ENCODER.encode(value)


def lines_of(text: str) -> list[str]:
    """The lines of a text with one value a line. Within a value stand characters that end a line elsewhere."""
    return text.removesuffix("\n").split("\n") if text else []


def in_utf8(value: JsonValue) -> bytes:
    """`compact` as the wire has it. Half a character, which is no Unicode, stays what it is."""
    return compact(value).encode("utf-8", "surrogatepass")


def from_utf8(text: bytes) -> str:
    """What `in_utf8` wrote, as text."""
    return text.decode("utf-8", "surrogatepass")


def refuse_unwritable(value: JsonValue) -> None:
    """Numbers of a value, however deep, must be such as JSON has."""
    left: list[JsonValue] = [value]
    while left:
        match left.pop():
            case float() as number:
                refuse_infinite(number)
            case str():
                pass
            case Mapping() as named:
                left += named.values()
            case Sequence() as listed:
                left += listed
            case _:
                pass
