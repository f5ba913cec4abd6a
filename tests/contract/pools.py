"""A small world to draw from: few names, so that what is drawn meets what is there."""

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import strategies as st

from roost.core import effects as fx
from roost.core.addresses import Address, Origin
from roost.core.deliveries import Confirmed, Postponed, Rejected, SendResult, Unknown
from roost.core.devices import DeviceIdentity, PairingRequest
from roost.core.entries import EntryDraft
from roost.core.exchanges import Completion, CompletionStatus, Exchange, ExchangeState, Phase
from roost.core.firings import Firing, FiringState, PutFiring
from roost.core.grants import Scope
from roost.core.guests import Knock
from roost.core.identities import Identity
from roost.core.imports import ImportedGeneration, ImportedSession
from roost.core.inbound import Inbound, InputMode, Source
from roost.core.keys import SessionKey
from roost.core.ledger import Denial, LedgerRow
from roost.core.messages import Compaction, Notice, Usage
from roost.core.principals import OWNER, person
from roost.core.runs import (
    Lane,
    Outcome,
    Progress,
    Request,
    Run,
    RunKind,
    RunState,
    Step,
    StepKind,
    StopRequest,
)
from roost.core.sessions import (
    Counters,
    Facts,
    Generation,
    Labels,
    OpenedBy,
    Overrides,
    Session,
    SessionKind,
    SessionStatus,
)
from roost.core.threads import BindThread, ThreadBinding, UnbindThread, UseThread
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.jobs import job

OPS = SessionKey.named("ops", "main")
GROUP = SessionKey.parse("agent:main:telegram:group:Team 7")
CHILD = SessionKey.parse("agent:main:subagent:one")
GRANDCHILD = SessionKey.parse("agent:ops:subagent:two")
CRON = SessionKey.parse("agent:main:cron:nightly")
KEYS = (MAIN, OPS, GROUP, CHILD, GRANDCHILD, CRON)
PARENTS = {CHILD: MAIN, GRANDCHILD: CHILD}
KINDS = {MAIN: SessionKind.MAIN, OPS: SessionKind.MAIN, GROUP: SessionKind.GROUP, CRON: SessionKind.CRON}

ALICE = person("telegram", "1")
ADDRESSES = (
    Address(channel="telegram", to="alice"),
    Address(channel="telegram", to="alice", thread="7"),
    Address(channel="telegram", to="bob", account="work"),
)
RUNS = tuple(f"r-{number}" for number in range(1, 13))
MESSAGES = tuple(f"m-{number}" for number in range(1, 17))
DELIVERIES = tuple(f"d-{number}" for number in range(1, 13))
GENERATIONS = tuple(f"g-{number}" for number in range(1, 25))
IMPORTED = tuple(f"i-{number}" for number in range(1, 9))
EXCHANGES = ("x-1", "x-2")
JOBS = ("j-1", "j-2")
FIRINGS = tuple(f"f-{number}" for number in range(1, 5))
POINTS = ("early", "late")
DEVICES = ("tablet", "phone")
REQUESTS = ("q-1", "q-2", "q-3")
KNOCKS = ("k-1", "k-2", "k-3")
CODES = ("ABCD2345", "EFGH6789")
CALLS = tuple(f"u-{number}" for number in range(1, 6))
WORDS = ("zebra", "crossing zebra", "预算", "strasse")
TEXTS = ("zebra", "Zebra crossing", "项目预算的问题", "a\nb", "Straße", "")

keys = st.sampled_from((MAIN, *KEYS))
principals = st.sampled_from((OWNER, ALICE))
addresses = st.sampled_from(ADDRESSES)
runs = st.sampled_from(RUNS)
messages = st.sampled_from(MESSAGES)
deliveries = st.sampled_from(DELIVERIES)
texts = st.sampled_from(TEXTS)
moments = st.sampled_from((NOON - 2, NOON - 1, NOON, NOON, NOON + 1, NOON + 60, NOON + 4_000))
ages = st.sampled_from((0, 0, 0, 1, 2))
rare_keys = st.sampled_from((None, None, None, *KEYS))
modes = st.sampled_from(InputMode)
few = st.integers(0, 9)
usages = st.builds(Usage, **dict.fromkeys(Usage._fields, few))
labels = st.builds(Labels, label=st.sampled_from((None, "home", "work")), display_name=st.none() | texts)
sources = st.builds(
    Source,
    channel=st.sampled_from(("telegram", "web")),
    account=st.sampled_from(("default", "work")),
    external_id=st.sampled_from((None, None, None, "1", "2")),
    idempotency_key=st.sampled_from((None, None, None, "k")),
)


@st.composite
def drafts(draw: st.DrawFn) -> tuple[EntryDraft, ...]:
    return tuple(draw(st.lists(draft(), max_size=3)))


