"""Principals: one owner, everyone else by an id."""

import pytest

from roost.core.errors import InvalidInput
from roost.core.principals import OWNER, Principal, PrincipalKind, node, person

SPEAKERS = (
    OWNER,
    person("telegram", "123"),
    person("matrix", "@Ann:example.org"),
    Principal(PrincipalKind.PERSON, "alice"),
    Principal(PrincipalKind.OPERATOR, "tui"),
    Principal(PrincipalKind.AGENT, "main"),
    node("d1"),
)


@pytest.mark.parametrize("principal", SPEAKERS, ids=str)
def test_a_principal_reads_back_from_its_text(principal: Principal) -> None:
    assert Principal.parse(str(principal)) == principal


def test_only_the_owner_is_the_owner() -> None:
    assert [speaker for speaker in SPEAKERS if speaker.is_owner] == [OWNER]
    assert [speaker for speaker in SPEAKERS if speaker.is_node] == [node("d1")]


@pytest.mark.parametrize(
    ("kind", "identity"), [(PrincipalKind.OWNER, "me"), (PrincipalKind.PERSON, ""), (PrincipalKind.AGENT, "")]
)
def test_an_owner_with_an_id_and_anyone_without_one_cannot_exist(kind: PrincipalKind, identity: str) -> None:
    with pytest.raises(InvalidInput):
        Principal(kind, identity)


@pytest.mark.requirement("S21")
@pytest.mark.parametrize("text", ["", "owner:me", "person", "person:", "root", "OWNER", " owner"])
def test_a_text_that_names_no_principal_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        Principal.parse(text)


def test_the_same_id_on_two_channels_is_two_people() -> None:
    assert person("telegram", "123") != person("discord", "123")
