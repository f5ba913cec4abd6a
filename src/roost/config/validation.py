"""From a document to settings, or to the list of everything that is wrong with it."""

import copy
from collections.abc import Iterable, Iterator, Mapping

import orjson
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from roost.config.amounts import SpellingError
from roost.config.catalogue import keys
from roost.config.document import WHOLE, Document
from roost.config.problems import ConfigRefused, Problem, nearest, path_text
from roost.config.secretfields import Surroundings
from roost.config.section import Loc, Section
from roost.config.settings import Settings
from roost.config.shapes import KEY, Leaf, ListOf, ObjectOf, Shape, shape_at

_LONGEST_QUOTE = 24


def validate(document: Document, around: Surroundings) -> tuple[Settings | None, tuple[Problem, ...]]:
    """The settings, if nothing at all is wrong; otherwise every problem, each place once."""
    settings, errors = _attempt(document.value, around)
    unknown = [error for error in errors if error["type"] == "extra_forbidden"]
    if unknown:
        # An unknown key hides what else its section would refuse; without it the rest can speak.
        _, others = _attempt(_without(document.value, (error["loc"] for error in unknown)), around)
        errors = [*unknown, *others]
    problems: dict[str, Problem] = {}
    for problem in (*document.problems, *(_problem(error, document) for error in errors)):
        problems.setdefault(problem.path, problem)
    return (None if problems else settings), tuple(problems.values())


def agreed(settings: Settings, source: str) -> Settings:
    """Settings that were put together of others, if they stand together as those of one file must."""
    problems = tuple(_contradictions(settings, ()))
    if problems:
        raise ConfigRefused(source, problems)
    return settings


def _contradictions(value: object, loc: Loc) -> Iterator[Problem]:
    match value:
        case Section():
            for place, reason in value.conflicts():
                yield Problem(path=path_text((*loc, *place)), reason=reason)
            for name, info in type(value).model_fields.items():
                yield from _contradictions(getattr(value, name), (*loc, str(info.alias)))
        case Mapping():
            for name, item in value.items():
                yield from _contradictions(item, (*loc, str(name)))
        case tuple():
            for index, item in enumerate(value):
                yield from _contradictions(item, (*loc, index))
        case _:
            pass


def _attempt(value: object, around: Surroundings) -> tuple[Settings | None, list[ErrorDetails]]:
    try:
        return Settings.model_validate(value, context=around), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _without(value: object, places: Iterable[Loc]) -> object:
    pruned = copy.deepcopy(value)
    for loc in places:
        parent = pruned
        for part in loc[:-1]:
            parent = parent[part]  # type: ignore[index]
        del parent[loc[-1]]  # type: ignore[attr-defined]
    return pruned


def _problem(error: ErrorDetails, document: Document) -> Problem:
    loc = error["loc"]
    path = path_text(loc[:-1] if loc[-1:] == (KEY,) else loc) or WHOLE
    shape = shape_at(Settings, loc)
    match error["type"]:
        case "conflict":
            return Problem(path=path, reason=error["msg"])
        case "extra_forbidden":
            return _unknown(path, loc)
        case "missing":
            return Problem(path=path, reason="missing", allowed=_allowed(shape))
    cause = error.get("ctx", {}).get("error")
    reason = str(cause) if isinstance(cause, SpellingError) else ""
    reason = reason or f"found {_described(error['input'], shape, hidden=loc in document.hidden)}"
    options = shape.options if isinstance(shape, Leaf) else ()
    likely = nearest(error["input"], options) if isinstance(error["input"], str) else ""
    return Problem(path=path, reason=reason, allowed=_allowed(shape), nearest=likely)


def _unknown(path: str, loc: Loc) -> Problem:
    section = shape_at(Settings, loc[:-1])
    names = list(section.fields) if isinstance(section, ObjectOf) else []
    name = str(loc[-1])
    elsewhere = (key.path for key in keys() if key.path.rpartition(".")[2] == name)
    likely = nearest(name, names) or next(elsewhere, "")
    return Problem(path=path, reason="unknown key", allowed=", ".join(names), nearest=likely)


def _allowed(shape: Shape | None) -> str:
    match shape:
        case Leaf():
            return shape.allowed
        case ListOf():
            return f"list of {_allowed(shape.item)}"
        case _:
            return "object"


def _described(value: object, shape: Shape | None, *, hidden: bool) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case bool() | int() | float():
            return orjson.dumps(value).decode()
        case str() if not value.strip():
            return "empty text"
        case str() if (
            isinstance(shape, Leaf) and not shape.secret and not hidden and len(value) <= _LONGEST_QUOTE
        ):
            return f'"{value}"'
        case _:
            return "text"
