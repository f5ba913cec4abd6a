"""What a changed configuration means for a running gateway."""

from collections.abc import Iterator
from dataclasses import dataclass

from roost.config.agents import Agent
from roost.config.catalogue import takes
from roost.config.frozen import FrozenMap
from roost.config.problems import path_text
from roost.config.section import Loc, S, Section, Takes
from roost.config.settings import Settings
from roost.config.validation import agreed

_MEANWHILE = "what would be in force until a restart"


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
    """The new settings, with the old values where a change waits for a restart. `ConfigRefused` where the two do not
    stand together: a gateway that is to be open on loopback still listens beyond it."""
    return agreed(_blended(old, new, Takes.NEXT_RUN, frozenset({Takes.AT_ONCE, Takes.NEXT_RUN})), _MEANWHILE)


def at_once(old: Settings, new: Settings) -> Settings:
    """The old settings with the new credentials and denials. Models stay as they were opened, and so do their
    credentials, which a program may have to print first; agents come and go with their models, and nobody is led to one
    that is not there yet. Refused as above."""
    taken = _blended(old, new, Takes.NEXT_RUN, frozenset({Takes.AT_ONCE}))
    agents = {agent.id for agent in taken.agents.list}
    bindings = tuple(binding for binding in taken.bindings if binding.agent_id in agents)
    return agreed(taken.model_copy(update={"models": old.models, "bindings": bindings}), _MEANWHILE)


def _blended(old: S, new: S, inherited: Takes, wanted: frozenset[Takes]) -> S:
    """The old with what is wanted of the new. What nobody gave counts as not given there either."""
    kept: dict[str, object] = {}
    given: set[str] = set()
    for name, info in type(new).model_fields.items():
        before, effect = getattr(old, name), takes(info, inherited)
        kept[name] = _blend(before, getattr(new, name), effect, wanted)
        stays = kept[name] is before and effect not in wanted
        given |= {name} & (old if stays else new).model_fields_set
    blended = new.model_copy(update=kept)
    blended.model_fields_set.intersection_update(given)
    return blended


def _blend(old: object, new: object, effect: Takes, wanted: frozenset[Takes]) -> object:
    if old == new:
        return new if effect in wanted else old
    if isinstance(old, Section) and isinstance(new, Section) and type(old) is type(new):
        return _blended(old, new, effect, wanted)
    before, after = _parts(old), _parts(new)
    if before is None or after is None:
        return new if _most_urgent(new if old is None else old, effect) in wanted else old
    common = {name: _blend(before[name], after[name], effect, wanted) for name in before if name in after}
    if isinstance(new, tuple):
        agents = after if Takes.NEXT_RUN in wanted else before
        return tuple(common.get(name, agent) for name, agent in agents.items())
    left = {name: one for name, one in before.items() if _most_urgent(one, effect) not in wanted}
    added = {name: one for name, one in after.items() if _most_urgent(one, effect) in wanted}
    return FrozenMap({**left, **added, **common})


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
        place = (*loc, str(name))
        if name in before and name in after:
            yield from _values(before[name], after[name], place, effect)
        else:
            yield place, _most_urgent(before.get(name, after.get(name)), effect)


def _parts(value: object) -> dict[object, object] | None:
    """The named parts of a value that has any."""
    if isinstance(value, FrozenMap):
        return dict(value)
    if isinstance(value, tuple) and value and all(isinstance(item, Agent) for item in value):
        return {item.id: item for item in value}
    return None


def _most_urgent(value: object, effect: Takes) -> Takes:
    """When something comes or goes as a whole: at once if any part of it would."""
    if not isinstance(value, Section):
        return effect
    parts = ((getattr(value, name), takes(info, effect)) for name, info in type(value).model_fields.items())
    return Takes.AT_ONCE if Takes.AT_ONCE in {_most_urgent(*part) for part in parts} else effect
