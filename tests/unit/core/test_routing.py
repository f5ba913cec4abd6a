"""Routing: the session of a message, and the rule that chose it."""

from dataclasses import replace

import pytest

from roost.core.addresses import ChatType
from roost.core.bindings import Binding, Match
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.errors import InvalidInput
from roost.core.identities import IdentityLink
from roost.core.keys import KeyKind, SessionKey
from roost.core.principals import OWNER, Principal, PrincipalKind, person
from roost.core.routing import RoutingRules, apart, is_anothers, route
from roost.core.scopes import DmScope, SessionScope
from roost.core.sessions import Facts, SessionKind
from roost.testing import builders

ANN = person("telegram", "123")
DEFAULTS = RoutingRules()
ALICE = IdentityLink(name="Alice", members=("telegram:123", "discord:456"))
ISOLATING = (DmScope.PER_PEER, DmScope.PER_CHANNEL_PEER, DmScope.PER_ACCOUNT_CHANNEL_PEER)


def direct(channel: str = "telegram", peer: str | None = "123", thread: str | None = None) -> Envelope:
    conversation = Conversation(chat_type=ChatType.DIRECT, peer=peer, thread=thread)
    return Envelope(channel=channel, sender=Sender(id=peer), conversation=conversation, text="hi")


def group(
    channel: str, peer: str | None, chat_type: ChatType = ChatType.GROUP, topic: str | None = None
) -> Envelope:
    conversation = Conversation(chat_type=chat_type, peer=peer, topic=topic)
    return Envelope(channel=channel, sender=Sender(id="123"), conversation=conversation, text="hi")


def key(envelope: Envelope, rules: RoutingRules = DEFAULTS, principal: Principal = ANN) -> str:
    return str(route(envelope, principal, rules).key)


@pytest.mark.requirement("D31", "D32")
@pytest.mark.parametrize(
    ("scope", "text"),
    [
        (DmScope.MAIN, "agent:main:main"),
        (DmScope.PER_PEER, "agent:main:direct:123"),
        (DmScope.PER_CHANNEL_PEER, "agent:main:telegram:direct:123"),
        (DmScope.PER_ACCOUNT_CHANNEL_PEER, "agent:main:telegram:default:direct:123"),
        (DmScope.OWNER_MAIN, "agent:main:telegram:direct:123"),
    ],
)
def test_a_direct_message_goes_where_the_scope_says(scope: DmScope, text: str) -> None:
    assert key(direct(), RoutingRules(dm_scope=scope)) == text


@pytest.mark.requirement("D31")
def test_by_default_direct_messages_share_the_main_session_under_its_configured_name() -> None:
    assert key(direct()) == key(direct("discord", "9")) == "agent:main:main"
    assert key(direct(), RoutingRules(default_agent="ops", main_name="work")) == "agent:ops:work"


@pytest.mark.requirement("P2")
def test_under_owner_main_the_owner_shares_main_and_nobody_else() -> None:
    rules = RoutingRules(dm_scope=DmScope.OWNER_MAIN, links=(ALICE,))
    assert key(direct(), rules, OWNER) == "agent:main:main"
    assert key(direct(peer="9"), rules, person("telegram", "9")) == "agent:main:telegram:direct:9"
    assert key(direct(), rules) == "agent:main:direct:alice"


@pytest.mark.requirement("D33")
@pytest.mark.parametrize("scope", ISOLATING)
def test_a_linked_person_has_one_session_on_every_channel_under_every_isolating_scope(scope: DmScope) -> None:
    rules = RoutingRules(dm_scope=scope, links=(ALICE,))
    assert key(direct(), rules) == key(direct("discord", "456"), rules) == "agent:main:direct:alice"
    assert key(replace(direct(), account="work"), rules) == "agent:main:direct:alice"


