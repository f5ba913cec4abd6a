"""Identities: whom an entry names, and who is one person."""

import pytest

from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.errors import InvalidInput
from roost.core.identities import Identity, IdentityLink, Naming, linked_name, names_channel, person_of
from roost.core.principals import Principal, PrincipalKind

ALICE = IdentityLink(name="Alice", members=("telegram:123", " discord:456 "))
BOB = IdentityLink(name="bob", members=("789", "telegram:123"))


@pytest.mark.requirement("D33")
@pytest.mark.parametrize(
    ("channel", "native_id", "name"),
    [
        ("telegram", "123", "alice"),
        ("discord", "456", "alice"),
        ("discord", "123", None),
        ("discord", "789", "bob"),
        ("telegram", "789", "bob"),
        ("telegram", "", None),
    ],
)
def test_the_first_link_that_lists_an_id_names_the_person(
    channel: str, native_id: str, name: str | None
) -> None:
    assert linked_name(Identity(channel=channel, id=native_id), (ALICE, BOB), KNOWN_CHANNELS) == name


@pytest.mark.parametrize(
    ("channel", "native_id", "entry", "named"),
    [
        ("telegram", "123", "Telegram:123", True),
        ("telegram", "Ann", "telegram:ANN", True),
        ("matrix", "@ann:x.org", "@ann:x.org", True),
        ("matrix", "@ann:x.org", "matrix:@ann:x.org", True),
        ("matrix", "@ann:x.org", "matrix:@Ann:x.org", False),
        ("msteams", "29:1ab", "29:1ab", True),
        ("telegram", "123", "telegram:", False),
        ("telegram", "123", "", False),
        ("telegram", "123", "12", False),
    ],
)
def test_an_entry_names_an_id_with_or_without_its_channel(
    channel: str, native_id: str, entry: str, named: bool
) -> None:
    assert Identity(channel=channel, id=native_id).is_named_by(entry, KNOWN_CHANNELS) is named


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        ("telegram:123", True),
        (" Telegram :123", False),
        (" TELEGRAM:123 ", True),
        ("house:7", True),
        ("123", False),
        ("@ann:x.org", False),
        (":123", False),
    ],
)
def test_an_entry_names_a_channel_that_is_known_or_configured(entry: str, *, names: bool) -> None:
    assert names_channel(entry, {"house"}, KNOWN_CHANNELS) is names


@pytest.mark.requirement("P2")
def test_an_id_that_spells_someone_on_another_channel_is_not_that_person() -> None:
    impostor = Identity(channel="webchat", id="telegram:123")
    assert linked_name(impostor, (ALICE,), KNOWN_CHANNELS) is None


def test_a_linked_person_is_one_principal_and_an_unlinked_one_is_known_by_channel_and_id() -> None:
    links = (ALICE,)
    linked = Principal(PrincipalKind.PERSON, "alice")
    assert person_of(Identity(channel="telegram", id="123"), links, KNOWN_CHANNELS) == linked
    assert person_of(Identity(channel="discord", id="456"), links, KNOWN_CHANNELS) == linked
    assert (
        str(person_of(Identity(channel="telegram", id="Eve"), links, KNOWN_CHANNELS)) == "person:telegram:eve"
    )


@pytest.mark.parametrize("name", ["", "  ", "telegram:123"])
def test_a_name_that_could_pass_for_an_unlinked_person_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        IdentityLink(name=name, members=("telegram:1",))


@pytest.mark.parametrize(
    ("entry", "can"),
    [
        ("9", True),
        ("telegram:9", True),
        ("telegram:", False),
        ("discord:456", True),
        ("discord:9", False),
        ("alice", True),
        ("room:9", True),
    ],
)
def test_an_entry_can_mean_who_is_on_the_channel_or_linked_to_it(entry: str, can: bool) -> None:
    assert Naming(channel="telegram", links=(ALICE,), traits=KNOWN_CHANNELS).can_mean(entry) is can


def test_an_entry_may_give_a_channel_that_declares_nothing() -> None:
    naming = Naming(channel="loopback", links=(), traits=KNOWN_CHANNELS)
    assert naming.at("Loopback:Ann") == Identity(channel="loopback", id="Ann")
    assert naming.at("elsewhere:Ann") == Identity(channel="loopback", id="elsewhere:Ann")
