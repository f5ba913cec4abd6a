"""A reply that is there while the turn whose call waits for it ends before it heard: its session is told all the same."""

from dataclasses import replace

from roost.core import a2a, exchangetext
from roost.core.effects import Effects, QueueRun
from roost.core.endings import Ending
from roost.core.exchanges import Exchange, ExchangeState
from roost.core.runs import Run
from roost.core.snapshots import RunSnapshot


def unheard(snapshot: RunSnapshot, ending: Ending) -> Effects:
    """What a session is told as if it came later. Who was stopped for good is told nothing."""
    run, exchange, outcome = snapshot.run, snapshot.awaited, ending.outcome
    if exchange is None or not _is_owed(exchange, run) or replace(run, outcome=outcome).called_off:
        return ()
    replied = exchange.state is ExchangeState.REPLIED
    text = exchange.first_reply if replied else exchangetext.failure_text(exchange)
    if text is None:
        return ()
    late = a2a.late_run(exchange, run.cause, outcome.at)
    said = a2a.opening(late, text, a2a.late_step(exchange), source=exchange.addressee)
    return (QueueRun(run=late), said)


def _is_owed(exchange: Exchange, run: Run) -> bool:
    """Whether a call of this run alone is told what came of it, and no turn of the exchange."""
    return exchange.state.ended and exchange.heard_by == run.id and exchange.turn == 0
