"""What a call costs: exact, whatever the prices, and rounded in nobody's favour but the budget's."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from roost.core.messages import Usage
from roost.core.models import Prices
from roost.core.pricing import cost_micros

RATES, COUNTS = st.floats(0, 1000, allow_nan=False), st.integers(0, 10**9)


@given(
    usage=st.builds(Usage, input=COUNTS, output=COUNTS, cache_read=COUNTS, cache_write=COUNTS),
    prices=st.builds(Prices, input=RATES, output=RATES, cache_read=RATES, cache_write=RATES),
)
def test_a_cost_is_the_exact_sum_rounded_up(usage: Usage, prices: Prices) -> None:
    exact = sum(
        Fraction(str(price)) * used
        for price, used in (
            (prices.input, usage.input),
            (prices.output, usage.output),
            (prices.cache_read, usage.cache_read),
            (prices.cache_write, usage.cache_write),
        )
    )
    assert exact <= cost_micros(usage, prices) < exact + 1
