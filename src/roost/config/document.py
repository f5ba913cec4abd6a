"""A parsed document with the environment filled in: `${NAME}` is a variable, `$${` the characters `${`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from roost.config.problems import Problem, path_text
from roost.config.section import Loc

WHOLE = "the document"

_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LARGEST_NUMBER = 2**63
_HALF = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Document:
    """Values at places in `hidden` came from the environment; messages do not quote them."""

    value: object
    hidden: set[Loc] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def refuse(self, loc: Loc, reason: str) -> None:
        self.problems.append(Problem(path=path_text(loc) or WHOLE, reason=reason))


def fill(value: object, environ: Mapping[str, str]) -> Document:
    """The document that `value` stands for; what cannot be filled stays as it is, with a problem."""
    document = Document(value)
    document.value = _filled(value, (), environ, document)
    return document


def _filled(value: object, loc: Loc, environ: Mapping[str, str], document: Document) -> object:
    match value:
        case dict():
            return {name: _filled(item, (*loc, name), environ, document) for name, item in value.items()}
        case list():
            return [_filled(item, (*loc, index), environ, document) for index, item in enumerate(value)]
        case None:
            document.refuse(loc, "found null; leave the key out to get its default")
            return None
        case str():
            return _filled_text(value, loc, environ, document)
        case int() | float() if not abs(value) < _LARGEST_NUMBER:
            document.refuse(loc, "the number is too large, or none at all")
            return value
        case _:
            return value


def _filled_text(text: str, loc: Loc, environ: Mapping[str, str], document: Document) -> str:
    def replace(found: re.Match[str]) -> str:
        if found[0] == "$${":
            return "${"
        name, end = found.groups()
        if not end or not _VARIABLE.fullmatch(name):
            document.refuse(
                loc, "`${` begins a variable's name, ended by `}`; write `$${` for the characters"
            )
            return found[0]
        if name not in environ:
            document.refuse(loc, f"the environment has no {name}; set it, or write `$${{` for the characters")
            return found[0]
        document.hidden.add(loc)
        return environ[name]

    filled = _REFERENCE.sub(replace, text)
    if _HALF.search(filled):
        document.refuse(loc, "the text holds half a character, a lone surrogate")
    if "\0" in filled:
        document.refuse(loc, "the text holds a null character, with which no path and no name goes on")
    return filled
