from math import inf, nan

import pytest

from roost.core.errors import InvalidInput
from roost.core.numbers import LARGEST, refuse_infinite, refuse_oversized


def test_a_number_of_at_most_64_bits_is_taken_and_so_is_none() -> None:
    refuse_oversized(0, None, LARGEST, -LARGEST - 1)


@pytest.mark.parametrize("number", [LARGEST + 1, -LARGEST - 2])
def test_a_number_of_more_bits_is_refused(number: int) -> None:
    with pytest.raises(InvalidInput, match="at most 64 bits"):
        refuse_oversized(1, number)


@pytest.mark.parametrize("number", [nan, inf, -inf])
def test_a_number_that_json_has_not_is_refused(number: float) -> None:
    refuse_infinite(1.5)
    with pytest.raises(InvalidInput, match="finite"):
        refuse_infinite(number)
