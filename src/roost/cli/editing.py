"""One setting changed in the text of a configuration file; everything else stays as it was written, comments too."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyjson5
from json5.loader import ModelLoader
from json5.loader import loads as read_model
from json5.model import JSONObject, Key, KeyValuePair, Value
from json5.utils import JSON5DecodeError

from roost.app import privatefiles
from roost.app.providers import check_models
from roost.cli.here import refuse_agent
from roost.config import ConfigRefused, ConfigSource
from roost.core.errors import ConfigInvalid, InvalidInput
from roost.core.jsonvalue import JsonValue

EMPTY = "{\n}\n"
INDENT = "  "
_COMMA_AFTER, _COMMA_BEFORE = re.compile(r"\s*,[ \t]*\n?[ \t]*"), re.compile(r",\s*\Z")


@contextmanager
def alone(source: ConfigSource) -> Iterator[None]:
    """No other command changes the file within the block: what one reads and writes anew, another would lose."""
    refuse_agent()
    with privatefiles.held(source.file.resolve().parent):
        yield


def text_of(source: ConfigSource) -> str:
    """The file's text, or that of a new one."""
    text = source.text()
    return EMPTY if text is None else text


def changed(source: ConfigSource, path: str, value: str) -> str:
    """The file's text with a value at a path."""
    text = text_of(source)
    # Whatever is wrong with it is named by the one who knows.
    source.interpret(text, exists=True)
    names = path.split(".")
    if not all(names):
        raise InvalidInput(f"{path!r} is no path", hint="write it like session.dmScope")
    return edited(text, names, _value(value))


def replaced(source: ConfigSource, text: str) -> None:
    """Put a text in the place of the file, whole and for its owner only; one that would be refused is not."""
    try:
        check_models(source.interpret(text, exists=True).settings)
    except ConfigRefused as error:
        problems = "".join(f"\n  {one}" for one in error.problems)
        raise _unchanged(source, f"this would be wrong:{problems}") from None
    except ConfigInvalid as error:
        raise _unchanged(source, error.message, error.hint) from None
    # A link to a file that is kept elsewhere stays one.
    privatefiles.replace(source.file.resolve(), text)


def _unchanged(source: ConfigSource, why: str, hint: str = "") -> ConfigInvalid:
    return ConfigInvalid(why, hint="; ".join(filter(None, (hint, f"{source.file} stays as it was"))))


def edited(text: str, names: list[str], value: JsonValue) -> str:
    """The text with a value at a path, and nothing else that would be read otherwise than before."""
    try:
        found = _edited(text, names, value)
        after = pyjson5.decode(found)
    except (JSON5DecodeError, pyjson5.Json5DecoderException):
        raise _by_hand(names) from None
    if after != _set(pyjson5.decode(text), names, value):
        raise _by_hand(names)
    return found


def removed(text: str, names: list[str]) -> str:
    """The text without what stands at a path, and nothing else that would be read otherwise than before."""
    place: Value | None = read_model(text, loader=ModelLoader()).value
    for name in names[:-1]:
        place = _member(place, name) if isinstance(place, JSONObject) else None
    pair = _pair(place, names[-1]) if isinstance(place, JSONObject) else None
    if pair is None:
        raise InvalidInput(f"{'.'.join(names)} is not there")
    start, end = _span(text, pair.key)[0], _span(text, pair.value)[1]
    if comma := _COMMA_AFTER.match(text, end):
        end = comma.end()
    elif comma := _COMMA_BEFORE.search(text, 0, start):
        start = comma.start()
    found = text[:start] + text[end:]
    try:
        rest = pyjson5.decode(found)
    except pyjson5.Json5DecoderException:
        raise _by_hand(names) from None
    if rest != _without(pyjson5.decode(text), names):
        raise _by_hand(names)
    return found


def _without(document: Any, names: list[str]) -> JsonValue:
    if len(names) > 1:
        return {**document, names[0]: _without(document[names[0]], names[1:])}
    return {name: value for name, value in document.items() if name != names[0]}


def _by_hand(names: list[str]) -> InvalidInput:
    return InvalidInput(
        f"{'.'.join(names)} cannot be set in this file as it is written", hint="change it with an editor"
    )


def _set(document: Any, names: list[str], value: JsonValue) -> JsonValue:
    """What the document says with the value at the path."""
    if not names:
        return value
    within = document if isinstance(document, dict) else {}
    return {**within, names[0]: _set(within.get(names[0]), names[1:], value)}


def _edited(text: str, names: list[str], value: JsonValue) -> str:
    whole = read_model(text, loader=ModelLoader()).value
    place, depth = whole, 0
    while depth < len(names) and isinstance(place, JSONObject):
        within = _member(place, names[depth])
        if within is None:
            return _inserted(text, place, names[depth:], value, depth + 1)
        place, depth = within, depth + 1
    if depth < len(names):
        raise InvalidInput(f"{'.'.join(names[:depth])} is no object", hint="set it as a whole")
    start, end = _span(text, place)
    return f"{text[:start]}{json.dumps(value, ensure_ascii=False)}{text[end:]}"


def _inserted(text: str, place: JSONObject, names: list[str], value: JsonValue, depth: int) -> str:
    for name in reversed(names[1:]):
        value = {name: value}
    start, end = _span(text, place)
    member = f"{json.dumps(names[0])}: {json.dumps(value, ensure_ascii=False)}"
    rest = text[start + 1 : end]
    closing = "" if rest.lstrip(" \t").startswith(("\n", "\r")) else f"\n{INDENT * (depth - 1)}"
    comma = "," if place.key_value_pairs else ""
    return f"{text[: start + 1]}\n{INDENT * depth}{member}{comma}{closing}{text[start + 1 :]}"


def _member(place: JSONObject, name: str) -> Value | None:
    pair = _pair(place, name)
    return None if pair is None else pair.value


def _pair(place: JSONObject, name: str) -> KeyValuePair | None:
    """The last one of that name is the one in force."""
    found = None
    for pair in place.key_value_pairs:
        key = getattr(pair.key, "name", None) or getattr(pair.key, "characters", None)
        found = pair if key == name else found
    return found


def _span(text: str, node: Key | Value) -> tuple[int, int]:
    # As its parser counts them; other line breaks stand inside a line.
    lines = text.split("\n")

    def offset(line: int | None, column: int | None) -> int:
        assert line is not None
        assert column is not None
        return sum(len(one) + 1 for one in lines[: line - 1]) + column

    return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)


def _value(text: str) -> JsonValue:
    """JSON where it is JSON, else the text itself."""
    try:
        found: JsonValue = json.loads(text)
    except ValueError:
        return text
    except RecursionError:
        raise InvalidInput("the value has too many levels", hint="no setting has so many") from None
    return found
