"""A small world to draw from: few names, so that what is drawn meets what is there."""

from dataclasses import replace

from hypothesis import strategies as st

from roost.core import effects as fx
from roost.core.addresses import Address, Origin
from roost.core.deliveries import Confirmed, Postponed, Rejected, SendResult, Unknown
from roost.core.entries import EntryDraft
from roost.core.exchanges import Completion, CompletionStatus, Exchange, ExchangeState, Phase
from roost.core.imports import ImportedGeneration, ImportedSession
from roost.core.inbound import Inbound, InputMode, Source
from roost.core.keys import KeyKind, SessionKey
from roost.core.ledger import Denial, LedgerRow
from roost.core.messages import Compaction, Notice, Usage
from roost.core.principals import OWNER, person
from roost.core.queries import (
    Cursor,
    HistoryQuery,
    LedgerQuery,
    Position,
    SearchQuery,
    SessionQuery,
)
from roost.core.retention import Crowd, Cutoffs
from roost.core.runs import Lane, Outcome, Progress, Request, Run, RunKind, RunState, Step, StepKind
from roost.core.search import parse_query
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
from roost.core.visibility import EVERYTHING, VisibleScope
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON

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
EXCHANGES = ("x-1", "x-2")
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


outcomes = st.builds(Outcome, state=st.sampled_from([state for state in RunState if state.ended]), at=moments)
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


effects: st.SearchStrategy[fx.Effect] = st.one_of(
    st.builds(builders.opening, sessions(), st.sampled_from(GENERATIONS)),
    st.builds(fx.OpenGeneration, generation=generations),
    st.builds(
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
    st.builds(fx.Archive, key=keys, at=st.none() | moments),
    st.builds(fx.Pin, key=keys, at=st.none() | moments),
    st.builds(fx.DeleteSession, key=keys),
    st.builds(fx.AppendEntries, key=keys, drafts=drafts()),
    st.builds(fx.AcceptInput, inbound=inbound(), run_id=st.none() | runs, mode=modes),
    st.builds(fx.MoveInput, inbound_id=messages, run_id=runs, mode=modes),
    st.builds(fx.MergeInput, inbound_id=messages, into=messages, reason=texts),
    st.builds(fx.KillInput, inbound_id=messages, reason=texts),
    st.builds(fx.QueueRun, run=queued_runs()),
    st.builds(fx.DelayRun, run_id=runs, ready_at=moments),
    st.builds(fx.RequeueRun, run_id=runs, ready_at=moments, progress=progress),
    st.builds(fx.EndRun, run_id=runs, outcome=outcomes),
    added(),
    st.builds(fx.PutExchange, exchange=exchanges),
    st.builds(fx.OweCompletion, completion=completions),
    st.builds(
        fx.SettleCompletion,
        child_run=runs,
        status=st.sampled_from(CompletionStatus),
        at=moments,
        result=texts,
    ),
    st.builds(fx.AcknowledgeCompletion, child_run=runs, at=moments),
    st.builds(BindThread, binding=bindings),
    st.builds(UseThread, address=addresses, key=keys, at=moments),
    st.builds(UnbindThread, address=addresses),
    st.builds(fx.RecordDenial, denial=denials),
)
several_effects = st.lists(effects, min_size=1, max_size=3).map(tuple)
steps = st.builds(Step, kind=st.sampled_from(StepKind), at=moments)
results: st.SearchStrategy[SendResult] = st.one_of(
    st.just(Confirmed(receipt="77")),
    st.builds(Postponed, ready_at=moments, error=texts),
    st.just(Rejected(error="no")),
    st.just(Unknown(error="?")),
)
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
scopes = st.just(EVERYTHING) | st.builds(
    VisibleScope,
    owner=st.none() | principals,
    self_key=st.none() | keys,
    tree_of=st.none() | keys,
    agents=st.none() | st.frozensets(st.sampled_from(("main", "ops"))),
)
session_queries = st.builds(
    SessionQuery,
    scope=scopes,
    kinds=st.none() | st.frozensets(st.sampled_from(SessionKind), max_size=2),
    agent=st.sampled_from((None, "main", "ops")),
    label=st.sampled_from((None, None, "home")),
    search=st.none() | texts,
    active_since=st.none() | moments,
    keys=st.none() | st.frozensets(keys, max_size=3),
    parents=st.none() | st.frozensets(keys, max_size=2),
    hidden=st.frozensets(st.sampled_from(KeyKind), max_size=2),
    archived=st.sampled_from((None, False, True)),
    after=st.none() | st.builds(Cursor, updated=moments, key=keys.map(str)),
    offset=st.integers(0, 2),
    limit=st.integers(1, 6),
)
ledger_queries = st.builds(
    LedgerQuery,
    key=st.none() | keys,
    tree_of=st.none() | keys,
    agent=st.sampled_from((None, "main")),
    principal=st.none() | principals,
    since=st.none() | moments,
    until=st.none() | moments,
)
history_queries = st.builds(
    HistoryQuery,
    key=keys,
    session_id=st.none() | st.sampled_from(GENERATIONS),
    before=st.none() | st.builds(Position, st.integers(1, 4), st.integers(1, 5)),
    tools=st.booleans(),
    limit=st.integers(1, 4),
)
search_queries = st.builds(
    SearchQuery,
    query=st.sampled_from(WORDS).map(parse_query),
    scope=scopes,
    key=st.none() | keys,
    limit=st.integers(1, 5),
)
rare_moments = st.sampled_from((None, None, None, NOON, NOON + 1, NOON + 4_000))
cutoffs = st.builds(
    Cutoffs,
    synthetic_before=rare_moments,
    cron_before=rare_moments,
    events_before=rare_moments,
    dedupe_before=rare_moments,
    archive_children_before=rare_moments,
    archive_dashboards_before=rare_moments,
    generations_before=rare_moments,
    crowd=st.none() | st.builds(Crowd, most=st.integers(0, 3), spared=rare_moments),
)


@st.composite
def imports(draw: st.DrawFn) -> ImportedSession:
    names = draw(st.lists(st.sampled_from(GENERATIONS), max_size=3))
    return ImportedSession(
        session=draw(sessions()),
        generations=tuple(
            ImportedGeneration(
                session_id=name,
                opened_at=draw(moments),
                drafts=draw(drafts()),
                header=draw(st.none() | texts),
                archived=draw(st.booleans()),
            )
            for name in names
        ),
    )
