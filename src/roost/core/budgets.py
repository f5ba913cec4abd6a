"""What may be spent on models, and whether one more call fits.

Before a call the most it can cost is held; after it, what it did cost is settled. What is spent and held together
never passes a hard limit, as long as no call costs more than it held.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from enum import StrEnum
from typing import TypeAlias

from roost.core.jsonvalue import compact
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.localtime import day_of
from roost.core.messages import Usage
from roost.core.models import FailureKind, ModelRequest, ToolSpec
from roost.core.pricing import most_micros
from roost.core.principals import Principal
from roost.core.tokens import CALL_TOKENS, estimate, estimate_message
from roost.core.whereabouts import Met, nowhere

NEVER = 253_402_300_799_000
"""A moment that does not come."""
MOST = 2**62
"""More than this is not counted: a store holds numbers of 64 bits."""

_UNBILLED = frozenset({FailureKind.AUTH, FailureKind.RATE_LIMIT, FailureKind.OVERFLOW, FailureKind.PERMANENT})


class BudgetScope(StrEnum):
    """Whose calls count together; the name is that of its setting."""

    SESSION = "perSession"
    TREE = "perTree"
    AGENT = "perAgent"
    PERSON = "perPerson"
    DAY = "perDay"


class Measure(StrEnum):
    """What is counted; costs are millionths of a dollar."""

    TOKENS = "tokens"
    COST = "cost"


class Period(StrEnum):
    DAY = "day"
    EVER = "ever"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """At `soft` a word is said, `hard` is never passed; None is no limit."""

    scope: BudgetScope
    measure: Measure
    period: Period = Period.DAY
    soft: int | None = None
    hard: int | None = None

    @property
    def setting(self) -> str:
        return f"budgets.{self.scope}.{self.measure}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """Every limit there is. A day is one of `zone`; `met` says where a session is told of what it did not ask for."""

    limits: tuple[Limit, ...] = ()
    zone: tzinfo = UTC
    met: Met = nowhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Spender:
    """Who is charged for a call; `root` is the top of the session's tree."""

    key: SessionKey
    root: SessionKey
    principal: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAccount:
    """What a limit means to one spender today: counted under `name` since `since`, anew from `until` on."""

    name: str
    limit: Limit
    since: int
    until: int
    today: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What is `spent` since a moment, and `held` by calls under way; `warned` is the day on which a word was said."""

    since: int = 0
    spent: int = 0
    held: int = 0
    warned: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """What one call holds of one account."""

    name: str
    measure: Measure
    amount: int
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A call under way. `row` is what the ledger says of it if its cost is never heard of."""

    row: LedgerRow
    holds: tuple[Hold, ...]


Balances: TypeAlias = Mapping[str, Balance]


