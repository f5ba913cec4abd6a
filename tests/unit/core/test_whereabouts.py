"""Whom a session tells unasked, and where."""

import pytest

from roost.core.addresses import Account, Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.identities import IdentityLink
from roost.core.principals import OWNER, Principal, PrincipalKind, person
from roost.core.sessions import Facts, Session, SessionKind
from roost.core.whereabouts import met_at, nowhere
from roost.testing import builders
from roost.testing.builders import MAIN

CHAT = Address(channel="telegram", to="1")
ALICE = Principal(PrincipalKind.PERSON, "alice")
OPEN = ChannelPolicy(dm_policy=DmPolicy.OPEN)
LINKED = ChannelPolicy(dm_policy=DmPolicy.OPEN, links=(IdentityLink(name="alice", members=("telegram:1",)),))


def of(owner: Principal, chat: Address | None = CHAT) -> Session:
    return builders.session()._replace(owner=owner, route=chat)


@pytest.mark.requirement("P2", "P7")
@pytest.mark.parametrize(
    ("owner", "door", "met"),
    [
        (OWNER, ChannelPolicy(owner_ids=("telegram:1",)), True),
        (OWNER, ChannelPolicy(owner_ids=("telegram:2",), dm_policy=DmPolicy.OPEN), False),
        (OWNER, ChannelPolicy(owner_ids=("telegram:1",), dm_policy=DmPolicy.DISABLED), False),
        (OWNER, ChannelPolicy(allow_from=("1",)), False),
        (person("telegram", "1"), OPEN, True),
        (person("telegram", "1"), ChannelPolicy(), False),
        (person("telegram", "1"), LINKED, False),
        (ALICE, LINKED, True),
        (ALICE, OPEN, False),
    ],
)
def test_a_person_is_met_where_he_would_still_be_let_in_as_himself(
    owner: Principal, door: ChannelPolicy, *, met: bool
) -> None:
    assert met_at(of(owner), lambda at: door) == (CHAT if met else None)


@pytest.mark.parametrize(("person", "met"), [("1", True), ("2", False), (None, False)])
def test_in_a_chat_that_has_an_id_of_its_own_it_is_asked_who_writes_there(
    person: str | None, *, met: bool
) -> None:
    room = Address(channel="telegram", to="D7", person=person)
    door = ChannelPolicy(owner_ids=("telegram:1",))
    assert met_at(of(OWNER, room), lambda at: door) == (room if met else None)


def test_the_door_that_is_asked_is_that_of_the_account() -> None:
    doors = {Account("telegram", "work"): ChannelPolicy(owner_ids=("telegram:1",)), Account("telegram"): OPEN}
    for account, met in (("work", True), ("default", False)):
        chat = Address(channel="telegram", to="1", account=account)
        assert (met_at(of(OWNER, chat), doors.__getitem__) is not None) is met


def test_who_was_met_nowhere_is_met_nowhere() -> None:
    assert met_at(of(OWNER, None), lambda at: OPEN) is None
    assert nowhere(of(OWNER)) is None


@pytest.mark.parametrize(
    "session",
    [
        of(OWNER)._replace(facts=Facts(kind=SessionKind.GROUP, chat_type=ChatType.GROUP)),
        builders.session(parent=MAIN)._replace(route=CHAT),
    ],
    ids=["a group", "a child in its thread"],
)
def test_what_has_a_place_of_its_own_is_met_there(session: Session) -> None:
    assert met_at(session, lambda at: ChannelPolicy()) == CHAT


def test_the_one_session_of_all_is_no_group_wherever_it_was_opened() -> None:
    session = of(OWNER)._replace(facts=Facts(kind=SessionKind.MAIN, chat_type=ChatType.GROUP))
    assert met_at(session, lambda at: OPEN) is None
