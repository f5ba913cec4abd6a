"""Whatever calls come and go, and in whatever order they end, no hard limit is passed."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.budgets import (
    Affordable,
    Ask,
    Balance,
    Budgets,
    BudgetScope,
    Crowded,
    Limit,
    Measure,
    Period,
    Reservation,
    Spender,
    Unaffordable,
    accounts,
    released,
    settled,
    weigh,
)
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.messages import Usage
from roost.core.principals import OWNER, person
from roost.core.runs import RunKind
from roost.testing.clock import NOON
from tests.scale import examples

KEYS = tuple(SessionKey.named(agent, name) for agent in ("main", "ops") for name in ("a", "b"))
PEOPLE = (OWNER, person("telegram", "1"))
HOUR = 3_600_000

limits = st.builds(
    Limit,
    scope=st.sampled_from(BudgetScope),
    measure=st.sampled_from(Measure),
    period=st.sampled_from(Period),
    soft=st.none() | st.integers(0, 60),
    hard=st.none() | st.integers(0, 100),
)
spenders = st.builds(
    Spender, key=st.sampled_from(KEYS), root=st.sampled_from(KEYS[:2]), principal=st.sampled_from(PEOPLE)
)


@dataclass(frozen=True, kw_only=True)
class Begin:
    spender: Spender
    tokens: int
    micros: int


@dataclass(frozen=True, kw_only=True)
class End:
    """Of the calls under way the n-th ends, having cost some part of what it held; None of it: released."""

    which: int
    percent: int | None


@dataclass(frozen=True)
class Wait:
    hours: int


moves = st.lists(
    st.builds(Begin, spender=spenders, tokens=st.integers(1, 40), micros=st.integers(0, 40))
    | st.builds(End, which=st.integers(0, 9), percent=st.none() | st.integers(1, 100))
    | st.builds(Wait, st.integers(1, 30)),
    max_size=40,
)


@dataclass
class Purse:
    budgets: Budgets
    now: int = NOON
    balances: dict[str, Balance] = field(default_factory=dict)
    under_way: list[Reservation] = field(default_factory=list)
    spent: dict[tuple[str, int], int] = field(default_factory=dict)

    def begin(self, move: Begin) -> None:
        row = LedgerRow(
            id="call",
            at=self.now,
            key=move.spender.key,
            session_id="s",
            principal=move.spender.principal,
            run_id="r",
            run_kind=RunKind.TURN,
            provider="p",
            model="m",
            usage=Usage(input=move.tokens, total=move.tokens, cost_micros=move.micros),
        )
        ask = Ask(accounts=accounts(self.budgets, move.spender, self.now), row=row, priced=True)
        seen = {name: self.balances.get(name, Balance()) for name in ask.names}
        verdict = weigh(ask, seen)
        match verdict:
            case Affordable():
                self.balances.update(verdict.balances)
                self.under_way.append(verdict.reservation)
            case Unaffordable():
                assert verdict.over is None or verdict.over > 0
                assert verdict.until > self.now
            case Crowded():
                assert any(balance.held for balance in seen.values())

    def end(self, move: End) -> None:
        if not self.under_way:
            return
        reservation = self.under_way.pop(move.which % len(self.under_way))
        usage = reservation.row.usage
        part = 0 if move.percent is None else move.percent
        cost = usage._replace(
            input=-(-usage.input * part // 100), total=0, cost_micros=usage.cost_micros * part // 100
        )
        for hold in reservation.holds:
            balance = self.balances[hold.name]
            if move.percent is None:
                self.balances[hold.name] = released(balance, hold)
                continue
            self.balances[hold.name] = settled(balance, hold, cost)
            counted = cost.input if hold.measure is Measure.TOKENS else cost.cost_micros
            window = (hold.name, hold.since)
            self.spent[window] = self.spent.get(window, 0) + counted

    def assert_sound(self) -> None:
        for name, balance in self.balances.items():
            holds = [hold for one in self.under_way for hold in one.holds if hold.name == name]
            assert balance.held == sum(hold.amount for hold in holds)
            assert balance.spent == self.spent.get((name, balance.since), 0)
        for (name, _), spent in self.spent.items():
            for limit in self.budgets.limits:
                if (
                    name.startswith(f"{limit.scope}.{limit.measure}.{limit.period} ")
                    and limit.hard is not None
                ):
                    assert spent <= limit.hard


@pytest.mark.requirement("P20")
@settings(max_examples=examples(100, 5000), deadline=None)
@given(
    st.lists(limits, max_size=4, unique_by=lambda limit: (limit.scope, limit.measure, limit.period)), moves
)
def test_no_order_of_calls_passes_a_hard_limit_and_every_settled_call_is_counted_exactly(
    given_limits: list[Limit], given_moves: list[Begin | End | Wait]
) -> None:
    purse = Purse(Budgets(limits=tuple(given_limits)))
    for move in given_moves:
        match move:
            case Begin():
                purse.begin(move)
            case End():
                purse.end(move)
            case Wait():
                purse.now += move.hours * HOUR
        purse.assert_sound()
