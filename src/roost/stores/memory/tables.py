"""What every database must do for the verbs, said in the plainest way."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice

from roost.core.addresses import Address
from roost.core.entries import Entry
from roost.core.errors import Conflict
from roost.core.exchanges import Completion, Exchange, Spawned
from roost.core.inbound import Inbound, InboundRecord, InboundState
from roost.core.keys import SessionKey
from roost.core.listing import Glance, glance_at
from roost.core.messages import AssistantMessage, Body, ToolResult, UserMessage
from roost.core.numbers import refuse_oversized
from roost.core.principals import Principal
from roost.core.queries import Position, SearchHit, SearchQuery, SessionQuery, Span, Spoken
from roost.core.retention import SYNTHETIC
from roost.core.runs import Lane, Run, RunState
from roost.core.search import matches, searchable_text, segment
from roost.core.sessions import Generation, Session
from roost.core.threads import ThreadBinding
from roost.core.turntaking import asker, next_in_line
from roost.stores.bodies import dump_body, load_body
from roost.stores.memory.deliveries import DeliveryTables
from roost.stores.memory.facts import FactTables
from roost.stores.memory.filters import forked, goes_with, overdue, under_way_beyond, wanted
from roost.stores.memory.jobs import JobTables
from roost.stores.memory.points import PointTables
from roost.stores.scrub import without_content


class MemoryTables(FactTables, DeliveryTables, JobTables, PointTables):
    """`Tables` over rows in memory."""

    # -- sessions ------------------------------------------------------------------------------------

    async def session(self, key: SessionKey) -> Session | None:
        return self._sessions.get(key)

    async def lock_session(self, key: SessionKey) -> Session | None:
        return self._sessions.get(key)

    async def session_by_id(self, session_id: str) -> Session | None:
        generation = self._generations.get(session_id)
        return self._sessions.get(generation.key) if generation else None

    async def ancestors(self, key: SessionKey) -> tuple[SessionKey, ...]:
        return self._lineage.get(key) or ()

    async def working_below(self, key: SessionKey) -> tuple[SessionKey, ...]:
        working = {run.key for run in self._runs if not run.state.ended}
        working |= {one.requester for one in self._completions if one.acknowledged_at is None}
        below = (one for one in working if key in (self._lineage.get(one) or ()))
        return tuple(sorted(below, key=str))

    async def sessions(self, query: SessionQuery) -> Sequence[Session]:
        rows = self._listed(query)
        rows.sort(key=lambda session: (-session.times.updated, str(session.key)))
        if query.after is not None:
            place = (-query.after.updated, query.after.key)
            rows = [row for row in rows if (-row.times.updated, str(row.key)) > place]
        return rows[query.offset : query.offset + query.limit]

    def _listed(self, query: SessionQuery) -> list[Session]:
        return [
            session
            for session in self._sessions
            if wanted(session, query) and self._shows(session.key, query.scope)
        ]

    async def count_listed(self, query: SessionQuery) -> int:
        return len(self._listed(query))

    async def glances(self, query: SessionQuery) -> Sequence[Glance]:
        return [glance_at(session) for session in await self.sessions(query)]

    async def kin(self, query: SessionQuery) -> Sequence[tuple[SessionKey, SessionKey]]:
        rows = await self.sessions(query)
        return [(parent, row.key) for row in rows if (parent := row.lineage.parent) is not None]

    async def insert_session(self, session: Session) -> None:
        parent = session.lineage.parent
        self._sessions.put(session.key, session)
        self._lineage.put(session.key, (parent, *(self._lineage.get(parent) or ())) if parent else ())
        self._trees.put(session.key, (parent, *(self._trees.get(parent) or ())) if parent else ())

    async def update_session(self, was: Session, now: Session) -> None:
        refuse_oversized(*now.counters)
        self._sessions.put(was.key, now)

    async def delete_session(self, key: SessionKey) -> None:
        ids = {generation.session_id for generation in await self.generations(key)}
        self._entries.drop_where(lambda entry: entry.session_id in ids)
        self._generations.drop_where(lambda generation: generation.key == key)
        self._runs.drop_where(lambda run: run.key == key)
        self._deliveries.drop_where(lambda delivery: delivery.key == key)
        self._events.drop_where(lambda event: event.key == key)
        self._exchanges.drop_where(lambda exchange: goes_with(exchange, key))
        self._completions.drop_where(lambda completion: completion.requester == key)
        self._bindings.drop_where(lambda binding: binding.key == key)
        self._points.drop_where(lambda point: point.key == key)
        # The identity of a message stays, so that its redelivery is recognised; what it said does not.
        for record in self._inbound:
            if record.inbound.key == key:
                self._inbound.put(record.inbound.id, without_content(record))
        # Whoever gets this key later is not the parent of these children; the ledger's tree stays as it was.
        self._lineage.drop(key)
        for session in self._sessions:
            above = self._lineage.get(session.key) or ()
            if key in above:
                self._lineage.put(session.key, tuple(one for one in above if one != key))
        if key.kind not in SYNTHETIC and (deleted := self._sessions.get(key)):
            self._ended_feeds.put(key, deleted.events)
        self._participants.drop(key)
        self._sessions.drop(key)

    async def forks(self, key: SessionKey) -> tuple[SessionKey, ...]:
        return tuple(sorted({fork for base, fork in forked(self._generations) if base == key}, key=str))

    async def participants(self, key: SessionKey) -> frozenset[Principal]:
        return self._participants.get(key) or frozenset()

    async def put_participant(self, key: SessionKey, principal: Principal) -> None:
        self._participants.put(key, await self.participants(key) | {principal})

    async def last_event(self, key: SessionKey) -> int:
        return self._ended_feeds.get(key) or 0

    async def generation(self, session_id: str) -> Generation | None:
        generation = self._generations.get(session_id)
        return self._counted((generation,))[0] if generation else None

    async def generations(self, key: SessionKey) -> tuple[Generation, ...]:
        own = (generation for generation in self._generations if generation.key == key)
        return self._counted(sorted(own, key=lambda one: one.number))

    async def last_generation(self, key: SessionKey) -> int:
        return max((one.number for one in self._generations if one.key == key), default=0)

    async def insert_generation(self, generation: Generation) -> None:
        places = {(known.key, known.number) for known in self._generations}
        if generation.session_id in self._generations or (generation.key, generation.number) in places:
            raise Conflict(f"session id {generation.session_id} is taken")
        self._generations.put(generation.session_id, generation)

    def _counted(self, generations: Iterable[Generation]) -> tuple[Generation, ...]:
        newest: dict[str, int] = {}
        for entry in self._entries:
            newest[entry.session_id] = max(entry.seq, newest.get(entry.session_id, 0))
        return tuple(replace(one, entries=newest.get(one.session_id, 0)) for one in generations)

    # -- entries -------------------------------------------------------------------------------------

    async def insert_entries(self, key: SessionKey, entries: Sequence[Entry]) -> None:
        for entry in entries:
            refuse_oversized(entry.body.at)
            self._entries.put((entry.session_id, entry.seq), _apart(entry))

    async def entries(self, session_id: str, after: int, through: int | None) -> tuple[Entry, ...]:
        return tuple(
            _apart(entry)
            for entry in self._entries
            if entry.session_id == session_id
            and entry.seq > after
            and (through is None or entry.seq <= through)
        )

    async def entries_before(
        self, generation: Generation, before: Position | None, limit: int, *, tools: bool
    ) -> Sequence[Entry]:
        cut = before.seq if before and before.generation == generation.number else None
        rows = [
            entry
            for entry in self._entries
            if entry.session_id == generation.session_id
            and (cut is None or entry.seq < cut)
            and (tools or not isinstance(entry.body, ToolResult))
        ]
        return [_apart(entry) for entry in rows[::-1][:limit]]

    async def spoken(self, query: SessionQuery, span: Span) -> tuple[Spoken, ...]:
        keys = {session.key for session in self._listed(query)}
        days: dict[int, list[Body]] = {}
        for entry in self._entries:
            session = await self.session_by_id(entry.session_id)
            if session is not None and session.key in keys and span.since <= entry.body.at < span.until:
                days.setdefault(span.calendar.day(entry.body.at), []).append(entry.body)
        return tuple(
            Spoken(
                day=day,
                user=sum(isinstance(body, UserMessage) for body in bodies),
                assistant=sum(isinstance(body, AssistantMessage) for body in bodies),
                tools=sum(isinstance(body, ToolResult) for body in bodies),
            )
            for day, bodies in sorted(days.items())
        )

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        hits = []
        for entry in reversed(tuple(self._entries)):
            session = await self.session_by_id(entry.session_id)
            if session is None or query.key not in (None, session.key) or session.key.kind in query.hidden:
                continue
            if query.session_id not in (None, entry.session_id):
                continue
            if self._shows(session.key, query.scope) and matches(
                query.query, segment(searchable_text(entry.body))
            ):
                hits.append(SearchHit(key=session.key, entry=_apart(entry)))
        return tuple(hits[query.offset : query.offset + query.limit])

    # -- inbound -------------------------------------------------------------------------------------

    async def same_inbound(self, inbound: Inbound) -> InboundRecord | None:
        source = inbound.source
        for record in self._inbound:
            known = record.inbound.source
            if source.external_id is not None and (known.channel, known.account, known.external_id) == (
                source.channel,
                source.account,
                source.external_id,
            ):
                return record
        if source.idempotency_key is None:
            return None
        return await self.inbound_by_key(inbound.principal, inbound.key, source.idempotency_key)

    async def inbound(self, inbound_id: str) -> InboundRecord | None:
        return self._inbound.get(inbound_id)

    async def inbound_by_key(
        self, principal: Principal, key: SessionKey | None, idempotency_key: str
    ) -> InboundRecord | None:
        found = None
        for record in self._inbound:
            inbound = record.inbound
            named = (inbound.principal, inbound.source.idempotency_key) == (principal, idempotency_key)
            if named and key in (None, inbound.key):
                found = record
        return found

    async def pending_inputs(self, key: SessionKey) -> tuple[InboundRecord, ...]:
        return tuple(
            record
            for record in self._inbound
            if record.state is InboundState.PENDING and record.inbound.key == key
        )

    async def merged_inputs(self, into: Sequence[str]) -> tuple[InboundRecord, ...]:
        merged = [record for record in self._inbound if record.state is InboundState.MERGED]
        ends: set[str] = set()
        more = set(into)
        while more:
            ends |= more
            more = {record.inbound.id for record in merged if record.merged_into in more} - ends
        return tuple(record for record in merged if record.inbound.id in ends)

    async def insert_inbound(self, record: InboundRecord) -> None:
        if record.inbound.id in self._inbound or await self.same_inbound(record.inbound):
            raise Conflict(f"message id {record.inbound.id} is taken")
        refuse_oversized(record.inbound.received_at)
        self._inbound.put(record.inbound.id, record)

    async def update_inbound(self, record: InboundRecord) -> None:
        self._inbound.put(record.inbound.id, record)

    # -- runs ----------------------------------------------------------------------------------------

    async def run(self, run_id: str) -> Run | None:
        return self._runs.get(run_id)

    async def queued_runs(self, limit: int) -> tuple[str, ...]:
        return tuple(islice((run.id for run in self._runs if run.state is RunState.QUEUED), limit))

    async def active_runs(self, key: SessionKey) -> tuple[Run, ...]:
        return tuple(run for run in self._runs if run.key == key and not run.state.ended)

    async def ready_runs(self, now: int, per_asker: int, limit: int) -> tuple[Run, ...]:
        busy = {run.key for run in self._runs if run.state is RunState.RUNNING}
        waiting: dict[SessionKey, list[Run]] = {}
        for run in self._runs:
            if run.state is RunState.QUEUED and run.key not in busy:
                waiting.setdefault(run.key, []).append(run)
        heads = {head.id for runs in waiting.values() if (head := next_in_line(runs, now))}
        asked: Counter[str] = Counter()
        lanes: Counter[Lane] = Counter()
        ready = []
        for run in self._runs:
            if run.id in heads and run.ready_at <= now and asked[asker(run)] < per_asker:
                asked[asker(run)] += 1
                lanes[run.request.lane] += 1
                if lanes[run.request.lane] <= limit:
                    ready.append(run)
        return tuple(ready)

    async def still_ready(self, runs: Sequence[Run]) -> tuple[Run, ...]:
        return tuple(runs)

    async def running_runs(self) -> tuple[Run, ...]:
        return tuple(run for run in self._runs if run.state is RunState.RUNNING)

    async def parked_runs(self) -> tuple[Run, ...]:
        return tuple(run for run in self._runs if run.state is RunState.QUEUED and run.parked is not None)

    async def overdue_runs(self, now: int, limit: int) -> tuple[Run, ...]:
        return tuple(overdue(self._runs, now)[:limit])

    async def insert_run(self, run: Run) -> None:
        if run.id in self._runs:
            raise Conflict(f"run id {run.id} is taken")
        refuse_oversized(run.ready_at)
        self._runs.put(run.id, run)

    async def update_run(self, run: Run) -> None:
        refuse_oversized(run.ready_at)
        self._runs.put(run.id, run)

    # -- exchanges and completions -------------------------------------------------------------------

    async def exchange(self, exchange_id: str) -> Exchange | None:
        return self._exchanges.get(exchange_id)

    async def exchanges(self, requester: SessionKey, target: SessionKey) -> tuple[Exchange, ...]:
        return tuple(one for one in self._exchanges if (one.requester, one.target) == (requester, target))

    async def exchanges_of(self, key: SessionKey, limit: int) -> tuple[Exchange, ...]:
        found = [one for one in self._exchanges if key in (one.requester, one.target)]
        return tuple(reversed(found))[:limit]

    async def remote_exchanges(self, limit: int, but_to: Collection[str]) -> tuple[Exchange, ...]:
        return tuple([one for one in self._exchanges if under_way_beyond(one, but_to)][:limit])

    async def put_exchange(self, exchange: Exchange) -> None:
        self._exchanges.put(exchange.id, exchange)

    async def completion(self, child_run: str) -> Completion | None:
        return self._completions.get(child_run)

    async def owed(self, requester: SessionKey) -> tuple[Completion, ...]:
        return tuple(
            completion
            for completion in self._completions
            if completion.requester == requester and completion.acknowledged_at is None
        )

    async def spawned(self, requester: SessionKey) -> tuple[Spawned, ...]:
        return tuple(one.counted for one in self._completions if one.requester == requester)

    async def batch(self, requester: SessionKey, batch: str) -> tuple[Completion, ...]:
        return tuple(
            completion
            for completion in self._completions
            if completion.requester == requester and completion.batch == batch
        )

    async def insert_completion(self, completion: Completion) -> None:
        if completion.child_run in self._completions:
            raise Conflict(f"child run {completion.child_run} is owed already")
        self._completions.put(completion.child_run, completion)

    async def update_completion(self, completion: Completion) -> None:
        self._completions.put(completion.child_run, completion)

    async def binding(self, address: Address) -> ThreadBinding | None:
        return self._bindings.get(address)

    async def put_binding(self, binding: ThreadBinding) -> None:
        self._bindings.put(binding.address, binding)

    async def delete_binding(self, address: Address) -> None:
        if address in self._bindings:
            self._bindings.drop(address)


def _apart(entry: Entry) -> Entry:
    """The same entry, sharing no JSON object with it: those are the only parts of a row that can be changed."""
    return entry._replace(body=load_body(dump_body(entry.body)))