@st.composite
def draft(draw: st.DrawFn) -> EntryDraft:
    name, text, at = draw(st.sampled_from("abcdef")), draw(texts), draw(moments)
    match draw(st.integers(0, 5)):
        case 0:
            return builders.answered(name, text, at=at, usage=draw(usages))
        case 1:
            return builders.called(name, "c-1", "read", at=at)
        case 2:
            return builders.returned(name, "c-1", "read", text, at=at)
        case 3:
            compaction = Compaction(summary=text, first_kept_id="a", tokens_before=9, at=at, tokens_after=2)
            return EntryDraft(id=name, body=compaction)
        case 4:
            return EntryDraft(id=name, body=Notice(kind="note", at=at, data={"text": text}), source="{}")
        case _:
            return builders.said(name, text, at=at)


@st.composite
def sessions(draw: st.DrawFn, key: SessionKey | None = None) -> Session:
    key = key or draw(keys)
    row = builders.session(key, at=draw(moments), owner=draw(principals), parent=PARENTS.get(key))
    return row._replace(facts=Facts(kind=KINDS.get(key, SessionKind.OTHER)), labels=draw(labels))


generations = st.builds(
    Generation,
    session_id=st.sampled_from(GENERATIONS),
    key=keys,
    number=st.integers(1, 4),
    opened_at=moments,
    opened_by=st.sampled_from(OpenedBy),
    archived=st.booleans(),
)


@st.composite
def queued_runs(draw: st.DrawFn) -> Run:
    request = draw(
        st.builds(
            Request,
            kind=st.sampled_from(RunKind),
            lane=st.sampled_from(Lane),
            requester=st.none() | keys,
            exchange_id=st.none() | st.sampled_from(EXCHANGES),
            completes=st.none() | runs,
        )
    )
    return builders.run(draw(runs), draw(keys), ready_at=draw(moments), request=request)


@st.composite
def inbound(draw: st.DrawFn) -> Inbound:
    message = builders.inbound(
        draw(messages), draw(keys), text=draw(texts), source=draw(sources), at=draw(moments)
    )
    return replace(message, principal=draw(principals))


outcomes = st.builds(
    Outcome,
    state=st.sampled_from([state for state in RunState if state.ended]),
    at=moments,
    yielded=st.booleans(),
    until=st.none() | moments,
)
stops = st.builds(StopRequest, reason=texts, by=principals, at=moments, goes_on=st.booleans())
firings = st.builds(
    Firing,
    id=st.sampled_from(FIRINGS),
    job_id=st.sampled_from(JOBS),
    due_at=moments,
    at=moments,
    state=st.sampled_from(FiringState),
    key=keys | st.just(MAIN.beat),
    run_id=st.none() | runs,
    forgets=st.booleans(),
)
jobs = st.builds(job, st.sampled_from(JOBS), owner=principals, next_at=st.none() | moments)
requests = st.builds(
    PairingRequest,
    id=st.sampled_from(REQUESTS),
    identity=st.builds(
        DeviceIdentity,
        id=st.sampled_from(DEVICES),
        public_key=st.just("k"),
        client_id=st.just("tui"),
        client_mode=st.just("ui"),
        platform=texts,
    ),
    role=st.just("operator"),
    scopes=st.sampled_from(((Scope.READ,), (Scope.READ, Scope.WRITE))),
    address=st.sampled_from(("here", "there")),
    code=st.just("CODE"),
    at=moments,
)
knocks = st.builds(
    Knock,
    id=st.sampled_from(KNOCKS),
    identity=st.builds(Identity, channel=st.just("telegram"), id=st.sampled_from(("7", "8"))),
    chat=addresses,
    code=st.sampled_from(CODES),
    at=moments,
    name=st.none() | texts,
)
completions = st.builds(
    Completion, child_run=runs, child=keys, requester=keys, batch=runs, created_at=moments
)
exchanges = st.builds(
    Exchange,
    id=st.sampled_from(EXCHANGES),
    requester=keys,
    target=keys,
    request=texts,
    created_at=st.just(NOON),
    max_turns=st.just(5),
    phase=st.sampled_from(Phase),
    state=st.sampled_from(ExchangeState),
)
bindings = st.builds(
    ThreadBinding, address=addresses, key=keys, bound_by=principals, bound_at=moments, used_at=moments
)
denials = st.builds(
    Denial,
    at=moments,
    operation=st.just("send"),
    principal=principals,
    rule=st.just("rule"),
    reason=texts,
    caller=st.none() | keys,
    target=st.none() | texts,
    hidden=st.booleans(),
)
progress = st.builds(Progress, recoveries=st.integers(0, 2))


@st.composite
def added(draw: st.DrawFn) -> fx.AddDelivery:
    delivery = builders.delivery(draw(deliveries), draw(keys), address=draw(addresses), text=draw(texts))
    return fx.AddDelivery(delivery=replace(delivery, ready_at=draw(moments)))


