"""What a session is: its kind and its chat."""

import pytest

from roost.core.addresses import ChatType
from roost.core.envelopes import Conversation, Envelope, Sender
from roost.core.facts import (
    ConversationType,
    chat_type,
    classify,
    conversation_type,
    facts_of,
    takes_part,
)
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind
from roost.core.principals import OWNER, person
from roost.core.routing import RoutingRules, route
from roost.core.sessions import Facts, SessionKind
from tests import samples

ANN = person("telegram", "123")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("agent:main:main", "main"),
        ("agent:ops:main", "main"),
        ("global", "main"),
        ("agent:main:telegram:group:1", "group"),
        ("agent:main:discord:channel:1", "group"),
        ("agent:main:telegram:group:1:topic:2", "group"),
        ("agent:main:slack:channel:1:thread:2", "group"),
        ("agent:main:cron:daily:run:1", "cron"),
        ("agent:main:hook:1", "hook"),
        ("agent:main:node-1", "node"),
        ("agent:main:main:thread:1", "other"),
        ("agent:main:main:heartbeat", "other"),
        ("agent:main:telegram:group:1:heartbeat", "other"),
        ("agent:main:telegram:direct:1", "other"),
        ("agent:main:subagent:1", "other"),
        ("agent:main:acp:1", "other"),
        ("agent:main:dashboard:1", "other"),
        ("agent:main:notes", "other"),
        ("unknown", "other"),
    ],
)
def test_a_list_calls_a_session_by_its_kind(text: str, kind: str) -> None:
    assert classify(SessionKey.parse(text), "main") is SessionKind(kind)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("agent:main:telegram:dm:1", ChatType.DIRECT),
        ("agent:main:telegram:group:1:topic:2", ChatType.GROUP),
        ("agent:main:slack:channel:1", ChatType.CHANNEL),
        ("agent:main:discord:slash:1", ChatType.DIRECT),
        ("agent:main:group:-100", ChatType.GROUP),
        ("agent:main:discord:guild-1:channel-2", ChatType.CHANNEL),
        ("agent:main:main", None),
        ("agent:main:cron:daily", None),
    ],
)
def test_a_key_tells_its_kind_of_chat(text: str, expected: ChatType | None) -> None:
    assert chat_type(SessionKey.parse(text)) is expected


@pytest.mark.requirement("D43")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("agent:main:telegram:group:-100:topic:42", ConversationType.THREAD),
        ("agent:main:slack:channel:1:thread:2", ConversationType.THREAD),
        ("agent:main:telegram:group:-100", ConversationType.GROUP),
        ("agent:main:slack:channel:1", ConversationType.GROUP),
        ("agent:main:group:-100", ConversationType.GROUP),
        ("agent:main:main", ConversationType.DIRECT),
        ("agent:main:telegram:direct:1", ConversationType.DIRECT),
    ],
)
def test_a_key_alone_tells_which_reset_policy_holds(text: str, expected: ConversationType) -> None:
    assert conversation_type(SessionKey.parse(text)) is expected


@pytest.mark.requirement("D43")
@pytest.mark.parametrize(
    ("conversation", "expected"),
    [
        (Conversation(chat_type=ChatType.DIRECT, peer="1"), ConversationType.DIRECT),
        (Conversation(chat_type=ChatType.GROUP, peer="1"), ConversationType.GROUP),
        (Conversation(chat_type=ChatType.CHANNEL, peer="1"), ConversationType.GROUP),
        (Conversation(chat_type=ChatType.DIRECT, peer="1", thread="2"), ConversationType.THREAD),
        (Conversation(chat_type=ChatType.GROUP, peer="1", topic="2"), ConversationType.THREAD),
        (Conversation(chat_type=ChatType.CHANNEL, peer="1", parent="2"), ConversationType.THREAD),
        (Conversation(chat_type=ChatType.CHANNEL, peer="1", thread_label="Plans"), ConversationType.THREAD),
    ],
)
def test_the_chat_of_a_message_decides_where_the_key_does_not_say(
    conversation: Conversation, expected: ConversationType
) -> None:
    assert conversation_type(SessionKey.named("main", "main"), conversation) is expected


def test_facts_are_those_of_the_message_not_of_the_key() -> None:
    conversation = Conversation(chat_type=ChatType.GROUP, peer="-100A", topic="42")
    envelope = Envelope(
        channel="telegram", account="work", sender=Sender(id="123"), conversation=conversation, text="hi"
    )
    routed = route(envelope, ANN, RoutingRules())
    assert facts_of(routed, envelope, "main") == Facts(
        kind=SessionKind.GROUP,
        channel="telegram",
        chat_type=ChatType.GROUP,
        account="work",
        peer="-100A",
        thread="42",
        rule="the default agent and a group chat",
    )


def test_a_person_takes_part_in_a_group_in_which_he_spoke() -> None:
    group = samples.session(samples.GROUP, facts=samples.GROUP_FACTS)
    assert takes_part(group, samples.inbound(key=samples.GROUP, principal=ANN))
    assert not takes_part(group, samples.inbound(key=samples.GROUP, principal=OWNER))
    assert not takes_part(samples.session(), samples.inbound(principal=ANN))
    sent = samples.inbound(key=samples.GROUP, principal=ANN, kind=ProvenanceKind.INTER_SESSION)
    assert not takes_part(group, sent)
