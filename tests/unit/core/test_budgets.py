from dataclasses import replace
from datetime import UTC, datetime

import pytest

from roost.core.budgets import (
    MOST,
    NEVER,
    Affordable,
    Ask,
    Balance,
    BudgetAccount,
    Budgets,
    BudgetScope,
    Crowded,
    Hold,
    Limit,
    Measure,
    Period,
    Spender,
    Unaffordable,
    accounts,
    locked,
    most_usage,
    released,
    settled,
    told,
    unbilled,
    weigh,
)
from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.messages import Provenance, ProvenanceKind, Text, Usage, UserMessage
from roost.core.models import FailureKind, ModelRef, ModelRequest, ModelSpec, Prices, ToolSpec
from roost.core.principals import OWNER, person
from roost.core.runs import RunKind

MAIN = SessionKey.named("main", "main")
CHILD = SessionKey.parse("agent:helper:subagent:one")
NOON = int(datetime(2025, 6, 15, 12, tzinfo=UTC).timestamp() * 1000)
TODAY = NOON - 12 * 3_600_000
TOMORROW = NOON + 12 * 3_600_000
SPENDER = Spender(key=CHILD, root=MAIN, principal=person("telegram", "1"))
ROW = LedgerRow(
    id="call",
    at=NOON,
    key=CHILD,
    session_id="s",
    principal=OWNER,
    run_id="run",
    run_kind=RunKind.TURN,
    provider="p",
    model="m",
    usage=Usage(input=60, output=40, total=100, cost_micros=5),
    estimated=True,
)
DAILY = Limit(scope=BudgetScope.DAY, measure=Measure.TOKENS, hard=1_000)


def account(limit: Limit = DAILY) -> BudgetAccount:
    (one,) = accounts(Budgets(limits=(limit,)), SPENDER, NOON)
    return one


def ask(*limits: Limit, priced: bool = True) -> Ask:
    return Ask(accounts=accounts(Budgets(limits=limits), SPENDER, NOON), row=ROW, priced=priced)


def today(limit: Limit, **parts: int) -> dict[str, Balance]:
    one = account(limit)
    return {one.name: replace(Balance(since=one.since), **parts)}


# -- whose and when ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "name"),
    [
        (BudgetScope.SESSION, "perSession.tokens.day agent:helper:subagent:one"),
        (BudgetScope.TREE, "perTree.tokens.day agent:main:main"),
        (BudgetScope.AGENT, "perAgent.tokens.day helper"),
        (BudgetScope.PERSON, "perPerson.tokens.day person:telegram:1"),
        (BudgetScope.DAY, "perDay.tokens.day all"),
    ],
)
def test_a_call_counts_where_its_spender_belongs(scope: BudgetScope, name: str) -> None:
    assert account(replace(DAILY, scope=scope)).name == name


def test_accounts_are_in_the_order_of_their_names_and_so_are_locks() -> None:
    limits = tuple(replace(DAILY, scope=scope) for scope in BudgetScope)
    names = ask(*limits).names
    assert list(names) == sorted(names)
    hold = Hold(name="b", measure=Measure.TOKENS, amount=1, since=0)
    assert locked([hold, replace(hold, name="a"), hold]) == ("a", "b")


def test_a_daily_limit_counts_a_day_and_one_for_all_time_never_begins_anew() -> None:
    assert (account().since, account().until, account().today) == (TODAY, TOMORROW, TODAY)
    ever = account(replace(DAILY, period=Period.EVER))
    assert (ever.since, ever.until, ever.today) == (0, NEVER, TODAY)
    assert account().name != ever.name


def test_a_limit_is_named_by_its_setting() -> None:
    assert DAILY.setting == "budgets.perDay.tokens"


# -- how much ----------------------------------------------------------------------------------------


def test_the_most_a_call_can_use_is_its_input_and_the_longest_answer() -> None:
    spec = ModelSpec(ref=ModelRef("p", "m"), context_window=9_000, max_tokens=500, prices=Prices(output=2.0))
    said = UserMessage(content=(Text("hello world"),), at=0, provenance=Provenance(kind=ProvenanceKind.HUMAN))
    bare = ModelRequest(spec=spec, system="Be kind.", messages=(said,))
    usage = most_usage(bare)
    assert (usage.output, usage.total, usage.cost_micros) == (500, usage.input + 500, 1_000)
    tool = ToolSpec(name="read", description="Reads a file.", parameters={"type": "object"})
    assert most_usage(replace(bare, tools=(tool,))).input > usage.input
    assert most_usage(replace(bare, max_tokens=7)).output == 7


@pytest.mark.parametrize(
    ("kind", "said", "free"),
    [
        (FailureKind.AUTH, False, True),
        (FailureKind.RATE_LIMIT, False, True),
        (FailureKind.OVERFLOW, False, True),
        (FailureKind.PERMANENT, False, True),
        (FailureKind.TRANSIENT, False, False),
        (FailureKind.PERMANENT, True, False),
    ],
)
def test_only_a_call_refused_before_its_first_word_is_free(
    kind: FailureKind, *, said: bool, free: bool
) -> None:
    assert unbilled(kind, said=said) is free