ledger_rows = st.builds(
    LedgerRow,
    id=st.sampled_from(CALLS),
    at=moments,
    key=keys,
    session_id=st.just("s"),
    principal=principals,
    run_id=runs,
    run_kind=st.sampled_from(RunKind),
    provider=st.just("demo"),
    model=st.just("demo-1"),
    usage=usages,
    estimated=st.booleans(),
)
# One strategy an effect: a test compares the names with those that there are.
EFFECTS: Mapping[type[fx.Effect], st.SearchStrategy[fx.Effect]] = {
    fx.OpenSession: st.builds(builders.opening, sessions(), st.sampled_from(GENERATIONS)),
    fx.OpenGeneration: st.builds(fx.OpenGeneration, generation=generations),
    fx.ChangeSession: st.builds(
        fx.ChangeSession,
        key=keys,
        labels=st.none() | labels,
        overrides=st.none() | st.builds(Overrides, model=texts),
        counters=st.none() | st.builds(Counters, **dict.fromkeys(Counters._fields, few)),
        origin=st.none() | st.builds(Origin, sender=texts),
        route=st.none() | addresses,
        status=st.none() | st.sampled_from(SessionStatus),
        touched=st.none() | moments,
        interacted=st.none() | moments,
    ),
    fx.Archive: st.builds(fx.Archive, key=keys, at=st.none() | moments),
    fx.Pin: st.builds(fx.Pin, key=keys, at=st.none() | moments),
    fx.DeleteSession: st.builds(fx.DeleteSession, key=keys),
    fx.DiscardSession: st.builds(fx.DiscardSession, key=keys),
    fx.AppendEntries: st.builds(fx.AppendEntries, key=keys, drafts=drafts()),
    fx.AcceptInput: st.builds(fx.AcceptInput, inbound=inbound(), run_id=st.none() | runs, mode=modes),
    fx.MoveInput: st.builds(fx.MoveInput, inbound_id=messages, run_id=runs, mode=modes),
    fx.MergeInput: st.builds(fx.MergeInput, inbound_id=messages, into=messages, reason=texts),
    fx.KillInput: st.builds(fx.KillInput, inbound_id=messages, reason=texts),
    fx.KeepInput: st.builds(fx.KeepInput, inbound_id=messages),
    fx.AnswerInput: st.builds(fx.AnswerInput, inbound=inbound(), command=texts, answer=texts),
    fx.QueueRun: st.builds(fx.QueueRun, run=queued_runs()),
    fx.DelayRun: st.builds(fx.DelayRun, run_id=runs, ready_at=moments),
    fx.RequeueRun: st.builds(fx.RequeueRun, run_id=runs, ready_at=moments, progress=progress),
    fx.RequestStop: st.builds(fx.RequestStop, run_id=runs, stop=stops),
    fx.EndRun: st.builds(fx.EndRun, run_id=runs, outcome=outcomes),
    fx.AddDelivery: added(),
    fx.PutExchange: st.builds(fx.PutExchange, exchange=exchanges),
    fx.OweCompletion: st.builds(fx.OweCompletion, completion=completions),
    fx.SteerChild: st.builds(fx.SteerChild, child_run=runs, at=moments),
    fx.SettleCompletion: st.builds(
        fx.SettleCompletion,
        child_run=runs,
        status=st.sampled_from(CompletionStatus),
        at=moments,
        result=texts,
    ),
    fx.AcknowledgeCompletion: st.builds(fx.AcknowledgeCompletion, child_run=runs, at=moments),
    BindThread: st.builds(BindThread, binding=bindings),
    UseThread: st.builds(UseThread, address=addresses, key=keys, at=moments),
    UnbindThread: st.builds(UnbindThread, address=addresses),
    fx.RecordDenial: st.builds(fx.RecordDenial, denial=denials),
    PutFiring: st.builds(PutFiring, firing=firings),
    fx.RecordUsage: st.builds(fx.RecordUsage, row=ledger_rows),
}
effects: st.SearchStrategy[fx.Effect] = st.one_of(*EFFECTS.values())
several_effects = st.lists(effects, min_size=1, max_size=3).map(tuple)
steps = st.builds(Step, kind=st.sampled_from(StepKind), at=moments)
results: st.SearchStrategy[SendResult] = st.one_of(
    st.just(Confirmed(receipt="77")),
    st.builds(Postponed, ready_at=moments, error=texts),
    st.just(Rejected(error="no")),
    st.just(Unknown(error="?")),
)


@st.composite
def imports(draw: st.DrawFn) -> ImportedSession:
    names = draw(st.lists(st.sampled_from((*GENERATIONS, *IMPORTED)), max_size=3))
    return ImportedSession(
        session=draw(sessions()),
        generations=tuple(
            ImportedGeneration(
                session_id=name,
                opened_at=draw(moments),
                drafts=draw(drafts()),
                header=draw(st.none() | texts),
                archived=draw(st.sampled_from((False, False, True))),
            )
            for name in names
        ),
        usage=tuple(draw(st.lists(ledger_rows, max_size=2))),
    )
