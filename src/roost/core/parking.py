"""What follows when a run asks for the means of a model call: it goes on, tries again soon, is parked or goes without.

A parked run keeps its place in its session, and its user is told once in its life; where the budget is its user's own,
only their runs wait behind it. One that nobody asked for goes without: parked, it would keep people's messages waiting
behind it. So does one that announces how a child ended: that is told without a model too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias, assert_never

from roost.core.addresses import Address
from roost.core.budgets import (
    NEVER,
    Affordable,
    Ask,
    Balances,
    BudgetAccount,
    BudgetScope,
    Crowded,
    Measure,
    Reservation,
    Unaffordable,
    told,
    weigh,
)
from roost.core.effects import Effects, RecordDenial
from roost.core.ledger import Denial
from roost.core.messages import ProvenanceKind
from roost.core.notices import cleared_line, notice
from roost.core.runs import Outcome, Parked, Run, RunState

RETRY_MS = 5_000
_KEPT = "your message that was kept for its budget. Send it again if it still matters."

_BUDGETS = MappingProxyType(
    {
        BudgetScope.SESSION: "the {} budget of this session",
        BudgetScope.TREE: "the {} budget of this session and its children",
        BudgetScope.AGENT: "the {} budget of this agent",
        BudgetScope.PERSON: "your {} budget",
        BudgetScope.DAY: "the {} budget of this day",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """The call may be made: it holds what it may cost."""

    reservation: Reservation
    balances: Balances
    effects: Effects = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """The run goes back to the queue until `ready_at`; `parked` says why it is not merely a matter of moments."""

    ready_at: int
    parked: Parked | None = None
    effects: Effects = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgone:
    """The call is not made; the run goes on without it."""

    effects: Effects


Ruling: TypeAlias = Granted | Waits | Forgone
Rule: TypeAlias = Callable[[Run, Balances], Ruling]


def rule(run: Run, balances: Balances, ask: Ask, address: Address | None) -> Ruling:
    """Decide on the next call of a run; what there is to tell is told at `address`."""
    verdict = weigh(ask, balances)
    match verdict:
        case Affordable():
            return _granted(run, verdict, ask.row.at, address)
        case Crowded():
            return Waits(ready_at=_awaited(run, ask.row.at + RETRY_MS))
        case Unaffordable():
            if run.cause.kind is ProvenanceKind.SYSTEM or run.tells_of_task:
                return Forgone(effects=(_denial(run, verdict, ask.row.at),))
            return _parked(run, verdict, ask.row.at, address)
        case _:
            assert_never(verdict)


def _granted(run: Run, verdict: Affordable, at: int, address: Address | None) -> Granted:
    balances: Balances = verdict.balances
    effects: Effects = ()
    for account in verdict.soft:
        text = f"Most of {_budget(account)} is used."
        said = notice(run.key, address, text, at=at, about=f"{account.name} {account.today}")
        # Where nobody can be told, the next one who can be is.
        balances = told(balances, account) if said else balances
        effects += said
    return Granted(reservation=verdict.reservation, balances=balances, effects=effects)


def _parked(run: Run, refused: Unaffordable, at: int, address: Address | None) -> Waits:
    ready_at, limit = _awaited(run, refused.until), refused.account.limit
    parked = Parked(
        at=run.parked.at if run.parked else at,
        setting=limit.setting,
        reason=_reason(refused),
        personal=limit.scope is BudgetScope.PERSON,
    )
    if run.parked is not None:
        return Waits(ready_at=ready_at, parked=parked)
    text = notice(run.key, address, _line(refused), at=at, about=f"{run.id} parked")
    return Waits(ready_at=ready_at, parked=parked, effects=(_denial(run, refused, at), *text))


def let_down(run: Run, outcome: Outcome, told: Address | None = None) -> Effects:
    """A run that was parked is ended on somebody's word: who was told that an answer would come hears that none will,
    unless they are at `told`."""
    address = run.request.reply_to
    if run.parked is None or outcome.state is not RunState.KILLED or address == told:
        return ()
    why = run.stop.reason if run.stop else outcome.error or outcome.state
    line = cleared_line((_KEPT,), why)
    return notice(run.key, address, line, at=outcome.at, about=run.id)


def _denial(run: Run, refused: Unaffordable, at: int) -> RecordDenial:
    denial = Denial(
        at=at,
        operation="model_call",
        principal=run.cause.principal,
        rule=refused.account.limit.setting,
        reason=_reason(refused),
        caller=run.key,
    )
    return RecordDenial(denial=denial)


def _awaited(run: Run, moment: int) -> int:
    """A run whose time is limited is looked at again when it is over, to be ended."""
    return moment if run.due is None else min(moment, run.due)


def _budget(account: BudgetAccount) -> str:
    measure = "token" if account.limit.measure is Measure.TOKENS else "cost"
    return _BUDGETS[account.limit.scope].format(measure)


def _line(refused: Unaffordable) -> str:
    """For whoever asked: amounts may be other people's."""
    if refused.over is None:
        return (
            f"Not answered yet: {_budget(refused.account)} is limited and this model has no known price. "
            "Your message is kept until that changes."
        )
    when = "when it is raised" if refused.until == NEVER else "when it is raised or the next day begins"
    return (
        f"Not answered yet: {_budget(refused.account)} is used up. "
        f"Your message is kept and will be answered {when}."
    )


def _reason(refused: Unaffordable) -> str:
    """For the owner."""
    limit = refused.account.limit
    if refused.over is None:
        return "the price of the model is not known"
    return (
        f"the call would pass the limit of {_text(limit.measure, limit.hard or 0)} "
        f"by up to {_text(limit.measure, refused.over)}"
    )


def _text(measure: Measure, amount: int) -> str:
    return f"${amount / 1_000_000:.6f}" if measure is Measure.COST else f"{amount} tokens"