# -- whether it fits ---------------------------------------------------------------------------------


def test_a_call_that_fits_holds_the_most_it_can_cost() -> None:
    verdict = weigh(ask(DAILY), today(DAILY, spent=800, held=100))
    assert isinstance(verdict, Affordable)
    (hold,) = verdict.reservation.holds
    assert (hold.amount, hold.since, verdict.reservation.row) == (100, TODAY, ROW)
    assert verdict.balances == today(DAILY, spent=800, held=200)


def test_one_that_would_fit_if_others_cost_less_than_they_hold_is_crowded_out_for_now() -> None:
    assert weigh(ask(DAILY), today(DAILY, spent=800, held=101)) == Crowded()


def test_one_that_cannot_fit_today_is_refused_until_tomorrow() -> None:
    verdict = weigh(ask(DAILY), today(DAILY, spent=950))
    assert verdict == Unaffordable(account=account(), over=50, until=TOMORROW)


def test_one_that_can_never_fit_is_refused_for_good() -> None:
    small = replace(DAILY, hard=99)
    verdict = weigh(ask(small), today(small))
    assert verdict == Unaffordable(account=account(small), over=1, until=NEVER)


def test_of_several_refusals_the_longest_counts() -> None:
    ever = replace(DAILY, scope=BudgetScope.TREE, period=Period.EVER)
    balances = {**today(DAILY, spent=950), **today(ever, spent=1_000)}
    verdict = weigh(ask(DAILY, ever), balances)
    assert verdict == Unaffordable(account=account(ever), over=100, until=NEVER)


def test_without_a_price_nothing_fits_a_hard_limit_on_cost_and_a_soft_one_counts_nothing() -> None:
    cost = Limit(scope=BudgetScope.DAY, measure=Measure.COST, hard=10**9)
    verdict = weigh(ask(cost, priced=False), today(cost))
    assert verdict == Unaffordable(account=account(cost), over=None, until=NEVER)
    soft = replace(cost, hard=None, soft=1)
    assert isinstance(weigh(ask(soft, priced=False), today(soft)), Affordable)


def test_a_new_day_begins_with_nothing_spent_and_what_is_still_held() -> None:
    (name,) = today(DAILY)
    yesterday = Balance(since=TODAY - 1, spent=1_000, held=300, warned=TODAY - 1)
    verdict = weigh(ask(DAILY), {name: yesterday})
    assert isinstance(verdict, Affordable)
    assert verdict.balances == {name: Balance(since=TODAY, spent=0, held=400, warned=TODAY - 1)}


def test_a_clock_that_was_set_back_does_not_bring_an_old_day_back() -> None:
    (name,) = today(DAILY)
    verdict = weigh(ask(DAILY), {name: Balance(since=TOMORROW, spent=1_000)})
    assert isinstance(verdict, Unaffordable)


def test_a_soft_limit_is_mentioned_once_a_day() -> None:
    soft = replace(DAILY, soft=500)
    balances = today(soft, spent=500)
    verdict = weigh(ask(soft), balances)
    assert isinstance(verdict, Affordable)
    assert verdict.soft == (account(soft),)
    after = told(verdict.balances, account(soft))
    again = weigh(ask(soft), after)
    assert isinstance(again, Affordable)
    assert again.soft == ()
    below = weigh(ask(soft), today(soft, spent=499))
    assert isinstance(below, Affordable)
    assert below.soft == ()


# -- after the call ----------------------------------------------------------------------------------

HOLD = Hold(name="n", measure=Measure.TOKENS, amount=100, since=TODAY)


def test_a_settled_call_is_spent_to_the_token() -> None:
    balance = Balance(since=TODAY, spent=7, held=150)
    assert settled(balance, HOLD, Usage(input=20, output=3, total=23)) == Balance(
        since=TODAY, spent=30, held=50
    )
    cost = replace(HOLD, measure=Measure.COST)
    assert settled(balance, cost, Usage(input=20, total=20, cost_micros=4)).spent == 11


def test_cached_tokens_count_where_a_provider_leaves_them_out_of_its_total() -> None:
    usage = Usage(input=1, output=2, cache_read=3, cache_write=4, total=3)
    assert settled(Balance(since=TODAY, held=100), HOLD, usage).spent == 10


def test_a_call_that_says_nothing_of_its_cost_costs_what_it_held() -> None:
    assert settled(Balance(since=TODAY, held=100), HOLD, Usage()) == Balance(since=TODAY, spent=100)


def test_a_call_of_yesterday_costs_nothing_of_today() -> None:
    late = replace(HOLD, since=TODAY - 1)
    assert settled(Balance(since=TODAY, held=100), late, Usage(total=9)) == Balance(since=TODAY)


def test_what_is_released_was_never_spent() -> None:
    assert released(Balance(spent=5, held=150), HOLD) == Balance(spent=5, held=50)


def test_absurd_figures_are_counted_as_far_as_a_store_can_hold_them() -> None:
    absurd = settled(Balance(since=TODAY, spent=MOST, held=100), HOLD, Usage(total=2**63))
    assert absurd.spent == MOST
