from roost.core.messages import Usage
from roost.core.models import Prices
from roost.models.pricing import priced


def test_usage_is_given_back_with_its_cost() -> None:
    assert priced(Usage(input=2, total=2), Prices(input=3.0)) == Usage(input=2, total=2, cost_micros=6)
