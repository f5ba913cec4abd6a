"""How a conversation between two sessions goes on when a run of it ends.

The target answers (primary), then requester and target reply in turn (loop), then the target may say one thing
to its own channel (announce). Each step is queued by the end of the one before, in the same transaction.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from roost.core import exchangetext, toolnames
from roost.core.addresses import DEFAULT_ACCOUNT, Address
from roost.core.effects import AcceptInput, AppendEntries, Effects, PutExchange, QueueRun
from roost.core.endings import Ending
from roost.core.entries import EntryDraft
from roost.core.errors import Forbidden
from roost.core.exchanges import Exchange, ExchangeState, Phase
from roost.core.inbound import Inbound, InputMode, Source
from roost.core.keys import CHILD_KINDS, KeyKind, SessionKey
from roost.core.messages import Provenance, ProvenanceKind, Text, UserMessage
from roost.core.notices import announced, derived_id
from roost.core.principals import Principal
from roost.core.remotes import BEYOND
from roost.core.runs import Cause, Lane, Outcome, Request, Run, RunKind, RunState
from roost.core.sessions import Session
from roost.core.snapshots import ExchangeSnapshot, RunSnapshot, Snapshot
from roost.core.whereabouts import Met

INTERNAL_CHANNEL = "internal"
HOP_LIMIT = 16


class HopReason(StrEnum):
    CYCLE = "cycle"
    LIMIT = "hop_limit"
    OVER = "exchange_over"


@dataclass(frozen=True, slots=True, kw_only=True)
class HopRefusal:
    """A send that would go round in circles, or on for ever."""

    reason: HopReason
    message: str
    hint: str

    def error(self) -> Forbidden:
        return Forbidden(self.message, hint=self.hint)


def check_hops(hops: tuple[SessionKey, ...], target: SessionKey, limit: int = HOP_LIMIT) -> HopRefusal | None:
    """Whether a run that came by these sessions may send to that one. `hops` end with the sender's requester."""
    if target in hops:
        path = " → ".join(map(_named, (*hops[hops.index(target) :], target)))
        return HopRefusal(
            reason=HopReason.CYCLE,
            message=f"cycle: {_named(target)} is waiting for this answer ({path})",
            hint="answer instead, your reply goes back",
        )
    if len(hops) >= limit:
        return HopRefusal(
            reason=HopReason.LIMIT,
            message=f"this message has passed through {len(hops)} sessions, the limit is {limit}",
            hint="answer instead",
        )
    return None


def check_late(run: Run, target: SessionKey) -> HopRefusal | None:
    """Whether a run that hears of an exchange which is over may send to that session. Nobody waits for an answer there, but
    who asked again after every reply would never come to an end."""
    hops = run.cause.hops
    if target not in hops:
        return check_hops(hops, target)
    path = " → ".join(map(_named, (*hops[hops.index(target) :], run.key, target)))
    return HopRefusal(
        reason=HopReason.OVER,
        message=f"the exchange that led to this turn is over, and {_named(target)} took part in it ({path})",
        hint="wait for a person's next word, then ask again",
    )


def _named(hop: SessionKey) -> str:
    return "another gateway" if hop == BEYOND else str(hop)


def turns(requester: SessionKey, target: SessionKey, configured: int) -> int:
    """How many reply-back turns an exchange between these two gets."""
    return 0 if requester == target or requester.kind is KeyKind.CRON else configured


def one_way(exchange: Exchange) -> bool:
    """With a sub-agent on either side, or another gateway, there is one reply, no loop and no announce."""
    kinds = {exchange.requester.kind, exchange.target.kind}
    return exchange.sent.remote is not None or bool(kinds & CHILD_KINDS)


def leave(snapshot: ExchangeSnapshot) -> Effects:
    """Its sender waits no longer: from now on its end tells the requester by itself."""
    return _put(snapshot, snapshot.exchange.left())


def attend(snapshot: ExchangeSnapshot, run_id: str, call_id: str) -> Effects:
    """A call of its sender's waits for it anew: what comes of it is told to that call alone."""
    return _put(snapshot, snapshot.exchange.awaited_in(run_id, call_id))


def _put(snapshot: ExchangeSnapshot, exchange: Exchange) -> Effects:
    return () if exchange == snapshot.exchange else (PutExchange(exchange=exchange),)


def advance(snapshot: RunSnapshot, ending: Ending) -> Effects:
    """The next step of the exchange that the ended run served. A run that yielded has not answered yet."""
    exchange, outcome, said = snapshot.exchange, ending.outcome, ending.said
    if exchange is None or outcome.yielded:
        return ()
    match exchange.phase:
        case Phase.PRIMARY:
            return _after_primary(snapshot, exchange, ending)
        case Phase.LOOP:
            heard = replace(exchange, latest_reply=said or exchange.latest_reply)
            goes_on = said is not None and exchange.turn < exchange.max_turns
            return _next_turn(snapshot, heard, outcome) if goes_on else _announce(snapshot, heard, outcome)
        case Phase.ANNOUNCE:
            sent = _announcement(snapshot, said, ending) if said else ()
            return (*sent, _done(exchange))
        case Phase.DONE:
            return ()
        case _:
            assert_never(exchange.phase)


