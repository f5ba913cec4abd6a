"""The types of a parsed JSON document, their text, and lenient reading of its parts."""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from roost.core.numbers import refuse_infinite

JsonValue: TypeAlias = bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"] | None
JsonObject: TypeAlias = Mapping[str, JsonValue]

_COUNT_LIMIT = 2**63


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


# -- parts, each with a harmless value for what is missing or of another type -------------------------


def as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def as_optional(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def as_count(value: JsonValue) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return value if 0 <= value < _COUNT_LIMIT else 0


def as_object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def as_objects(value: JsonValue) -> list[JsonObject]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
