"""What a changed configuration means for a running gateway."""

from collections.abc import Iterator
from dataclasses import dataclass

from roost.config.agents import Agent
from roost.config.catalogue import takes
from roost.config.frozen import FrozenMap
from roost.config.problems import path_text
from roost.config.section import Loc, S, Section, Takes
from roost.config.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Reload:
    """The changed keys by when they take effect; agents are named by id, credentials never by value."""

    immediate: tuple[str, ...]
    per_run: tuple[str, ...]
    restart: tuple[str, ...]


def changes(old: Settings, new: Settings) -> Reload:
    """Credentials and denials take effect at once, port, bind and store at a restart, the rest with the next run."""
    found = sorted({(path_text(loc), effect) for loc, effect in _sections(old, new, (), Takes.NEXT_RUN)})
    return Reload(
        immediate=tuple(path for path, effect in found if effect is Takes.AT_ONCE),
        per_run=tuple(path for path, effect in found if effect is Takes.NEXT_RUN),
        restart=tuple(path for path, effect in found if effect is Takes.RESTART),
    )


def until_restart(old: Settings, new: Settings) -> Settings:
    """The new settings, with the old values where a change waits for a restart."""
    return _kept(old, new, Takes.NEXT_RUN)


def _kept(old: S, new: S, inherited: Takes) -> S:
    kept: dict[str, object] = {}
    for name, info in type(new).model_fields.items():
        before, after, effect = getattr(old, name), getattr(new, name), takes(info, inherited)
        if effect is Takes.RESTART:
            kept[name] = before
        elif type(before) is type(after) and isinstance(after, Section):
            kept[name] = _kept(before, after, effect)
    return new.model_copy(update=kept)


def _sections(old: Section, new: Section, loc: Loc, inherited: Takes) -> Iterator[tuple[Loc, Takes]]:
    for name, info in type(new).model_fields.items():
        place = (*loc, str(info.alias))
        yield from _values(getattr(old, name), getattr(new, name), place, takes(info, inherited))


def _values(old: object, new: object, loc: Loc, effect: Takes) -> Iterator[tuple[Loc, Takes]]:
    if old == new:
        return
    if isinstance(old, Section) and isinstance(new, Section):
        yield from _sections(old, new, loc, effect)
        return
    before, after = _parts(old), _parts(new)
    if before is None or after is None:
        yield loc, _most_urgent(new if old is None else old, effect)
        return
    for name in before | after:
        if name in before and name in after:
            yield from _values(before[name], after[name], (*loc, name), effect)
        else:
            yield (*loc, name), _most_urgent(before.get(name, after.get(name)), effect)


def _parts(value: object) -> dict[str, object] | None:
    """The named parts of a value that has any."""
    if isinstance(value, FrozenMap):
        return {str(name): item for name, item in value.items()}
    if isinstance(value, tuple) and value and all(isinstance(item, Agent) for item in value):
        return {item.id: item for item in value}
    return None


def _most_urgent(value: object, effect: Takes) -> Takes:
    """When something comes or goes as a whole: at once if any part of it would."""
    if not isinstance(value, Section):
        return effect
    parts = ((getattr(value, name), takes(info, effect)) for name, info in type(value).model_fields.items())
    return Takes.AT_ONCE if Takes.AT_ONCE in {_most_urgent(*part) for part in parts} else effect
