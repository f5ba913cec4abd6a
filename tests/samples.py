"""Small values that core tests are made of."""

from zoneinfo import ZoneInfo

from roost.core.addresses import Address, ChatType
from roost.core.arrivals import Arrival, Opening
from roost.core.exchanges import Completion, Exchange, Phase
from roost.core.inbound import Inbound, InboundRecord, InboundState, InputMode, Source
from roost.core.keys import KeyKind, SessionKey
from roost.core.messages import Provenance, ProvenanceKind, Text
from roost.core.principals import OWNER, Principal, person
from roost.core.runs import Cause, Request, Run, RunState
from roost.core.sessions import Facts, Generation, OpenedBy, Session, SessionKind, Times
from roost.core.snapshots import Snapshot

UTC_ZONE = ZoneInfo("UTC")
NOON = 1_750_075_200_000  # 2025-06-16 12:00 UTC
MINUTE = 60_000
HOUR = 60 * MINUTE

MAIN = SessionKey(agent="main", kind=KeyKind.NAMED, name="main")
OPS = SessionKey(agent="ops", kind=KeyKind.NAMED, name="main")
CHILD = SessionKey(agent="main", kind=KeyKind.SUBAGENT, name="c1")
GRANDCHILD = SessionKey(agent="ops", kind=KeyKind.SUBAGENT, name="c2")
CRON = SessionKey(agent="main", kind=KeyKind.CRON, name="job1")
GROUP = SessionKey(agent="main", kind=KeyKind.GROUP, channel="telegram", name="-100")

ALICE = person("telegram", "1")
BOB = person("telegram", "2")
CHAT = Address(channel="telegram", to="1")
OTHER_CHAT = Address(channel="discord", to="9")

DIRECT_FACTS = Facts(kind=SessionKind.MAIN, channel="telegram", chat_type=ChatType.DIRECT, peer="1")
GROUP_FACTS = Facts(kind=SessionKind.GROUP, channel="telegram", chat_type=ChatType.GROUP, peer="-100")


def session(key: SessionKey = MAIN, *, interacted: int = NOON, facts: Facts = DIRECT_FACTS) -> Session:
    times = Times(created=1, updated=interacted, started=1, interacted=interacted)
    return Session(key=key, owner=OWNER, session_id="s1", facts=facts, times=times, route=CHAT)


def generation(key: SessionKey = MAIN) -> Generation:
    return Generation(session_id="s1", key=key, number=1, opened_at=1, opened_by=OpenedBy.FIRST)


def snapshot(key: SessionKey = MAIN) -> Snapshot:
    """An idle session that somebody has just spoken in."""
    return Snapshot(key=key, session=session(key), generation=generation(key))


def inbound(
    name: str = "m1",
    *,
    key: SessionKey = MAIN,
    principal: Principal = OWNER,
    kind: ProvenanceKind = ProvenanceKind.HUMAN,
    text: str | None = None,
    at: int = NOON,
    reply_to: Address | None = CHAT,
) -> Inbound:
    return Inbound(
        id=name,
        key=key,
        principal=principal,
        provenance=Provenance(kind=kind, principal=principal),
        content=(Text(name if text is None else text),),
        source=Source(channel="telegram", external_id=name),
        received_at=at,
        trace="t1",
        reply_to=reply_to,
    )


def pending(message: Inbound, run_id: str, mode: InputMode = InputMode.OPEN) -> InboundRecord:
    return InboundRecord(inbound=message, state=InboundState.PENDING, mode=mode, run_id=run_id)


def run(
    name: str = "r1",
    *,
    key: SessionKey = MAIN,
    state: RunState = RunState.RUNNING,
    principal: Principal = OWNER,
    kind: ProvenanceKind = ProvenanceKind.HUMAN,
    request: Request | None = None,
    at: int = NOON,
) -> Run:
    return Run(
        id=name,
        key=key,
        state=state,
        cause=Cause(principal=principal, kind=kind, trace="t1"),
        request=request or Request(reply_to=CHAT),
        queued_at=at,
        ready_at=at,
        started_at=at if state is RunState.RUNNING else None,
    )


def queued(
    name: str = "q1",
    *,
    principal: Principal = OWNER,
    kind: ProvenanceKind = ProvenanceKind.HUMAN,
    request: Request | None = None,
    at: int = NOON,
) -> Run:
    return run(name, state=RunState.QUEUED, principal=principal, kind=kind, request=request, at=at)


def arrival(message: Inbound | None = None, *, run_id: str = "new", facts: Facts = DIRECT_FACTS) -> Arrival:
    opening = Opening(session_id="s2", owner=OWNER, facts=facts)
    return Arrival(inbound=message or inbound(), run_id=run_id, opening=opening, zone=UTC_ZONE)


def completion(child_run: str = "r1", *, requester: SessionKey = MAIN, batch: str = "b1") -> Completion:
    return Completion(
        child_run=child_run, child=CHILD, requester=requester, batch=batch, created_at=NOON - HOUR
    )


def exchange(phase: Phase = Phase.PRIMARY, *, turn: int = 0, max_turns: int = 2) -> Exchange:
    return Exchange(
        id="x1",
        requester=MAIN,
        target=OPS,
        request="What is up?",
        created_at=NOON,
        max_turns=max_turns,
        phase=phase,
        turn=turn,
        hops=(MAIN,),
    )
