"""Whatever arrives, starts, ends or is stopped, no message is lost."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core import stopping
from roost.core.arrivals import Arrival
from roost.core.effects import (
    AcceptInput,
    AddDelivery,
    Effects,
    EndRun,
    KeepInput,
    KillInput,
    MergeInput,
    MoveInput,
    QueueRun,
)
from roost.core.handover import hand_over
from roost.core.inbound import Inbound, InboundRecord, InboundState
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind, Text
from roost.core.principals import OWNER
from roost.core.queueing import accept
from roost.core.queuesettings import DropPolicy, QueueMode, QueuePolicy, QueueSettings
from roost.core.queuetext import body
from roost.core.runs import Outcome, Run, RunState, StopRequest
from roost.core.sessions import Facts
from roost.core.snapshots import RunSnapshot, Snapshot
from roost.core.trees import Tree
from tests import samples
from tests.scale import examples

KINDS = (ProvenanceKind.HUMAN, ProvenanceKind.HUMAN, ProvenanceKind.INTER_SESSION, ProvenanceKind.SUBAGENT)


class Book:
    """One session as a store would keep it, as far as the queue goes."""

    def __init__(self, key: SessionKey, facts: Facts) -> None:
        self.key, self.facts, self.now = key, facts, samples.NOON
        self.records: dict[str, InboundRecord] = {}
        self.runs: dict[str, Run] = {}
        self.told: list[str] = []

    def snapshot(self) -> Snapshot:
        live = self.runs.values()
        return Snapshot(
            key=self.key,
            session=samples.session(self.key, interacted=self.now, facts=self.facts),
            generation=samples.generation(self.key),
            running=next((run for run in live if run.state is RunState.RUNNING), None),
            queued=tuple(run for run in live if run.state is RunState.QUEUED),
            pending=tuple(one for one in self.records.values() if one.state is InboundState.PENDING),
            merged=tuple(one for one in self.records.values() if one.state is InboundState.MERGED),
        )

    def apply(self, effects: Effects) -> None:
        for effect in effects:
            match effect:
                case QueueRun(run=run):
                    assert run.id not in self.runs
                    self.runs[run.id] = run
                case EndRun(run_id=run_id, outcome=outcome):
                    assert not self.runs[run_id].state.ended
                    self.runs[run_id] = replace(self.runs[run_id], state=outcome.state)
                case AcceptInput(inbound=inbound, run_id=run_id, mode=mode):
                    assert inbound.id not in self.records
                    record = InboundRecord(
                        inbound=inbound, state=InboundState.PENDING, mode=mode, run_id=run_id
                    )
                    self.records[inbound.id] = record
                case MoveInput(inbound_id=name, run_id=run_id, mode=mode):
                    self.end(name, replace(self.records[name], run_id=run_id, mode=mode))
                case MergeInput(inbound_id=name, into=into):
                    assert into in self.records
                    self.end(name, replace(self.records[name], state=InboundState.MERGED, merged_into=into))
                case KeepInput(inbound_id=name):
                    self.end(name, replace(self.records[name], state=InboundState.TAKEN))
                case KillInput(inbound_id=name, inbound=inbound):
                    self.kill(name, inbound)
                case AddDelivery(delivery=delivery):
                    self.told.append(delivery.text)
                case _:
                    pass

    def kill(self, name: str, inbound: Inbound | None) -> None:
        if inbound is not None:
            self.records[name] = InboundRecord(inbound=inbound, state=InboundState.PENDING)
        assert self.carrier(name).state is InboundState.PENDING, "a message has one end"
        self.records[name] = replace(self.records[name], state=InboundState.DEAD)

    def carrier(self, name: str) -> InboundRecord:
        """The message, or the one it was merged into at last."""
        record = self.records[name]
        while record.state is InboundState.MERGED:
            record = self.records[record.merged_into or ""]
        return record

    def end(self, name: str, record: InboundRecord) -> None:
        assert self.records[name].state is InboundState.PENDING, "a message has one end"
        self.records[name] = record

    def start(self) -> None:
        snapshot = self.snapshot()
        if snapshot.running is None and snapshot.queued:
            first = snapshot.queued[0]
            self.runs[first.id] = replace(first, state=RunState.RUNNING)

    def take(self) -> None:
        running = self.snapshot().running
        for name, record in self.records.items():
            if running and record.state is InboundState.PENDING and record.run_id == running.id:
                self.records[name] = replace(record, state=InboundState.TAKEN)

    def finish(self, state: RunState) -> None:
        snapshot = self.snapshot()
        if snapshot.running:
            self.runs[snapshot.running.id] = replace(snapshot.running, state=state)
            outcome = Outcome(state=state, at=self.now)
            self.apply(hand_over(snapshot, snapshot.running, outcome))

    def stop(self) -> None:
        snapshot = self.snapshot()
        at_work = (*snapshot.queued, *filter(None, (snapshot.running,)))
        runs = tuple(RunSnapshot(run=run, session=snapshot) for run in at_work)
        request = StopRequest(reason="stopped", by=OWNER, at=self.now)
        self.apply(stopping.stop(Tree(session=snapshot, runs=runs), request).effects)


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[Inbound, QueueSettings]:
    kind = draw(st.sampled_from(KINDS))
    human = kind is ProvenanceKind.HUMAN
    message = samples.inbound(
        "m",
        principal=draw(st.sampled_from((OWNER, samples.ALICE, samples.BOB))),
        kind=kind,
        reply_to=draw(st.sampled_from((samples.CHAT, samples.OTHER_CHAT, None))) if human else None,
    )
    chosen = QueueSettings(
        mode=draw(st.sampled_from(QueueMode)),
        cap=draw(st.integers(1, 3)),
        drop=draw(st.sampled_from(DropPolicy)),
        settle_ms=draw(st.sampled_from((0, 200))),
    )
    return message, chosen


steps = st.lists(arrivals() | st.sampled_from(("start", "take", "finish", "fail", "stop")), max_size=30)


def arrival(book: Book, number: int, message: Inbound, chosen: QueueSettings) -> Arrival:
    text = (Text(f"number {number}."),)
    named = replace(message, id=f"m{number}", key=book.key, received_at=book.now, content=text)
    base = samples.arrival(named, run_id=f"run{number}", facts=book.facts)
    return replace(base, queue=QueuePolicy(base=chosen))


@pytest.mark.requirement("P3")
@settings(max_examples=examples(60, 3000))
@given(steps, st.booleans())
def test_every_message_is_pending_taken_merged_or_dead_with_a_notice(
    story: list[tuple[Inbound, QueueSettings] | str], in_group: bool
) -> None:
    key, facts = (samples.GROUP, samples.GROUP_FACTS) if in_group else (samples.MAIN, samples.DIRECT_FACTS)
    book = Book(key, facts)
    sent = 0
    for step in story:
        book.now += 100
        match step:
            case "start":
                book.start()
            case "take":
                book.take()
            case "finish":
                book.finish(RunState.DONE)
            case "fail":
                book.finish(RunState.FAILED)
            case "stop":
                book.stop()
            case (message, chosen):
                sent += 1
                book.apply(accept(book.snapshot(), arrival(book, sent, message, chosen)))
        assert len(book.records) == sent
        check(book)


def check(book: Book) -> None:
    live = {run.id for run in book.runs.values() if not run.state.ended}
    pending = [one for one in book.records.values() if one.state is InboundState.PENDING]
    assert {one.run_id for one in pending} <= live, "every pending message waits for a run that will come"
    waiting = {one.run_id for one in pending}
    idle = {run.id for run in book.snapshot().queued} - waiting
    assert not idle, "no run waits with nothing to answer"
    dead = [one for one in book.records.values() if one.state is InboundState.DEAD and one.inbound.reply_to]
    told = sorted(line for notice in book.told for line in re.findall(r"number \d+\.", notice))
    assert told == sorted(body(one.inbound) for one in dead), "each dead message is told once"
    merged = [one for one in book.records.values() if one.state is InboundState.MERGED]
    carriers = {book.carrier(one.inbound.id).state for one in merged}
    assert InboundState.DEAD not in carriers, "no message is merged into one that nobody will read"
    for one in pending:
        run = book.runs[one.run_id or ""]
        assert run.request.reply_to == one.inbound.reply_to, "an answer goes where its message came from"
        if run.cause.kind is ProvenanceKind.HUMAN:
            assert one.inbound.provenance.kind is ProvenanceKind.HUMAN
            assert run.cause.principal.is_owner == one.inbound.principal.is_owner
