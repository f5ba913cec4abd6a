"""Statements kept in files of SQL, each under its name."""

import re
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from types import MappingProxyType

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


def load(file: Traversable) -> Mapping[str, str]:
    """The statements of a file by name, comments and the closing semicolon removed."""
    parts = _NAME.split(file.read_text(encoding="utf-8"))[1:]
    return MappingProxyType({name: _bare(sql) for name, sql in zip(parts[::2], parts[1::2], strict=True)})


def _bare(sql: str) -> str:
    lines = [line for line in sql.splitlines() if not line.startswith("--")]
    return "\n".join(lines).strip().removesuffix(";")
