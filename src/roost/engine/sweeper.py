"""The one place where things are removed because their time is over."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from roost.core import guests
from roost.core.keys import SessionKey
from roost.core.retention import Swept
from roost.engine.rulebook import Rulebook
from roost.ports import Clock, Store

FIRST_MS = 10_000
EVERY_MS = 300_000
NAMED = 20

Kept: TypeAlias = frozenset[SessionKey]
NONE_KEPT: Kept = frozenset()

_log = logging.getLogger(__name__)


class Sweeper:
    def __init__(self, store: Store, clock: Clock, book: Rulebook) -> None:
        self._store = store
        self._clock = clock
        self._book = book

    async def serve(self) -> None:
        """Sweep soon, and then every few minutes, until cancelled."""
        await self._clock.sleep(FIRST_MS)
        while True:
            await self.sweep()
            await self._clock.sleep(EVERY_MS)

    async def preview(self, kept: Kept = NONE_KEPT) -> Swept:
        """What a sweep that enforces everything would do now."""
        retention = self._book.current.house.retention
        return await self._store.sweep(replace(retention.at(self._clock.now()), kept=kept), dry_run=True)

    async def sweep(self, *, enforce: bool = False, kept: Kept = NONE_KEPT) -> Swept:
        """What was done. Where the policy only warns, what it would do is told, and only what is not its own is done, unless
        all of it is asked for. Sessions that are `kept` are neither removed nor archived."""
        now, retention = self._clock.now(), self._book.current.house.retention
        cutoffs = retention.at(now)
        if not (retention.enforce or enforce):
            _tell("would remove", await self.preview(kept))
            cutoffs = retention.housekeeping(now)
        swept = await self._store.sweep(replace(cutoffs, kept=kept))
        await self._forget_strangers(now)
        _tell("removed", swept)
        if swept.removed:
            freed = await self._store.give_back()
            _log.info("retention gave %s bytes back to the disk", freed)
        return swept

    async def _forget_strangers(self, now: int) -> None:
        known = await self._store.guests()
        if guests.lapsed(known, now)[0] != known:
            await self._store.change_guests(partial(guests.lapsed, now=now))


def _tell(did: str, swept: Swept) -> None:
    if swept.anything:
        _log.info(
            "retention %s %s sessions (%s), %s closed generations, %s events, %s remembered messages and %s settled records; "
            "archived %s (%s)",
            did,
            len(swept.sessions),
            _names(swept.sessions),
            swept.generations,
            swept.events,
            swept.inbound,
            swept.records,
            len(swept.archived),
            _names(swept.archived),
        )
    if swept.over:
        _log.warning(
            "the store is %s bytes over its goal, and what is left may not be removed: "
            "raise session.maintenance.maxDiskBytes, or delete conversations",
            swept.over,
        )


def _names(keys: Iterable[SessionKey]) -> str:
    names = [str(key) for key in keys]
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
