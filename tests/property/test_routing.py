"""Routing keeps conversations apart: distinct addresses give distinct keys."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.addresses import DEFAULT_ACCOUNT, ChatType
from roost.core.bindings import Binding, Match
from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.envelopes import Conversation, Envelope, Sender, reply_address
from roost.core.keys import SessionKey
from roost.core.principals import person
from roost.core.routing import RoutingRules, route
from roost.core.scopes import DmScope
from tests.scale import count, examples

Address = tuple[str, str, str, ChatType, str, str | None, str | None]

# Few values with much structure in them, so that addresses are near each other and collide if they can.
ids = st.lists(
    st.sampled_from(
        ["a", "A", "1", "thread", "topic", "group", "direct", "heartbeat", "%3A", "%", "/", "😀", " "]
    ),
    min_size=1,
    max_size=4,
).map(":".join)
names = st.sampled_from(
    ["telegram", "matrix", "plug:in", "direct", "group", "node-x", "agent", "main", "thread"]
)
accounts = st.sampled_from([DEFAULT_ACCOUNT, "work", "group", "direct", "a:b", "thread"])


@st.composite
def addresses(draw: st.DrawFn) -> Address:
    chat = draw(st.sampled_from(list(ChatType)))
    topic = draw(st.none() | ids) if chat is ChatType.GROUP else None
    agent = draw(st.sampled_from(["main", "ops", "direct", "agent"]))
    return agent, draw(names), draw(accounts), chat, draw(ids), draw(st.none() | ids), topic


def envelope(address: Address) -> Envelope:
    _, channel, account, chat, peer, thread, topic = address
    return Envelope(
        channel=channel,
        account=account,
        sender=Sender(id=peer),
        conversation=Conversation(chat_type=chat, peer=peer, thread=thread, topic=topic),
        text="hello",
    )


def key_of(address: Address) -> SessionKey:
    binding = Binding(agent=address[0], match=Match(channel=address[1], account="*"))
    rules = RoutingRules(dm_scope=DmScope.PER_ACCOUNT_CHANNEL_PEER, bindings=(binding,))
    return route(envelope(address), person(address[1], address[4]), rules).key


def folded(address: Address) -> Address:
    agent, channel, account, chat, peer, thread, topic = address
    fold = KNOWN_CHANNELS.of(channel)
    return (
        *(agent, channel, account, chat, fold.fold(chat, peer)),
        *(thread and fold.fold(chat, thread), topic and fold.fold(chat, topic)),
    )


@pytest.mark.requirement("P2")
@settings(max_examples=examples(20, 200))
@given(st.lists(addresses(), min_size=50, max_size=50))
def test_distinct_addresses_give_distinct_keys(many: list[Address]) -> None:
    known: dict[str, Address] = {}
    for address in map(folded, many):
        assert known.setdefault(str(key_of(address)), address) == address


@pytest.mark.requirement("P2", "P25")
def test_thousands_of_random_addresses_give_as_many_keys() -> None:
    drawn = random.Random(25)
    pieces = ["A", "b", ":", "/", "😀", "\x00", "%41", ":thread:", ":topic:", ":heartbeat", " "]

    def word() -> str:
        return "".join(drawn.choices(pieces, k=drawn.randint(1, 6)))

    def maybe() -> str | None:
        return word() if drawn.random() < 0.3 else None

    def address() -> Address:
        chat = drawn.choice(list(ChatType))
        topic = maybe() if chat is ChatType.GROUP else None
        channel = drawn.choice(["telegram", "matrix", "signal", "plug:in"])
        return (
            drawn.choice(["main", "ops"]),
            channel,
            drawn.choice(["default", "work"]),
            chat,
            word(),
            maybe(),
            topic,
        )

    many = {folded(address()) for _ in range(count(1_000, 10_000))}
    texts = {str(key_of(address)) for address in many}
    assert len(texts) == len(many)
    assert all(str(SessionKey.parse(text)) == text for text in texts)


@pytest.mark.requirement("P2")
@settings(max_examples=examples(80, 2_000))
@given(addresses())
def test_the_key_of_an_address_depends_on_nothing_else(address: Address) -> None:
    assert key_of(address) == key_of(folded(address))
    assert SessionKey.parse(str(key_of(address))) == key_of(address)


@pytest.mark.requirement("P7")
@settings(max_examples=examples(80, 2_000))
@given(addresses())
def test_the_reply_goes_to_the_chat_in_its_own_spelling(address: Address) -> None:
    _, channel, account, _, peer, thread, topic = address
    reply = reply_address(envelope(address))
    assert reply is not None
    assert (reply.channel, reply.account, reply.to, reply.thread) == (channel, account, peer, thread or topic)
