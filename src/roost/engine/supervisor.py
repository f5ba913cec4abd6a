"""Keeps the parts of a gateway going: one that breaks is logged, remembered, and begun again after a while.

A lost lease is not a failure of a part: it ends them all.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeAlias

from roost.core import health
from roost.core.errors import Fenced, RoostError
from roost.core.health import Health, PartRecord
from roost.core.restarts import SLOWEST_RESTART_MS, restart_ms
from roost.ports import Clock

Work: TypeAlias = Callable[[], Awaitable[None]]

ENDED = "it ended by itself"

_log = logging.getLogger(__name__)


class Supervisor:
    """The parts by name, and how they are doing."""

    def __init__(self, clock: Clock, jitter: Callable[[], float]) -> None:
        self._clock = clock
        self._jitter = jitter
        self._records: dict[str, PartRecord] = {}

    def health(self) -> Health:
        now = self._clock.now()
        return Health(
            parts=tuple(health.part_health(name, record, now) for name, record in self._records.items())
        )

    def tell(self, name: str, error: str | None) -> None:
        """What a part says of itself: what is wrong with it, or that nothing is."""
        now = self._clock.now()
        well = health.begun(None, now)
        self._records[name] = well if error is None else health.failed(well, error, now)

    async def keep(self, name: str, work: Work, *, longest_wait_ms: int = SLOWEST_RESTART_MS) -> None:
        """Do work that has no end, again whenever it ends all the same."""
        while True:
            error = await self._attempt(name, work)
            await self._wait(name, error or ENDED, longest_wait_ms)

    async def finish(self, name: str, work: Work) -> None:
        """Do work until it is done."""
        while (error := await self._attempt(name, work)) is not None:
            await self._wait(name, error, SLOWEST_RESTART_MS)

    async def _attempt(self, name: str, work: Work) -> str | None:
        """What went wrong, if anything did."""
        self._records[name] = health.begun(self._records.get(name), self._clock.now())
        try:
            await work()
        except Exception as error:  # noqa: BLE001 — a part that breaks must not end the others
            raise_lost(error)
            told = next(leaves(error))
            if not isinstance(told, RoostError):
                _log.exception("%s broke", name)
            return str(told) or repr(told)
        return None

    async def _wait(self, name: str, error: str, longest_ms: int) -> None:
        record = health.failed(self._records[name], error, self._clock.now())
        self._records[name] = record
        wait = min(restart_ms(record.failures, self._jitter()), longest_ms)
        _log.warning("%s failed (%s in a row), again in %s ms: %s", name, record.failures, wait, error)
        await self._clock.sleep(wait)


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors within groups of errors."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


def raise_lost(error: Exception) -> None:
    """Let a lost lease or claim on its way, without the tasks it was found in."""
    for leaf in leaves(error):
        if isinstance(leaf, Fenced):
            raise leaf
