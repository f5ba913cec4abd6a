"""Settings that are read as they were once written, and the same in today's words."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from roost.cli.editing import alone, edited, removed, replaced, text_of
from roost.config import ConfigSource, Settings, policies
from roost.core.errors import Conflict
from roost.core.facts import ConversationType
from roost.core.jsonvalue import JsonValue
from roost.core.lifecycle import ResetMode, ResetRule, resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class OldSpelling:
    """A setting at `path`; `value` belongs at `now`, where it says anything still."""

    path: tuple[str, ...]
    now: tuple[str, ...]
    value: JsonValue = None

    def __str__(self) -> str:
        return ".".join(self.path)


def old_spellings(settings: Settings) -> Iterator[OldSpelling]:
    session = settings.session
    by_type = session.reset_by_type
    if by_type is not None and by_type.dm is not None:
        value: JsonValue = by_type.dm.model_dump(mode="json", by_alias=True, exclude_unset=True)
        direct = ("session", "resetByType")
        yield OldSpelling(path=(*direct, "dm"), now=(*direct, "direct"), value=value)
    if session.idle_minutes is not None:
        policy = policies.reset_policy(settings)
        counts = policy.base is None and not policy.by_type
        value = {"mode": str(ResetMode.IDLE), "idleMinutes": session.idle_minutes} if counts else None
        yield OldSpelling(path=("session", "idleMinutes"), now=("session", "reset"), value=value)


def resets(settings: Settings) -> tuple[ResetRule, ...]:
    """When conversations begin afresh, of each kind, whatever the setting is called that says so."""
    policy = policies.reset_policy(settings)
    return tuple(
        replace(resolve(policy, kind, channel), setting="")
        for kind in ConversationType
        for channel in (None, *policy.by_channel)
    )


def respell(source: ConfigSource, old: OldSpelling) -> None:
    """Write a setting into the file as it is written today; conversations begin afresh as before."""
    with alone(source):
        _respell(source, old)


def _respell(source: ConfigSource, old: OldSpelling) -> None:
    text = text_of(source)
    before = source.interpret(text, exists=True).settings
    found = removed(text, list(old.path))
    if old.value is not None:
        found = edited(found, list(old.now), old.value)
    after = source.interpret(found, exists=True).settings
    if resets(after) != resets(before):
        raise Conflict(f"{old} cannot be written otherwise here", hint="change it with an editor")
    replaced(source, found)
