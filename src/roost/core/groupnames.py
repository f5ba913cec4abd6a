"""Names of group chats from before keys carried their channel; they are still met in imports and on the wire."""

import re

from roost.core import keytext
from roost.core.addresses import ChatType
from roost.core.channeltraits import KNOWN_CHANNELS, Traits
from roost.core.keys import KeyKind, SessionKey

_UNKNOWN_CHANNEL = "unknown"

_PREFIXED = re.compile(r"(?P<kind>group|channel):.+", re.DOTALL | re.IGNORECASE | re.ASCII)
_WHATSAPP = re.compile(r"[^:]+@g\.us")
_DISCORD = re.compile(r"discord:(?:.+:)?guild-[^:]+:channel-(?P<id>[^:]+)")


def legacy_chat_type(text: str) -> ChatType | None:
    """What kind of chat a legacy name speaks of; None if it is not one."""
    if found := _PREFIXED.fullmatch(text):
        return ChatType(found["kind"].lower())
    if _WHATSAPP.fullmatch(text):
        return ChatType.GROUP
    return ChatType.CHANNEL if _DISCORD.fullmatch(text) else None


def legacy_key(
    agent: str, text: str, provider: str | None, traits: Traits = KNOWN_CHANNELS
) -> SessionKey | None:
    """The key a legacy name stands for; its channel is the provider's. None if it is not a legacy name."""
    channel = (provider or "").strip().lower()
    if found := _DISCORD.fullmatch(text):
        key = SessionKey(agent=agent, kind=KeyKind.CHANNEL, name=found["id"], channel="discord")
    elif _WHATSAPP.fullmatch(text):
        key = SessionKey(agent=agent, kind=KeyKind.GROUP, name=text, channel=channel or "whatsapp")
    elif _PREFIXED.fullmatch(text):
        key = SessionKey.parse(f"agent:{agent}:{keytext.CHANNEL.write(channel or _UNKNOWN_CHANNEL)}:{text}")
    else:
        return None
    return traits.fold_key(key)
