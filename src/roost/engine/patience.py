"""Ends what waits for others when its time is over. A run that is under way sees to its own."""

import logging

from roost.core.errors import Fenced, RoostError, StoreUnavailable
from roost.core.leases import Lease
from roost.engine.runner import Runner
from roost.engine.tracing import traced
from roost.ports import Clock, Store

LOOK_MS = 1_000

_log = logging.getLogger(__name__)


class Patience:
    def __init__(self, store: Store, clock: Clock, runner: Runner) -> None:
        self._store = store
        self._clock = clock
        self._runner = runner

    async def serve(self, lease: Lease) -> None:
        """Look again and again until cancelled."""
        while True:
            await self.look(lease)
            await self._clock.sleep(LOOK_MS)

    async def look(self, lease: Lease) -> None:
        """Give up what is overdue now; one that cannot be ended keeps no other waiting."""
        for run in await self._store.overdue_runs(self._clock.now()):
            try:
                await self._runner.give_up(lease, run)
            except (Fenced, StoreUnavailable):
                raise
            except RoostError as error:
                _log.warning("run %s is overdue and could not be ended: %s", run.id, error, extra=traced(run))
