"""Statements in the words of PostgreSQL: the shared ones are written for SQLite and differ in few places."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from roost.stores.sql.rows import SHARED, Binding, Values
from roost.stores.statements import load, together

_WORDS = (
    (re.compile(r" INDEXED BY \w+"), ""),
    # As an array: rows that are joined to are guessed to be many, and the whole table read for them.
    (
        re.compile(r"\bNOT IN \(SELECT value FROM json_each\(([^)]+)\)\)"),
        r"<> ALL(ARRAY(SELECT value FROM json_each(\1)))",
    ),
    (
        re.compile(r"\bIN \(SELECT value FROM json_each\(([^)]+)\)\)"),
        r"= ANY(ARRAY(SELECT value FROM json_each(\1)))",
    ),
    (re.compile(r"\bjson_each\(([^)]+)\)"), r"json_array_elements_text(\1::json)"),
    (re.compile(r"\binstr\("), "strpos("),
    (re.compile(r"([\w.]+) ->> '\$\.(\w+)'"), r"(\1::json ->> '\2')"),
)
_PLACE = re.compile(r"\?(\d*)|(?<!:):([a-z_]\w*)")


def in_postgresql(sql: str) -> str:
    for found, put in _WORDS:
        sql = found.sub(put, sql)
    return sql


_ALL = together(SHARED, load(files("roost.stores.postgres") / "queries.sql"))
_LOCKING = ("session", "lease", "balance", "reservation", "reservations", "job")
SQL: Mapping[str, str] = {
    **{name: in_postgresql(sql) for name, sql in _ALL.items()},
    **{f"lock_{name}": f"{in_postgresql(_ALL[name])} FOR UPDATE" for name in _LOCKING},
    "keep_lease": f"{_ALL['lease']} FOR SHARE",
}


@dataclass(frozen=True, slots=True)
class Numbered:
    """A statement with its places as numbers, and the names they stand for if it has names."""

    text: str
    names: tuple[str, ...]

    def values(self, given: Values) -> tuple[Binding, ...]:
        if isinstance(given, Mapping):
            return tuple([given[name] for name in self.names])
        return tuple(given)


@lru_cache(1024)
def numbered(sql: str) -> Numbered:
    """`?` and `:name` as `$1`, `$2` and so on; a name has one number however often it stands there."""
    names: list[str] = []
    count = 0

    def number(place: re.Match[str]) -> str:
        nonlocal count
        if place[2] is not None:
            if place[2] not in names:
                names.append(place[2])
            return f"${names.index(place[2]) + 1}"
        count += 1
        return f"${place[1] or count}"

    return Numbered(_PLACE.sub(number, sql), tuple(names))
