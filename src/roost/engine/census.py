"""About how many sessions there are: to count them costs as many steps, so they are counted once in a while."""

from roost.core.retention import Fullness
from roost.engine.rulebook import Rulebook
from roost.ports import Clock, Store

COUNTED_EVERY_MS = 1_000


class Census:
    """Whoever lets a client open a session asks here first."""

    def __init__(self, store: Store, clock: Clock, book: Rulebook) -> None:
        self._store = store
        self._clock = clock
        self._book = book
        self._found = Fullness(sessions=0, bytes=0)
        self._counted_at: int | None = None
        self._since = 0

    async def shown(self) -> int:
        """Those that are not archived."""
        return (await self._counted()).sessions + self._since

    async def make_room(self) -> None:
        """For one more; raises `Full` where there is none."""
        found = await self._counted()
        self._book.current.house.room.refuse_crowd(found.kept + self._since)
        self._since += 1

    async def _counted(self) -> Fullness:
        now = self._clock.now()
        if self._counted_at is None or not 0 <= now - self._counted_at < COUNTED_EVERY_MS:
            self._counted_at, self._since = now, 0
            self._found = await self._store.fullness()
        return self._found
