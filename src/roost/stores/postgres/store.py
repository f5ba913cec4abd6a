"""The store on a PostgreSQL server. Every gateway writes; what must not happen twice is decided under row locks."""

import logging
from collections.abc import Callable

from roost.core.figures import counted
from roost.ports import Clock
from roost.stores.migrations import steps_in
from roost.stores.postgres.address import read_address, without_password
from roost.stores.postgres.checking import CheckedTables
from roost.stores.postgres.connection import (
    DRIVER_ERRORS,
    IDLE_MS,
    WORKER,
    PostgresOptions,
    connect,
    driver_settings,
    open_pool,
    refuse_old_server,
    translated,
)
from roost.stores.postgres.dialect import SQL, numbered
from roost.stores.postgres.migrating import MIGRATIONS, migrate
from roost.stores.postgres.notices import Notices
from roost.stores.postgres.rows import Connection
from roost.stores.postgres.tables import PostgresTables, WriterTables
from roost.stores.postgres.transactions import Transactions
from roost.stores.sql.rows import TENANT
from roost.stores.unit import Unit
from roost.stores.verbs import StoreVerbs
from roost.stores.verbs.base import Answer, ReadVerb, WriteVerb

_log = logging.getLogger(__name__)


class PostgresStore(StoreVerbs):
    """Opened by `PostgresStore.open`."""

    exclusive = False

    def __init__(
        self,
        clock: Clock,
        judge: Clock | None,
        work: Transactions,
        urgent: Transactions,
        notices: Callable[["PostgresStore"], Notices],
    ) -> None:
        super().__init__()
        self._clock = clock
        self._judge = judge
        self._work = work
        self._urgent = urgent
        self._notices = notices(self)

    @classmethod
    async def open(
        cls, address: str, clock: Clock, *, database_clock: Clock | None = None
    ) -> "PostgresStore":
        """Reach the server and bring its schema up to date. Leases are judged by the server's clock unless another is
        given."""
        driver, options = read_address(address)
        where = without_password(address)
        await _prepare(driver, options, where)
        work = Transactions(await open_pool(driver, options, options.connections), options, where)
        # A lease runs out however busy all other connections are.
        urgent = Transactions(await open_pool(driver, options, 1), options, where)
        store = cls(
            clock,
            database_clock,
            work,
            urgent,
            lambda self: Notices(driver, options, urgent, self.topics, clock),
        )
        store._notices.start()
        return store

    async def check(self) -> tuple[str, ...]:
        return await self._work.read(lambda connection: self._checked(connection).faults())

    async def repair(self) -> tuple[str, ...]:
        before = await self.check()
        if before:
            await self._work.write(lambda connection: self._checked(connection).mend())
        left = frozenset(await self.check())
        return tuple(fault for fault in before if fault not in left)

    async def close(self) -> None:
        await self._notices.close()
        await self._work.close()
        await self._urgent.close()
        self.topics.close()

    async def _write(self, verb: WriteVerb[Answer]) -> Answer:
        return await self._write_on(self._work, verb)

    async def _write_unleased(self, verb: WriteVerb[Answer]) -> Answer:
        await self._end_stuck()
        return await self._write(verb)

    async def _write_first(self, verb: WriteVerb[Answer]) -> Answer:
        await self._end_stuck()
        return await self._write_on(self._urgent, verb)

    async def _end_stuck(self) -> None:
        """Every gateway does so again and again: what one that stands still holds would keep all others from their work,
        and their leases."""
        statement = numbered(SQL["end_stuck"]).text
        ended = await self._urgent.look(lambda connection: connection.fetchval(statement, WORKER, IDLE_MS))
        if ended:
            _log.warning("a gateway stands still: %s of its were ended", counted(ended, "transaction"))

    async def _write_on(self, transactions: Transactions, verb: WriteVerb[Answer]) -> Answer:
        async def body(connection: Connection) -> tuple[Answer, Unit]:
            unit = Unit(
                WriterTables(connection, TENANT, self._judge), self._clock, self._longest, self._seals
            )
            answer = await verb(unit)
            await unit.flush()
            return answer, unit

        answer, unit = await transactions.write(body)
        if unit.waking.topics:
            self._told(unit.waking)
            self._notices.tell(unit.waking.topics)
        return answer

    async def _read(self, verb: ReadVerb[Answer]) -> Answer:
        return await self._work.read(lambda connection: verb(self._reading(connection)))

    async def _look(self, verb: ReadVerb[Answer]) -> Answer:
        return await self._work.look(lambda connection: verb(self._reading(connection)))

    def _checked(self, connection: Connection) -> CheckedTables:
        return CheckedTables(connection, TENANT, self._judge)

    def _reading(self, connection: Connection) -> PostgresTables:
        return PostgresTables(connection, TENANT, self._judge)


async def _prepare(address: str, options: PostgresOptions, where: str) -> None:
    try:
        connection = await connect(address, **driver_settings(options))
        try:
            version = connection.get_server_version()
            refuse_old_server((version.major, version.minor))
            await migrate(connection, options, steps_in(MIGRATIONS))
        finally:
            await connection.close()
    except DRIVER_ERRORS as error:
        raise translated(error, where) from error
