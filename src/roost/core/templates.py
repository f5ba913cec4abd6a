"""Texts with places for what a payload says: `{{repository.name}}`, `{{commits.0.id}}`.

A place names a path in the payload and nothing else. What is put in is never read for places again.
"""

import re

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonValue, compact

LONGEST = 32_000
_PLACE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_PATH = re.compile(r"[A-Za-z0-9_@$-]+(?:\.[A-Za-z0-9_@$-]+)*", re.ASCII)


def check(template: str) -> None:
    """Raises for a place that is no path."""
    for place in _PLACE.findall(template):
        if _PATH.fullmatch(place) is None:
            raise InvalidInput(f"{place!r} is no path in a payload", hint="write {{repository.name}}")


def has_places(template: str) -> bool:
    return _PLACE.search(template) is not None


def filled(template: str, payload: JsonValue, longest: int = LONGEST) -> str:
    """The text with what the payload says; nothing where it says nothing, and no more than so many characters."""
    return _PLACE.sub(lambda place: _text_at(payload, place[1]), template)[:longest]


def _text_at(payload: JsonValue, path: str) -> str:
    value = payload
    for name in path.split("."):
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isascii() and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return ""
    match value:
        case None:
            return ""
        case str():
            return value
        case _:
            return compact(value)
