"""The store in one SQLite file. A verb runs on the writer and reads through the writer's connection."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from roost.core.errors import Fenced
from roost.core.leases import Gateway, Lease
from roost.ports import Clock
from roost.stores.sql.rows import TENANT
from roost.stores.sqlite.backup import copy_database
from roost.stores.sqlite.checking import faults
from roost.stores.sqlite.connection import EngineError, make_private, open_beside, open_writer, translated
from roost.stores.sqlite.log import Log
from roost.stores.sqlite.looks import Looks, NotALook
from roost.stores.sqlite.readers import Readers
from roost.stores.sqlite.rows import SQL
from roost.stores.sqlite.tables import SqliteTables, WriterTables
from roost.stores.sqlite.writer import Work, Writer
from roost.stores.starting import starts
from roost.stores.tables import drive
from roost.stores.unit import Unit
from roost.stores.verbs import StoreVerbs
from roost.stores.verbs.base import Answer, ReadVerb, WriteVerb

STEP = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteOptions:
    """How the file is opened; the defaults are the durable ones. `damaged`: also if tables and indexes are missing, to
    mend it or to look at it."""

    readers: int = 4
    synchronous: str = "FULL"
    vfs: str | None = None
    damaged: bool = False


class SqliteStore(StoreVerbs):
    """Opened by `SqliteStore.open`; writes need the lease, reads do not."""

    def __init__(self, path: Path, clock: Clock, database_clock: Clock, options: SqliteOptions) -> None:
        super().__init__()
        self.path = path
        self._clock = clock
        self._lease: Lease | None = None
        self._epoch: int | None = None
        self._connection = open_writer(path, options.vfs, options.synchronous, damaged=options.damaged)
        self._tables = WriterTables(self._connection, TENANT, database_clock.now)
        self._readers = Readers(path, options, lambda c: SqliteTables(c, TENANT, database_clock.now))
        self._looks = Looks(path, options.vfs, database_clock.now)
        self._log = Log(self._connection, lambda: open_beside(path, options.vfs))
        self._writer = Writer(
            self._connection,
            self._tables,
            began=self._look_at_epoch,
            translate=self._translate,
            log=self._log,
        )

    @classmethod
    def open(
        cls,
        path: Path,
        clock: Clock,
        *,
        database_clock: Clock | None = None,
        options: SqliteOptions | None = None,
    ) -> "SqliteStore":
        """Open or create the file; only this user may read a file it creates."""
        make_private(path)
        return cls(path, clock, database_clock or clock, options or SqliteOptions())

    async def acquire_lease(self, gateway: Gateway) -> Lease:
        self._lease = await super().acquire_lease(gateway)
        return self._lease

    async def backup(self, path: Path) -> None:
        """Write a consistent copy to a new file while work goes on."""
        await self._readers.run(lambda tables, connection: copy_database(connection, path))

    async def check(self) -> tuple[str, ...]:
        return await self._readers.run(lambda tables, connection: faults(connection))

    async def repair(self) -> tuple[str, ...]:
        """In steps: a lease must be renewed meanwhile. Cut short, it is done again from the beginning."""
        before = await self.check()
        for mend in (
            SqliteTables.restore_structure,
            SqliteTables.adopt,
            SqliteTables.restate_work,
            SqliteTables.relink_children,
            SqliteTables.fill_feeds,
        ):
            await self._mend(mend)
        through = await self._mend(SqliteTables.drop_search)
        await self._mend_all(lambda tables, after: tables.index_entries(after, through, STEP))
        await self._mend_all(lambda tables, after: tables.summarise_sessions(after, STEP))
        left = frozenset(await self.check())
        return tuple(fault for fault in before if fault not in left)

    async def _mend(self, mend: Callable[[SqliteTables], Answer]) -> Answer:
        async def verb(unit: Unit) -> Answer:
            self._tables.settle()
            self._tables.forget()
            return mend(self._tables)

        return await self._write(verb)

    async def _mend_all(self, mend: Callable[[SqliteTables, int], int | None]) -> None:
        """Step by step; each says where the next one begins."""
        after: int | None = 0
        while after is not None:
            step: Callable[[SqliteTables], int | None] = partial(_continued, mend=mend, after=after)
            after = await self._mend(step)

    async def give_back(self) -> int:
        freed = await super().give_back()
        if freed:
            # The file shrinks when the log that says so is moved into it.
            await self._writer.run_and_shorten(self._work(self._fenced(_nothing)))
        return freed

    async def close(self) -> None:
        await self._writer.close()
        await asyncio.to_thread(self._log.close)
        await self._readers.close()
        self._looks.close()
        try:
            self._connection.close()
        except apsw.Error as error:
            raise self._translate(error) from error
        finally:
            self.topics.close()

    async def release_lease(self, lease: Lease) -> None:
        await super().release_lease(lease)
        if self._lease is not None and self._lease.epoch == lease.epoch:
            self._lease = None

    async def _write(self, verb: WriteVerb[Answer]) -> Answer:
        return await self._writer.run(self._work(self._fenced(verb)))  # type: ignore[no-any-return]

    async def _write_first(self, verb: WriteVerb[Answer]) -> Answer:
        return await self._writer.run_first(self._work(self._fenced(verb)))  # type: ignore[no-any-return]

    async def _write_unleased(self, verb: WriteVerb[Answer]) -> Answer:
        return await self._writer.run(self._work(verb))  # type: ignore[no-any-return]

    def _fenced(self, verb: WriteVerb[Answer]) -> WriteVerb[Answer]:
        lease = self._lease
        if lease is None:
            raise Fenced("this store is open without a lease", hint="acquire the lease before writing")

        def fenced(unit: Unit) -> Coroutine[Any, Any, Answer]:
            self._refuse_lost(lease)
            return verb(unit)

        return fenced

    def _work(self, verb: WriteVerb[Answer]) -> Work:
        starter = self._starter

        def work() -> tuple[Answer, Callable[[], None]]:
            unit = Unit(self._tables, self._clock, self._longest, self._seals, starts(starter))
            answer = drive(verb(unit))
            drive(unit.flush())

            def tell() -> None:
                if starter and unit.started:
                    starter.begin(unit.started)
                self._told(unit.waking)

            return answer, tell

        return work

    async def _read(self, verb: ReadVerb[Answer]) -> Answer:
        # Who reads again and again gives way to others in between.
        await asyncio.sleep(0)
        try:
            return self._looks.read(lambda tables: drive(verb(tables)))
        except NotALook:
            return await self._readers.run(lambda tables, _: drive(verb(tables)))

    def _look_at_epoch(self) -> None:
        """Once a batch: a raised epoch means that another process may have written."""
        newest: Any = self._connection.execute(SQL["newest_epoch"]).fetchone()
        if newest[0] != self._epoch:
            self._epoch = newest[0]
            self._tables.forget()

    def _refuse_lost(self, lease: Lease) -> None:
        if self._epoch != lease.epoch:
            raise Fenced(
                f"the store has a new owner (epoch {self._epoch}, this gateway holds {lease.epoch})",
                hint="stop this gateway's work and acquire a new lease",
            )

    def _translate(self, error: EngineError) -> Exception:
        return translated(error, self.path)


def _continued(
    tables: SqliteTables, *, mend: Callable[[SqliteTables, int], int | None], after: int
) -> int | None:
    return mend(tables, after)


async def _nothing(unit: Unit) -> None:
    """A verb without effect."""