def _after_primary(snapshot: RunSnapshot, exchange: Exchange, ending: Ending) -> Effects:
    outcome, said = ending.outcome, ending.said
    if not outcome.succeeded:
        # What was never read, its time being over, was not answered badly: it came too late.
        unread = exchange.state is ExchangeState.ACCEPTED and outcome.state is RunState.TIMEOUT
        state = ExchangeState.EXPIRED if unread else ExchangeState.FAILED
        failed = replace(exchange, state=state, error=outcome.error or str(outcome.state))
        return (_done(failed), *_tell_late(snapshot, failed, exchangetext.failure_text(failed), outcome))
    heard = replace(exchange, state=ExchangeState.REPLIED, first_reply=said, latest_reply=said)
    if said is None:
        return (_done(heard),)
    if one_way(exchange):
        return (_done(heard), *_tell_late(snapshot, heard, said, outcome))
    if exchange.sent.internal or snapshot.called_off:
        return (*_close(snapshot, heard, ending), *_tell_late(snapshot, heard, said, outcome))
    return _next_turn(snapshot, heard, outcome) if heard.max_turns else _announce(snapshot, heard, outcome)


def _close(snapshot: RunSnapshot, exchange: Exchange, ending: Ending) -> Effects:
    """The end of an exchange without turns, as a person in no chat asked for it or whoever asked was stopped: the target
    announces only where somebody would hear it."""
    target = snapshot.session.session
    heard = target is not None and announce_address(target, ending.met) is not None
    return _announce(snapshot, exchange, ending.outcome) if heard else (_done(exchange),)


def _next_turn(snapshot: RunSnapshot, exchange: Exchange, outcome: Outcome) -> Effects:
    """The other side gets the latest reply; odd turns are the requester's."""
    partner = snapshot.partner
    if partner is None or partner.session is None or exchange.latest_reply is None:
        return _announce(snapshot, exchange, outcome)
    turned = replace(exchange, phase=Phase.LOOP, turn=exchange.turn + 1)
    block = exchangetext.turn_block(turned, *_channels(snapshot, exchange))
    run = _run(snapshot, turned, partner.key, RunKind.EXCHANGE, block, outcome.at)
    run = replace(run, request=replace(run.request, longest_ms=exchange.sent.step_ms))
    said = _opening_from(snapshot, run, exchange.latest_reply, f"{exchange.id}:{turned.turn}")
    return (PutExchange(exchange=turned), QueueRun(run=run), said)


def _tell_late(snapshot: RunSnapshot, exchange: Exchange, text: str, outcome: Outcome) -> Effects:
    """Tell a requester who does not wait, and hears it in no turn, what came of its message: unless its own work was
    stopped. What somebody else stopped is a line in its transcript, as the end of a child that was killed: a stop starts
    no work."""
    requester = snapshot.partner
    if requester is None or requester.session is None or requester.key == snapshot.run.key:
        return ()
    if snapshot.called_off or listens(requester, exchange):
        return ()
    if outcome.state is RunState.KILLED:
        return (_line(snapshot, requester.key, exchange, text, outcome.at),)
    run = late_run(exchange, snapshot.run.cause, outcome.at)
    return (QueueRun(run=run), _opening_from(snapshot, run, text, late_step(exchange)))


def late_run(exchange: Exchange, cause: Cause, at: int) -> Run:
    """The run in which a requester who waits no longer hears of it. What came from beyond sends nothing there."""
    other = exchange.target if exchange.sent.remote is None else BEYOND
    return Run(
        id=derived_id("late", exchange.id),
        key=exchange.requester,
        state=RunState.QUEUED,
        cause=Cause(
            principal=cause.principal,
            kind=ProvenanceKind.INTER_SESSION,
            trace=cause.trace,
            hops=(*exchange.hops[:-1], other),
        ),
        request=Request(kind=RunKind.EXCHANGE, lane=Lane.NESTED, prompt=exchangetext.late_block(exchange)),
        queued_at=at,
        ready_at=at,
    )


def late_step(exchange: Exchange) -> str:
    """The name of the message that tells of it."""
    return f"{exchange.id}:late"


def _line(snapshot: RunSnapshot, key: SessionKey, exchange: Exchange, text: str, at: int) -> AppendEntries:
    said_by = provenance(snapshot.run.cause.principal, str(snapshot.run.key), _channel(snapshot.session))
    said = UserMessage(content=(Text(text),), at=at, provenance=said_by)
    return AppendEntries(key=key, drafts=(EntryDraft(id=derived_id("late", exchange.id), body=said),))


