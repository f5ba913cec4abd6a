"""Values without configured secrets, and without numbers that JSON has not, before they become rows.

Every text is looked at but what says who or where somebody is: another name would be another person's.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from operator import is_
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from roost.core.addresses import Address, Origin
from roost.core.errors import InvalidInput
from roost.core.inbound import Source
from roost.core.keys import SessionKey
from roost.core.messages import Image, Provenance, Thinking, Usage
from roost.core.numbers import refuse_infinite
from roost.core.principals import Principal
from roost.core.seals import Sealing
from roost.core.sessions import Facts
from roost.stores.codec import RECURSIVE, reading

Value = TypeVar("Value")
_WHOLE = (Address, Facts, Image, Origin, Principal, Provenance, SessionKey, Source, Usage, Enum)


def without_secrets(value: Value, sealing: Sealing) -> Value:
    """The same value if it holds none."""
    try:
        # Nearly every value holds none, and to find that out costs a fraction of making it anew.
        return value if _is_clean(value, sealing) else _walk(value, sealing)
    except RecursionError:
        raise InvalidInput("that cannot be stored: it is nested too deeply", hint="send it flatter") from None


def _is_clean(value: Any, sealing: Sealing) -> bool:
    texts: list[str] = []
    _gather(value, texts)
    # Looked at together: each look goes through every spelling of every secret.
    together = "\n".join(texts)
    return sealing.sealed(together) is together


def _gather(value: Any, texts: list[str]) -> None:
    kind: Any = type(value)
    if kind is str:
        texts.append(value)
        return
    if kind is dict:
        _gather([*value, *value.values()], texts)
        return
    for one in value if kind is tuple or kind is list else _texts(kind)(value):
        # Most are texts: asked here, each costs one call less.
        if type(one) is str:
            texts.append(one)
        elif one is not None:
            _gather(one, texts)


def _walk(value: Any, sealing: Sealing) -> Any:
    kind: Any = type(value)
    if kind is str:
        return sealing.sealed(value)
    if kind is tuple or kind is list:
        walked = [_walk(one, sealing) for one in value]
        same = all(map(is_, walked, value))
        return value if same else kind(walked)
    if kind is dict:
        pairs = {_walk(name, sealing): _walk(one, sealing) for name, one in value.items()}
        same = all(map(is_, (*pairs, *pairs.values()), (*value, *value.values())))
        return value if same else pairs
    changed = {}
    for name in _fields(kind):
        before = getattr(value, name)
        if (walked := _walk(before, sealing)) is not before:
            changed[name] = walked
    if not changed:
        return value
    if kind is Thinking:
        # Its provider signed other words.
        return Thinking(thinking=changed["thinking"])
    return replace(value, **changed) if is_dataclass(kind) else value._replace(**changed)


@cache
def _texts(kind: Any) -> Callable[[Any], Sequence[Any]]:
    return _finite if kind is float else reading(_fields(kind))


def _finite(number: float) -> tuple[()]:
    """Asked on the way: what holds no such number is not looked through for one."""
    refuse_infinite(number)
    return ()


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    """Those of a record that may hold a text."""
    if issubclass(kind, _WHOLE):
        return ()
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else getattr(kind, "_fields", ())
    hints = get_type_hints(kind, localns=RECURSIVE) if names else {}
    return tuple(name for name in names if _may_hold_text(hints[name]))


def _may_hold_text(hint: Any) -> bool:
    if within := get_args(hint):
        return any(map(_may_hold_text, within))
    return not isinstance(hint, type) or not issubclass(hint, (*_WHOLE, int, NoneType))
