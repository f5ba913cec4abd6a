"""Whose a session is: the same one's, whoever opens it."""

import pytest

from roost.core.errors import InvalidInput
from roost.core.identities import IdentityLink
from roost.core.keys import SessionKey
from roost.core.ownership import Ownership
from roost.core.principals import OWNER, Principal, PrincipalKind, node, person

ANN = person("telegram", "123")
EVE = person("telegram", "666")
ALICE = Principal(PrincipalKind.PERSON, "alice")
LINKS = (
    IdentityLink(name="Alice", members=("telegram:7", "x:alice_x")),
    IdentityLink(name="me", members=("discord:70", "telegram:1")),
    IdentityLink(name="myself", members=("2",)),
)
HERE = Ownership(owners=("telegram:1", "telegram:2", "IRC:Boss"), links=LINKS)


@pytest.mark.requirement("F5")
@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ("agent:main:main", OWNER),
        ("agent:main:main:thread:5", OWNER),
        ("agent:main:main:heartbeat", OWNER),
        ("global", OWNER),
        ("agent:main:telegram:group:1", OWNER),
        ("agent:main:slack:channel:1:thread:2", OWNER),
        ("agent:main:telegram:direct:123", ANN),
        ("agent:main:telegram:direct:a-chat-of-hers", ANN),
        ("agent:main:direct:ann", ANN),
        ("agent:main:cron:daily", ANN),
        ("agent:main:hook:1", ANN),
        ("agent:main:node-1", node("1")),
        ("agent:main:notes", ANN),
    ],
)
def test_where_somebody_speaks_it_is_the_gateways_owners_or_the_speakers(text: str, owner: object) -> None:
    assert HERE.met(SessionKey.parse(text), ANN, EVE) == owner


@pytest.mark.requirement("F5")
@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ("agent:main:main", OWNER),
        ("agent:main:telegram:group:1", OWNER),
        ("agent:main:telegram:direct:123", ANN),
        ("agent:main:telegram:work:direct:123:thread:5", ANN),
        ("agent:main:telegram:direct:123:heartbeat", ANN),
        ("agent:main:telegram:slash:123", ANN),
        ("agent:main:telegram:direct:7", ALICE),
        ("agent:main:direct:alice", ALICE),
        ("agent:main:telegram:direct:1", OWNER),
        ("agent:main:irc:direct:boss", OWNER),
        ("agent:main:direct:me", OWNER),
        ("agent:main:direct:myself", OWNER),
        ("agent:main:direct:123", EVE),
        ("agent:main:cron:daily", EVE),
        ("agent:main:node-1", node("1")),
        ("agent:main:notes", EVE),
    ],
)
def test_where_a_key_is_named_it_is_of_the_person_in_it_or_else_of_who_names_it(
    text: str, owner: object
) -> None:
    assert HERE.named(SessionKey.parse(text), EVE) == owner


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("text", ["agent:main:subagent:1", "agent:main:acp:1"])
def test_a_child_belongs_to_whom_its_parent_belongs(text: str) -> None:
    child = SessionKey.parse(text)
    assert HERE.met(child, EVE, ANN) == HERE.named(child, EVE, ANN) == ANN
    with pytest.raises(InvalidInput):
        HERE.named(child, EVE)