@pytest.mark.requirement("D33")
def test_a_link_holds_for_the_channel_it_names_and_a_bare_id_for_any() -> None:
    rules = RoutingRules(dm_scope=DmScope.PER_PEER, links=(ALICE,))
    assert key(direct("discord", "123"), rules) == "agent:main:direct:123"
    bare = replace(rules, links=(IdentityLink(name="alice", members=("123",)),))
    assert key(direct("discord", "123"), bare) == "agent:main:direct:alice"


def test_a_link_changes_nothing_while_all_share_main() -> None:
    assert key(direct(), RoutingRules(links=(ALICE,))) == "agent:main:main"


@pytest.mark.requirement("P2")
@pytest.mark.parametrize(
    ("channel", "nick", "own"),
    [
        ("irc", "alice", "irc:direct:alice"),
        ("irc", "Alice", "irc:direct:alice"),
        ("x", "Alice", "x:direct:Alice"),
    ],
)
def test_a_stranger_whose_id_is_a_linked_name_does_not_get_into_that_session(
    channel: str, nick: str, own: str
) -> None:
    rules = RoutingRules(dm_scope=DmScope.PER_PEER, links=(ALICE,))
    assert key(direct(channel, nick), rules, person(channel, nick)) == f"agent:main:{own}"


@pytest.mark.requirement("D41")
@pytest.mark.parametrize(
    ("envelope", "text"),
    [
        (group("telegram", "-100"), "agent:main:telegram:group:-100"),
        (group("telegram", "-100", topic="42"), "agent:main:telegram:group:-100:topic:42"),
        (group("discord", "ABC", ChatType.CHANNEL), "agent:main:discord:channel:abc"),
        (group("signal", "AbC="), "agent:main:signal:group:AbC="),
        (group("telegram", None), "agent:main:telegram:group:unknown"),
        (direct(thread="7"), "agent:main:main:thread:7"),
    ],
)
def test_groups_rooms_topics_and_threads_have_sessions_of_their_own(envelope: Envelope, text: str) -> None:
    assert key(envelope) == text


@pytest.mark.requirement("P25")
def test_rooms_that_differ_in_case_are_two_sessions_where_case_counts() -> None:
    room, other = (group("matrix", name, ChatType.CHANNEL) for name in ("!Room:x", "!room:x"))
    assert (key(room), key(other)) == (
        "agent:main:matrix:channel:!Room:x",
        "agent:main:matrix:channel:!room:x",
    )


def test_a_thread_in_a_channel_is_a_session_beside_it() -> None:
    conversation = Conversation(chat_type=ChatType.CHANNEL, peer="C1", thread="17.5")
    assert (
        key(replace(direct("slack"), conversation=conversation)) == "agent:main:slack:channel:c1:thread:17.5"
    )


def test_accounts_in_one_room_share_its_session_unless_accounts_are_kept_apart() -> None:
    other_account = replace(group("telegram", "-100"), account="work")
    assert key(other_account) == "agent:main:telegram:group:-100"
    apart = RoutingRules(dm_scope=DmScope.PER_ACCOUNT_CHANNEL_PEER)
    assert key(other_account, apart) == "agent:main:telegram:work:group:-100"
    assert key(group("telegram", "-100"), apart) == "agent:main:telegram:group:-100"


@pytest.mark.requirement("D05")
@pytest.mark.parametrize("envelope", [direct(), direct(thread="7"), group("telegram", "-100", topic="4")])
def test_under_the_global_scope_everything_is_one_session(envelope: Envelope) -> None:
    routed = route(envelope, ANN, RoutingRules(scope=SessionScope.GLOBAL, dm_scope=DmScope.PER_PEER))
    assert (str(routed.key), routed.agent) == ("global", "main")
    assert routed.key_rule == "session.scope=global"


def test_a_binding_chooses_the_agent_and_may_choose_the_scope() -> None:
    bindings = (
        Binding(agent="ops", match=Match(channel="slack")),
        Binding(agent="desk", match=Match(channel="telegram"), dm_scope=DmScope.PER_CHANNEL_PEER),
    )
    rules = RoutingRules(bindings=bindings)
    assert key(direct("slack"), rules) == "agent:ops:main"
    assert key(direct(), rules) == "agent:desk:telegram:direct:123"
    assert key(direct("discord"), rules) == "agent:main:main"


