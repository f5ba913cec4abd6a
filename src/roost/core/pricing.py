"""What a model call costs, in millionths of a dollar, and what it may cost at most."""

import math
from fractions import Fraction
from functools import lru_cache

from roost.core.messages import Usage
from roost.core.models import Prices


def cost_micros(usage: Usage, prices: Prices | None) -> int:
    """Never too few: dollars per million tokens are millionths of a dollar per token."""
    if prices is None:
        return 0
    rates, whole = _rates(prices)
    used = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    return -(-sum(rate * count for rate, count in zip(rates, used, strict=True)) // whole)


@lru_cache(maxsize=256)
def _rates(prices: Prices) -> tuple[tuple[int, ...], int]:
    """The prices as parts of a whole, exactly."""
    exact = [
        Fraction(str(price)) for price in (prices.input, prices.output, prices.cache_read, prices.cache_write)
    ]
    whole = math.lcm(*(price.denominator for price in exact))
    return tuple(int(price * whole) for price in exact), whole


def priced(usage: Usage, prices: Prices | None) -> Usage:
    """What was used, with what it costs."""
    return usage._replace(cost_micros=cost_micros(usage, prices))


def most_micros(usage: Usage, prices: Prices | None) -> int:
    """The cost of a call whose input may be charged as anything that input can be charged as."""
    if prices is None:
        return 0
    dearest = max(prices.input, prices.cache_read, prices.cache_write)
    return cost_micros(usage, Prices(input=dearest, output=prices.output))
