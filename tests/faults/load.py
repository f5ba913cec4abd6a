"""Writers that live whole lives of messages, say what was acknowledged, and a judge of what is found later."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from pathlib import Path

import anyio
import apsw

from roost.core.effects import AddDelivery, AppendEntries, Effects, RequeueRun
from roost.core.entries import EntryDraft
from roost.core.errors import StoreUnavailable
from roost.core.inbound import InboundRecord
from roost.core.keys import SessionKey
from roost.core.leases import Gateway, Lease
from roost.core.runs import Run, RunState
from roost.core.snapshots import RunSnapshot
from roost.core.turntaking import Backlog
from roost.ports import Store
from roost.stores.sqlite import SqliteStore
from roost.testing.builders import accept, answered, delivery, done, inbound, said
from roost.testing.clock import NOON, FakeClock

SESSIONS = 12
KEYS = tuple(SessionKey.parse(f"agent:main:web:direct:peer-{number}") for number in range(SESSIONS))
PROSE = "What was said here has to be found again, whatever happens to the machine. " * 4


class Done(StrEnum):
    ACCEPTED = "accepted"
    APPENDED = "appended"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing the store acknowledged: a message, an entry or the end of a run."""

    done: Done
    key: SessionKey
    id: str

    def __str__(self) -> str:
        return f"{self.done} {self.key} {self.id}"

    @classmethod
    def parse(cls, line: str) -> "Fact":
        what, key, name = line.split()
        return cls(Done(what), SessionKey.parse(key), name)


class Load:
    """One life of a gateway; `name` tells its ids from those of other lives."""

    def __init__(self, store: Store, name: str, acknowledged: Callable[[Fact], None]) -> None:
        self._store = store
        self._name = name
        self._acknowledged = acknowledged

    async def run(self, writers: int) -> None:
        """Take over what another life left, then write until the store is gone."""
        lease = await self._store.acquire_lease(Gateway(name="gateway", holder=self._name))
        await self._store.reap_runs(lease, queue_again)
        async with anyio.create_task_group() as group:
            for writer in range(writers):
                group.start_soon(self._write, lease, f"{self._name}-{writer}")

    async def _write(self, lease: Lease, writer: str) -> None:
        try:
            for number in count():
                key = KEYS[hash_of(writer, number) % SESSIONS]
                message = inbound(f"in-{writer}-{number}", key, text=f"{PROSE} {writer} {number}")
                run_id = f"run-{writer}-{number}"
                await self._store.accept_inbound(message, accept(message, run_id, f"id-{key}"))
                self._acknowledged(Fact(Done.ACCEPTED, key, message.id))
                for run in await self._store.claim_runs(lease, first):
                    await self._serve(run)
        except StoreUnavailable:
            return

    async def _serve(self, run: Run) -> None:
        claim = run.claim
        assert claim is not None
        taken = await self._store.take_inputs(claim, as_entries)
        # An attempt that died may have answered already, so the fence is part of the name.
        step = answered(f"step-{run.id}-{run.fence}", PROSE)
        for entry in (*taken, *await self._store.append(run.key, (step,), claim=claim)):
            self._acknowledged(Fact(Done.APPENDED, run.key, entry.id))
        await self._store.finish_run(claim, lambda snapshot: ending(run))
        self._acknowledged(Fact(Done.FINISHED, run.key, run.id))


def hash_of(writer: str, number: int) -> int:
    """The same in every process, unlike `hash`."""
    return sum(map(ord, writer)) + 7 * number


def first(backlog: Backlog) -> tuple[str, ...]:
    return tuple(run.id for run in backlog.ready[:1])


def queue_again(snapshot: RunSnapshot) -> Effects:
    return (RequeueRun(run_id=snapshot.run.id, ready_at=NOON, progress=snapshot.run.progress),)


def as_entries(records: tuple[InboundRecord, ...]) -> tuple[EntryDraft, ...]:
    return tuple(said(f"said-{record.inbound.id}", PROSE) for record in records)


def ending(run: Run) -> Effects:
    return (
        AppendEntries(key=run.key, drafts=(answered(f"final-{run.id}", PROSE),)),
        AddDelivery(delivery=delivery(f"reply-{run.id}", run.key)),
        done(run.id),
    )


# -- the judge ---------------------------------------------------------------------------------------


async def judge(path: Path, facts: set[Fact]) -> None:
    """Everything acknowledged is in the file, nothing is there twice, and the file is sound."""
    store = SqliteStore.open(path, FakeClock())
    try:
        assert await store.check() == ()
        missing = facts - await _found(store, facts)
        assert not missing, (
            f"{len(missing)} of {len(facts)} acknowledged things are lost: {list(missing)[:5]}"
        )
        for key in KEYS:
            await _judge_feed(store, key)
    finally:
        await store.close()
    _refuse_twice(path)


async def lost(path: Path, facts: set[Fact]) -> set[Fact]:
    """What was acknowledged and is not there, in a file that is sound all the same."""
    store = SqliteStore.open(path, FakeClock())
    try:
        assert await store.check() == ()
        return facts - await _found(store, facts)
    finally:
        await store.close()


async def _found(store: Store, facts: set[Fact]) -> set[Fact]:
    entries: set[Fact] = set()
    for key in KEYS:
        for generation in await store.generations(key):
            found = await store.entries(generation.session_id)
            entries |= {Fact(Done.APPENDED, key, entry.id) for entry in found}
    return {fact for fact in facts if fact in entries or await _is_there(store, fact, entries)}


async def _is_there(store: Store, fact: Fact, entries: set[Fact]) -> bool:
    match fact.done:
        case Done.ACCEPTED:
            return await store.inbound(fact.id) is not None
        case Done.FINISHED:
            run = await store.run(fact.id)
            return (
                run is not None
                and run.state is RunState.DONE
                and Fact(Done.APPENDED, fact.key, f"final-{fact.id}") in entries
                and await store.delivery(f"reply-{fact.id}") is not None
            )
        case Done.APPENDED:
            return False


async def _judge_feed(store: Store, key: SessionKey) -> None:
    session = await store.session(key)
    numbers = [event.number for event in await store.events(key, after=0, limit=1_000_000)]
    assert numbers == list(range(1, (session.events if session else 0) + 1))


def _refuse_twice(path: Path) -> None:
    """Ids are unique by name: a second entry, run or reply for the same cause would show here."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        assert connection.execute("SELECT entry_id FROM entries GROUP BY 1 HAVING count(*) > 1").get is None
        pairs = connection.execute("SELECT (SELECT count(*) FROM inbound), (SELECT count(*) FROM runs)").get
        assert pairs[0] == pairs[1]
        strays = "SELECT id FROM inbound WHERE run_id NOT IN (SELECT id FROM runs)"
        assert connection.execute(strays).get is None
    finally:
        connection.close()
