"""A message to a session of another gateway: what becomes of it here, as that gateway is heard of.

Its exchange is the only row. Each decision sees it as it stands, so that one that is over stays as it is.
"""

from dataclasses import replace

from roost.core import a2a, exchangetext
from roost.core.effects import Effects, PutExchange, QueueRun
from roost.core.endings import visible
from roost.core.exchanges import Exchange, ExchangeState, Phase
from roost.core.messages import ProvenanceKind
from roost.core.principals import OWNER
from roost.core.remotes import RemoteSession, Taken
from roost.core.runs import Cause
from roost.core.sending import SendOrder
from roost.core.snapshots import ExchangeSnapshot

# As long as a sender can wait at most.
LONGEST_MS = 3_600_000
UNANSWERED = "no answer came in time"


def letter(order: SendOrder, remote: RemoteSession) -> Exchange:
    """The exchange of an order of a session to itself, as one that goes to another gateway: there the run that it
    begins has its name."""
    exchange = order.exchange()
    end = order.at + LONGEST_MS
    return replace(
        exchange,
        deadline=end if exchange.deadline is None else min(exchange.deadline, end),
        sent=replace(exchange.sent, run_id=exchange.id, remote=remote),
    )


def taken(snapshot: ExchangeSnapshot, *, by: Taken) -> Effects:
    """The other gateway has it."""
    exchange = snapshot.exchange
    remote = exchange.sent.remote
    if remote is None or exchange.state.ended:
        return ()
    state = ExchangeState.RUNNING if by.begun else ExchangeState.DELIVERED
    named = replace(exchange, sent=replace(exchange.sent, remote=replace(remote, key=by.key)))
    further = named.come_to(state)
    return () if further == exchange else (PutExchange(exchange=further),)


def answered(snapshot: ExchangeSnapshot, *, reply: str | None, at: int) -> Effects:
    """The other session has said something, or was done without a word."""
    said = visible(reply)
    heard = replace(snapshot.exchange, state=ExchangeState.REPLIED, first_reply=said, latest_reply=said)
    return _ended(snapshot, heard, said, at)


def failed(snapshot: ExchangeSnapshot, *, error: str, at: int) -> Effects:
    """No answer will come."""
    dead = replace(snapshot.exchange, state=ExchangeState.FAILED, error=error)
    return _ended(snapshot, dead, exchangetext.failure_text(dead), at)


def expired(snapshot: ExchangeSnapshot, *, trouble: str | None, at: int) -> Effects:
    """Its time is over; `trouble` is what kept it."""
    dead = replace(snapshot.exchange, state=ExchangeState.EXPIRED, error=trouble or UNANSWERED)
    return _ended(snapshot, dead, exchangetext.failure_text(dead), at)


def _ended(snapshot: ExchangeSnapshot, after: Exchange, text: str | None, at: int) -> Effects:
    if snapshot.exchange.state.ended or after.sent.remote is None:
        return ()
    done = PutExchange(exchange=replace(after, phase=Phase.DONE))
    # What goes to another gateway has its own requester for a target here.
    if text is None or snapshot.called_off or a2a.listens(snapshot.target, after):
        return (done,)
    # Nobody else may send to another gateway.
    cause = Cause(principal=OWNER, kind=ProvenanceKind.INTER_SESSION, trace=after.sent.thread or after.id)
    run = a2a.late_run(after, cause, at)
    said = a2a.opening(run, text, a2a.late_step(after), source=str(after.sent.remote))
    return (done, QueueRun(run=run), said)
