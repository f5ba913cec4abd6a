"""What a session is, decided when it is created: its kind and its chat."""

from enum import StrEnum

from roost.core.addresses import ChatType
from roost.core.envelopes import Conversation, Envelope
from roost.core.groupnames import legacy_chat_type
from roost.core.inbound import Inbound
from roost.core.keys import KeyKind, SessionKey
from roost.core.messages import ProvenanceKind
from roost.core.routing import Route
from roost.core.sessions import Facts, Session, SessionKind


class ConversationType(StrEnum):
    """What reset policies distinguish."""

    DIRECT = "direct"
    GROUP = "group"
    THREAD = "thread"


def classify(key: SessionKey, main_name: str) -> SessionKind:
    """What a list calls a session under this key."""
    if key.is_main(main_name):
        return SessionKind.MAIN
    if key.heartbeat:
        return SessionKind.OTHER
    match key.kind:
        case KeyKind.GROUP | KeyKind.CHANNEL:
            return SessionKind.GROUP
        case KeyKind.CRON | KeyKind.HOOK | KeyKind.NODE:
            return SessionKind(key.kind)
        case _:
            return SessionKind.OTHER


def chat_type(key: SessionKey) -> ChatType | None:
    """The kind of chat a key speaks of, legacy names included; None for sessions of no chat."""
    match key.kind:
        case KeyKind.DIRECT | KeyKind.GROUP | KeyKind.CHANNEL:
            return ChatType(key.kind)
        case KeyKind.SLASH:
            return ChatType.DIRECT
        case KeyKind.NAMED:
            return legacy_chat_type(key.name)
        case _:
            return None


def conversation_type(key: SessionKey, conversation: Conversation | None = None) -> ConversationType:
    """Which reset policy holds for a session, given the chat of the message that asks."""
    if key.is_thread or (conversation and _in_thread(conversation)):
        return ConversationType.THREAD
    speaks_of = {chat_type(key), conversation and conversation.chat_type}
    if speaks_of & {ChatType.GROUP, ChatType.CHANNEL}:
        return ConversationType.GROUP
    return ConversationType.DIRECT


def facts_of(route: Route, envelope: Envelope, main_name: str) -> Facts:
    """The routing facts of the session that a message opens."""
    conversation = envelope.conversation
    return Facts(
        kind=classify(route.key, main_name),
        channel=envelope.channel,
        chat_type=conversation.chat_type,
        account=envelope.account,
        peer=envelope.place,
        thread=conversation.thread or conversation.topic or None,
        rule=route.rule,
    )


def takes_part(session: Session, inbound: Inbound) -> bool:
    """Whether who sent a message takes part in a session from then on: a person in a group that is not theirs."""
    in_person = inbound.provenance.kind is ProvenanceKind.HUMAN and inbound.principal != session.owner
    return in_person and session.facts.shared


def _in_thread(conversation: Conversation) -> bool:
    return bool(conversation.thread or conversation.topic or conversation.parent or conversation.thread_label)
