"""All that a store answers, for two of them to be compared, and the laws that every answer keeps."""

from collections import Counter
from dataclasses import dataclass

from roost.core.deliveries import Delivery, DeliveryState
from roost.core.devices import Devices
from roost.core.entries import Entry
from roost.core.events import Event
from roost.core.exchanges import Completion, Exchange
from roost.core.firings import Firing
from roost.core.fleet import Fleet
from roost.core.guests import Guests
from roost.core.inbound import InboundRecord, InboundState, InputMode
from roost.core.jobs import Job
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.ledger import Denial, LedgerTotal
from roost.core.points import Pointed
from roost.core.principals import Principal
from roost.core.queries import LedgerQuery, SearchHit, SearchQuery, SessionQuery
from roost.core.runs import Run, RunState
from roost.core.search import parse_query
from roost.core.sessions import Generation, Session
from roost.core.snapshots import Snapshot
from roost.core.threads import ThreadBinding
from roost.core.workload import Workload
from roost.ports import Store
from roost.testing.clock import NOON
from tests.contract import pools, scenes
from tests.snapshots import snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One key and what hangs on it."""

    snapshot: Snapshot
    ancestors: tuple[SessionKey, ...]
    generations: tuple[Generation, ...]
    entries: tuple[Entry, ...]
    timeline: tuple[str, ...]
    events: tuple[Event, ...]
    owed: tuple[Completion, ...]
    pointed: Pointed | None
    forks: tuple[SessionKey, ...]
    participants: frozenset[Principal]


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What is of no one conversation."""

    fleet: Fleet
    jobs: tuple[Job, ...]
    due: tuple[Job, ...]
    fired: tuple[tuple[Firing, ...], ...]
    devices: Devices
    guests: Guests
    overdue: tuple[Run, ...]
    shown: int
    workload: Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    sessions: tuple[Session, ...]
    conversations: tuple[Conversation, ...]
    found: tuple[tuple[SearchHit, ...], ...]
    runs: tuple[Run, ...]
    inbound: tuple[InboundRecord, ...]
    deliveries: tuple[Delivery, ...]
    exchanges: tuple[Exchange, ...]
    bindings: tuple[ThreadBinding, ...]
    usage: tuple[LedgerTotal, ...]
    denials: tuple[Denial, ...]
    gateways: tuple[Lease, ...]
    around: Around


async def conversation(store: Store, key: SessionKey) -> Conversation:
    generations = await store.generations(key)
    pages = [await store.entries(generation.session_id) for generation in generations]
    timeline = await scenes.whole_history(store, key, page=3)
    return Conversation(
        snapshot=await snapshot(store, key),
        ancestors=await store.ancestors(key),
        generations=generations,
        entries=tuple(entry for page in pages for entry in page),
        timeline=tuple(entry_id for _, entry_id in timeline),
        events=await store.events(key, after=0, limit=10_000),
        owed=await store.completions(key),
        pointed=await store.pointed(key),
        forks=await store.forks(key),
        participants=await store.participants(key),
    )


async def around(store: Store) -> Around:
    return Around(
        fleet=await store.fleet(),
        jobs=await store.jobs(),
        due=await store.due_jobs(NOON, 100),
        fired=tuple([(await store.firings(job, limit=100)).rows for job in (None, *pools.JOBS)]),
        devices=await store.devices(),
        guests=await store.guests(),
        overdue=await store.overdue_runs(NOON),
        shown=(await store.fullness()).sessions,
        workload=await store.workload(),
    )


async def dump(store: Store) -> Dump:
    trees = [LedgerQuery(tree_of=key) for key in pools.KEYS]
    states = [await store.deliveries(state, 100) for state in DeliveryState]
    runs = [await store.run(name) for name in pools.RUNS]
    inbound = [await store.inbound(name) for name in pools.MESSAGES]
    exchanges = [await store.exchange(name) for name in pools.EXCHANGES]
    bindings = [await store.thread_binding(address) for address in pools.ADDRESSES]
    return Dump(
        sessions=(await store.list_sessions(SessionQuery(archived=None, limit=100))).rows,
        conversations=tuple([await conversation(store, key) for key in pools.KEYS]),
        found=tuple(
            [await store.search(SearchQuery(query=parse_query(word), limit=50)) for word in pools.WORDS]
        ),
        runs=tuple(run for run in runs if run),
        inbound=tuple(record for record in inbound if record),
        deliveries=tuple(delivery for state in states for delivery in state),
        exchanges=tuple(exchange for exchange in exchanges if exchange),
        bindings=tuple(binding for binding in bindings if binding),
        usage=tuple([await store.usage(query) for query in (LedgerQuery(), *trees)]),
        denials=await store.denials(1_000),
        gateways=await store.gateways(),
        around=await around(store),
    )


def broken_laws(state: Dump) -> list[str]:
    """What no sequence of verbs may lead to."""
    running = Counter(str(run.key) for run in state.runs if run.state is RunState.RUNNING)
    sending = Counter(one.address for one in state.deliveries if one.state is DeliveryState.SENDING)
    waiting = {(run.key, run.id) for run in state.runs if not run.state.ended}
    broken = [f"{key} runs {count} runs" for key, count in running.items() if count > 1]
    broken += [f"{count} sends to {address} at once" for address, count in sending.items() if count > 1]
    broken += [
        f"message {record.inbound.id} waits for {record.run_id}, {record.mode}"
        for record in state.inbound
        if record.state is InboundState.PENDING and (record.run_id is None) != (record.mode is InputMode.WAIT)
    ]
    broken += [
        f"message {record.inbound.id} waits for {record.run_id}"
        for record in state.inbound
        if record.state is InboundState.PENDING
        and record.run_id is not None
        and (record.inbound.key, record.run_id) not in waiting
    ]
    broken += [f"run {run.id} has a claim" for run in state.runs if run.state.ended and run.claim]
    for one in state.conversations:
        broken += _broken_in(one)
    return broken


def _broken_in(one: Conversation) -> list[str]:
    session = one.snapshot.session
    if session is None:
        return [] if not (one.generations or one.entries or one.events or one.owed) else ["content is left"]
    broken = []
    numbers = [event.number for event in one.events]
    if numbers and numbers != list(range(numbers[0], session.events + 1)):
        broken.append(f"{session.key}: events {numbers} of {session.events}")
    for generation in one.generations:
        seqs = [entry.seq for entry in one.entries if entry.session_id == generation.session_id]
        if seqs != list(range(1, generation.entries + 1)):
            broken.append(f"{generation.session_id}: entries {seqs} of {generation.entries}")
    shown = {generation.session_id for generation in one.generations if not generation.archived}
    if one.timeline != tuple(entry.id for entry in one.entries if entry.session_id in shown):
        broken.append(f"{session.key}: its timeline is not its entries in order")
    current = {generation.session_id: generation for generation in one.generations}.get(session.session_id)
    if current is None or current.entries != session.summary.entries:
        broken.append(f"{session.key}: its row miscounts its transcript")
    return broken
