"""Frozen values to JSON text and back, driven by their type hints.

Fields that hold their default are left out, so a row stays small and a new field needs no migration.
Keys and principals are written in their text form; members of a union carry their class name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache, lru_cache, wraps
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import orjson

from roost.core.errors import InvalidInput, StoreCorrupt
from roost.core.keys import SessionKey
from roost.core.principals import Principal

Dump = Callable[[Any], Any]
Load = Callable[[Any], Any]
Stored = TypeVar("Stored")
Value = TypeVar("Value")
TAG = "type"
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, InvalidInput)

# A recursive alias cannot be looked up by name from another module; its values are JSON already.
RECURSIVE = {"JsonValue": object}

CACHED_TEXTS = 8_192
CACHED_VALUES = 16_384
key_text: Callable[[SessionKey], str] = attrgetter("text")
parse_key: Callable[[str], SessionKey] = lru_cache(CACHED_TEXTS)(SessionKey.parse)
parse_principal: Callable[[str], Principal] = lru_cache(CACHED_TEXTS)(Principal.parse)


def unreadable(error: Exception) -> StoreCorrupt:
    return StoreCorrupt(f"a stored value cannot be read: {error!r}", hint="restore a backup")


def sound(read: Callable[[Stored], Value]) -> Callable[[Stored], Value]:
    """What reads a stored value; where it finds no sense, there is damage."""

    @wraps(read)
    def reading(stored: Stored) -> Value:
        try:
            return read(stored)
        except UNREADABLE as error:
            raise unreadable(error) from error

    return reading


stored_key = sound(parse_key)


def reading(names: Sequence[str]) -> Callable[[Any], Sequence[Any]]:
    """What reads these fields of a record, all at once."""
    if not names:
        return lambda record: ()
    read = attrgetter(*names)
    return read if len(names) > 1 else lambda record: (read(record),)


def encode(value: object, hint: Any = None) -> str:
    """The JSON text of a value; `hint` names the union it is a member of."""
    return to_text(_dumper(hint or type(value))(value))


def to_text(data: Any) -> str:
    """The text of JSON data; what JSON or Unicode cannot hold is the caller's to mend."""
    try:
        return orjson.dumps(data).decode()
    except TypeError as error:
        raise InvalidInput(
            f"that cannot be stored: {error}", hint="send valid Unicode and numbers of at most 64 bits"
        ) from error


def decode(hint: Any, text: str) -> Any:
    """The value a text was made from."""
    try:
        return _loader(hint)(orjson.loads(text))
    except UNREADABLE as error:
        raise unreadable(error) from error


decode_shared: Callable[[Any, str], Any] = lru_cache(CACHED_VALUES)(decode)
"""`decode` for what is read again and again: values that many rows share, and rows that a turn reads often."""


def _same(value: Any) -> Any:
    return value


def _make_dumper(hint: Any) -> Dump:
    if hint is SessionKey:
        return key_text
    if hint is Principal:
        return str
    if _is_record(hint):
        return _record_dumper(hint)
    if get_origin(hint) is tuple:
        inner = _dumper(get_args(hint)[0])
        return lambda value: [inner(item) for item in value]
    if get_origin(hint) is frozenset:
        return sorted
    members = _members(hint)
    if len(members) == 1:
        inner = _dumper(members[0])
        return lambda value: None if value is None else inner(value)
    if members and all(_is_record(member) for member in members):
        return _dump_tagged
    return _same


def _make_loader(hint: Any) -> Load:
    if hint is SessionKey:
        return parse_key
    if hint is Principal:
        return parse_principal
    if _is_record(hint):
        return _record_loader(hint)
    if (many := get_origin(hint)) in (tuple, frozenset):
        inner = _loader(get_args(hint)[0])
        return lambda value: many([inner(item) for item in value])
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    members = _members(hint)
    if len(members) == 1:
        inner = _loader(members[0])
        return lambda value: None if value is None else inner(value)
    if members and all(_is_record(member) for member in members):
        return _tagged_loader(members)
    return _same


def _members(hint: Any) -> tuple[Any, ...]:
    """The alternatives of a union, None aside; () for anything else."""
    if get_origin(hint) not in (Union, UnionType):
        return ()
    return tuple(member for member in get_args(hint) if member is not NoneType)


def _is_record(hint: Any) -> bool:
    return is_dataclass(hint) or hasattr(hint, "_fields")


def _defaults(hint: Any) -> dict[str, Any]:
    """The fields of a dataclass or a named tuple, with their defaults."""
    if not is_dataclass(hint):
        return {name: hint._field_defaults.get(name, MISSING) for name in hint._fields}
    return {field.name: _default(field) for field in fields(hint)}


def _default(field: Any) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


_dumper: Callable[[Any], Dump] = cache(_make_dumper)
_loader: Callable[[Any], Load] = cache(_make_loader)


def _record_dumper(hint: Any) -> Dump:
    hints = get_type_hints(hint, localns=RECURSIVE)
    parts = [(name, default, _dumper(hints[name])) for name, default in _defaults(hint).items()]
    items = reading([name for name, _, _ in parts])

    def dump(value: Any) -> dict[str, Any]:
        out = {}
        for (name, default, inner), item in zip(parts, items(value), strict=True):
            if item is not default and item != default:
                out[name] = inner(item)
        return out

    return dump


def _record_loader(hint: Any) -> Load:
    hints = get_type_hints(hint, localns=RECURSIVE)
    inner = {name: _loader(hints[name]) for name in _defaults(hint)}

    def load(data: Mapping[str, Any]) -> Any:
        # A field that this version does not know was written by a newer one beside it.
        return hint(**{name: inner[name](item) for name, item in data.items() if name in inner})

    return load


def _dump_tagged(value: Any) -> dict[str, Any]:
    kind = type(value)
    return {TAG: kind.__name__, **_dumper(kind)(value)}


def _tagged_loader(members: tuple[Any, ...]) -> Load:
    loaders = {member.__name__: _loader(member) for member in members}
    return lambda data: loaders[data[TAG]](data)
