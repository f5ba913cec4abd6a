from roost.core.messages import Usage
from roost.core.models import Prices
from roost.core.pricing import cost_micros, most_micros, priced

PRICES = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)


def test_each_kind_of_token_has_its_price() -> None:
    usage = Usage(input=1000, output=100, cache_read=10_000, cache_write=8)
    assert cost_micros(usage, PRICES) == 3000 + 1500 + 3000 + 30


def test_usage_is_given_back_with_its_cost() -> None:
    assert priced(Usage(input=2, total=2), Prices(input=3.0)) == Usage(input=2, total=2, cost_micros=6)


def test_a_cost_is_never_too_low_and_never_off_by_how_a_number_is_stored() -> None:
    assert cost_micros(Usage(input=1), Prices(input=0.1)) == 1
    assert cost_micros(Usage(input=30), Prices(input=0.1)) == 3


def test_without_prices_a_call_costs_nothing_that_can_be_counted() -> None:
    assert cost_micros(Usage(input=5, output=5), None) == 0
    assert most_micros(Usage(input=5, output=5), None) == 0


def test_the_most_a_call_can_cost_has_all_its_input_at_the_highest_price() -> None:
    assert most_micros(Usage(input=100, output=10), PRICES) == 375 + 150
