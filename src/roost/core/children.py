"""What a child's end means to the session that spawned it.

The completion is settled in any case. Then exactly one of: the requester waits for the whole batch and goes on
when its last child ends; the requester is a sub-agent and gets it as an input; or the requester's chat is told.
"""

from dataclasses import replace
from types import MappingProxyType

from roost.core.a2a import INTERNAL_CHANNEL
from roost.core.addresses import Address
from roost.core.announce import SOURCE_TOOL, announcement, findings_text, freeze_result, silent_work
from roost.core.effects import (
    AcceptInput,
    AcknowledgeCompletion,
    AppendEntries,
    Effects,
    QueueRun,
    SettleCompletion,
)
from roost.core.endings import Ending, completes, continuation
from roost.core.entries import EntryDraft
from roost.core.exchanges import Completion, CompletionStatus
from roost.core.handover import steers
from roost.core.inbound import Inbound, InputMode, Source
from roost.core.keys import CHILD_KINDS, SessionKey
from roost.core.messages import Provenance, ProvenanceKind, Text, UserMessage
from roost.core.notices import announced, derived_id
from roost.core.principals import Principal
from roost.core.runs import Cause, Lane, Outcome, Request, Run, RunKind, RunState
from roost.core.sentinels import Sentinel, sentinel_of
from roost.core.snapshots import RunSnapshot, Snapshot
from roost.core.whereabouts import Met

STATUS_OF = MappingProxyType(
    {
        RunState.DONE: CompletionStatus.OK,
        RunState.FAILED: CompletionStatus.ERROR,
        RunState.KILLED: CompletionStatus.KILLED,
        RunState.TIMEOUT: CompletionStatus.TIMEOUT,
        RunState.INTERRUPTED: CompletionStatus.INTERRUPTED,
    }
)

ANNOUNCE_PROMPT = (
    "Your task is done. Write what your requester should be told, in a few sentences: the result first, then notes "
    f"if there are any. Your status is added for you. Reply exactly {Sentinel.ANNOUNCE_SKIP} to say nothing."
)

_LISTENING = frozenset({RunKind.TURN, RunKind.CONTINUATION, RunKind.EXCHANGE})


def child_end(snapshot: RunSnapshot, ending: Ending) -> Effects:
    """The end of a run that somebody is owed. A child that yielded has not ended."""
    completion, requester, outcome = snapshot.completion, snapshot.requester, ending.outcome
    if completion is None or requester is None or outcome.yielded or _steered_on(snapshot, outcome):
        return ()
    if snapshot.run.request.kind is RunKind.ANNOUNCE:
        return _announced(snapshot, completion, requester, ending)
    if not _pending(completion):
        return ()
    settled = replace(
        completion,
        status=STATUS_OF[outcome.state],
        result=_result(ending),
        error=outcome.error,
        settled_at=outcome.at,
    )
    settle = SettleCompletion(
        child_run=settled.child_run,
        status=settled.status,
        at=outcome.at,
        result=settled.result,
        error=settled.error,
    )
    told = () if requester.session is None else _pass_on(snapshot, settled, requester, ending)
    return (settle, *told)


def _steered_on(snapshot: RunSnapshot, outcome: Outcome) -> bool:
    """Whether its requester said more than the run has read: what follows it ends in its place."""
    unread = (record.inbound for record in snapshot.session.pending if record.run_id == snapshot.run.id)
    return outcome.succeeded and any(steers(one) for one in unread)


def waits(snapshot: RunSnapshot, outcome: Outcome) -> bool:
    """Whether a run will be gone on with: one that yielded, or one that ends a task while children with parts of it are
    at work or another run at it waits, so that what it said is no report yet. An announcement is a last word: it waits
    for nobody."""
    if not outcome.succeeded or snapshot.run.request.kind is RunKind.ANNOUNCE:
        return False
    if outcome.yielded and (snapshot.spawned or _reports(snapshot)):
        return True
    owed = snapshot.completion
    if owed is None or not _pending(owed):
        return False
    follows = any(completes(run) == owed.child_run for run in snapshot.session.queued)
    return follows or any(map(_pending, (*snapshot.spawned, *snapshot.shared)))


def _pending(completion: Completion) -> bool:
    return completion.status is CompletionStatus.PENDING


