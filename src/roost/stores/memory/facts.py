"""Leases, who was let in, the ledger, denials, the feed and what retention removes, in memory."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from operator import itemgetter
from typing import Any, assert_never

from roost.core.budgets import Balance, Reservation
from roost.core.deliveries import DeliveryState
from roost.core.entries import Entry
from roost.core.events import Event
from roost.core.firings import FiringState
from roost.core.fleet import Hosting
from roost.core.inbound import InboundState
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.ledger import Dearest, Denial, LedgerRow, LedgerTotal, Spent, SpentBy
from roost.core.numbers import refuse_oversized
from roost.core.queries import EVERY_DENIAL, Calendar, DenialQuery, LedgerQuery
from roost.core.retention import Candidate, Fullness, Record, sort_of
from roost.core.sessions import Session, SessionKind
from roost.core.workload import UNDONE, Workload
from roost.stores.bodies import dump_body
from roost.stores.memory.filters import (
    forked,
    heard_batches,
    meant,
    owed_or_active,
    settled_delivery,
    settled_exchange,
    settled_run,
    unarrived_or_under_way,
)
from roost.stores.memory.rows import Rows
from roost.stores.memory.state import State
from roost.stores.tables import Registered


class FactTables(State):
    # -- leases --------------------------------------------------------------------------------------

    async def database_now(self) -> int:
        return self._clock.now()

    async def keep_name(self, name: str) -> None:
        """There is one writer."""

    async def leases(self) -> tuple[Lease, ...]:
        return tuple(sorted(self._leases, key=lambda lease: lease.gateway.name))

    async def lock_leases(self) -> tuple[Lease, ...]:
        return await self.leases()

    async def keep_lease(self, name: str) -> Lease | None:
        return self._leases.get(name)

    async def lock_lease(self, name: str) -> Lease | None:
        return self._leases.get(name)

    async def put_lease(self, lease: Lease) -> None:
        self._leases.put(lease.gateway.name, lease)

    async def delete_lease(self, name: str) -> None:
        self._leases.drop(name)

    async def hostings(self) -> tuple[Hosting, ...]:
        return tuple(sorted(self._hostings, key=lambda one: one.account))

    async def lock_hostings(self) -> tuple[Hosting, ...]:
        return await self.hostings()

    async def put_hosting(self, hosting: Hosting) -> None:
        self._hostings.put(hosting.account, hosting)

    # -- who was let in ------------------------------------------------------------------------------

    async def registered(self) -> tuple[Registered, ...]:
        return tuple(one for _, one in sorted(self._registered.items(), key=itemgetter(0)))

    async def put_registered(self, name: str, one: Registered) -> None:
        self._registered.put(name, one)

    async def delete_registered(self, name: str) -> None:
        self._registered.drop(name)

    # -- facts ---------------------------------------------------------------------------------------

    async def put_usage(self, row: LedgerRow) -> None:
        refuse_oversized(row.at, *row.usage)
        known = self._ledger.get(row.id)
        if known is None or known.estimated:
            self._ledger.put(row.id, row)

    async def is_known_call(self, call_id: str) -> bool:
        return call_id in self._ledger

    async def usage(self, query: LedgerQuery) -> LedgerTotal:
        return _total(self._calls(query))

    async def spending(self, query: LedgerQuery, calendar: Calendar) -> tuple[Spent, ...]:
        groups: dict[tuple[int, str, str, str], list[LedgerRow]] = {}
        for row in self._calls(query):
            name = (calendar.day(row.at), row.key.agent, row.provider, row.model)
            groups.setdefault(name, []).append(row)
        return tuple(
            Spent(day=day, agent=agent, provider=provider, model=model, total=_total(rows))
            for (day, agent, provider, model), rows in groups.items()
        )

    async def dearest(self, query: LedgerQuery, limit: int) -> Dearest:
        calls: dict[SessionKey, list[LedgerRow]] = {}
        for row in self._calls(query):
            calls.setdefault(row.key, []).append(row)
        found = [SpentBy(key=key, total=_total(rows)) for key, rows in calls.items()]
        found.sort(key=lambda one: (-one.total.usage.cost_micros, -one.total.usage.total, str(one.key)))
        return Dearest(sessions=tuple(found[:limit]), count=len(found))

    async def ledger(self, query: LedgerQuery, offset: int, limit: int) -> tuple[LedgerRow, ...]:
        found = sorted(self._calls(query), key=lambda row: (row.at, row.id), reverse=True)
        return tuple(found[offset : offset + limit])

    def _calls(self, query: LedgerQuery) -> Iterator[LedgerRow]:
        for row in self._ledger:
            tree = (row.key, *(self._trees.get(row.key) or ()))
            if (
                query.key in (None, row.key)
                and (query.keys is None or row.key in query.keys)
                and (query.tree_of is None or query.tree_of in tree)
                and query.agent in (None, row.key.agent)
                and query.principal in (None, row.principal)
                and (query.since is None or row.at >= query.since)
                and (query.until is None or row.at < query.until)
            ):
                yield row

    async def lock_balances(self, names: Sequence[str]) -> dict[str, Balance]:
        return {name: self._balances.get(name) or Balance() for name in names}

    async def put_balance(self, name: str, balance: Balance) -> None:
        self._balances.put(name, balance)

    async def reservation(self, call_id: str) -> Reservation | None:
        return self._reservations.get(call_id)

    async def reservations(self, run_id: str) -> tuple[Reservation, ...]:
        return tuple(one for one in self._reservations if one.row.run_id == run_id)

    async def insert_reservation(self, reservation: Reservation) -> None:
        self._reservations.put(reservation.row.id, reservation)

    async def delete_reservation(self, call_id: str) -> None:
        self._reservations.drop(call_id)

    async def insert_denial(self, denial: Denial) -> None:
        self._denials.put(next(self._denied), denial)

    async def denials(self, limit: int, query: DenialQuery = EVERY_DENIAL) -> tuple[Denial, ...]:
        newest = reversed(tuple(self._denials))
        return tuple(islice((one for one in newest if meant(one, query)), limit))

    async def insert_events(self, events: Sequence[Event]) -> None:
        for event in events:
            self._events.put((event.key, event.number), event)

    async def events(self, key: SessionKey, after: int, limit: int) -> tuple[Event, ...]:
        return tuple(event for event in self._events if event.key == key and event.number > after)[:limit]

    # -- upkeep --------------------------------------------------------------------------------------

    async def has_work(self, key: SessionKey) -> bool:
        return key in self._at_work()

    async def has_undelivered(self, key: SessionKey) -> bool:
        return any(one.key == key and one.state is DeliveryState.FAILED for one in self._deliveries)

    async def fullness(self) -> Fullness:
        shown = sum(row.times.archived is None for row in self._sessions)
        used = sum(map(_bytes, self._entries))
        return Fullness(sessions=shown, bytes=used, kept=len(self._sessions))

    async def workload(self) -> Workload:
        return Workload(
            waiting=sum(one.state is InboundState.PENDING for one in self._inbound),
            runs=Counter(run.state for run in self._runs if not run.state.ended),
            deliveries=Counter(one.state for one in self._deliveries if one.state in UNDONE),
        )

    async def sweepable(self, before: int) -> tuple[Candidate, ...]:
        held = self._at_work() | {point.key for point in self._points}
        bound = {binding.key for binding in self._bindings}
        needed = self._needed()
        return tuple(
            Candidate(
                key=row.key,
                sort=sort,
                updated=row.times.updated,
                archived=row.times.archived is not None,
                bound=row.key in bound,
                needed=row.key in needed,
            )
            for row in self._sessions
            if (sort := sort_of(row)) is not None
            and row.times.pinned is None
            and row.times.updated < before
            and row.key not in held
        )

    async def found_again(self, one: Candidate) -> bool:
        return one in await self.sweepable(one.updated + 1)

    async def session_bytes(self, key: SessionKey) -> int:
        own = {generation.session_id for generation in self._generations if generation.key == key}
        return sum(_bytes(entry) for entry in self._entries if entry.session_id in own)

    async def stale_generations(self, before: int, timers: int) -> tuple[str, ...]:
        held = self._at_work()
        bases = self._bases()
        stale = []
        for one in self._generations:
            session = self._sessions.get(one.key)
            if session is None or session.times.pinned is not None or one.key in held:
                continue
            later = [
                other for other in self._generations if other.key == one.key and other.number > one.number
            ]
            closed = min(later, key=lambda other: other.number).opened_at if later else None
            if (
                closed is not None
                and max(one.opened_at, closed) < (timers if _by_timer(session) else before)
                and one.session_id != session.session_id
                and one.session_id not in bases
            ):
                stale.append(one.session_id)
        return tuple(sorted(stale))

    async def is_continued(self, session_id: str) -> bool:
        return session_id in self._bases()

    def _bases(self) -> set[str]:
        """The generations that others go on from, or that save points name."""
        points = {point.base.session_id for point in self._points}
        return points | {one.base.session_id for one in self._generations if one.base}

    async def delete_generation(self, session_id: str) -> None:
        self._entries.drop_where(lambda entry: entry.session_id == session_id)
        self._generations.drop(session_id)

    async def free_pages(self, limit: int) -> int:
        return 0

    def _at_work(self) -> set[SessionKey]:
        return owed_or_active(self._runs, self._inbound, self._deliveries, self._completions)

    def _needed(self) -> set[SessionKey]:
        needed = unarrived_or_under_way(self._deliveries, self._exchanges)
        return needed | {base for base, _ in forked(self._generations)}

    async def stale_feeds(self, before: int) -> tuple[SessionKey, ...]:
        return tuple(dict.fromkeys(event.key for event in self._events if event.at < before))

    async def count_stale_events(self, key: SessionKey, before: int) -> int:
        return len(self._stale(key, before))

    async def delete_stale_events(self, key: SessionKey, before: int) -> None:
        stale = self._stale(key, before)
        self._events.drop_where(lambda event: event in stale)

    def _stale(self, key: SessionKey, before: int) -> list[Event]:
        """The beginning of a feed: numbers never get a gap, whatever the clock did."""
        return list(takewhile(lambda event: event.at < before, (e for e in self._events if e.key == key)))

    async def count_stale_inbound(self, before: int) -> int:
        return len(self._forgettable(before))

    async def delete_stale_inbound(self, before: int, limit: int) -> int:
        ids = self._forgettable(before)[:limit]
        self._inbound.drop_where(lambda record: record.inbound.id in ids)
        return len(ids)

    async def count_stale_records(self, record: Record, before: int) -> int:
        return len(self._settled(record, before)[1])

    async def delete_stale_records(self, record: Record, before: int, limit: int) -> int:
        rows, names = self._settled(record, before)
        for name in names[:limit]:
            rows.drop(name)
        return len(names[:limit])

    def _settled(self, record: Record, before: int) -> tuple[Rows[Any, Any], list[Any]]:
        """The rows of a record, and the names of those that were settled in time and are of no pinned session."""
        pinned = {row.key for row in self._sessions if row.times.pinned is not None}
        match record:
            case Record.RUN:
                needed = {name for one in self._completions for name in (one.child_run, one.batch)}
                return self._runs, [
                    one.id
                    for one in self._runs
                    if settled_run(one, before) and one.id not in needed and one.key not in pinned
                ]
            case Record.DELIVERY:
                return self._deliveries, [
                    one.id
                    for one in self._deliveries
                    if settled_delivery(one, before) and one.key not in pinned
                ]
            case Record.EXCHANGE:
                return self._exchanges, [
                    one.id
                    for one in self._exchanges
                    if settled_exchange(one, before) and pinned.isdisjoint((one.requester, one.target))
                ]
            case Record.COMPLETION:
                heard = heard_batches(self._completions, before)
                return self._completions, [
                    one.child_run
                    for one in self._completions
                    if (one.requester, one.batch) in heard and one.requester not in pinned
                ]
            case Record.DENIAL:
                return self._denials, [
                    number
                    for number, one in self._denials.items()
                    if one.at < before and one.caller not in pinned
                ]
            case Record.FIRING:
                return self._firings, [
                    one.id
                    for one in self._firings
                    if one.at < before and one.state is not FiringState.STARTED and one.key not in pinned
                ]
            case _:
                assert_never(record)

    def _forgettable(self, before: int) -> list[str]:
        """Old messages that came to their end; one merged into another stays while that one may still wait."""
        waiting = {record.inbound.key for record in self._inbound if record.state is InboundState.PENDING}
        return [
            record.inbound.id
            for record in self._inbound
            if record.inbound.received_at < before
            and record.state is not InboundState.PENDING
            and not (record.state is InboundState.MERGED and record.inbound.key in waiting)
        ]


def _by_timer(session: Session) -> bool:
    return session.facts.kind is SessionKind.CRON or session.key.heartbeat


def _bytes(entry: Entry) -> int:
    return len(dump_body(entry.body).encode()) + len((entry.source or "").encode())


def _total(rows: Iterable[LedgerRow]) -> LedgerTotal:
    total = LedgerTotal()
    for row in rows:
        total = total.plus(LedgerTotal(calls=1, usage=row.usage))
    return total
