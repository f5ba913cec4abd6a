"""A provider's count of tokens, with what they cost."""

from dataclasses import replace

from roost.core.messages import Usage
from roost.core.models import Prices
from roost.core.pricing import cost_micros


def priced(usage: Usage, prices: Prices | None) -> Usage:
    return replace(usage, cost_micros=cost_micros(usage, prices))
