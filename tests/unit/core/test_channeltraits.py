"""Traits: whose ids ignore case."""

import pytest

from roost.core.addresses import ChatType
from roost.core.channeltraits import KNOWN_CHANNELS, ChannelTraits, Traits
from roost.core.keys import SessionKey


@pytest.mark.requirement("P25")
@pytest.mark.parametrize(
    ("channel", "chat_type", "native_id", "folded"),
    [
        ("discord", ChatType.CHANNEL, "ABC", "abc"),
        ("telegram", ChatType.DIRECT, "Ann", "ann"),
        ("signal", ChatType.GROUP, "AbC=", "AbC="),
        ("signal", ChatType.DIRECT, "AbC", "abc"),
        ("matrix", ChatType.CHANNEL, "!Room:x", "!Room:x"),
        ("matrix", ChatType.DIRECT, "@Ann:x", "@Ann:x"),
        ("homemade", ChatType.DIRECT, "Ann", "Ann"),
    ],
)
def test_ids_are_folded_only_where_the_channel_says_so(
    channel: str, chat_type: ChatType, native_id: str, folded: str
) -> None:
    assert KNOWN_CHANNELS.of(channel).fold(chat_type, native_id) == folded


def test_a_connector_may_declare_its_own_channel() -> None:
    traits = Traits(frozenset({("homemade", ChannelTraits(ids_ignore_case=True))}))
    assert traits.of("homemade").fold(ChatType.GROUP, "AbC") == "abc"
    assert traits.know("homemade")
    assert not traits.know("telegram")


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("agent:a:Discord:Work:channel:ABC:thread:T", "agent:a:discord:work:channel:abc:thread:t"),
        ("agent:a:telegram:group:G:topic:T", "agent:a:telegram:group:g:topic:t"),
        ("agent:a:discord:slash:U", "agent:a:discord:slash:u"),
        ("agent:a:Matrix:channel:!Room:x:thread:$E", "agent:a:matrix:channel:!Room:x:thread:$E"),
        ("agent:a:direct:Ann", "agent:a:direct:Ann"),
        ("agent:a:My:Notes", "agent:a:My:Notes"),
    ],
)
def test_a_typed_key_is_folded_as_routing_would_write_it(typed: str, written: str) -> None:
    assert str(KNOWN_CHANNELS.fold_key(SessionKey.parse(typed))) == written
