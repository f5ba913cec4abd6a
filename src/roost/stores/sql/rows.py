"""What the row groups share: statements by name, run by whatever reaches the database, and the number behind a key.

Statements are written as SQLite binds them, `?` or `:name`. What one database says in another way is in a file of its
own.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, ClassVar, TypeAlias

from roost.core.errors import Conflict
from roost.core.inbound import InboundRecord
from roost.core.keys import SessionKey
from roost.core.queries import Calendar
from roost.core.visibility import VisibleScope
from roost.stores.codec import decode_shared, encode, key_text, to_text
from roost.stores.statements import load

_FOREVER = 2**62
FILTERS = "/* filters */"
TENANT = "default"
Binding: TypeAlias = int | str | None
Row: TypeAlias = tuple[Binding, ...]
Values: TypeAlias = Sequence[Binding] | Mapping[str, Binding]
Bindings: TypeAlias = dict[str, Binding]

SHARED = load(files("roost.stores.sql") / "queries.sql")


class Rows(ABC):
    """Row access on one connection."""

    sql: ClassVar[Mapping[str, str]]
    taken: ClassVar[type[Exception]]
    """What the database raises for a second row where there may be one."""

    def __init__(self, tenant: str) -> None:
        self._tenant = tenant
        self._numbers: dict[SessionKey, int] = {}

    @abstractmethod
    async def _rows(self, sql: str, values: Values) -> Sequence[Any]:
        """The rows a statement answers."""

    @abstractmethod
    async def _row(self, sql: str, values: Values) -> Any:
        """The first of them, or None."""

    @abstractmethod
    async def _changed(self, sql: str, values: Values) -> int:
        """How many rows a statement changed."""

    @abstractmethod
    async def _write_all(self, statement: str, rows: Sequence[Row]) -> None:
        """Rows that no later statement depends on, but one that reads them."""

    def _all(self, statement: str, values: Values = ()) -> Awaitable[Sequence[Any]]:
        return self._rows(self.sql[statement], values)

    def _one(self, statement: str, values: Values = ()) -> Awaitable[Any]:
        return self._row(self.sql[statement], values)

    def _do(self, statement: str, values: Values = ()) -> Awaitable[int]:
        return self._changed(self.sql[statement], values)

    async def _body(self, statement: str, values: Values, hint: type) -> Any:
        """The value in the one row of a statement, or None."""
        row = await self._row(self.sql[statement], values)
        return None if row is None else decode_shared(hint, row[0])

    async def _bodies(self, statement: str, values: Values, hint: type) -> tuple[Any, ...]:
        return tuple([decode_shared(hint, row[0]) for row in await self._rows(self.sql[statement], values)])

    async def _figure(self, statement: str, values: Values) -> int:
        return int((await self._row(self.sql[statement], values))[0])

    async def _insert_new(self, statement: str, values: Values, what: str) -> None:
        try:
            await self._changed(self.sql[statement], values)
        except self.taken:
            raise Conflict(f"{what} is taken") from None


def filtered(sql: Mapping[str, str], statement: str, conditions: Sequence[str]) -> str:
    """A statement with conditions where it leaves room for them."""
    return sql[statement].replace(FILTERS, "\n".join(sql[one] for one in conditions))


def scope_conditions(scope: VisibleScope, bindings: Bindings) -> list[str]:
    """The conditions that keep a query inside a scope; adds what they bind."""
    if scope.agents is None and scope.owner is None:
        return []
    bindings["self_key"] = key_text(scope.self_key) if scope.self_key else None
    bindings["tree_of"] = key_text(scope.tree_of) if scope.tree_of else None
    bindings["owner"] = str(scope.owner) if scope.owner else None
    if scope.agents is None:
        # A person has nothing but what is their own, which an index finds.
        return ["where_owner" if scope.self_key is None and scope.tree_of is None else "where_of_owner"]
    if not scope.agents:
        return ["where_in_tree"]
    bindings["agents"] = listed(scope.agents)
    return ["where_of_agents"]


def listed(words: Iterable[str]) -> str:
    """Words in the form that a database makes rows of."""
    return to_text(sorted(words))


def spells(calendar: Calendar) -> str:
    """The times between two shifts, each with how far the clocks are ahead: the newest first, where most rows are."""
    found, until = [], _FOREVER
    for shift in reversed(calendar.shifts):
        found.append({"since": shift.since, "until": until, "ahead": shift.ahead})
        until = shift.since
    return to_text([*found, {"since": -_FOREVER, "until": until, "ahead": calendar.ahead}])


def inbound_update(record: InboundRecord) -> tuple[Binding, ...]:
    """What changes of a message, and which."""
    return (
        record.state,
        record.run_id,
        record.merged_into,
        record.reason,
        encode(record),
        record.inbound.id,
    )
