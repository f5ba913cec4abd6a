"""Addresses: the words for kinds of chat."""

import pytest

from roost.core.addresses import DEFAULT_ACCOUNT, Address, ChatType


@pytest.mark.parametrize(
    ("text", "chat_type"),
    [
        ("direct", ChatType.DIRECT),
        ("dm", ChatType.DIRECT),
        (" DM ", ChatType.DIRECT),
        ("Group", ChatType.GROUP),
        ("channel", ChatType.CHANNEL),
        ("thread", None),
        ("", None),
    ],
)
def test_a_word_names_a_kind_of_chat_and_dm_means_direct(text: str, chat_type: ChatType | None) -> None:
    assert ChatType.parse(text) is chat_type


@pytest.mark.requirement("D41")
def test_an_address_without_an_account_is_on_the_default_one() -> None:
    address = Address(channel="telegram", to="5")
    assert (address.account, DEFAULT_ACCOUNT) == ("default", "default")


def test_two_addresses_that_differ_in_a_thread_are_two_places() -> None:
    assert Address(channel="slack", to="c1") != Address(channel="slack", to="c1", thread="t1")


def test_a_place_is_the_same_whether_or_not_it_is_said_who_writes_there() -> None:
    room, known = (Address(channel="slack", to="D7", person=one) for one in (None, "ada"))
    assert room == known
    assert (room.whose, known.whose) == ("D7", "ada")


@pytest.mark.parametrize(("account", "named"), [("default", "slack"), ("work", "slack/work")])
def test_an_address_is_served_by_its_account(account: str, named: str) -> None:
    assert str(Address(channel="slack", to="c1", account=account).served_by) == named
