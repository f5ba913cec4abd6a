"""What a model call costs, in millionths of a dollar, and what it may cost at most."""

import math
from fractions import Fraction

from roost.core.messages import Usage
from roost.core.models import Prices


def cost_micros(usage: Usage, prices: Prices | None) -> int:
    """Never too few: dollars per million tokens are millionths of a dollar per token."""
    if prices is None:
        return 0
    cost = (
        Fraction(str(prices.input)) * usage.input
        + Fraction(str(prices.output)) * usage.output
        + Fraction(str(prices.cache_read)) * usage.cache_read
        + Fraction(str(prices.cache_write)) * usage.cache_write
    )
    return math.ceil(cost)


def priced(usage: Usage, prices: Prices | None) -> Usage:
    """What was used, with what it costs."""
    return usage._replace(cost_micros=cost_micros(usage, prices))


def most_micros(usage: Usage, prices: Prices | None) -> int:
    """The cost of a call whose input may be charged as anything that input can be charged as."""
    if prices is None:
        return 0
    dearest = max(prices.input, prices.cache_read, prices.cache_write)
    return cost_micros(usage, Prices(input=dearest, output=prices.output))
