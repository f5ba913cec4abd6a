from dataclasses import replace

import pytest

from roost.core.addresses import Account
from roost.core.deliveries import DeliveryKind
from roost.core.parts import parts
from roost.testing import builders
from roost.testing.builders import CHAT


@pytest.mark.parametrize("kind", DeliveryKind)
def test_a_long_message_of_any_kind_is_several_and_parts_without_words_are_left_out(
    kind: DeliveryKind,
) -> None:
    long = replace(builders.delivery("d1", text="abcde" + " " * 10 + "fghij"), kind=kind)
    first, second = parts(long, {CHAT.served_by: 5})
    assert [first.text.strip(), second.text.strip()] == ["abcde", "fghij"]
    assert first.id == "d1"
    assert replace(second, id="d1", text="") == replace(long, text="")
    assert second.id != "d1"
    assert parts(long, {CHAT.served_by: 5}) == (first, second)


@pytest.mark.parametrize("longest", [{}, {Account("elsewhere"): 1}, {CHAT.served_by: 5}])
def test_a_message_that_fits_or_has_no_limit_stays_as_it_is(longest: dict[Account, int]) -> None:
    short = builders.delivery("d1", text="abcde")
    assert parts(short, longest) == (short,)
