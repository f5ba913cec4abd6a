"""A provider's count of tokens, with what they cost."""

from roost.core.messages import Usage
from roost.core.models import Prices
from roost.core.pricing import cost_micros


def priced(usage: Usage, prices: Prices | None) -> Usage:
    return usage._replace(cost_micros=cost_micros(usage, prices))
