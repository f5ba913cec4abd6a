"""What a connector supplies with one message: who, where, and the words. Nothing here is decided yet.

No store can keep half a character. Words that hold one are repaired; an id that does names nothing.
"""

from dataclasses import dataclass, replace

from roost.core.addresses import DEFAULT_ACCOUNT, Address, ChatType, Origin
from roost.core.errors import InvalidInput
from roost.core.keytext import SURROGATE
from roost.core.sessions import Labels

_NOT_DELIVERABLE = frozenset({None, "webchat", "internal", "unknown"})


def _repair(value: "Sender | Conversation | Envelope", *words: str) -> None:
    for name in words:
        text: str | None = getattr(value, name)
        if text and SURROGATE.search(text):
            object.__setattr__(value, name, SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text))


def _refuse_broken(*ids: str | None) -> None:
    for one in ids:
        if one and SURROGATE.search(one):
            raise InvalidInput(f"{one!r} holds half a character", hint="the connector must give whole ids")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Who the channel says has written; `id` is the channel's own, unforgeable id."""

    id: str | None = None
    name: str | None = None
    roles: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        _refuse_broken(self.id)
        _repair(self, "name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The chat a message was written in; ids are the channel's own, in its spelling.

    `parent` is the chat that a thread hangs under, where it has an id of its own. `room` is the name of
    a channel-like group, `subject` that of any other.
    """

    chat_type: ChatType
    peer: str | None = None
    thread: str | None = None
    topic: str | None = None
    parent: str | None = None
    guild: str | None = None
    team: str | None = None
    label: str | None = None
    thread_label: str | None = None
    subject: str | None = None
    room: str | None = None
    space: str | None = None

    def __post_init__(self) -> None:
        if self.topic and self.chat_type is not ChatType.GROUP:
            raise InvalidInput(f"a {self.chat_type} chat has no topics", hint="give a thread instead")
        _refuse_broken(self.peer, self.thread, self.topic, self.parent, self.guild, self.team)
        _repair(self, "label", "thread_label", "subject", "room", "space")


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One message as it came in. `external_id` is what makes it the same message when it comes again. A
    `native_command` was given by the platform's own means, a menu or a key: it is one even where text is not read
    for commands."""

    channel: str
    sender: Sender
    conversation: Conversation
    text: str
    account: str = DEFAULT_ACCOUNT
    external_id: str | None = None
    mentions_bot: bool = False
    native_command: bool = False
    surface: str | None = None
    raw_from: str | None = None
    raw_to: str | None = None

    def __post_init__(self) -> None:
        for part, name in (("channel", self.channel), ("account", self.account)):
            if not name or name != name.strip().lower():
                raise InvalidInput(
                    f"{name!r} names no {part}", hint="names are lower-case, without blanks around"
                )
        _refuse_broken(self.channel, self.account, self.external_id)
        _repair(self, "text", "surface", "raw_from", "raw_to")

    @property
    def place(self) -> str | None:
        """The chat's id: of a direct chat that names none, the id of who writes."""
        if self.conversation.peer or self.conversation.chat_type is not ChatType.DIRECT:
            return self.conversation.peer or None
        return self.sender.id or None


def reply_address(envelope: Envelope) -> Address | None:
    """Where the answer goes, in the channel's own spelling; None where the channel named no place."""
    if envelope.place is None:
        return None
    named = envelope.conversation.chat_type is ChatType.DIRECT and envelope.place != envelope.sender.id
    return Address(
        channel=envelope.channel,
        to=envelope.place,
        account=envelope.account,
        thread=envelope.conversation.thread or envelope.conversation.topic or None,
        person=envelope.sender.id if named else None,
        chat_type=envelope.conversation.chat_type,
    )


def answer_to(to: Address) -> Envelope:
    """A message from a place, taken for a direct chat: an address does not say what else it is."""
    return Envelope(
        channel=to.channel,
        account=to.account,
        sender=Sender(id=to.whose),
        conversation=Conversation(chat_type=ChatType.DIRECT, peer=to.to, thread=to.thread),
        text="",
    )


def labels_of(envelope: Envelope) -> Labels:
    """What a session of this chat is called. A subject `#name` of a channel is its name; never both."""
    conversation = envelope.conversation
    if conversation.chat_type is ChatType.DIRECT:
        return Labels(display_name=conversation.label or envelope.sender.name or None)
    subject, room = conversation.subject or None, conversation.room or None
    if room is None and subject is not None and subject.startswith("#"):
        room = subject if conversation.chat_type is ChatType.CHANNEL else None
    return Labels(
        display_name=conversation.label or room or subject,
        subject=None if room else subject,
        room=room,
        space=conversation.space or None,
    )


def merge_labels(old: Labels, new: Labels) -> Labels:
    """What a chat is called after another message: new names win, missing ones leave the old; a room has no subject."""
    return Labels(
        label=old.label,
        display_name=new.display_name or old.display_name,
        subject=None if new.room else new.subject or old.subject,
        room=None if new.subject else new.room or old.room,
        space=new.space or old.space,
    )


def origin_of(envelope: Envelope) -> Origin:
    """Where a conversation was met, from one message of it."""
    conversation = envelope.conversation
    return Origin(
        label=conversation.label or conversation.subject or conversation.room or None,
        provider=envelope.channel,
        surface=envelope.surface or None,
        chat_type=conversation.chat_type,
        sender=envelope.raw_from or envelope.sender.id or None,
        to=envelope.raw_to or conversation.peer or None,
        account=envelope.account,
        thread=conversation.thread or conversation.topic or None,
    )


def merge_origin(old: Origin, new: Origin) -> Origin:
    """What is known after another message: new values win, missing ones leave the old.

    A conversation that moved to another place keeps none of the ids of the place it left.
    """
    known = old
    if new.provider not in _NOT_DELIVERABLE and _moved(old, new):
        old = replace(old, sender=None, to=None, account=None, thread=None)
    merged = Origin(
        label=new.label or old.label,
        provider=new.provider or old.provider,
        surface=new.surface or old.surface,
        chat_type=new.chat_type or old.chat_type,
        sender=new.sender or old.sender,
        to=new.to or old.to,
        account=new.account or old.account,
        thread=new.thread or old.thread,
    )
    # What is the same object need not be written again.
    return known if merged == known else merged


def _moved(old: Origin, new: Origin) -> bool:
    pairs = ((old.provider, new.provider), (old.surface, new.surface), (old.account, new.account))
    return any(before and after and before != after for before, after in pairs)
