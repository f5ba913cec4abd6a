"""A dictionary of rows that can be put back as it was."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from roost.stores.codec import encode

Name = TypeVar("Name")
Row = TypeVar("Row")
Undo = list[Callable[[], None]]


class Rows(Generic[Name, Row]):
    """Rows by name, in order of arrival; every change leaves its reverse in the undo log."""

    def __init__(self, undo: Undo) -> None:
        self._undo = undo
        self._rows: dict[Name, Row] = {}

    def __iter__(self) -> Iterator[Row]:
        return iter(tuple(self._rows.values()))

    def __contains__(self, name: Name) -> bool:
        return name in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def items(self) -> Iterator[tuple[Name, Row]]:
        return iter(tuple(self._rows.items()))

    def get(self, name: Name) -> Row | None:
        return self._rows.get(name)

    def put(self, name: Name, row: Row) -> None:
        if name in self._rows:
            was = self._rows[name]
            self._undo.append(lambda: self._rows.__setitem__(name, was))
        else:
            self._undo.append(lambda: self._rows.__delitem__(name))
        self._rows[name] = row

    def drop(self, name: Name) -> None:
        before = self._rows
        self._rows = {other: row for other, row in before.items() if other != name}
        self._undo.append(lambda: setattr(self, "_rows", before))

    def drop_where(self, unwanted: Callable[[Row], bool]) -> None:
        before = self._rows
        self._rows = {name: row for name, row in before.items() if not unwanted(row)}
        self._undo.append(lambda: setattr(self, "_rows", before))


class Records(Rows[Name, Row]):
    """Rows that are records. What no database could write down is refused here as well."""

    def put(self, name: Name, row: Row) -> None:
        encode(row)
        super().put(name, row)
