"""Statements on one PostgreSQL connection, inside its transaction."""

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import asyncpg

from roost.stores.postgres.dialect import SQL, numbered
from roost.stores.sql.rows import Row, Rows, Values

Connection: TypeAlias = asyncpg.Connection


class PostgresRows(Rows):
    sql = SQL
    taken: ClassVar[type[Exception]] = asyncpg.UniqueViolationError

    def __init__(self, connection: Connection, tenant: str) -> None:
        super().__init__(tenant)
        self._connection = connection

    async def _rows(self, sql: str, values: Values) -> Sequence[Any]:
        statement = numbered(sql)
        found: Sequence[Any] = await self._connection.fetch(statement.text, *statement.values(values))
        return found

    async def _row(self, sql: str, values: Values) -> Any:
        statement = numbered(sql)
        return await self._connection.fetchrow(statement.text, *statement.values(values))

    async def _changed(self, sql: str, values: Values) -> int:
        statement = numbered(sql)
        done = await self._connection.execute(statement.text, *statement.values(values))
        return int(done.rpartition(" ")[2])

    async def _write_all(self, statement: str, rows: Sequence[Row]) -> None:
        text = numbered(self.sql[statement]).text
        if len(rows) == 1:
            await self._connection.execute(text, *rows[0])
        else:
            await self._connection.executemany(text, rows)
