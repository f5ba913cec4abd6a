from dataclasses import replace
from datetime import UTC, datetime

import pytest

from roost.core.addresses import Address
from roost.core.budgets import (
    NEVER,
    Ask,
    Balance,
    Budgets,
    BudgetScope,
    Limit,
    Measure,
    Period,
    Spender,
    accounts,
)
from roost.core.effects import AddDelivery, Effects, RecordDenial
from roost.core.ledger import LedgerRow
from roost.core.messages import ProvenanceKind, Usage
from roost.core.parking import RETRY_MS, Forgone, Granted, Waits, let_down, rule
from roost.core.principals import OWNER
from roost.core.runs import Outcome, Parked, Request, Run, RunKind, RunState, StopRequest
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN

NOON = int(datetime(2025, 6, 15, 12, tzinfo=UTC).timestamp() * 1000)
TOMORROW = NOON + 12 * 3_600_000
RUN = builders.run("r1")
ROW = LedgerRow(
    id="call",
    at=NOON,
    key=MAIN,
    session_id="s",
    principal=OWNER,
    run_id="r1",
    run_kind=RunKind.TURN,
    provider="p",
    model="m",
    usage=Usage(input=60, output=40, total=100, cost_micros=500_000),
    estimated=True,
)
TOKENS = Limit(scope=BudgetScope.DAY, measure=Measure.TOKENS, hard=1_000)
COST = Limit(scope=BudgetScope.PERSON, measure=Measure.COST, hard=1_000_000, period=Period.EVER)


def asked(limit: Limit, *, priced: bool = True) -> Ask:
    spender = Spender(key=MAIN, root=MAIN, principal=OWNER)
    return Ask(accounts=accounts(Budgets(limits=(limit,)), spender, NOON), row=ROW, priced=priced)


def balances(limit: Limit, **parts: int) -> dict[str, Balance]:
    (one,) = asked(limit).accounts
    return {one.name: replace(Balance(since=one.since), **parts)}


def lines(effects: Effects) -> list[str]:
    return [effect.delivery.text for effect in effects if isinstance(effect, AddDelivery)]


def parked(run: Run, limit: Limit, *, priced: bool = True, **parts: int) -> Waits:
    ruling = rule(run, balances(limit, **parts), asked(limit, priced=priced), CHAT)
    assert isinstance(ruling, Waits)
    return ruling


def test_a_call_within_its_limits_is_granted_in_silence() -> None:
    ruling = rule(RUN, balances(TOKENS), asked(TOKENS), CHAT)
    assert isinstance(ruling, Granted)
    assert ruling.effects == ()
    assert ruling.reservation.row == ROW


def test_a_call_that_is_crowded_out_is_tried_again_soon_and_nobody_is_told() -> None:
    ruling = rule(RUN, balances(TOKENS, held=1_000), asked(TOKENS), CHAT)
    assert ruling == Waits(ready_at=NOON + RETRY_MS)


def test_a_refused_run_is_parked_and_says_so_without_figures() -> None:
    ruling = parked(RUN, TOKENS, spent=1_000)
    assert ruling.ready_at == TOMORROW
    assert lines(ruling.effects) == [
        "Not answered yet: the token budget of this day is used up. "
        "Your message is kept and will be answered when it is raised or the next day begins."
    ]


def test_the_owner_can_see_how_much_was_missing() -> None:
    ruling = parked(RUN, COST, spent=750_000)
    reason = "the call would pass the limit of $1.000000 by up to $0.250000"
    assert ruling.parked == Parked(at=NOON, setting="budgets.perPerson.cost", reason=reason, personal=True)
    (denial,) = [effect.denial for effect in ruling.effects if isinstance(effect, RecordDenial)]
    assert (denial.operation, denial.rule, denial.reason) == (
        "model_call",
        "budgets.perPerson.cost",
        reason,
    )
    assert (
        "900 tokens"
        in (parked(RUN, TOKENS, spent=1_800).parked or Parked(at=0, setting="", reason="")).reason
    )


def test_a_limit_for_all_time_does_not_speak_of_tomorrow() -> None:
    ruling = parked(RUN, COST, spent=750_000)
    assert ruling.ready_at == NEVER
    (line,) = lines(ruling.effects)
    assert line.startswith("Not answered yet: your cost budget is used up.")
    assert line.endswith("answered when it is raised.")


def test_an_unknown_price_is_named_as_the_reason() -> None:
    ruling = parked(RUN, COST, priced=False)
    assert "no known price" in lines(ruling.effects)[0]
    assert ruling.parked is not None
    assert ruling.parked.reason == "the price of the model is not known"


