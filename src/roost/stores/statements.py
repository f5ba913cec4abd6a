"""Statements kept in files of SQL, each under its name."""

import re
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from types import MappingProxyType

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_PLACE = re.compile(r"/\* (\w+) \*/")


def load(file: Traversable) -> Mapping[str, str]:
    """The statements of a file by name, comments and the closing semicolon removed."""
    parts = _NAME.split(file.read_text(encoding="utf-8"))[1:]
    return MappingProxyType({name: _bare(sql) for name, sql in zip(parts[::2], parts[1::2], strict=True)})


def together(*files: Mapping[str, str]) -> Mapping[str, str]:
    """All of them, a later one in place of an earlier one of its name; `/* name */` stands for the statement of that name."""
    every = {name: sql for file in files for name, sql in file.items()}

    def named(place: re.Match[str]) -> str:
        return every.get(place[1], place[0])

    return MappingProxyType({name: _PLACE.sub(named, sql) for name, sql in every.items()})


def _bare(sql: str) -> str:
    lines = [line for line in sql.splitlines() if not line.startswith("--")]
    return "\n".join(lines).strip().removesuffix(";")