def yield_end(snapshot: RunSnapshot, ending: Ending) -> Effects:
    """A run yields after the last of its children has ended: it goes on at once, also if it heard of them before.
    What they said to it and it has not read takes it on by itself."""
    batch = snapshot.spawned
    waiting = any(map(_pending, batch))
    if not ending.outcome.yielded or waiting or not batch or _reports(snapshot):
        return ()
    return go_on(snapshot.run, batch, ending.outcome.at)


def given_up(snapshot: RunSnapshot, ending: Ending) -> Effects:
    """A turn ends that waited: of those of its children that have ended it is told now, for nobody goes on with what they
    found. The others are told of when they end."""
    run, requester, at = snapshot.run, snapshot.session, ending.outcome.at
    if run.outcome is None or not run.outcome.yielded:
        return ()
    unheard = [one for one in snapshot.spawned if not _pending(one) and one.acknowledged_at is None]
    if requester.key.kind in CHILD_KINDS:
        told = [
            _report(one, requester, None, findings_text((one,)), run.cause.principal, at) for one in unheard
        ]
    else:
        address = run.request.reply_to or (ending.met(requester.session) if requester.session else None)
        told = [
            _report(one, requester, address, announcement(one, None), run.cause.principal, at)
            for one in unheard
        ]
    return tuple(effect for effects in told for effect in effects)


def _reports(snapshot: RunSnapshot) -> bool:
    """Whether children said something to the run that it has not read."""
    unread = (record.inbound for record in snapshot.session.pending if record.run_id == snapshot.run.id)
    return any(one.provenance.kind is ProvenanceKind.SUBAGENT for one in unread)


def _result(ending: Ending) -> str | None:
    """What is kept of a child's last words; a run that failed leaves none, one that ran out of time what it has."""
    text = ending.said
    if ending.outcome.state is RunState.TIMEOUT:
        text = ending.last_words
        if not text and ending.tool_calls:
            text = silent_work(ending.tool_calls)
    return freeze_result(text) if text else None


def _pass_on(snapshot: RunSnapshot, settled: Completion, requester: Snapshot, ending: Ending) -> Effects:
    turn, siblings, at = snapshot.batch.run, snapshot.batch.siblings, ending.outcome.at
    if turn and turn.outcome and turn.outcome.yielded:
        if any(map(_pending, siblings)):
            return ()
        unheard = (one for one in siblings if one.acknowledged_at is None)
        return go_on(turn, (*unheard, settled), at)
    if requester.key.kind in CHILD_KINDS:
        return _tell_subagent(snapshot, settled, requester, at)
    if ending.outcome.succeeded:
        return (_ask_child(snapshot, settled, ending),)
    return _tell_requester(snapshot, settled, requester, ending, ending.announce(settled, None))


def go_on(batch: Run, completions: tuple[Completion, ...], at: int) -> Effects:
    """The turn that waited for all of these goes on with what they found."""
    run = _queued(derived_id("continuation", batch.id), batch.key, batch.cause, continuation(batch), at)
    # A batch may be a child itself, and its own completion is told under its id.
    inbound = _inbound(f"batch:{batch.id}", run, completions[-1], findings_text(completions), at)
    known = (AcknowledgeCompletion(child_run=one.child_run, at=at) for one in completions)
    return (QueueRun(run=run), AcceptInput(inbound=inbound, run_id=run.id, mode=InputMode.OPEN), *known)


def _tell_subagent(snapshot: RunSnapshot, completion: Completion, requester: Snapshot, at: int) -> Effects:
    """A sub-agent hears of its child inside its run, or in a new one if it is idle."""
    text, acknowledged = (
        findings_text((completion,)),
        AcknowledgeCompletion(child_run=completion.child_run, at=at),
    )
    busy = requester.running
    if busy and busy.request.kind in _LISTENING:
        inbound = _inbound(completion.child_run, busy, completion, text, at)
        return (AcceptInput(inbound=inbound, run_id=busy.id, mode=InputMode.STEER), acknowledged)
    cause, request = _asked_by(snapshot)
    run = _queued(derived_id("heard", completion.child_run), requester.key, cause, request, at)
    inbound = _inbound(completion.child_run, run, completion, text, at)
    return (QueueRun(run=run), AcceptInput(inbound=inbound, run_id=run.id, mode=InputMode.OPEN), acknowledged)


