"""The verbs over rows in memory, one at a time."""

from anyio.lowlevel import checkpoint

from roost.ports import Clock
from roost.stores.memory.tables import MemoryTables
from roost.stores.starting import starts
from roost.stores.tables import drive
from roost.stores.unit import Unit
from roost.stores.verbs import StoreVerbs
from roost.stores.verbs.base import Answer, ReadVerb, WriteVerb


class MemoryStore(StoreVerbs):
    """A verb gives way to others before it begins, as one that waits for a disk does, and then runs to its end: a
    session's order is the order of the calls."""

    def __init__(self, clock: Clock, database_clock: Clock | None = None) -> None:
        super().__init__()
        self._clock = clock
        self._tables = MemoryTables(database_clock or clock)

    async def _write(self, verb: WriteVerb[Answer]) -> Answer:
        starter = self._starter
        await checkpoint()
        unit = Unit(self._tables, self._clock, self._longest, self._seals, starts(starter))
        try:
            answer = drive(verb(unit))
            drive(unit.flush())
        except BaseException:
            self._tables.rollback()
            raise
        self._tables.commit()
        if starter and unit.started:
            starter.begin(unit.started)
        self._told(unit.waking)
        return answer

    async def _read(self, verb: ReadVerb[Answer]) -> Answer:
        await checkpoint()
        return drive(verb(self._tables))

    async def check(self) -> tuple[str, ...]:
        return ()

    async def repair(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        self.topics.close()
