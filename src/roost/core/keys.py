"""Session keys: the name under which a conversation is found.

A key is a value with parts; its text form exists on the wire and in the database only. There is one
parser and one formatter, and `parse(str(k)) == k` for every key.
"""

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from roost.core import keytext
from roost.core.errors import InvalidInput

_LONGEST = 512
LONGEST_TEXT = 8 * _LONGEST  # no character is written with more than six in the middle of a part


class KeyKind(StrEnum):
    """The shapes of a key. The main session is a `NAMED` key: which name is main is configuration."""

    DIRECT = "direct"
    GROUP = "group"
    CHANNEL = "channel"
    CRON = "cron"
    HOOK = "hook"
    NODE = "node"
    SUBAGENT = "subagent"
    ACP = "acp"
    EXPLICIT = "explicit"
    DASHBOARD = "dashboard"
    SLASH = "slash"
    NAMED = "named"
    GLOBAL = "global"
    UNKNOWN = "unknown"


CHILD_KINDS = frozenset({KeyKind.SUBAGENT, KeyKind.ACP})


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionKey:
    """`name` is what the kind is about: peer, job, uuid, node, or the text of a named key.

    `agent` is empty for the two unscoped kinds only. `topic` exists on groups, `run` on cron keys.
    """

    agent: str
    kind: KeyKind
    name: str = ""
    channel: str | None = None
    account: str | None = None
    topic: str | None = None
    run: str | None = None
    thread: str | None = None
    heartbeat: bool = False
    # Keys are looked up and written all the time; the hash and the text of nine parts are worth keeping.
    _hash: int = field(init=False, repr=False, compare=False)
    text: str = field(init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        return self._hash

    def __post_init__(self) -> None:
        parts = (self.agent, self.kind, self.name, self.channel, self.account, self.topic, self.run)
        object.__setattr__(self, "_hash", hash((*parts, self.thread, self.heartbeat)))
        problem = _wrong_shape(self) or _wrong_text(self)
        if problem:
            raise InvalidInput(f"no session key has {problem}", hint="sessions_list shows the keys there are")
        object.__setattr__(self, "text", _written(self))

    @classmethod
    def parse(cls, text: str) -> "SessionKey":
        """The key a text stands for. A text that lacks its agent is refused, never given to one."""
        if len(text) > LONGEST_TEXT:
            raise InvalidInput(
                f"a session key is not {len(text)} characters long",
                hint="sessions_list shows the keys there are",
            )
        if keytext.CONTROL.search(text):
            raise InvalidInput(f"{text!r} is no session key", hint="write control characters as %00 to %9F")
        if found := _UNSCOPED_TEXT.fullmatch(text):
            return cls(
                agent="", kind=KeyKind(found["kind"].lower()), heartbeat=found["heartbeat"] is not None
            )
        if found := _SCOPED_TEXT.fullmatch(text):
            return _read(found["agent"].lower(), _split(found["rest"]))
        raise InvalidInput(f"{text!r} is no session key", hint="a key is agent:<agent>:<name>")

    def __str__(self) -> str:
        return self.text

    @classmethod
    def named(cls, agent: str, name: str) -> "SessionKey":
        return cls(agent=agent, kind=KeyKind.NAMED, name=name)

    @property
    def is_thread(self) -> bool:
        return self.thread is not None or self.topic is not None

    @property
    def parent(self) -> "SessionKey":
        """The conversation that this is a thread, topic or heartbeat of; itself if it is none."""
        if not (self.is_thread or self.heartbeat):
            return self
        if self.kind is KeyKind.NAMED:
            return _of_name(self).parent
        return replace(self, thread=None, topic=None, heartbeat=False)

    @property
    def beat(self) -> "SessionKey":
        """The side session in which the heartbeats of this one run."""
        return replace(self, heartbeat=True)

    def is_main(self, main_name: str) -> bool:
        """Whether this is a main session itself, not a thread or heartbeat of one."""
        if self.thread is not None or self.heartbeat:
            return False
        return self.kind is KeyKind.GLOBAL or (self.kind is KeyKind.NAMED and self.name == main_name)


_UNSCOPED = frozenset({KeyKind.GLOBAL, KeyKind.UNKNOWN})
_ON_CHANNEL = frozenset({KeyKind.GROUP, KeyKind.CHANNEL, KeyKind.SLASH})
_CHATS = _ON_CHANNEL | {KeyKind.DIRECT}
_KINDS = MappingProxyType({"dm": KeyKind.DIRECT, **{str(kind): kind for kind in KeyKind}})


def _wrong_shape(key: SessionKey) -> str | None:
    unscoped = key.kind in _UNSCOPED
    if not (key.agent == "" if unscoped else _AGENT.fullmatch(key.agent)):
        return f"kind {key.kind} and the agent {key.agent!r}"
    if unscoped != (key.name == ""):
        return f"kind {key.kind} and the name {key.name!r}"
    if key.channel is None and (key.account is not None or key.kind in _ON_CHANNEL):
        return f"kind {key.kind} or an account without a channel"
    out_of_place = (
        (key.channel is not None and key.kind not in _CHATS)
        or (key.topic is not None and key.kind is not KeyKind.GROUP)
        or (key.run is not None and key.kind is not KeyKind.CRON)
        or (key.thread is not None and unscoped)
        or (key.heartbeat and key.kind is KeyKind.UNKNOWN)
    )
    return f"kind {key.kind} and parts of another" if out_of_place else None


def _wrong_text(key: SessionKey) -> str | None:
    parts = (key.channel, key.account, key.topic, key.run, key.thread)
    if "" in parts:
        return "an empty part"
    text = key.name + "".join(filter(None, parts))
    if len(text) > _LONGEST:
        return f"more than {_LONGEST} characters"
    if keytext.SURROGATE.search(text):
        return "half a character (a lone surrogate)"
    return _wrong_name(key) if key.kind is KeyKind.NAMED else None


def _wrong_name(key: SessionKey) -> str | None:
    """A name is written verbatim, so what would read as something else cannot be one."""
    if keytext.CONTROL.search(key.name) or key.name != key.name.strip():
        return f"the name {key.name!r}, which printing or trimming would change"
    found = _split(_rest(key))
    if (found.kind, found.name, found.heartbeat) != (key.kind, key.name, key.heartbeat):
        return f"the name {key.name!r}, which reads as another key"
    if key.is_thread or key.heartbeat:
        _of_name(key)  # raises where there is nothing of which it could be one
    return None


def _of_name(key: SessionKey) -> SessionKey:
    """What the name of a named key is by itself: it may end as a thread or heartbeat does."""
    return _read(key.agent, _split(key.name))


_WORDS = re.ASCII | re.IGNORECASE | re.DOTALL
_AGENT = re.compile(r"[a-z0-9_][a-z0-9_-]{0,63}")
_UNSCOPED_TEXT = re.compile(r"(?P<kind>global|unknown)(?P<heartbeat>:heartbeat)?", _WORDS)
_SCOPED_TEXT = re.compile(r"agent:(?P<agent>[a-z0-9_-]+):(?P<rest>.+)", _WORDS)

# The first alternative that fits wins, so that a text has one reading: a word that begins a key, a channel
# with its kind of chat, a channel with an account. `agent:a:agent:b:…` is a name, no chat on a channel `agent`.
_HEAD = re.compile(
    r"""(?: (?P<word>cron|hook|subagent|acp|explicit|dashboard|direct|dm):
          | (?P<node>node)-
          | (?!agent:) (?P<channel>[^:]+): (?:(?P<account>[^:]+):)?? (?P<chat>direct|dm|group|channel|slash):
        ) (?P<body>.+)""",
    _WORDS | re.VERBOSE,
)
_HEARTBEAT = re.compile(r"(.+):heartbeat", _WORDS)
_THREAD = re.compile(r"(.+):thread:(.+)", _WORDS)
_TOPIC = re.compile(r"(.+):topic:(.+)", _WORDS)
_RUN = re.compile(r"(.+):run:([^:]+)", _WORDS)


class _Split(NamedTuple):
    """What follows the agent in a text, cut up and not yet unquoted; `tail` is a topic or a run."""

    kind: KeyKind
    channel: str | None
    account: str | None
    name: str
    tail: str | None
    thread: str | None
    heartbeat: bool


def _split(rest: str) -> _Split:
    kind, channel, account, body = KeyKind.NAMED, None, None, rest
    if head := _HEAD.fullmatch(rest):
        word, node, channel, account, chat, body = head.groups()
        kind = _KINDS[(word or node or chat).lower()]
    if ":" not in body:
        return _Split(kind, channel, account, body, None, None, heartbeat=False)
    heartbeat = _HEARTBEAT.fullmatch(body)
    body = heartbeat[1] if heartbeat else body
    body, thread = _cut(_THREAD, body)
    tail = None
    if kind is KeyKind.GROUP:
        body, tail = _cut(_TOPIC, body)
    elif kind is KeyKind.CRON:
        body, tail = _cut(_RUN, body)
    return _Split(kind, channel, account, body, tail, thread, heartbeat=heartbeat is not None)


def _cut(suffix: re.Pattern[str], body: str) -> tuple[str, str | None]:
    found = suffix.fullmatch(body)
    return (found[1], found[2]) if found else (body, None)


def _read(agent: str, text: _Split) -> SessionKey:
    kind = text.kind
    return SessionKey(
        agent=agent,
        kind=kind,
        name=_name_quoting(kind).read(text.name),
        channel=text.channel and keytext.CHANNEL.read(text.channel),
        account=text.account and keytext.ACCOUNT.read(text.account),
        topic=text.tail and keytext.TOPIC.read(text.tail) if kind is KeyKind.GROUP else None,
        run=text.tail and keytext.RUN.read(text.tail) if kind is KeyKind.CRON else None,
        thread=text.thread and _thread_quoting(kind).read(text.thread),
        heartbeat=text.heartbeat,
    )


def _written(key: SessionKey) -> str:
    if key.kind in _UNSCOPED:
        return f"{key.kind}:heartbeat" if key.heartbeat else str(key.kind)
    return f"agent:{key.agent}:{_rest(key)}"


def _rest(key: SessionKey) -> str:
    text = _head(key) + _name_quoting(key.kind).write(key.name)
    if key.topic is not None:
        text += f":topic:{keytext.TOPIC.write(key.topic)}"
    if key.run is not None:
        text += f":run:{keytext.RUN.write(key.run)}"
    if key.thread is not None:
        text += f":thread:{_thread_quoting(key.kind).write(key.thread)}"
    return f"{text}:heartbeat" if key.heartbeat else text


def _head(key: SessionKey) -> str:
    if key.kind is KeyKind.NAMED:
        return ""
    if key.kind is KeyKind.NODE:
        return "node-"
    channel = "" if key.channel is None else f"{keytext.CHANNEL.write(key.channel)}:"
    account = "" if key.account is None else f"{keytext.ACCOUNT.write(key.account)}:"
    return f"{channel}{account}{key.kind}:"


def _name_quoting(kind: KeyKind) -> keytext.Quoting:
    match kind:
        case KeyKind.NAMED:
            return keytext.VERBATIM
        case KeyKind.GROUP:
            return keytext.GROUP
        case KeyKind.CRON:
            return keytext.JOB
        case _:
            return keytext.NAME


def _thread_quoting(kind: KeyKind) -> keytext.Quoting:
    return keytext.THREAD_OF_NAMED if kind is KeyKind.NAMED else keytext.THREAD
