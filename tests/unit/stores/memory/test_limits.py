import pytest

from roost.core.errors import InvalidInput
from roost.core.sessions import Labels
from roost.stores.memory.limits import LARGEST, refuse_oversized, storable


def test_a_row_that_can_be_written_is_given_back() -> None:
    labels = Labels(label="home")
    assert storable(labels, 0, LARGEST, -LARGEST - 1) is labels


def test_text_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidInput):
        storable(Labels(label="half \ud83d"))


@pytest.mark.parametrize("number", [LARGEST + 1, -LARGEST - 2])
def test_a_number_of_more_than_64_bits_is_refused(number: int) -> None:
    with pytest.raises(InvalidInput):
        storable(Labels(), 1, number)
    with pytest.raises(InvalidInput):
        refuse_oversized(number)
