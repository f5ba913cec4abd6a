"""Gives what an earlier life of the gateway left unfinished its fate."""

from dataclasses import replace
from functools import partial

from roost.core import recovery
from roost.core.announce import announcement, stats_at_end
from roost.core.effects import Effects
from roost.core.errors import Fenced, RoostError
from roost.core.leases import Lease
from roost.core.recovery import Recovery
from roost.core.snapshots import RunSnapshot
from roost.engine.rulebook import Rulebook
from roost.ports import Clock, Store

LOOK_MS = 500


class Recoverer:
    def __init__(self, store: Store, clock: Clock, book: Rulebook) -> None:
        self._store = store
        self._clock = clock
        self._book = book

    async def recover(self, lease: Lease) -> None:
        """Everything that can be given its fate has it, whatever raises at the end. May be done again."""
        failures: list[RoostError] = []
        for step in (self._reap_runs, self._wake_parked, self._reap_deliveries):
            try:
                await step(lease)
            except Fenced:
                raise
            except RoostError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    async def take_over(self, lease: Lease) -> None:
        """Look again and again for what another gateway left when it went."""
        while True:
            await self._clock.sleep(LOOK_MS)
            await self._reap_runs(lease)
            await self._reap_deliveries(lease)

    async def _reap_runs(self, lease: Lease) -> None:
        rules = self._book.current
        decided = Recovery(
            now=self._clock.now(),
            announce=announcement,
            max_age_ms=rules.house.recovery_max_age_ms,
            met=rules.met_at,
        )

        def recover(snapshot: RunSnapshot) -> Effects:
            stats = stats_at_end(snapshot, at=decided.now, transcript=rules.house.transcript)
            told = partial(announcement, stats=stats)
            return recovery.recover(snapshot, replace(decided, announce=told))

        await self._store.reap_runs(lease, recover)

    async def _wake_parked(self, lease: Lease) -> None:
        # The limits may have been raised since: each is asked again, and none is told again.
        await self._store.wake_parked(lease)

    async def _reap_deliveries(self, lease: Lease) -> None:
        """What was being sent is uncertain now."""
        await self._store.reap_deliveries(lease)
