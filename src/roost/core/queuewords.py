"""`/queue` as it is written: a mode, `default`, and `debounce:`, `cap:` and `drop:` with their values."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from roost.core.errors import InvalidInput
from roost.core.figures import read_duration
from roost.core.queuesettings import DropPolicy, QueueMode
from roost.core.sessions import Overrides

Change: TypeAlias = Callable[[Overrides], Overrides]

_HINT = "say a mode, default, debounce:<time>, cap:<number> or drop:<policy>"


def read_queue(text: str) -> Change:
    """The change a person asks for. Raises `InvalidInput` with what may be said."""
    changes = [_change(word) for word in text.split()]

    def change(overrides: Overrides) -> Overrides:
        for one in changes:
            overrides = one(overrides)
        return overrides

    return change


def _change(word: str) -> Change:
    option, colon, value = word.lower().partition(":")
    if colon:
        return _option(option, value)
    if option in ("default", "reset"):
        return lambda own: replace(
            own, queue_mode=None, queue_debounce_ms=None, queue_cap=None, queue_drop=None
        )
    mode = QueueMode.parse(option)
    if mode is None:
        raise InvalidInput(f"{word!r} is no queue mode", hint=f"modes are {', '.join(QueueMode)}; {_HINT}")
    return lambda own: replace(own, queue_mode=mode)


def _option(option: str, value: str) -> Change:
    match option:
        case "debounce":
            wait = read_duration(value, bare="ms")
            if wait is None:
                raise InvalidInput(f"{value!r} is no time", hint="write it as 500ms or 2s")
            return lambda own: replace(own, queue_debounce_ms=wait)
        case "cap":
            if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 1000:
                raise InvalidInput(f"{value!r} is no cap", hint="say a number from 1 to 1000")
            return lambda own: replace(own, queue_cap=int(value))
        case "drop":
            policy = DropPolicy.parse(value)
            if policy is None:
                raise InvalidInput(f"{value!r} drops nothing", hint=f"say {', '.join(DropPolicy)}")
            return lambda own: replace(own, queue_drop=policy)
        case _:
            raise InvalidInput(f"a queue has no {option!r}", hint=_HINT)
