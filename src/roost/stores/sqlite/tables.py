"""All rows of the SQLite store on one connection."""

from collections import OrderedDict
from collections.abc import Callable, Sequence

import apsw

from roost.core.keys import SessionKey
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.stores.sql.budget_rows import BudgetRows
from roost.stores.sql.fact_rows import FactRows
from roost.stores.sql.job_rows import JobRows
from roost.stores.sql.point_rows import PointRows
from roost.stores.sql.registry_rows import RegistryRows
from roost.stores.sql.rows import Row, Values
from roost.stores.sql.session_values import read_session
from roost.stores.sql.work_rows import WorkRows
from roost.stores.sqlite.repair_rows import RepairRows
from roost.stores.sqlite.rows import SQL

HOT_SESSIONS = 4_096
HOT_RUNS = 4_096


class SqliteTables(RepairRows, WorkRows, FactRows, RegistryRows, BudgetRows, JobRows, PointRows):
    """`Tables` over one connection, used on the thread that owns it."""


class WriterTables(SqliteTables):
    """Remembers the sessions and runs it wrote last. Right only for the one writer of a file, which hears of every change
    because it makes them all; `forget` when that may not hold: after a rollback or a lost lease. Leases are what others
    write too, and are read each time.

    Rows that no other statement depends on wait until one does or the transaction ends, and are written together: a
    statement that is run for many rows costs half as much a row."""

    def __init__(self, connection: apsw.Connection, tenant: str, database_now: Callable[[], int]) -> None:
        super().__init__(connection, tenant, database_now)
        self._hot: OrderedDict[SessionKey, Session] = OrderedDict()
        self._runs: dict[str, Run] = {}
        self._rowids: dict[str, int] = {}
        self._next_entry = 0
        self._waiting: dict[str, list[Row]] = {}
        self._waited = 0
        self._execute = self._execute_after

    def forget(self) -> None:
        self._hot.clear()
        self._runs.clear()
        self._rowids.clear()
        self._numbers.clear()
        self._next_entry = 0
        self._waiting.clear()

    def settle(self) -> None:
        before = self._connection.total_changes()
        for statement, rows in self._waiting.items():
            self._connection.executemany(SQL[statement], rows)
        self._waiting.clear()
        # Counted when they came.
        self._waited -= self._connection.total_changes() - before

    def changes(self) -> int:
        return self._connection.total_changes() + self._waited

    def _execute_after(self, statement: str, values: Values = ()) -> apsw.Cursor:
        if self._waiting:
            self.settle()
        return self._connection.execute(statement, values)

    async def _write_all(self, statement: str, rows: Sequence[Row]) -> None:
        self._waiting.setdefault(statement, []).extend(rows)
        self._waited += len(rows)

    async def lock_session(self, key: SessionKey) -> Session | None:
        session = self._hot.get(key)
        if session is None:
            row = await self._session_row(key)
            if row is None:
                return None
            session = read_session(row)
            self._numbers[session.key] = row[0]
            self._keep(session)
        return session

    async def insert_session(self, session: Session) -> None:
        await super().insert_session(session)
        self._keep(session)

    async def update_session(self, was: Session, now: Session) -> None:
        await super().update_session(was, now)
        self._keep(now)

    async def delete_session(self, key: SessionKey) -> None:
        await super().delete_session(key)
        self.forget()

    async def delete_generation(self, session_id: str) -> None:
        await super().delete_generation(session_id)
        self._rowids.pop(session_id, None)

    async def run(self, run_id: str) -> Run | None:
        return self._runs.get(run_id) or await super().run(run_id)

    async def insert_run(self, run: Run) -> None:
        await super().insert_run(run)
        self._keep_run(run)

    async def update_run(self, run: Run) -> None:
        await super().update_run(run)
        self._keep_run(run)

    async def _generation_row(self, session_id: str) -> int:
        row = self._rowids.get(session_id)
        if row is None:
            if len(self._rowids) >= 2 * HOT_SESSIONS:
                self._rowids.clear()
            row = self._rowids[session_id] = await super()._generation_row(session_id)
        return row

    def _entry_numbers(self, count: int) -> int:
        first = self._next_entry or super()._entry_numbers(count)
        self._next_entry = first + count
        return first

    def _keep(self, session: Session) -> None:
        self._hot[session.key] = session
        self._hot.move_to_end(session.key)
        if len(self._hot) > HOT_SESSIONS:
            self._drop_oldest()

    def _keep_run(self, run: Run) -> None:
        if run.state.ended:
            self._runs.pop(run.id, None)
            return
        if len(self._runs) >= HOT_RUNS:
            self._runs.clear()
        self._runs[run.id] = run

    def _drop_oldest(self) -> None:
        key, session = self._hot.popitem(last=False)
        self._rowids.pop(session.session_id, None)
        self._numbers.pop(key, None)
