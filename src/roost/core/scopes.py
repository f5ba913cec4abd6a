"""Who shares a conversation with whom: `session.scope` for everything, `session.dmScope` for direct messages."""

from enum import StrEnum
from functools import lru_cache
from typing import assert_never

from roost.core.keys import KeyKind, SessionKey


class SessionScope(StrEnum):
    PER_SENDER = "per-sender"
    GLOBAL = "global"


class DmScope(StrEnum):
    """`OWNER_MAIN`: the owner's direct messages share main, everyone else's are apart per channel and peer."""

    MAIN = "main"
    PER_PEER = "per-peer"
    PER_CHANNEL_PEER = "per-channel-peer"
    PER_ACCOUNT_CHANNEL_PEER = "per-account-channel-peer"
    OWNER_MAIN = "owner-main"

    def for_speaker(self, *, is_owner: bool) -> "DmScope":
        """The scope that holds for one who speaks; never `OWNER_MAIN`."""
        if self is not DmScope.OWNER_MAIN:
            return self
        return DmScope.MAIN if is_owner else DmScope.PER_CHANNEL_PEER


@lru_cache(maxsize=1_024)
def main_key(agent: str, main_name: str, scope: SessionScope = SessionScope.PER_SENDER) -> SessionKey:
    """The main session of an agent; under the global scope the one session of all."""
    match scope:
        case SessionScope.GLOBAL:
            return SessionKey(agent="", kind=KeyKind.GLOBAL)
        case SessionScope.PER_SENDER:
            return SessionKey.named(agent, main_name)
        case other:
            assert_never(other)
