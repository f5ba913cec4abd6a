"""What a channel declares about its ids: whether upper and lower case name the same chat.

Of a channel that declares nothing, ids are told apart by case: two sessions are a smaller evil than one
session for two people.
"""

from dataclasses import dataclass, replace
from types import MappingProxyType

from roost.core.addresses import ChatType
from roost.core.keys import KeyKind, SessionKey


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelTraits:
    """`opaque_kinds` are the kinds of chat whose ids keep their case although the channel ignores it."""

    ids_ignore_case: bool = False
    opaque_kinds: frozenset[ChatType] = frozenset()

    def fold(self, chat_type: ChatType, native_id: str) -> str:
        """The one spelling of an id in a key."""
        if self.ids_ignore_case and chat_type not in self.opaque_kinds:
            return native_id.lower()
        return native_id


_UNDECLARED = ChannelTraits()
_FOLDED = ChannelTraits(ids_ignore_case=True)
_DIRECT_FOLDED = ChannelTraits(
    ids_ignore_case=True, opaque_kinds=frozenset({ChatType.GROUP, ChatType.CHANNEL})
)


@dataclass(frozen=True, slots=True)
class Traits:
    """The channels there are, by name, each with what it declares."""

    declared: frozenset[tuple[str, ChannelTraits]]

    def of(self, channel: str) -> ChannelTraits:
        """What a channel declares, or the cautious assumption."""
        return next((traits for name, traits in self.declared if name == channel), _UNDECLARED)

    def know(self, channel: str) -> bool:
        return any(name == channel for name, _ in self.declared)

    def fold_key(self, key: SessionKey) -> SessionKey:
        """The key as routing writes it, from one that a person may have typed in another case."""
        chat_type = _CHAT_TYPES.get(key.kind)
        if chat_type is None or key.channel is None:
            return key
        channel = key.channel.lower()
        traits = self.of(channel)
        return replace(
            key,
            channel=channel,
            account=key.account and key.account.lower(),
            name=traits.fold(chat_type, key.name),
            topic=key.topic and traits.fold(chat_type, key.topic),
            thread=key.thread and traits.fold(chat_type, key.thread),
        )


KNOWN_CHANNELS = Traits(
    frozenset(
        {
            ("telegram", _FOLDED),
            ("discord", _FOLDED),
            ("slack", _FOLDED),
            ("whatsapp", _FOLDED),
            ("imessage", _FOLDED),
            ("webchat", _FOLDED),
            ("irc", _FOLDED),
            ("signal", _DIRECT_FOLDED),
            ("matrix", _UNDECLARED),
        }
    )
)

_CHAT_TYPES = MappingProxyType(
    {
        KeyKind.DIRECT: ChatType.DIRECT,
        KeyKind.SLASH: ChatType.DIRECT,
        KeyKind.GROUP: ChatType.GROUP,
        KeyKind.CHANNEL: ChatType.CHANNEL,
    }
)
