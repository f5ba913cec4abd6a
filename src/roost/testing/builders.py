"""Small rows for tests: a valid value of each kind, with whatever a test cares about replaced."""

from collections.abc import Iterator
from itertools import count

from roost.core.addresses import Address
from roost.core.deliveries import Delivery, DeliveryKind
from roost.core.effects import AcceptInput, Effects, EndRun, OpenSession, QueueRun
from roost.core.entries import EntryDraft
from roost.core.inbound import Inbound, InputMode, Source
from roost.core.keys import SessionKey
from roost.core.messages import (
    AssistantMessage,
    Provenance,
    ProvenanceKind,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from roost.core.principals import OWNER, Principal
from roost.core.runs import Cause, Outcome, Request, Run, RunState
from roost.core.sessions import Facts, Generation, Lineage, OpenedBy, Session, SessionKind, Times
from roost.core.snapshots import Decide, Snapshot
from roost.testing.clock import NOON

MAIN = SessionKey.named("main", "main")
HUMAN = Provenance(kind=ProvenanceKind.HUMAN)
CHAT = Address(channel="loopback", to="alice")


class Names:
    """Fresh ids that a failing test can be read by: `run-1`, `run-2`, …"""

    def __init__(self) -> None:
        self._counts: dict[str, Iterator[int]] = {}

    def __call__(self, kind: str) -> str:
        return f"{kind}-{next(self._counts.setdefault(kind, count(1)))}"


def session(
    key: SessionKey = MAIN, *, at: int = NOON, owner: Principal = OWNER, parent: SessionKey | None = None
) -> Session:
    main = key == MAIN
    return Session(
        key=key,
        owner=owner,
        session_id="",
        facts=Facts(kind=SessionKind.MAIN if main else SessionKind.OTHER),
        times=Times(created=at, updated=at, started=at, interacted=at),
        lineage=Lineage(parent=parent, depth=1 if parent else 0),
    )


def generation(key: SessionKey, session_id: str, number: int = 1, *, at: int = NOON) -> Generation:
    by = OpenedBy.FIRST if number == 1 else OpenedBy.RESET
    return Generation(session_id=session_id, key=key, number=number, opened_at=at, opened_by=by)


def opening(row: Session, session_id: str) -> OpenSession:
    """The effect that creates a session."""
    first = generation(row.key, session_id, at=row.times.created)
    return OpenSession(session=row, generation=first)


def inbound(
    name: str, key: SessionKey = MAIN, *, text: str = "hello", source: Source | None = None, at: int = NOON
) -> Inbound:
    return Inbound(
        id=name,
        key=key,
        principal=OWNER,
        provenance=HUMAN,
        content=(Text(text),),
        source=source or Source(channel="loopback"),
        received_at=at,
        trace=f"trace-{name}",
        reply_to=CHAT,
    )


def run(
    name: str,
    key: SessionKey = MAIN,
    *,
    at: int = NOON,
    ready_at: int | None = None,
    request: Request | None = None,
) -> Run:
    return Run(
        id=name,
        key=key,
        state=RunState.QUEUED,
        cause=Cause(principal=OWNER, kind=ProvenanceKind.HUMAN, trace=f"trace-{name}"),
        request=request or Request(reply_to=CHAT),
        queued_at=at,
        ready_at=at if ready_at is None else ready_at,
    )


def delivery(name: str, key: SessionKey = MAIN, *, address: Address = CHAT, text: str = "hi") -> Delivery:
    return Delivery(id=name, key=key, address=address, kind=DeliveryKind.REPLY, text=text, created_at=NOON)


def said(name: str, text: str, *, at: int = NOON, provenance: Provenance = HUMAN) -> EntryDraft:
    return EntryDraft(id=name, body=UserMessage(content=(Text(text),), at=at, provenance=provenance))


def answered(name: str, text: str, *, at: int = NOON, usage: Usage | None = None) -> EntryDraft:
    message = AssistantMessage(
        content=(Text(text),), at=at, provider="demo", model="demo-1", usage=usage or Usage()
    )
    return EntryDraft(id=name, body=message)


def called(name: str, call_id: str, tool: str, *, at: int = NOON) -> EntryDraft:
    call = ToolCall(id=call_id, name=tool, arguments={})
    return EntryDraft(id=name, body=AssistantMessage(content=(call,), at=at))


def returned(name: str, call_id: str, tool: str, text: str, *, at: int = NOON) -> EntryDraft:
    return EntryDraft(id=name, body=ToolResult(call_id=call_id, tool=tool, content=(Text(text),), at=at))


def accept(message: Inbound, run_id: str, session_id: str) -> Decide:
    """The plainest decision: open the session if need be, one run a message."""

    def decide(snapshot: Snapshot) -> Effects:
        effects: Effects = ()
        if snapshot.session is None:
            effects = (opening(session(message.key, at=message.received_at), session_id),)
        return (
            *effects,
            QueueRun(run=run(run_id, message.key, at=message.received_at)),
            AcceptInput(inbound=message, run_id=run_id, mode=InputMode.OPEN),
        )

    return decide


def done(run_id: str, *, state: RunState = RunState.DONE, at: int = NOON) -> EndRun:
    return EndRun(run_id=run_id, outcome=Outcome(state=state, at=at))
