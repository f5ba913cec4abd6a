"""What the row groups share: one connection, its statements, and the number behind a key."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, TypeAlias

import apsw

from roost.core.inbound import InboundRecord
from roost.core.keys import SessionKey
from roost.core.visibility import VisibleScope
from roost.stores.codec import decode_shared, encode, key_text
from roost.stores.statements import load

SQL = load(files("roost.stores.sqlite") / "queries.sql")
FILTERS = "/* filters */"
Binding = int | str | None
Row: TypeAlias = tuple[Binding, ...]
Bindings: TypeAlias = Sequence[Binding] | Mapping[str, Binding]


class Rows:
    """Row access on one connection."""

    def __init__(self, connection: apsw.Connection, tenant: str, database_now: Callable[[], int]) -> None:
        self._connection = connection
        self._execute: Callable[..., apsw.Cursor] = connection.execute
        self._tenant = tenant
        self._database_now = database_now
        self._numbers: dict[SessionKey, int] = {}

    def _write_all(self, statement: str, rows: Sequence[Row]) -> None:
        """Rows that no later statement depends on, but one that reads them."""
        self._connection.executemany(SQL[statement], rows)

    def _body(self, statement: str, bindings: Sequence[Binding], hint: type) -> Any:
        """The value in the one row of a statement, or None."""
        row = self._execute(SQL[statement], bindings).fetchone()
        return None if row is None else decode_shared(hint, row[0])

    def _bodies(self, statement: str, bindings: Sequence[Binding], hint: type) -> tuple[Any, ...]:
        return tuple([decode_shared(hint, row[0]) for row in self._execute(SQL[statement], bindings)])


def filtered(statement: str, conditions: Sequence[str]) -> str:
    return SQL[statement].replace(FILTERS, "\n".join(SQL[condition] for condition in conditions))


def scope_conditions(scope: VisibleScope, bindings: dict[str, Binding]) -> list[str]:
    """The conditions that keep a query inside a scope; adds what they bind."""
    if scope.agents is None and scope.owner is None:
        return []
    bindings["self_key"] = key_text(scope.self_key) if scope.self_key else None
    bindings["tree_of"] = key_text(scope.tree_of) if scope.tree_of else None
    bindings["owner"] = str(scope.owner) if scope.owner else None
    if scope.agents is None:
        return ["where_of_owner"]
    if not scope.agents:
        return ["where_in_tree"]
    bindings["agents"] = listed(scope.agents)
    return ["where_of_agents"]


def listed(words: Iterable[str]) -> str:
    """Words in the form that `json_each` reads."""
    return encode(tuple(sorted(words)), tuple[str, ...])


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
