"""Bindings: the most specific one that fits decides."""

from dataclasses import replace

import pytest

from roost.core.addresses import ChatType
from roost.core.bindings import Binding, Match, PeerMatch, Tier, choose, fit
from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.envelopes import Conversation, Envelope, Sender

DISCORD = KNOWN_CHANNELS.of("discord")
MATRIX = KNOWN_CHANNELS.of("matrix")
IN_THREAD = Envelope(
    channel="discord",
    sender=Sender(id="5", roles=frozenset({"mod", "dev"})),
    conversation=Conversation(chat_type=ChatType.CHANNEL, peer="T9", parent="C1", guild="g1", team="t1"),
    text="hi",
)


def peer(native_id: str, kind: ChatType = ChatType.CHANNEL) -> PeerMatch:
    return PeerMatch(kind=kind, id=native_id)


# From the most specific to the least.
RANKED = (
    (Tier.PEER, Match(channel="discord", peer=peer("t9"))),
    (Tier.PARENT, Match(channel="discord", peer=peer("C1"))),
    (Tier.ANY_PEER, Match(channel="discord", peer=peer("*"))),
    (Tier.ROLES, Match(channel="discord", guild="g1", roles=frozenset({"dev", "boss"}))),
    (Tier.GUILD, Match(channel="discord", guild="g1")),
    (Tier.TEAM, Match(channel="discord", team="t1")),
    (Tier.ACCOUNT, Match(channel="discord")),
    (Tier.CHANNEL, Match(channel="discord", account="*")),
)


@pytest.mark.parametrize(("tier", "match"), RANKED)
def test_a_match_is_as_specific_as_its_most_specific_field(tier: Tier, match: Match) -> None:
    assert fit(match, IN_THREAD, DISCORD) is tier


@pytest.mark.parametrize("above", range(len(RANKED) - 1))
def test_the_more_specific_binding_wins_wherever_it_stands(above: int) -> None:
    better, worse = RANKED[above][1], RANKED[above + 1][1]
    bindings = (Binding(agent="worse", match=worse), Binding(agent="better", match=better))
    for given in (bindings, bindings[::-1]):
        bound = choose(given, IN_THREAD, DISCORD)
        assert bound is not None
        assert bound.binding.agent == "better"


def test_among_equals_the_first_wins_and_is_named() -> None:
    match = Match(channel="discord", guild="g1")
    other = Binding(agent="c", match=Match(channel="slack"))
    bound = choose(
        (other, Binding(agent="a", match=match), Binding(agent="b", match=match)), IN_THREAD, DISCORD
    )
    assert bound is not None
    assert (bound.binding.agent, bound.rule) == ("a", "bindings[1] by guild")


@pytest.mark.parametrize(
    "match",
    [
        Match(channel="slack"),
        Match(channel="discord", account="work"),
        Match(channel="discord", guild="g2"),
        Match(channel="discord", team="t2"),
        Match(channel="discord", guild="g1", roles=frozenset({"boss"})),
        Match(channel="discord", roles=frozenset({"boss"})),
        Match(channel="discord", peer=peer("C2")),
        Match(channel="discord", peer=peer("T9"), guild="g2"),
        Match(channel="discord", peer=peer("*", ChatType.DIRECT)),
        Match(channel="discord", peer=peer("T9", ChatType.GROUP)),
    ],
)
def test_every_given_field_must_hold(match: Match) -> None:
    assert fit(match, IN_THREAD, DISCORD) is None
    assert choose((Binding(agent="a", match=match),), IN_THREAD, DISCORD) is None


def test_an_account_left_out_is_the_default_one() -> None:
    elsewhere = replace(IN_THREAD, account="work")
    assert fit(Match(channel="discord"), elsewhere, DISCORD) is None
    assert fit(Match(channel="discord", account="work"), elsewhere, DISCORD) is Tier.ACCOUNT
    assert fit(Match(channel="discord", account="*"), elsewhere, DISCORD) is Tier.CHANNEL


def test_peers_are_compared_as_their_channel_spells_them() -> None:
    room = replace(
        IN_THREAD, channel="matrix", conversation=Conversation(chat_type=ChatType.CHANNEL, peer="!Room:x")
    )
    assert fit(Match(channel="matrix", peer=peer("!Room:x")), room, MATRIX) is Tier.PEER
    assert fit(Match(channel="matrix", peer=peer("!room:x")), room, MATRIX) is None


def test_a_direct_chat_is_matched_by_who_writes() -> None:
    direct = replace(IN_THREAD, conversation=Conversation(chat_type=ChatType.DIRECT))
    assert fit(Match(channel="discord", peer=peer("5", ChatType.DIRECT)), direct, DISCORD) is Tier.PEER