@dataclass(frozen=True, slots=True, kw_only=True)
class Affordable:
    """The balances after it; `soft` are the accounts past their soft limit of which nobody was told today."""

    reservation: Reservation
    balances: Balances
    soft: tuple[BudgetAccount, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowded:
    """It may fit once calls under way have settled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unaffordable:
    """`over` is by how much the limit would be passed, None where a cost cannot be known; not before `until`."""

    account: BudgetAccount
    over: int | None
    until: int


Verdict: TypeAlias = Affordable | Crowded | Unaffordable


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A call that is to be made: charged to these accounts, `row` with the most it can cost."""

    accounts: tuple[BudgetAccount, ...]
    row: LedgerRow
    priced: bool

    @property
    def names(self) -> tuple[str, ...]:
        """In the order in which they are locked."""
        return tuple(account.name for account in self.accounts)


def accounts(budgets: Budgets, spender: Spender, now: int) -> tuple[BudgetAccount, ...]:
    """Where a call of this spender counts, by name."""
    day = day_of(now, budgets.zone)
    found = [
        BudgetAccount(
            name=f"{limit.scope}.{limit.measure}.{limit.period} {_subject(limit.scope, spender)}",
            limit=limit,
            since=day.start if limit.period is Period.DAY else 0,
            until=day.end if limit.period is Period.DAY else NEVER,
            today=day.start,
        )
        for limit in budgets.limits
    ]
    return tuple(sorted(found, key=lambda account: account.name))


def _subject(scope: BudgetScope, spender: Spender) -> str:
    subjects = {
        BudgetScope.SESSION: str(spender.key),
        BudgetScope.TREE: str(spender.root),
        BudgetScope.AGENT: spender.key.agent,
        BudgetScope.PERSON: str(spender.principal),
        BudgetScope.DAY: "all",
    }
    return subjects[scope]


def most_usage(request: ModelRequest) -> Usage:
    """The most a call can use: its input as estimated, and the longest answer."""
    tokens = (
        estimate(request.system)
        + sum(estimate_message(message) for message in request.messages)
        + sum(_tool_tokens(tool) for tool in request.tools)
    )
    usage = Usage(input=tokens, output=request.max_tokens or request.spec.max_tokens)
    return usage._replace(
        total=usage.input + usage.output, cost_micros=most_micros(usage, request.spec.prices)
    )


def _tool_tokens(tool: ToolSpec) -> int:
    return CALL_TOKENS + estimate(tool.name) + estimate(tool.description) + estimate(compact(tool.parameters))


def unbilled(kind: FailureKind, *, said: bool) -> bool:
    """Whether a call that failed cannot have cost anything: it was refused before a word of the answer."""
    return kind in _UNBILLED and not said


def weigh(ask: Ask, balances: Balances) -> Verdict:
    """Whether a call may be made now."""
    current = {account.name: _current(balances, account) for account in ask.accounts}
    refusals: list[Unaffordable] = []
    crowded = False
    for account in ask.accounts:
        balance, amount, hard = current[account.name], _amount(account, ask.row.usage), account.limit.hard
        if hard is None:
            continue
        if account.limit.measure is Measure.COST and not ask.priced:
            refusals.append(Unaffordable(account=account, over=None, until=NEVER))
        elif balance.spent + amount > hard:
            until = account.until if amount <= hard else NEVER
            refusals.append(Unaffordable(account=account, over=balance.spent + amount - hard, until=until))
        elif balance.spent + balance.held + amount > hard:
            crowded = True
    if refusals:
        return max(refusals, key=lambda refused: refused.until)
    return Crowded() if crowded else _allowed(ask, current)


def _allowed(ask: Ask, current: Balances) -> Affordable:
    holds = tuple(
        Hold(
            name=account.name,
            measure=account.limit.measure,
            amount=_amount(account, ask.row.usage),
            since=current[account.name].since,
        )
        for account in ask.accounts
    )
    return Affordable(
        reservation=Reservation(row=ask.row, holds=holds),
        balances={hold.name: _holding(current[hold.name], hold) for hold in holds},
        soft=tuple(account for account in ask.accounts if _is_soft(account, current[account.name])),
    )


def _holding(balance: Balance, hold: Hold) -> Balance:
    return replace(balance, held=min(MOST, balance.held + hold.amount))


def told(balances: Balances, account: BudgetAccount) -> Balances:
    """The balances once a word was said today about this account."""
    return {**balances, account.name: replace(balances[account.name], warned=account.today)}


def settled(balance: Balance, hold: Hold, usage: Usage) -> Balance:
    """The hold is gone and the call's cost is spent; that of a call that says nothing of it is what it held."""
    counted = _counted(hold.measure, usage) if _counted(Measure.TOKENS, usage) else hold.amount
    spent = min(MOST, balance.spent + counted) if balance.since == hold.since else balance.spent
    return replace(released(balance, hold), spent=spent)


def released(balance: Balance, hold: Hold) -> Balance:
    """The hold is gone and nothing was spent."""
    return replace(balance, held=max(0, balance.held - hold.amount))


def locked(holds: Iterable[Hold]) -> tuple[str, ...]:
    """The accounts of these holds in the order in which they are locked."""
    return tuple(sorted({hold.name for hold in holds}))


def _current(balances: Balances, account: BudgetAccount) -> Balance:
    """The balance of today: a new day begins with nothing spent, and with what is still held."""
    balance = balances[account.name]
    # A clock that was set back does not bring an old day back.
    return replace(balance, since=account.since, spent=0) if balance.since < account.since else balance


def _is_soft(account: BudgetAccount, balance: Balance) -> bool:
    soft = account.limit.soft
    return soft is not None and balance.spent >= soft and balance.warned < account.today


def _amount(account: BudgetAccount, usage: Usage) -> int:
    return min(MOST, _counted(account.limit.measure, usage))


def _counted(measure: Measure, usage: Usage) -> int:
    if measure is Measure.COST:
        return usage.cost_micros
    return max(usage.total, usage.input + usage.output + usage.cache_read + usage.cache_write)
