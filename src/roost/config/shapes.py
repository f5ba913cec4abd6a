"""What the settings models say about themselves: which keys there are and what each allows."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from types import UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from roost.config.frozen import FrozenMap
from roost.config.secretfields import CredentialSpelling
from roost.config.section import Loc, Section
from roost.config.spelling import Spelling, one_of

KEY = "[key]"
"""By this part of a place the validator means the name of a map's item, not the item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One value; `options` are the names it can be chosen from, if that is what it is."""

    allowed: str
    options: tuple[str, ...] = ()
    secret: bool = False


@dataclass(frozen=True, slots=True)
class ObjectOf:
    section: type[Section]

    @property
    def fields(self) -> dict[str, FieldInfo]:
        """The keys as they are written."""
        return {str(info.alias): info for info in self.section.model_fields.values()}


@dataclass(frozen=True, slots=True)
class ListOf:
    item: "Shape"


@dataclass(frozen=True, slots=True)
class MapOf:
    name: Leaf
    value: "Shape"


Shape: TypeAlias = Leaf | ObjectOf | ListOf | MapOf


def shape_of(annotation: Any, metadata: Iterable[object] = ()) -> Shape:
    """The shape that a field's annotation describes."""
    for mark in metadata:
        if isinstance(mark, Spelling):
            return Leaf(allowed=mark.allowed, options=mark.options)
        if isinstance(mark, CredentialSpelling):
            return Leaf(allowed=mark.allowed, secret=True)
    arguments = get_args(annotation)
    origin = get_origin(annotation)
    if origin is Annotated:
        return shape_of(arguments[0], arguments[1:])
    if origin in {Union, UnionType}:
        return shape_of(*(argument for argument in arguments if argument is not type(None)))
    if origin is tuple:
        return ListOf(shape_of(arguments[0]))
    if origin is FrozenMap:
        name = shape_of(arguments[0])
        assert isinstance(name, Leaf)
        return MapOf(name, shape_of(arguments[1]))
    return _plain(annotation)


def _plain(annotation: type) -> Shape:
    if issubclass(annotation, Section):
        return ObjectOf(annotation)
    if issubclass(annotation, Enum):
        options = tuple(str(option.value) for option in annotation)
        return Leaf(allowed=one_of(options), options=options)
    assert annotation is bool, annotation
    return Leaf(allowed="`true` or `false`")


def field_shape(info: FieldInfo) -> Shape:
    return shape_of(info.annotation, info.metadata)


def shape_at(root: type[Section], loc: Loc) -> Shape | None:
    """The shape at a place, or nothing where the settings know no such place."""
    if loc[-1:] == (KEY,):
        within = shape_at(root, loc[:-2])
        return within.name if isinstance(within, MapOf) else None
    shape: Shape = ObjectOf(root)
    for part in loc:
        match shape:
            case ObjectOf() if part in shape.fields:
                shape = field_shape(shape.fields[str(part)])
            case ListOf():
                shape = shape.item
            case MapOf():
                shape = shape.value
            case _:
                return None
    return shape
