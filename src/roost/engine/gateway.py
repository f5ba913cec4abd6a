"""One gateway: holds the lease and everything that works under it. Start order is code order, stop order its reverse."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup

from roost.core.addresses import Account
from roost.core.admission import PairingRequired
from roost.core.deliveries import DeliveryState
from roost.core.envelopes import Envelope
from roost.core.errors import Fenced, RoostError
from roost.core.health import Health
from roost.core.leases import LEASE_MS, Gateway, Lease
from roost.core.queries import SessionQuery
from roost.engine.census import Census
from roost.engine.comparing import compare
from roost.engine.couriers import Couriers
from roost.engine.feed import Feed
from roost.engine.guestbook import Guestbook
from roost.engine.heeding import heed
from roost.engine.hooks import Hooks
from roost.engine.hosting import ChannelHost
from roost.engine.inbox import Inbox, TurnedAway
from roost.engine.jobs import Jobs
from roost.engine.keeping import until_kept
from roost.engine.leasing import regained, release, renew
from roost.engine.letters import Letters
from roost.engine.operations import Operations
from roost.engine.outbox import DELIVERIES, Outbox
from roost.engine.patience import Patience
from roost.engine.reconciler import Reconciler
from roost.engine.recoverer import Recoverer
from roost.engine.rulebook import Rulebook
from roost.engine.rules import ConfigIssue, NewId, Rules
from roost.engine.runner import Runner
from roost.engine.scheduler import RUNS, Scheduler
from roost.engine.standby import Tell, lease_when_free
from roost.engine.stops import Stops
from roost.engine.supervisor import Supervisor, leaves
from roost.engine.sweeper import Sweeper
from roost.engine.sysevents import SystemEvents
from roost.engine.timers import Timers
from roost.engine.waits import Waits
from roost.ports import Channel, Clock, Store
from roost.ports.limits import if_within

_log = logging.getLogger(__name__)

NEWEST = 200
# A lease runs out: its renewal is tried again before anything else would be.
RENEW_AGAIN_MS = 1_000
UNSENT = (DeliveryState.INTENT, DeliveryState.SENDING)


Companion: TypeAlias = Callable[[], Awaitable[None]]
OutOfUse: TypeAlias = Callable[[], Awaitable[None]]
"""Returns once no run goes by the old rules."""


class Engine:
    """A gateway's parts, put together over the ports. `stops` end the runs that are under way; a tool may have them."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        new_id: NewId,
        rules: Rules,
        channels: Sequence[Channel],
        jitter: Callable[[], float],
        stops: Stops | None = None,
    ) -> None:
        places = {Account(channel.name, channel.account): channel for channel in channels}
        store.limit_messages({account: channel.abilities.longest for account, channel in places.items()})
        self.store, self.clock, self.new_id = store, clock, new_id
        self._book = Rulebook(rules)
        self._lease: Lease | None = None
        self._renewed_at = clock.now()
        self._companions: dict[str, Companion] = {}
        self.stops = stops or Stops()
        self.feed = Feed(store, clock)
        self.waits = Waits(store, clock)
        self.census = Census(store, clock, self._book)
        self.operations = Operations(store, clock, new_id, self._book, self.stops, self.census)
        self._guestbook = Guestbook(store, clock, new_id, self._book, places)
        self.inbox = Inbox(store, clock, new_id, self._book, self.stops, channels, self.census)
        self.config_issues: tuple[ConfigIssue, ...] = ()
        self._channels = places
        self._supervisor = Supervisor(clock, jitter)
        runner = Runner(store, clock, self._book, self.stops, self.feed)
        self._scheduler = Scheduler(store, clock, runner, self._book)
        self._patience = Patience(store, clock, runner)
        self._hosting = ChannelHost(store, clock, places, self._supervisor)
        self._outbox = Outbox(store, clock, self._book, places, jitter, self._hosting.unserved)
        self.sweeper = Sweeper(store, clock, self._book)
        self.timers = Timers(store, clock, new_id, self._book)
        self.jobs = Jobs(store, clock, new_id, self._book, self.timers, lambda: self._lease, places.keys())
        self.system_events = SystemEvents(store, clock, new_id, self._book, self.timers)
        self.letters = Letters(store, clock, new_id, self._book, places)
        self.hooks = Hooks(store, clock, new_id, self._book, self.system_events, self.census)
        self._couriers = Couriers(store, clock, self._book, jitter)
        self._recoverer = Recoverer(store, clock, self._book)
        self._reconciler = Reconciler(store, clock, self._hosting.served, jitter)

    @asynccontextmanager
    async def serving(self, gateway: Gateway, *, on_time: bool = True) -> AsyncIterator[Lease]:
        """Serve under a fresh lease; what an earlier life of this gateway left is given its fate first. What is due is taken
        up, unless it is for somebody who only looks in.

        A part that breaks is begun again, and all of them under a new lease if the old one ran out. One that another took
        over ends it all with `Fenced`."""
        lease = await self.store.acquire_lease(self._named(gateway))
        async with self._from(lease, on_time=on_time):
            yield lease

    @asynccontextmanager
    async def standing_by(self, gateway: Gateway, tell: Tell) -> AsyncIterator[Lease]:
        """Serve as soon as no other gateway does; `tell` hears what is waited for."""
        lease = await lease_when_free(self.store, self.clock, self._named(gateway), tell)
        async with self._from(lease):
            yield lease

    def _named(self, gateway: Gateway) -> Gateway:
        return replace(gateway, config_hash=self._config_hash())

    def _config_hash(self) -> str:
        return self._book.current.house.shown.shared

    @asynccontextmanager
    async def _from(self, lease: Lease, *, on_time: bool = True) -> AsyncIterator[None]:
        """Serve under a lease, and under another where it ran out."""
        with _told_plainly():
            async with anyio.create_task_group() as group:
                serves = anyio.Event()
                group.start_soon(self._serve, lease, on_time, serves)
                await serves.wait()
                yield
                group.cancel_scope.cancel()

    async def _serve(self, lease: Lease, on_time: bool, serves: anyio.Event) -> None:
        while True:
            try:
                async with self._under(lease, on_time=on_time):
                    serves.set()
                    await anyio.sleep_forever()
            except Fenced as lost:
                again = partial(regained, self.store, lease, self._named(lease.gateway))
                lease = await until_kept(self.clock, again)
                _log.warning("%s; it serves again, with epoch %s", lost.message, lease.epoch)

    @asynccontextmanager
    async def _under(self, lease: Lease, *, on_time: bool = True) -> AsyncIterator[Lease]:
        keep = self._supervisor.keep
        try:
            with _told_plainly():
                async with anyio.create_task_group() as group:
                    renewing = partial(renew, self.store, self.clock, lease, self._config_hash, self._renewed)
                    group.start_soon(partial(keep, "lease", renewing, longest_wait_ms=RENEW_AGAIN_MS))
                    # Whoever is spoken to unasked is known as a guest from the first on.
                    await until_kept(self.clock, self._guestbook.look)
                    await self._recovered_once(lease, group)
                    group.start_soon(keep, "guests", self._guestbook.follow)
                    await self._hosted_once(lease, group)
                    await self._reconciled_once(group)
                    group.start_soon(keep, "outbox", partial(self._outbox.serve, lease, group))
                    group.start_soon(keep, "scheduler", partial(self._scheduler.serve, lease, group))
                    group.start_soon(keep, "patience", partial(self._patience.serve, lease))
                    group.start_soon(keep, "sweeper", self.sweeper.serve)
                    if on_time:
                        group.start_soon(keep, "timers", partial(self.timers.serve, lease))
                    group.start_soon(keep, "couriers", self._couriers.serve)
                    if not self.store.exclusive:
                        group.start_soon(keep, "takeover", partial(self._recoverer.take_over, lease))
                        group.start_soon(keep, "stops", partial(heed, self.store, self.stops))
                        agreeing = partial(compare, self.store, self.clock, lease, self.tell)
                        group.start_soon(keep, "fleet", agreeing)
                    for name, companion in self._companions.items():
                        group.start_soon(keep, name, companion)
                    self._lease = lease
                    yield lease
                    group.cancel_scope.cancel()
        finally:
            self._lease = None
            await release(self.store, lease)

    async def drain(self, limit_ms: int) -> None:
        """Before an end: take up no run and serve no channel any more, and return when what is under way has ended, or
        after a while. Other gateways go on with the rest."""

        async def ended() -> None:
            # Where nobody else serves, answers are still sent.
            if self._lease is not None and not self.store.exclusive:
                await self._leave_channels(self._lease)
            await self._scheduler.drain()
            await self._outbox.rest()

        await if_within(self.clock, limit_ms, ended)

    async def _leave_channels(self, lease: Lease) -> None:
        try:
            await self._hosting.leave(lease)
        except RoostError as error:
            # They are free for others when the lease has run out.
            _log.warning("the channels could not be handed over: %s", error)

    async def reload(self, rules: Rules) -> OutOfUse:
        """Go by other rules. Everything that is decided from now on goes by them; a run keeps those it began with, but
        for its tools, which act by the new ones at once. What waits for a budget is asked again."""
        before = self._book.replace(rules)
        if self._lease is not None:
            await until_kept(self.clock, partial(self.store.wake_parked, self._lease))
        return partial(self._book.out_of_use, before)

    @property
    def accounts(self) -> tuple[Account, ...]:
        """The channels that are served."""
        return tuple(self._channels)

    @property
    def name(self) -> str | None:
        """Of the gateway it serves as, while it does."""
        return None if self._lease is None else self._lease.gateway.name

    @property
    def reaches_store(self) -> bool:
        """Whether it holds its lease, as far as it knows: one that could not renew it for a whole term has lost it."""
        return self._lease is not None and 0 <= self.clock.now() - self._renewed_at < LEASE_MS

    def _renewed(self, at: int) -> None:
        self._renewed_at = at

    @property
    def rules(self) -> Rules:
        """Those in force."""
        return self._book.current

    def tell(self, part: str, error: str | None) -> None:
        """What a companion says of itself in the gateway's health."""
        self._supervisor.tell(part, error)

    def accompany(self, name: str, companion: Companion) -> None:
        """Keep something going beside the gateway's own parts, from the next time it serves."""
        self._companions[name] = companion

    def health(self) -> Health:
        """How each part is doing."""
        return self._supervisor.health()

    async def settled(self) -> None:
        """Return once nothing is queued, running or waiting to be sent."""

        async def at_rest() -> bool | None:
            newest = await self.store.list_sessions(SessionQuery(limit=NEWEST))
            return None if any(session.status.active for session in newest.rows) else True

        async def sent() -> bool | None:
            waiting = [await self.store.deliveries(state, 1) for state in UNSENT]
            return None if any(waiting) else True

        await self.store.wait_for(RUNS, at_rest)
        await self.store.wait_for(DELIVERIES, sent)

    async def _receive(self, envelope: Envelope) -> None:
        taken = await self.inbox.receive(envelope)
        if not isinstance(taken, TurnedAway) or not isinstance(taken.decision, PairingRequired):
            return
        if await self._guestbook.answer(envelope):
            await self.inbox.receive(envelope)

    async def _recovered_once(self, lease: Lease, group: TaskGroup) -> None:
        """Wait for the first attempt; what it could not do holds only the sessions it belongs to, and is tried again
        beside the work."""
        tried = anyio.Event()

        async def attempt() -> None:
            try:
                await self._recoverer.recover(lease)
            finally:
                tried.set()

        group.start_soon(self._supervisor.finish, "recovery", attempt)
        await tried.wait()

    async def _hosted_once(self, lease: Lease, group: TaskGroup) -> None:
        """Wait until it is known which channels are this gateway's."""
        if not self._channels:
            return
        looked = anyio.Event()
        serve = partial(self._hosting.serve, lease, self._receive, group, looked.set)
        group.start_soon(self._supervisor.keep, "channels", serve)
        await looked.wait()

    async def _reconciled_once(self, group: TaskGroup) -> None:
        """Wait until the channels were asked once: what was not sent goes out before what is written from now on."""
        looked = anyio.Event()
        group.start_soon(self._supervisor.keep, "reconciler", partial(self._reconciler.serve, looked.set))
        await looked.wait()


@contextmanager
def _told_plainly() -> Iterator[None]:
    """A lost lease is one error, however many parts found out."""
    try:
        yield
    except BaseExceptionGroup as errors:
        lost, others = errors.split(Fenced)
        if lost is None or others is not None:
            raise
        raise next(leaves(lost)) from errors
