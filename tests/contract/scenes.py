"""Everyday situations of a store, each reached by its verbs."""

from typing import Generic, TypeVar

from roost.core.effects import AcceptInput, Effect, OpenGeneration, OweCompletion, QueueRun
from roost.core.entries import EntryDraft
from roost.core.errors import RoostError
from roost.core.exchanges import Completion
from roost.core.inbound import InboundRecord, InputMode
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.messages import UserMessage
from roost.core.queries import HistoryQuery, Position
from roost.core.runs import Claim, Run
from roost.core.sessions import Session
from roost.core.snapshots import Decide, Snapshot
from roost.core.turntaking import Backlog
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.snapshots import snapshot


def always(*effects: Effect) -> Decide:
    """A decision that does not look."""
    return lambda snapshot: effects


async def change(store: Store, *effects: Effect, key: SessionKey = MAIN) -> Snapshot:
    await store.change_session(key, always(*effects))
    return await snapshot(store, key)


async def opened(store: Store, key: SessionKey = MAIN, *, row: Session | None = None) -> Session:
    """An empty session; its first generation is named after its key."""
    row = row or builders.session(key)
    await change(store, builders.opening(row, f"{row.key}-1"), key=row.key)
    return await known(store, row.key)


async def known(store: Store, key: SessionKey = MAIN) -> Session:
    session = await store.session(key)
    assert session is not None
    return session


async def known_run(store: Store, run_id: str) -> Run:
    run = await store.run(run_id)
    assert run is not None
    return run


async def known_inbound(store: Store, inbound_id: str) -> InboundRecord:
    record = await store.inbound(inbound_id)
    assert record is not None
    return record


async def reset(store: Store, number: int, key: SessionKey = MAIN) -> str:
    """The id of the generation that was opened."""
    generation = builders.generation(key, f"{key}-{number}", number)
    await change(store, OpenGeneration(generation=generation), key=key)
    return generation.session_id


async def accepted(store: Store, name: str, run_id: str, key: SessionKey = MAIN, text: str = "hello") -> None:
    """A message that opens a run of its own."""
    message = builders.inbound(name, key, text=text)
    await store.accept_inbound(message, builders.accept(message, run_id, f"{key}-1"))


async def joined(store: Store, name: str, run_id: str, mode: InputMode, text: str = "hello") -> None:
    """A message for a run that is there already."""
    message = builders.inbound(name, text=text)
    await store.accept_inbound(message, always(AcceptInput(inbound=message, run_id=run_id, mode=mode)))


def everything(backlog: Backlog) -> tuple[str, ...]:
    return tuple(run.id for run in backlog.ready)


async def queued(store: Store, run_id: str, key: SessionKey = MAIN) -> None:
    await change(store, QueueRun(run=builders.run(run_id, key)), key=key)


async def started(store: Store, lease: Lease, run_id: str, key: SessionKey = MAIN) -> Claim:
    """The claim of a run that was just started; its session is opened if need be."""
    if await store.session(key) is None:
        await opened(store, key)
    await queued(store, run_id, key)
    (run,) = await store.claim_runs(lease, lambda backlog: (run_id,))
    return claim_of(run)


def owed(child: SessionKey, requester: SessionKey) -> OweCompletion:
    """What a requester is owed about the end of a child's run `c-1`."""
    return OweCompletion(
        completion=Completion(child_run="c-1", child=child, requester=requester, batch="b", created_at=NOON)
    )


def claim_of(run: Run) -> Claim:
    assert run.claim is not None
    return run.claim


def as_entries(records: tuple[InboundRecord, ...]) -> tuple[EntryDraft, ...]:
    """The plainest rendering: one entry a message."""
    return tuple(
        EntryDraft(
            id=f"entry-{record.inbound.id}",
            body=UserMessage(
                content=record.inbound.content,
                at=record.inbound.received_at,
                provenance=record.inbound.provenance,
            ),
            run_id=record.run_id,
        )
        for record in records
    )


async def whole_history(
    store: Store, key: SessionKey = MAIN, *, page: int = 200
) -> list[tuple[Position, str]]:
    """Every entry of the timeline by cursor, oldest first, as (place, id)."""
    found: list[tuple[Position, str]] = []
    before: Position | None = None
    while True:
        answer = await store.history(HistoryQuery(key=key, before=before, limit=page))
        numbers = {generation.session_id: generation.number for generation in answer.generations}
        found[:0] = [(Position(numbers[entry.session_id], entry.seq), entry.id) for entry in answer.entries]
        before = answer.before
        if before is None:
            return found


Shown = TypeVar("Shown")
Answer = TypeVar("Answer")


class Seen(Generic[Shown, Answer]):
    """A decision that always answers the same and keeps what it was shown."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._shown: list[Shown] = []

    def __call__(self, shown: Shown) -> Answer:
        self._shown.append(shown)
        return self._answer

    @property
    def shown(self) -> tuple[Shown, ...]:
        return tuple(self._shown)

    @property
    def last(self) -> Shown:
        return self._shown[-1]


class MindChangedError(RoostError):
    """What a decision in a test raises to be undone."""