def _asked_by(snapshot: RunSnapshot) -> tuple[Cause, Request]:
    """Why and for whom an idle sub-agent goes on: as in the turn that spawned the child, whoever waits for that."""
    turn, request = snapshot.batch.run, Request(kind=RunKind.CONTINUATION, lane=Lane.SUBAGENT)
    if turn is None:
        return snapshot.run.cause, request
    return turn.cause, replace(
        request, reply_to=turn.request.reply_to, completes=completes(turn), deadline=turn.due
    )


def _ask_child(snapshot: RunSnapshot, completion: Completion, ending: Ending) -> QueueRun:
    request = Request(
        kind=RunKind.ANNOUNCE,
        lane=Lane.SUBAGENT,
        requester=completion.requester,
        prompt=ANNOUNCE_PROMPT,
        completes=completion.child_run,
        longest_ms=ending.announce_ms,
    )
    run_id = derived_id("announce", completion.child_run)
    return QueueRun(run=_queued(run_id, completion.child, snapshot.run.cause, request, ending.outcome.at))


def _announced(snapshot: RunSnapshot, completion: Completion, requester: Snapshot, ending: Ending) -> Effects:
    """The child was asked what to say. What it does not say is said without it, unless it asked for silence."""
    if completion.acknowledged_at is not None or requester.session is None:
        return ()
    skips = ending.outcome.succeeded and sentinel_of(ending.last_words) is Sentinel.ANNOUNCE_SKIP
    if skips:
        return (AcknowledgeCompletion(child_run=completion.child_run, at=ending.outcome.at),)
    return _tell_requester(snapshot, completion, requester, ending, ending.announce(completion, ending.said))


def _tell_requester(
    snapshot: RunSnapshot, completion: Completion, requester: Snapshot, ending: Ending, text: str
) -> Effects:
    address = _announce_address(snapshot, requester, ending.met)
    return _report(completion, requester, address, text, snapshot.run.cause.principal, ending.outcome.at)


def _report(
    completion: Completion,
    requester: Snapshot,
    address: Address | None,
    text: str,
    principal: Principal,
    at: int,
) -> Effects:
    """Into the requester's transcript, and to its chat unless the child was killed. It starts no run."""
    entry = told_entry(completion, text, principal, at)
    quiet = completion.status is CompletionStatus.KILLED
    sent: Effects = ()
    if address and requester.session and not quiet:
        sent = (announced(completion.child_run, requester.key, address, text, at=at),)
    acknowledged = AcknowledgeCompletion(child_run=completion.child_run, at=at)
    return (AppendEntries(key=requester.key, drafts=(entry,)), *sent, acknowledged)


def told_entry(completion: Completion, text: str, principal: Principal, at: int) -> EntryDraft:
    """How a child ended, in its requester's transcript; the same entry however often it is told."""
    said = UserMessage(content=(Text(text),), at=at, provenance=_provenance(completion, principal))
    return EntryDraft(id=told_id(completion.child_run), body=said)


def told_id(child_run: str) -> str:
    """The entry in which a requester is told how a child's run ended."""
    return derived_id("told", child_run)


def _announce_address(snapshot: RunSnapshot, requester: Snapshot, met: Met) -> Address | None:
    """Where the child was asked for, else where the requester was last met."""
    turn = snapshot.batch.run
    asked = turn.request.reply_to if turn else None
    return asked or (met(requester.session) if requester.session else None)


def _queued(run_id: str, key: SessionKey, cause: Cause, request: Request, at: int) -> Run:
    return Run(
        id=run_id,
        key=key,
        state=RunState.QUEUED,
        cause=replace(cause, kind=ProvenanceKind.SUBAGENT),
        request=request,
        queued_at=at,
        ready_at=at,
    )


def _inbound(about: str, run: Run, completion: Completion, text: str, at: int) -> Inbound:
    return Inbound(
        id=derived_id("completion", about),
        key=run.key,
        principal=run.cause.principal,
        provenance=_provenance(completion, run.cause.principal),
        content=(Text(text),),
        source=Source(channel=INTERNAL_CHANNEL, idempotency_key=f"completion:{about}"),
        received_at=at,
        trace=run.cause.trace,
        exchange_id=run.request.exchange_id,
        hops=run.cause.hops,
    )


def _provenance(completion: Completion, principal: Principal) -> Provenance:
    return Provenance(
        kind=ProvenanceKind.SUBAGENT,
        principal=principal,
        source_session=str(completion.child),
        source_tool=SOURCE_TOOL,
    )
