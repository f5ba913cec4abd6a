"""All rows of the PostgreSQL store in one transaction.

What belongs to a session is written under the lock of its row; who starts work or sends keeps that to itself, so that
no limit is passed by two at once.
"""

from collections.abc import Sequence

from roost.core.addresses import Account
from roost.core.budgets import Balance, Reservation
from roost.core.deliveries import Delivery
from roost.core.fleet import Hosting
from roost.core.jobs import Job
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.ports import Clock
from roost.stores.codec import key_text
from roost.stores.postgres.rows import Connection
from roost.stores.postgres.search_rows import SearchRows
from roost.stores.sql.budget_rows import BudgetRows, read_balance
from roost.stores.sql.fact_rows import FactRows, read_lease
from roost.stores.sql.job_rows import JobRows
from roost.stores.sql.point_rows import PointRows
from roost.stores.sql.registry_rows import RegistryRows
from roost.stores.sql.rows import listed
from roost.stores.sql.session_values import read_session
from roost.stores.sql.work_rows import WorkRows


class PostgresTables(SearchRows, WorkRows, FactRows, RegistryRows, BudgetRows, JobRows, PointRows):
    """`Tables` for what only reads. Leases are judged by `judge`, or by the server's own clock."""

    def __init__(self, connection: Connection, tenant: str, judge: Clock | None) -> None:
        super().__init__(connection, tenant)
        self._judge = judge

    async def database_now(self) -> int:
        return await self._figure("now", ()) if self._judge is None else self._judge.now()


class WriterTables(PostgresTables):
    """`Tables` for what writes: rows are locked as they are read to be changed."""

    async def lock_session(self, key: SessionKey) -> Session | None:
        session = await self._locked(key)
        if session is None:
            # There is no row to lock: who would make it keeps its name, and looks whether it was made meanwhile.
            await self._keep(f"session {key_text(key)}")
            session = await self._locked(key)
        return session

    async def _locked(self, key: SessionKey) -> Session | None:
        row = await self._one("lock_session", (self._tenant, key_text(key)))
        if row is None:
            return None
        self._numbers[key] = row[0]
        return read_session(row)

    async def delete_session(self, key: SessionKey) -> None:
        await super().delete_session(key)
        await self._do("note_gone", (key_text(key),))

    async def keep_name(self, name: str) -> None:
        await self._keep(name)

    async def lock_leases(self) -> tuple[Lease, ...]:
        # Only of those who come and go: who holds one goes on under it, and one who stands still is not waited for.
        await self._keep("leases")
        return await self.leases()

    async def lock_hostings(self) -> tuple[Hosting, ...]:
        await self._keep("channels")
        return await super().lock_hostings()

    async def keep_lease(self, name: str) -> Lease | None:
        row = await self._one("keep_lease", (name,))
        return None if row is None else read_lease(row)

    async def lock_lease(self, name: str) -> Lease | None:
        row = await self._one("lock_lease", (name,))
        return None if row is None else read_lease(row)

    async def ready_runs(self, now: int, per_asker: int, limit: int) -> tuple[Run, ...]:
        await self._keep("starting runs")
        return await super().ready_runs(now, per_asker, limit)

    async def still_ready(self, runs: Sequence[Run]) -> tuple[Run, ...]:
        keys = listed({key_text(run.key) for run in runs})
        ours = {row[0] for row in await self._all("seize_sessions", (self._tenant, keys))}
        ids = listed([run.id for run in runs])
        queued: tuple[Run, ...] = await self._bodies("still_queued", (ids,), Run)
        unchanged = {run.id: run for run in queued if key_text(run.key) in ours}
        return tuple(run for run in runs if unchanged.get(run.id) == run)

    async def due_deliveries(self, now: int, limit: int, without: frozenset[Account]) -> tuple[Delivery, ...]:
        await self._keep("sending")
        return await super().due_deliveries(now, limit, without)

    async def lock_job(self, job_id: str) -> Job | None:
        # One that is not there yet is made by one at a time.
        await self._keep(f"job {job_id}")
        return await self._body("lock_job", (job_id,), Job)  # type: ignore[no-any-return]

    async def lock_balances(self, names: Sequence[str]) -> dict[str, Balance]:
        empty = Balance()
        for name in names:
            values = (name, empty.since, empty.spent, empty.held, empty.warned, self._tenant)
            await self._do("open_balance", values)
        return await super().lock_balances(names)

    async def _balance(self, name: str) -> Balance:
        return read_balance(await self._one("lock_balance", (name,)))

    async def reservation(self, call_id: str) -> Reservation | None:
        return await self._body("lock_reservation", (call_id,), Reservation)  # type: ignore[no-any-return]

    async def reservations(self, run_id: str) -> tuple[Reservation, ...]:
        return await self._bodies("lock_reservations", (run_id,), Reservation)

    async def _keep(self, name: str) -> None:
        await self._one("keep_to_ourselves", (name,))
