"""One gateway: holds the lease and everything that works under it. Start order is code order, stop order its reverse."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import anyio

from roost.core import recovery
from roost.core.deliveries import DeliveryState
from roost.core.effects import Effects, RunSnapshot
from roost.core.envelopes import Envelope
from roost.core.leases import RENEW_MS, Gateway, Lease
from roost.core.queries import SessionQuery
from roost.core.recovery import Recovery
from roost.core.sessions import SessionStatus
from roost.engine.inbox import Inbox
from roost.engine.outbox import DELIVERIES, Outbox
from roost.engine.rules import NewId, Rules
from roost.engine.runner import Runner, announcement
from roost.engine.scheduler import RUNS, Scheduler
from roost.engine.standby import Tell, lease_when_free
from roost.engine.stops import Stops
from roost.ports import Channel, Clock, Store

NO_CHANNEL_LONGEST = 100_000
NEWEST = 200
ACTIVE = frozenset({SessionStatus.QUEUED, SessionStatus.RUNNING})
UNSENT = (DeliveryState.INTENT, DeliveryState.SENDING)
MOST_UNCERTAIN = 10_000


class Engine:
    """A gateway's parts, put together over the ports."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        new_id: NewId,
        rules: Rules,
        channels: Sequence[Channel],
        jitter: Callable[[], float],
    ) -> None:
        longest = min((channel.abilities.longest for channel in channels), default=NO_CHANNEL_LONGEST)
        self.stops = Stops()
        self.inbox = Inbox(store, clock, new_id, rules, self.stops)
        self._store = store
        self._clock = clock
        self._rules = rules
        self._channels = tuple(channels)
        runner = Runner(store, clock, rules, self.stops, longest)
        self._scheduler = Scheduler(store, clock, runner, rules.limits)
        places = {(channel.name, channel.account): channel for channel in channels}
        self._outbox = Outbox(store, clock, places, jitter)

    @asynccontextmanager
    async def serving(self, gateway: Gateway) -> AsyncIterator[Lease]:
        """Serve under a fresh lease; what an earlier life of this gateway left is given its fate first."""
        async with self._under(await self._store.acquire_lease(gateway)) as lease:
            yield lease

    @asynccontextmanager
    async def standing_by(self, gateway: Gateway, tell: Tell) -> AsyncIterator[Lease]:
        """Serve as soon as no other gateway does; `tell` hears what is waited for."""
        async with self._under(await lease_when_free(self._store, self._clock, gateway, tell)) as lease:
            yield lease

    @asynccontextmanager
    async def _under(self, lease: Lease) -> AsyncIterator[Lease]:
        try:
            async with anyio.create_task_group() as group:
                # First of all: a channel may take longer to be asked than a lease lasts.
                group.start_soon(self._renew, lease, name="lease")
                await self._recover(lease)
                group.start_soon(self._outbox.serve, lease, name="outbox")
                group.start_soon(self._scheduler.serve, lease, group, name="scheduler")
                for channel in self._channels:
                    group.start_soon(channel.run, self._receive, name=f"channel {channel.name}")
                yield lease
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._store.release_lease(lease)

    async def settled(self) -> None:
        """Return once nothing is queued, running or waiting to be sent."""

        async def at_rest() -> bool | None:
            newest = await self._store.list_sessions(SessionQuery(limit=NEWEST))
            return None if any(session.status in ACTIVE for session in newest.rows) else True

        async def sent() -> bool | None:
            waiting = [await self._store.deliveries(state, 1) for state in UNSENT]
            return None if any(waiting) else True

        await self._store.wait_for(RUNS, at_rest)
        await self._store.wait_for(DELIVERIES, sent)

    async def _receive(self, envelope: Envelope) -> None:
        await self.inbox.receive(envelope)

    async def _recover(self, lease: Lease) -> None:
        decided = Recovery(
            now=self._clock.now(), announce=announcement, max_age_ms=self._rules.recovery_max_age_ms
        )

        def recover(snapshot: RunSnapshot) -> Effects:
            return recovery.recover(snapshot, decided)

        await self._store.reap_runs(lease, recover)
        await self._store.reap_deliveries(lease)
        # All of them: a start that was cut short here may have left some that nobody was asked about.
        await self._outbox.reconcile(await self._store.deliveries(DeliveryState.UNCERTAIN, MOST_UNCERTAIN))

    async def _renew(self, lease: Lease) -> None:
        while True:
            await self._clock.sleep(RENEW_MS)
            lease = await self._store.renew_lease(lease)
