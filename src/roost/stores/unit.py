"""One transaction of the store: rows under their locks, numbered events, and whom to wake after.

A unit sees each session once and writes it once, so that a verb with many effects costs one row update
and raises the version by one.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from roost.core.addresses import Account
from roost.core.deliveries import Delivery
from roost.core.entries import Entry, EntryDraft
from roost.core.errors import Conflict, Fenced, InvalidInput, NotFound
from roost.core.events import Event, EventKind
from roost.core.exchanges import Cleanup, Completion, CompletionStatus, Exchange, ExchangeState
from roost.core.inbound import InboundRecord, InboundState
from roost.core.keys import CHILD_KINDS, SessionKey
from roost.core.runs import Claim, Run, RunState
from roost.core.seals import Sealing
from roost.core.sessions import Growth, Session, SessionStatus
from roost.core.snapshots import Snapshot
from roost.core.spawning import run_of
from roost.core.summaries import count, summarise
from roost.ports import Clock
from roost.stores.held import Held
from roost.stores.sealing import Value, without_secrets
from roost.stores.settling import settle_left
from roost.stores.tables import Tables
from roost.stores.waking import Waking

NEWEST = 512


async def live_leases(tables: Tables) -> frozenset[tuple[str, int]]:
    """The gateways that are there, each with the epoch of its lease: claims under any other are void."""
    now = await tables.database_now()
    return frozenset((one.gateway.name, one.epoch) for one in await tables.leases() if one.live(now))


def going_on(run: Run) -> Run:
    """The run, if nobody asked for its end."""
    if run.stop is not None:
        raise Fenced(f"run {run.id} was stopped: {run.stop.reason}", hint="end this run")
    return run


class Unit:
    """Rows as this transaction sees them, and what it will write when it is flushed."""

    def __init__(
        self,
        tables: Tables,
        clock: Clock,
        longest: Mapping[Account, int],
        seals: Sealing,
        start: "Start | None" = None,
    ) -> None:
        self.tables = tables
        self.started: Run | None = None
        self._start = start
        self.longest = longest
        self.now = clock.now()
        self.waking = Waking(tables)
        self._seals = seals
        self._held: dict[SessionKey, Held] = {}
        self._events: list[Event] = []
        self._queued: set[tuple[SessionKey, str]] = set()
        self._shifted: set[SessionKey] = set()
        self._absorbing: set[str] = set()
        self._left: set[str] = set()
        self._ended: dict[str, Run] = {}
        self._eased: set[SessionKey] = set()

    # -- reading under the lock ----------------------------------------------------------------------

    async def session(self, key: SessionKey) -> Session | None:
        """A session as it stands in this transaction, its row locked."""
        held = self._held.get(key) or await self._hold(key)
        return None if held is None else held.settled()

    async def existing(self, key: SessionKey) -> Session:
        return (await self._existing(key)).settled()

    async def _existing(self, key: SessionKey) -> Held:
        held = self._held.get(key) or await self._hold(key)
        if held is None:
            raise NotFound(f"no session {key}", hint="take the key from the list of sessions")
        return held

    async def _hold(self, key: SessionKey) -> Held | None:
        session = await self.tables.lock_session(key)
        if session is None:
            return None
        held = self._held[key] = Held(session, session, session.events)
        return held

    async def newly_held(self, key: SessionKey) -> bool:
        """Hold a session; True if that is new: what was read of it before may be old."""
        if key in self._held:
            return False
        await self.existing(key)
        return True

    async def snapshot(self, key: SessionKey) -> Snapshot:
        session = await self.session(key)
        if session is None:
            return Snapshot(key=key)
        active = await self.tables.active_runs(key)
        pending = await self.tables.pending_inputs(key)
        ids = [record.inbound.id for record in pending]
        owed = await self.tables.owed(key)
        return Snapshot(
            key=key,
            session=session,
            generation=await self.tables.generation(session.session_id),
            running=next((run for run in active if run.state is RunState.RUNNING), None),
            queued=tuple(run for run in active if run.state is RunState.QUEUED),
            pending=pending,
            merged=await self.tables.merged_inputs(ids) if ids else (),
            children=owed,
            yielded=await self._yielded(owed, {run.id for run in active}),
        )

    async def _yielded(self, owed: Iterable[Completion], active: Collection[str]) -> bool:
        awaited = {one.batch for one in owed if one.status is CompletionStatus.PENDING}
        turns = [await self.tables.run(one) for one in awaited.difference(active)]
        return any(run is not None and run.outcome and run.outcome.yielded for run in turns)

    async def claimed_run(self, claim: Claim) -> Run:
        """The run a claim is for, its session locked; `Fenced` if the claim is void."""
        run = await self.tables.run(claim.id)
        if run is not None:
            await self.existing(run.key)
            run = await self.tables.run(claim.id)
        held = run is not None and run.state is RunState.RUNNING and run.claim == claim
        if run is None or not held or not await self.holds(claim):
            raise Fenced(f"run {claim.id} is no longer held by {claim.gateway}", hint="drop this run's work")
        return run

    async def writing_run(self, claim: Claim) -> Run:
        """The run a claim is for, if its words still belong to the current generation."""
        run = await self.claimed_run(claim)
        if run.session_id != (await self.existing(run.key)).session_id:
            raise Fenced(f"session {run.key} was reset under run {run.id}", hint="end this run")
        return run

    async def message_came_to(self, run: Run, state: ExchangeState) -> None:
        """The message that a run of an exchange answers is so far on its way."""
        exchange_id = run.request.exchange_id
        known = None if exchange_id is None else await self.tables.exchange(exchange_id)
        if known is not None and known.target not in self._held and await self.session(known.target):
            known = await self.tables.exchange(known.id)
        if known is not None and (further := known.come_to(state)) != known:
            await self.tables.put_exchange(further)
            self.emit(run.key, EventKind.EXCHANGE, known.id)

    async def holds(self, claim: Claim) -> bool:
        """Whether the gateway behind a claim still has the lease it claimed under. One that is being renewed just now is
        waited for."""
        if (claim.gateway, claim.epoch) in await live_leases(self.tables):
            return True
        lease = await self.tables.keep_lease(claim.gateway)
        return (
            lease is not None and lease.epoch == claim.epoch and lease.live(await self.tables.database_now())
        )

    def sealed(self, value: Value) -> Value:
        """A value as it may be written down."""
        return without_secrets(value, self._seals)

    # -- writing -------------------------------------------------------------------------------------

    def emit(self, key: SessionKey, kind: EventKind, *refs: str) -> None:
        """Number events of a session this transaction holds."""
        held = self._held[key]
        key = held.row.key  # the very one the tables know: found without comparing
        for ref in refs:
            held.events += 1
            self._events.append(Event(key, held.events, self.now, kind, ref))

    def put(self, session: Session) -> None:
        """A session this transaction holds as it shall be; written once, when the unit is flushed."""
        self._held[session.key].session = session

    def put_new(self, session: Session) -> None:
        """A session whose row was just inserted."""
        self._held[session.key] = Held(session, session, session.events)

    def forget(self, key: SessionKey) -> None:
        """A session whose row was just deleted."""
        del self._held[key]
        self._events = [event for event in self._events if event.key != key]
        self._queued = {(other, run_id) for other, run_id in self._queued if other != key}
        self.waking.session_changed(key)

    async def append(self, key: SessionKey, drafts: tuple[EntryDraft, ...]) -> tuple[Entry, ...]:
        """Entries in their place; the caller emits their events."""
        held = await self._existing(key)
        session = held.settled()
        seq = session.summary.entries
        entries = tuple(
            [
                Entry(
                    session.session_id,
                    place,
                    draft.id,
                    draft.body,
                    draft.parent_id,
                    draft.run_id,
                    draft.source,
                )
                for place, draft in enumerate(drafts, start=seq + 1)
            ]
        )
        await self.tables.insert_entries(session.key, entries)
        bodies = [draft.body for draft in drafts]
        held.growth = Growth(
            summary=summarise(session.summary, bodies),
            counters=count(session.counters, bodies),
            at=self.now,
        )
        return entries

    async def flush(self) -> None:
        """Write every changed session once, then the events; what follows is a new change. What was queued may be started
        with it, once."""
        if self._start is not None:
            start, self._start = self._start, None
            self.started = await start(self)
        while self._shifted:
            await self._refuse_stranded(self._shifted.pop())
        while self._absorbing:
            absorbing = self._absorbing.pop()
            if await self.tables.inbound(absorbing) is None:
                raise InvalidInput(f"a message cannot be merged into {absorbing}, which is not there")
        while self._eased:
            eased = min(self._eased, key=str)
            self._eased.remove(eased)
            await self._let_go(eased)
        # Last among the locks: who waits for a budget holds every session it needs.
        if self._left:
            left, self._left = self._left, set()
            await settle_left(self.tables, left)
        for held in self._held.values():
            if held.changed():
                await self._write(held)
        if self._events:
            await self.tables.insert_events(self._events)
            self._events = []

    async def _let_go(self, key: SessionKey) -> None:
        """A child that is to be deleted goes once its requester was told how it ended and it has nothing left to do."""
        told = await self.tables.completion(run_of(key)) if key.kind in CHILD_KINDS else None
        if told is None or told.acknowledged_at is None or told.cleanup is not Cleanup.DELETE:
            return
        if await self.session(key) is not None and await self.may_go(key):
            answers = await self._awaited_of(key)
            await self.remove(key)
            for answer in answers:
                await self.tables.put_exchange(answer)

    async def _awaited_of(self, key: SessionKey) -> list[Exchange]:
        """What a session answered to calls that still wait for it: who goes unasked takes no answer away."""
        awaited = [one for one in await self.tables.exchanges_of(key, NEWEST) if one.sent.awaited]
        senders = [await self.tables.run(one.heard_by or "") for one in awaited]
        heard = (one for one, run in zip(awaited, senders, strict=True) if run and not run.state.ended)
        return [one for one in heard if one.requester != key]

    async def may_go(self, key: SessionKey) -> bool:
        """Whether a session has nothing left to do, nobody misses anything of it, and no other goes on from what was
        said in it."""
        return not (
            await self.tables.has_work(key)
            or await self.tables.has_undelivered(key)
            or await self.tables.forks(key)
        )

    async def remove(self, key: SessionKey) -> None:
        """Delete a session that this transaction holds; those that it began with need it no more."""
        parent = self._held[key].session.lineage.parent
        if parent is not None:
            self.eased(parent)
        for generation in await self.tables.generations(key):
            base = generation.base and await self.tables.generation(generation.base.session_id)
            if base and base.key != key:
                self.eased(base.key)
        # Events that waited for a turn of it: there will be none.
        for record in await self.tables.pending_inputs(key):
            dead = replace(record, state=InboundState.DEAD, reason="its session was deleted")
            await self.tables.update_inbound(dead)
        await self.tables.delete_session(key)
        self.forget(key)

    async def _write(self, held: Held) -> None:
        written = held.written()
        await self.tables.update_session(held.row, written)
        held.row = held.session = written
        held.growth = None
        self.waking.session_changed(written.key)

    async def _refuse_stranded(self, key: SessionKey) -> None:
        """Every pending input belongs to a run of its session that has not ended, or waits for whichever comes next."""
        pending = await self.tables.pending_inputs(key)
        active = {run.id for run in await self.tables.active_runs(key)} if pending else set()
        for record in pending:
            if record.run_id is not None and record.run_id not in active:
                raise InvalidInput(
                    f"message {record.inbound.id} would wait for run {record.run_id}, which will not take it",
                    hint="move, merge or kill the pending inputs of a run in the decision that ends it",
                )

    def queued(self, run: Run) -> None:
        self._queued.add((run.key, run.id))

    @property
    def queued_alone(self) -> str | None:
        """The run that was queued in this transaction, if it is the only one."""
        return next(run_id for _, run_id in self._queued) if len(self._queued) == 1 else None

    def seated(self, key: SessionKey, run_id: str) -> None:
        """An input waits for a run; one that was queued in this transaction needs no second look."""
        if (key, run_id) not in self._queued:
            self._shifted.add(key)

    def absorbs(self, inbound_id: str) -> None:
        """A message that others were merged into; it may be accepted later in the same decision."""
        self._absorbing.add(inbound_id)

    def left(self, run: Run) -> None:
        """Nobody plays the run any more: a call it had under way will not be heard of."""
        self._left.add(run.id)

    def eased(self, key: SessionKey) -> None:
        """A session has less to do; one that was to go when it has nothing left to do may go now."""
        self._eased.add(key)

    def ended(self, run: Run) -> None:
        self._shifted.add(run.key)
        self.eased(run.key)
        self._ended[run.id] = run
        self.waking.run_ended(run.key)

    def end_of(self, run_id: str) -> Run | None:
        """A run that ended in this transaction, also if its session went with it."""
        return self._ended.get(run_id)

    async def known_run(self, run_id: str) -> Run:
        run = await self.tables.run(run_id)
        if run is None:
            raise NotFound(f"no run {run_id}")
        return (await self.tables.run(run_id) or run) if await self.newly_held(run.key) else run

    async def owed_completion(self, child_run: str) -> Completion | None:
        """What is owed for a child's run, the session it is owed to locked; None if that has gone."""
        completion = await self.tables.completion(child_run)
        if completion is None or completion.requester in self._held:
            return completion
        requester = await self.session(completion.requester)
        return None if requester is None else await self.tables.completion(child_run)

    async def known_delivery(self, delivery_id: str) -> Delivery | None:
        """A delivery, its session locked."""
        delivery = await self.tables.delivery(delivery_id)
        if delivery is not None and await self.newly_held(delivery.key):
            return await self.tables.delivery(delivery_id)
        return delivery

    async def pending_input(self, inbound_id: str) -> InboundRecord:
        """A message that has not come to its end: it comes to one only once."""
        record = await self._input(inbound_id)
        if record.state is not InboundState.PENDING:
            raise Conflict(f"message {inbound_id} is {record.state} already")
        return record

    async def unread_input(self, inbound_id: str) -> InboundRecord:
        """A message that can still die: it waits, or was merged into one that does."""
        record = await self._input(inbound_id)
        if record.state is InboundState.MERGED and record.merged_into is not None:
            await self.unread_input(record.merged_into)
            return record
        return await self.pending_input(inbound_id)

    async def _input(self, inbound_id: str) -> InboundRecord:
        record = await self.tables.inbound(inbound_id)
        if record is None:
            raise NotFound(f"no inbound message {inbound_id}")
        if await self.newly_held(record.inbound.key):
            record = await self.tables.inbound(inbound_id) or record
        return record

    async def set_status(self, key: SessionKey, status: SessionStatus) -> None:
        session = await self.existing(key)
        if session.status is not status:
            self.put(session._replace(status=status))


Start: TypeAlias = Callable[[Unit], Awaitable[Run | None]]
"""Starts the run that a transaction queued, or leaves it to who claims."""
