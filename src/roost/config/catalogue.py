"""Every key of the configuration, in the order of the settings."""

from collections.abc import Iterator
from dataclasses import dataclass

import orjson
from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from roost.config.section import Section, Takes
from roost.config.settings import Settings
from roost.config.shapes import Leaf, ListOf, MapOf, ObjectOf, Shape, field_shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """`path` writes list items as `[]` and names that are free to choose as `<…>`; `default` is JSON or empty."""

    path: str
    allowed: str
    default: str
    takes: Takes
    description: str


def keys() -> Iterator[Key]:
    """All keys; a section that occurs in several places is listed at the first and named at the others."""
    yield from _keys_of(Settings, "", Takes.NEXT_RUN, {})


def takes(info: FieldInfo, inherited: Takes) -> Takes:
    """When a change to a field takes effect."""
    extra = info.json_schema_extra
    return Takes(str(extra["takes"])) if isinstance(extra, dict) else inherited


def _keys_of(
    section: type[Section], prefix: str, inherited: Takes, listed: dict[type[Section], str]
) -> Iterator[Key]:
    for name, info in ObjectOf(section).fields.items():
        path, shape, effect = f"{prefix}{name}", field_shape(info), takes(info, inherited)
        yield Key(
            path=path,
            allowed=("text or " if _has_short_form(info) else "") + _allowed(shape, listed),
            default=_default(section, name, shape),
            takes=effect,
            description=info.description or "",
        )
        yield from _below(shape, path, effect, listed)


def _below(shape: Shape, path: str, inherited: Takes, listed: dict[type[Section], str]) -> Iterator[Key]:
    match shape:
        case Leaf():
            pass
        case ListOf():
            yield from _below(shape.item, f"{path}[]", inherited, listed)
        case MapOf():
            yield from _below(shape.value, f"{path}.<{_label(shape.name)}>", inherited, listed)
        case ObjectOf():
            if _listed_as(shape.section, listed) is None:
                listed[shape.section] = path
                yield from _keys_of(shape.section, f"{path}.", inherited, listed)


def _has_short_form(info: FieldInfo) -> bool:
    return any(isinstance(mark, BeforeValidator) for mark in info.metadata)


def _label(name: Leaf) -> str:
    word = name.allowed.split()[0]
    return "name" if word == "text" else word


def _listed_as(section: type[Section], listed: dict[type[Section], str]) -> str | None:
    return next((path for known, path in listed.items() if issubclass(known, section)), None)


def _allowed(shape: Shape, listed: dict[type[Section], str]) -> str:
    match shape:
        case Leaf():
            return shape.allowed
        case ListOf():
            return f"list of {_allowed(shape.item, listed)}"
        case MapOf():
            return f"object, {_label(shape.name)} to {_allowed(shape.value, listed)}"
        case ObjectOf():
            path = _listed_as(shape.section, listed)
            return "object" if path is None else f"object as `{path}`"


def _default(section: type[Section], name: str, shape: Shape) -> str:
    if isinstance(shape, ObjectOf):
        return ""
    value = section.model_construct().model_dump(mode="json", warnings=False).get(name)
    return "" if value is None else orjson.dumps(value).decode()