@pytest.mark.parametrize(
    "bound", [SessionKey.named("ops", "notes"), SessionKey(agent="", kind=KeyKind.GLOBAL)]
)
def test_a_bound_thread_stays_with_its_session_before_any_other_rule(bound: SessionKey) -> None:
    rules = RoutingRules(bindings=(Binding(agent="desk", match=Match(channel="telegram")),))
    routed = route(direct(thread="7"), ANN, rules, thread_binding=bound)
    assert routed.key == bound
    assert routed.agent == (bound.agent or "desk")
    assert routed.rule == "the binding of its thread"


@pytest.mark.parametrize("scope", ISOLATING)
def test_without_a_peer_only_the_owner_and_clients_fall_back_to_main(scope: DmScope) -> None:
    rules = RoutingRules(dm_scope=scope)
    nobody = direct(peer=None)
    assert key(nobody, rules, OWNER) == "agent:main:main"
    with pytest.raises(InvalidInput):
        route(nobody, ANN, rules)


def test_a_route_names_the_rules_that_decided() -> None:
    rules = RoutingRules(
        dm_scope=DmScope.PER_PEER,
        links=(ALICE,),
        bindings=(Binding(agent="ops", match=Match(channel="slack")),),
    )
    assert (
        route(direct("slack", "5"), ANN, rules).rule == "bindings[0] by account and session.dmScope=per-peer"
    )
    assert route(direct(), ANN, rules).rule == "the default agent and session.identityLinks.alice"
    assert route(group("telegram", "1"), ANN, rules).rule == "the default agent and a group chat"
    assert route(direct(peer=None), OWNER, rules).key_rule == "a message of no peer"


OPENED = Facts(kind=SessionKind.OTHER, channel="telegram", peer="123")
NAMED = Principal(PrincipalKind.PERSON, "alice")


@pytest.mark.requirement("P2")
@pytest.mark.parametrize(
    ("name", "writes", "facts", "anothers"),
    [
        ("agent:main:direct:123", ANN, OPENED, False),
        ("agent:main:direct:123", person("discord", "123"), OPENED._replace(channel="discord"), True),
        ("agent:main:direct:123", person("telegram", "7"), OPENED._replace(peer="7"), True),
        ("agent:main:direct:123", OWNER, OPENED, False),
        ("agent:main:direct:123", NAMED, OPENED, False),
        ("agent:main:direct:123", ANN, OPENED._replace(channel="discord", peer="9"), False),
        ("agent:main:telegram:direct:123", OWNER, Facts(kind=SessionKind.OTHER), False),
        ("agent:main:main", person("discord", "123"), OPENED._replace(channel="discord"), False),
    ],
    ids=[
        "his own",
        "his id elsewhere",
        "another id",
        "declared the owner since",
        "linked since",
        "his own, by another chat of his",
        "of a channel",
        "main",
    ],
)
def test_a_session_named_after_an_id_is_of_who_opened_it(
    name: str, writes: Principal, facts: Facts, *, anothers: bool
) -> None:
    session = builders.session(SessionKey.parse(name), owner=ANN)._replace(facts=OPENED)
    assert is_anothers(session, writes, facts) is anothers


@pytest.mark.requirement("P2", "P29")
def test_who_finds_his_name_taken_gets_the_session_of_his_channel_and_the_reason_says_so() -> None:
    rules = RoutingRules(dm_scope=DmScope.PER_PEER, links=(ALICE,))
    envelope = direct(thread="7")
    found = route(envelope, NAMED, rules)
    other = apart(found, envelope, NAMED, rules)
    assert str(found.key) == "agent:main:direct:alice:thread:7"
    assert str(other.key) == "agent:main:telegram:direct:123:thread:7"
    assert other.rule.endswith(
        "session.identityLinks.alice, but agent:main:direct:alice:thread:7 is somebody else's"
    )
