"""Sessions of other gateways: how they are named here, and how such a gateway says that it has a message.

Its name and the session's are divided by a slash. No session key reads so: before its first slash stands a colon.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches

from roost.core.errors import InvalidInput, NotFound
from roost.core.keys import KeyKind, SessionKey
from roost.core.keytext import CONTROL

NAME = re.compile(r"[a-z0-9-]{1,64}", re.ASCII)
LONGEST_KEY = 512

# A session that is not of this gateway, where one has to stand for it: among the hops of a message.
BEYOND = SessionKey(agent="", kind=KeyKind.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSession:
    """`session` is what its gateway is asked for, and `key` what that gateway calls it, once it has answered."""

    gateway: str
    session: str
    key: str | None = None

    @classmethod
    def parse(cls, text: str) -> "RemoteSession | None":
        """The session of another gateway that is meant; None for a text that means one of this gateway's."""
        gateway, slash, session = text.partition("/")
        if not slash or not NAME.fullmatch(gateway):
            return None
        session = session.strip()
        if not session or len(session) > LONGEST_KEY or CONTROL.search(session):
            raise InvalidInput(
                f"{text[:LONGEST_KEY]!r} names no session", hint="write <remote>/<session key>"
            )
        return cls(gateway=gateway, session=session)

    def __str__(self) -> str:
        return f"{self.gateway}/{self.session}"


def allowed_as(gateway: str) -> str:
    """What another gateway is called in the list of those that may reach each other."""
    return f"remote:{gateway}"


def unknown(remote: RemoteSession, known: Collection[str]) -> NotFound:
    """The error for a gateway that the configuration does not name."""
    close = get_close_matches(remote.gateway, known, 1)
    hint = (
        f"did you mean {close[0]}/{remote.session}?"
        if close
        else "the owner can name one in `gateway.remotes`."
    )
    return NotFound(
        f"there is no gateway {remote.gateway}",
        hint=f"{hint} A session of this gateway is named by all of its key, from agent: on",
    )


def seen_from_here(session: str) -> str:
    """A session of a gateway that sent something, whose name here nobody knows."""
    return f"remote/{session}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Another gateway has a message, for the session it calls `key`; whether a run of it has `begun`."""

    key: str
    begun: bool = False