def listens(requester: Snapshot, exchange: Exchange) -> bool:
    """Whether a call still waits for what comes of the message, or will once it is taken up again."""
    alive = {run.id for run in (requester.running, *requester.queued) if run is not None}
    return exchange.heard_by in alive


def _opening_from(snapshot: RunSnapshot, run: Run, text: str, step: str) -> AcceptInput:
    """Words of the session whose run ends, as what opens a run of the other side."""
    return opening(run, text, step, source=str(snapshot.run.key), channel=_channel(snapshot.session))


def opening(run: Run, text: str, step: str, *, source: str, channel: str | None = None) -> AcceptInput:
    """Words of another session as what opens a run."""
    inbound = Inbound(
        id=derived_id("turn", step),
        key=run.key,
        principal=run.cause.principal,
        provenance=provenance(run.cause.principal, source, channel),
        content=(Text(text),),
        source=Source(channel=INTERNAL_CHANNEL, idempotency_key=step),
        received_at=run.queued_at,
        trace=run.cause.trace,
        exchange_id=run.request.exchange_id,
        hops=run.cause.hops,
    )
    return AcceptInput(inbound=inbound, run_id=run.id, mode=InputMode.OPEN)


def provenance(principal: Principal, source: str, channel: str | None) -> Provenance:
    """Of words that one session says to another."""
    return Provenance(
        kind=ProvenanceKind.INTER_SESSION,
        principal=principal,
        source_session=source,
        source_channel=channel,
        source_tool=toolnames.SESSIONS_SEND,
    )


def _announce(snapshot: RunSnapshot, exchange: Exchange, outcome: Outcome) -> Effects:
    """The target's last word, unless the exchange was stopped or the target is gone."""
    target = _side(snapshot, exchange.target)
    if outcome.state is RunState.KILLED or target is None or target.session is None:
        return (_done(exchange),)
    closing = replace(exchange, phase=Phase.ANNOUNCE)
    block = exchangetext.announce_block(closing, *_channels(snapshot, exchange))
    run = _run(snapshot, closing, exchange.target, RunKind.ANNOUNCE, block, outcome.at)
    return (PutExchange(exchange=closing), QueueRun(run=run))


def _run(
    snapshot: RunSnapshot, exchange: Exchange, key: SessionKey, kind: RunKind, prompt: str, at: int
) -> Run:
    # Turns are no hops: each side may not send to the one that is waiting for its answer.
    sent_by = exchange.hops[:-1]
    hops = exchange.hops if key == exchange.target else (*sent_by, exchange.target)
    cause = snapshot.run.cause
    return Run(
        id=_step_id(exchange),
        key=key,
        state=RunState.QUEUED,
        cause=Cause(
            principal=cause.principal, kind=ProvenanceKind.INTER_SESSION, trace=cause.trace, hops=hops
        ),
        request=Request(kind=kind, lane=Lane.NESTED, exchange_id=exchange.id, prompt=prompt),
        queued_at=at,
        ready_at=at,
    )


def _step_id(exchange: Exchange) -> str:
    return derived_id("exchange", exchange.id, exchange.phase, str(exchange.turn))


def announce_run(exchange: Exchange) -> str:
    """The run in which the target is asked for its last word; there is none where it never was."""
    return _step_id(replace(exchange, phase=Phase.ANNOUNCE))


def _announcement(snapshot: RunSnapshot, said: str, ending: Ending) -> Effects:
    session, at = snapshot.session.session, ending.outcome.at
    address = announce_address(session, ending.met) if session else None
    if session is None or address is None:
        return ()
    return (announced(snapshot.run.id, session.key, address, said, at=at),)


def announce_address(session: Session, met: Met) -> Address | None:
    """Where a session speaks unasked: its group or room, else where its person was last met."""
    facts = session.facts
    if facts.shared and facts.channel and facts.peer:
        account = facts.account or DEFAULT_ACCOUNT
        return Address(
            channel=facts.channel,
            to=facts.peer,
            account=account,
            thread=facts.thread,
            chat_type=facts.chat_type,
        )
    return met(session)


def _done(exchange: Exchange) -> PutExchange:
    return PutExchange(exchange=replace(exchange, phase=Phase.DONE))


def _side(snapshot: RunSnapshot, key: SessionKey) -> Snapshot | None:
    return snapshot.session if snapshot.run.key == key else snapshot.partner


def _channel(snapshot: Snapshot | None) -> str | None:
    return snapshot.session.facts.channel if snapshot and snapshot.session else None


def _channels(snapshot: RunSnapshot, exchange: Exchange) -> tuple[str | None, str | None]:
    return _channel(_side(snapshot, exchange.requester)), _channel(_side(snapshot, exchange.target))
