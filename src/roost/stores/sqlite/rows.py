"""Statements on one SQLite connection. The coroutines here never wait."""

from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, ClassVar

import apsw

from roost.stores.sql.rows import SHARED, Row, Rows, Values
from roost.stores.statements import load, together

SQL = together(SHARED, load(files("roost.stores.sqlite") / "queries.sql"))


class SqliteRows(Rows):
    sql = SQL
    taken: ClassVar[type[Exception]] = apsw.ConstraintError

    def __init__(self, connection: apsw.Connection, tenant: str, database_now: Callable[[], int]) -> None:
        super().__init__(tenant)
        self._connection = connection
        self._execute: Callable[..., apsw.Cursor] = connection.execute
        self._now = database_now

    async def database_now(self) -> int:
        return self._now()

    async def _rows(self, sql: str, values: Values) -> Sequence[Any]:
        return self._execute(sql, values).fetchall()

    async def _row(self, sql: str, values: Values) -> Any:
        return self._execute(sql, values).fetchone()

    async def _changed(self, sql: str, values: Values) -> int:
        self._execute(sql, values)
        return self._connection.changes()

    async def _write_all(self, statement: str, rows: Sequence[Row]) -> None:
        self._connection.executemany(self.sql[statement], rows)
