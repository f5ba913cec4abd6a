"""What a call costs."""

import math
from fractions import Fraction

from roost.core.messages import Usage
from roost.core.models import Prices


def cost_micros(usage: Usage, prices: Prices | None) -> int:
    """Millionths of a dollar, never too few: dollars per million tokens are millionths of a dollar per token."""
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
    return usage._replace(cost_micros=cost_micros(usage, prices))
