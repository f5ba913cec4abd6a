import pytest

from roost.config import policies
from roost.config.amounts import Dollars
from roost.config.settings import as_document
from roost.core.budgets import BudgetScope, Limit, Measure, Period
from tests.unit.config.given import refused, settings


def test_nothing_is_limited_unless_it_is_said() -> None:
    assert policies.budget_limits(settings({})) == ()


def test_limits_are_given_by_whom_and_by_what() -> None:
    given = settings(
        {
            "budgets": {
                "perDay": {"cost": {"soft": 5, "hard": "10.50"}},
                "perTree": {"period": "ever", "tokens": {"hard": 100_000}},
                "perPerson": {"tokens": {"soft": 0}},
            }
        }
    )
    assert policies.budget_limits(given) == (
        Limit(scope=BudgetScope.TREE, measure=Measure.TOKENS, period=Period.EVER, hard=100_000),
        Limit(scope=BudgetScope.PERSON, measure=Measure.TOKENS, soft=0),
        Limit(scope=BudgetScope.DAY, measure=Measure.COST, soft=5_000_000, hard=10_500_000),
    )
    assert settings(as_document(given)) == given


def test_a_hard_limit_of_nothing_is_a_limit() -> None:
    given = settings({"budgets": {"perDay": {"cost": {"hard": 0}}}})
    assert given.budgets.per_day.cost.hard == Dollars(0)
    assert policies.budget_limits(given) == (Limit(scope=BudgetScope.DAY, measure=Measure.COST, hard=0),)


@pytest.mark.parametrize("amount", ["$5", -1, "1.0000001", True, "5 dollars", [], ""])
def test_an_amount_is_plain_dollars(amount: object) -> None:
    assert list(refused({"budgets": {"perAgent": {"cost": {"hard": amount}}}})) == [
        "budgets.perAgent.cost.hard"
    ]


@pytest.mark.parametrize("measure", ["tokens", "cost"])
def test_a_soft_limit_above_the_hard_one_is_refused(measure: str) -> None:
    found = refused({"budgets": {"perSession": {measure: {"soft": 3, "hard": 2}}}})
    assert list(found) == [f"budgets.perSession.{measure}.soft"]


def test_the_day_of_a_day_cannot_be_chosen() -> None:
    assert "budgets.perDay.period" in refused({"budgets": {"perDay": {"period": "ever"}}})