def test_a_run_that_was_parked_before_is_parked_again_in_silence_and_its_row_names_what_it_waits_for_now() -> (
    None
):
    before = Parked(at=1, setting="budgets.perPerson.cost", reason="before", personal=True)
    ruling = parked(replace(RUN, parked=before), TOKENS, spent=1_000)
    reason = "the call would pass the limit of 1000 tokens by up to 100 tokens"
    now = Parked(at=1, setting="budgets.perDay.tokens", reason=reason)
    assert ruling == Waits(ready_at=TOMORROW, parked=now)


def test_others_pass_only_while_it_is_the_persons_own_budget_that_is_used_up() -> None:
    once = parked(RUN, TOKENS, spent=1_000).parked
    again = parked(replace(RUN, parked=once), COST, spent=750_000).parked
    back = parked(replace(RUN, parked=again), TOKENS, spent=1_000).parked
    assert [one and one.personal for one in (once, again, back)] == [False, True, False]


@pytest.mark.requirement("P20")
@pytest.mark.parametrize(
    ("stop", "why"),
    [(None, "it was reset"), (StopRequest(reason="started afresh", by=OWNER, at=NOON), "started afresh")],
)
def test_who_was_told_of_an_answer_to_come_hears_that_none_will(stop: StopRequest | None, why: str) -> None:
    run = replace(RUN, parked=Parked(at=1, setting="budgets.perDay.cost", reason="before"), stop=stop)
    ended = Outcome(state=RunState.KILLED, at=NOON, error="it was reset")
    (line,) = lines(let_down(run, ended))
    assert line.startswith(f"Not answered ({why}): your message that was kept for its budget.")


@pytest.mark.parametrize(
    ("run", "state", "told"),
    [
        (RUN, RunState.KILLED, None),
        (replace(RUN, parked=Parked(at=1, setting="", reason="")), RunState.DONE, None),
        (replace(RUN, parked=Parked(at=1, setting="", reason="")), RunState.KILLED, CHAT),
    ],
)
def test_nobody_is_let_down_who_was_promised_nothing_got_an_answer_or_heard_of_it(
    run: Run, state: RunState, told: Address | None
) -> None:
    assert let_down(run, Outcome(state=state, at=NOON), told) == ()


@pytest.mark.parametrize("held", [0, 1_000])
@pytest.mark.parametrize("limit", [Request(deadline=NOON + 10), Request(longest_ms=11)])
def test_a_run_whose_time_is_limited_is_looked_at_again_when_it_is_over(held: int, limit: Request) -> None:
    run = replace(RUN, request=replace(limit, reply_to=CHAT), started_at=NOON - 1)
    ruling = rule(run, balances(TOKENS, spent=1_000 - held, held=held), asked(TOKENS), CHAT)
    assert isinstance(ruling, Waits)
    assert ruling.ready_at == NOON + 10


def test_past_a_soft_limit_the_call_is_granted_and_a_word_is_said() -> None:
    soft = replace(TOKENS, soft=500)
    ruling = rule(RUN, balances(soft, spent=600), asked(soft), CHAT)
    assert isinstance(ruling, Granted)
    assert lines(ruling.effects) == ["Most of the token budget of this day is used."]
    (balance,) = ruling.balances.values()
    assert balance.warned == NOON - 12 * 3_600_000


def test_where_nobody_can_be_told_the_next_one_is() -> None:
    soft = replace(TOKENS, soft=500)
    ruling = rule(RUN, balances(soft, spent=600), asked(soft), None)
    assert isinstance(ruling, Granted)
    assert ruling.effects == ()
    (balance,) = ruling.balances.values()
    assert balance.warned == -1


def test_a_run_that_nobody_asked_for_goes_without_and_tells_only_the_owner() -> None:
    upkeep = replace(RUN, cause=replace(RUN.cause, kind=ProvenanceKind.SYSTEM))
    ruling = rule(upkeep, balances(TOKENS, spent=1_000), asked(TOKENS), CHAT)
    assert isinstance(ruling, Forgone)
    (denial,) = ruling.effects
    assert isinstance(denial, RecordDenial)
    assert denial.denial.rule == "budgets.perDay.tokens"


@pytest.mark.requirement("P1", "P20")
def test_a_run_that_announces_a_child_goes_without_and_its_chat_is_told_of_no_message() -> None:
    announcing = replace(RUN, request=replace(RUN.request, kind=RunKind.ANNOUNCE, completes="task"))
    ruling = rule(announcing, balances(TOKENS, spent=1_000), asked(TOKENS), CHAT)
    assert isinstance(ruling, Forgone)
    assert [type(effect) for effect in ruling.effects] == [RecordDenial]
