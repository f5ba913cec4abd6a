"""What a caller typed for a session, and what a caller is shown for one.

A reference is a request: whether the caller may have the session is decided after it, by the guard.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from roost.core.channeltraits import KNOWN_CHANNELS, Traits
from roost.core.errors import InvalidInput, NotFound
from roost.core.keys import KeyKind, SessionKey
from roost.core.scopes import SessionScope, main_key

# Names by which clients introduce themselves; people see them and take them for sessions.
CLIENT_LABELS = frozenset(
    {
        "cli",
        "gateway-client",
        "openclaw-android",
        "openclaw-control-ui",
        "openclaw-ios",
        "openclaw-macos",
        "openclaw-tui",
        "webchat",
        "webchat-ui",
    }
)

_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_NODE_ALIAS = re.compile(r"node:(?=.)", re.IGNORECASE)
_TAKE_FROM_LIST = "take the key from sessions_list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewpoint:
    """From where a name is read: whose agent, in which session, under which configuration."""

    agent: str
    own: SessionKey | None = None
    main_name: str = "main"
    scope: SessionScope = SessionScope.PER_SENDER
    traits: Traits = KNOWN_CHANNELS

    @property
    def main(self) -> SessionKey:
        return main_key(self.agent, self.main_name, self.scope)


@dataclass(frozen=True, slots=True)
class ByKey:
    key: SessionKey


@dataclass(frozen=True, slots=True)
class BySessionId:
    session_id: str


@dataclass(frozen=True, slots=True)
class ByKeyOrId:
    """The session under this key; if there is none, the one with this id."""

    key: SessionKey
    session_id: str


def resolve(text: str, seen_from: Viewpoint) -> ByKey | ByKeyOrId:
    """What a text means to this caller. A malformed key is refused, never guessed at."""
    name = text.strip()
    word = name.lower()
    if not name:
        raise InvalidInput("no session was named", hint=_TAKE_FROM_LIST)
    if word == "current":
        return ByKey(_current(seen_from))
    if word == "main" or name == seen_from.main_name:
        return ByKey(seen_from.main)
    if word in CLIENT_LABELS:
        raise NotFound(
            f"{name} is the name of a client, not of a session", hint=f"use current, or {_TAKE_FROM_LIST}"
        )
    key = _read(name, seen_from)
    if key.kind is KeyKind.NAMED and _SESSION_ID.fullmatch(name):
        return ByKeyOrId(key, name)
    return ByKey(key)


def by_session_id(text: str) -> BySessionId:
    """A reference by id alone; no text with a path or a wildcard in it is an id."""
    name = text.strip()
    if not _SESSION_ID.fullmatch(name):
        raise InvalidInput(f"{text!r} is no session id", hint="take the id from sessions_list")
    return BySessionId(name)


def refuse_mismatch(key: SessionKey, agent: str | None) -> None:
    """Raise if a session is of another agent than the one that was named beside it."""
    if agent is not None and key.agent not in ("", agent):
        raise InvalidInput(
            f"{key} is a session of agent {key.agent!r}, not of {agent!r}",
            hint="leave out the agent, or name one of its own sessions",
        )


def refuse_unknown(agent: str, agents: Collection[str]) -> None:
    """Raise if there is no such agent: nobody would answer."""
    if agent and agent not in agents:
        raise InvalidInput(
            f"unknown agent id {agent!r}",
            hint=f"there are: {', '.join(agents)}. What one that is gone has left can be read, stopped, archived, "
            "exported and deleted",
        )


def display(key: SessionKey, seen_from: Viewpoint) -> str:
    """The key as this caller is shown it: its own main session is always `main`."""
    return display_all((key,), seen_from)[0]


def display_all(keys: Iterable[SessionKey], seen_from: Viewpoint) -> list[str]:
    """The same for many: what is its own is worked out once."""
    main = seen_from.main
    own = main.text if main.is_main(seen_from.main_name) else None
    return ["main" if (text := key.text) == own else text for key in keys]


def is_listed(key: SessionKey, scope: SessionScope) -> bool:
    """Whether a list may show this key at all."""
    return key.kind is not KeyKind.UNKNOWN and (
        key.kind is not KeyKind.GLOBAL or scope is SessionScope.GLOBAL
    )


def refuse_thread(key: SessionKey) -> None:
    """Raise if a key is a thread of a chat, which other sessions must not write into."""
    if key.is_thread:
        raise InvalidInput(
            f"{key} is a thread people talk in, which other sessions do not write into",
            hint=f"send to {key.parent} instead",
        )


def _current(seen_from: Viewpoint) -> SessionKey:
    if seen_from.own is None:
        raise InvalidInput("there is no current session here", hint=_TAKE_FROM_LIST)
    return seen_from.own


def _read(name: str, seen_from: Viewpoint) -> SessionKey:
    word = name.lower()
    if word in ("unknown", "global", "global:heartbeat") or word.startswith("agent:"):
        key = seen_from.traits.fold_key(SessionKey.parse(name))
    else:
        rest = _NODE_ALIAS.sub("node-", name, count=1) if _NODE_ALIAS.match(name) else name
        key = seen_from.traits.fold_key(SessionKey.parse(f"agent:{seen_from.agent}:{rest}"))
    if not is_listed(key, seen_from.scope):
        raise NotFound(f"no session is called {name}", hint=_TAKE_FROM_LIST)
    key = _with_main_name(key, seen_from.main_name)
    if seen_from.scope is SessionScope.GLOBAL and key.is_main(seen_from.main_name):
        return seen_from.main
    return key


def _with_main_name(key: SessionKey, main_name: str) -> SessionKey:
    """The main session is meant in whichever case it is written: nobody wants another one beside it."""
    is_meant = key.kind is KeyKind.NAMED and key.name.lower() == main_name.lower()
    return replace(key, name=main_name) if is_meant else key
