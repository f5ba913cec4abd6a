"""Keys read back: what is built is parsed to itself, so no two keys share a text."""

import re
import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from roost.core.addresses import ChatType
from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.errors import InvalidInput
from roost.core.keys import KeyKind, SessionKey
from roost.core.references import ByKey, Viewpoint, resolve
from tests.scale import examples

WORDS = (
    *(
        "thread",
        "topic",
        "run",
        "heartbeat",
        "direct",
        "dm",
        "group",
        "channel",
        "slash",
        "agent",
        "cron",
        "hook",
    ),
    *(
        "node-",
        "node",
        "subagent",
        "acp",
        "explicit",
        "dashboard",
        "global",
        "unknown",
        "main",
        "THREAD",
        "Heartbeat",
    ),
    *(
        ":",
        "::",
        "%",
        "%3A",
        "%25",
        "%41",
        "%74hread",
        "%68eartbeat",
        "%2574",
        "%00",
        "%20",
        "%FF",
        "%c3",
        "/",
        "\\",
    ),
    *(" ", "\u3000", "\x00", "\n", "\x85", "\u2028", "😀", "é", "K", "ſ", "İ", "a", "X", "0"),
)
pieces = st.one_of(st.sampled_from(WORDS), st.text(st.characters(exclude_categories=["Cs"]), max_size=3))
opaque = st.lists(pieces, min_size=1, max_size=8).map("".join).filter(bool)
structured = st.lists(pieces, min_size=1, max_size=8).map(":".join).filter(bool)
parts = st.one_of(opaque, structured)
agents = st.from_regex(r"[a-z0-9_][a-z0-9_-]{0,5}", fullmatch=True)

CHATS = (KeyKind.DIRECT, KeyKind.GROUP, KeyKind.CHANNEL, KeyKind.SLASH)
PLAIN = (KeyKind.HOOK, KeyKind.NODE, KeyKind.SUBAGENT, KeyKind.ACP, KeyKind.EXPLICIT, KeyKind.DASHBOARD)


@st.composite
def keys(draw: st.DrawFn) -> SessionKey:
    """Any key but a named one, whose name has to be drawn until it is one."""
    kind = draw(st.sampled_from((*CHATS, *PLAIN, KeyKind.CRON)))
    channel = draw(parts) if kind in CHATS else None
    if kind is KeyKind.DIRECT and draw(st.booleans()):
        channel = None
    return SessionKey(
        agent=draw(agents),
        kind=kind,
        name=draw(parts),
        channel=channel,
        account=draw(st.none() | parts) if channel else None,
        topic=draw(st.none() | parts) if kind is KeyKind.GROUP else None,
        run=draw(st.none() | parts) if kind is KeyKind.CRON else None,
        thread=draw(st.none() | parts),
        heartbeat=draw(st.booleans()),
    )


@pytest.mark.requirement("P25")
@pytest.mark.timeout(600)
@settings(max_examples=examples(150, 10_000))
@given(keys())
@example(SessionKey(agent="a", kind=KeyKind.GROUP, name="x:thread", channel="c", topic="5"))
@example(SessionKey(agent="a", kind=KeyKind.GROUP, name="x:thread:", channel="c", topic="5"))
@example(SessionKey(agent="a", kind=KeyKind.CRON, name="x:thread", run="5"))
@example(SessionKey(agent="a", kind=KeyKind.HOOK, name="%2574hread"))
def test_every_key_reads_back_from_its_text(key: SessionKey) -> None:
    assert SessionKey.parse(str(key)) == key


@pytest.mark.requirement("P25")
@settings(max_examples=examples(80, 2_000))
@given(agents, parts, st.none() | parts, st.booleans())
@example("main", "main", "direct:5", False)
@example("main", "main", "thread:5", True)
def test_every_name_that_can_be_one_reads_back_verbatim(
    agent: str, name: str, thread: str | None, heartbeat: bool
) -> None:
    try:
        key = SessionKey(agent=agent, kind=KeyKind.NAMED, name=name, thread=thread, heartbeat=heartbeat)
    except InvalidInput:
        return
    assert SessionKey.parse(str(key)) == key
    assert str(key).startswith(f"agent:{agent}:{name}")
    assert key.parent.parent == key.parent


@pytest.mark.requirement("P25")
@settings(max_examples=examples(80, 2_000))
@given(agents, parts)
def test_every_text_behind_an_agent_is_one_key_or_refused(agent: str, rest: str) -> None:
    try:
        key = SessionKey.parse(f"agent:{agent}:{rest}")
    except InvalidInput:
        return
    assert key.agent == agent
    assert SessionKey.parse(str(key)) == key


ordinary = st.text(string.ascii_lowercase + string.digits + "-_.@=+!/", min_size=1, max_size=12)
chat_ids = ordinary | st.tuples(ordinary, ordinary).map("!{0[0]}:{0[1]}.org".format)


@pytest.mark.requirement("P25")
@settings(max_examples=examples(80, 2_000))
@given(agents, st.sampled_from(["telegram", "discord", "matrix"]), st.sampled_from(list(ChatType)), chat_ids)
def test_an_ordinary_key_is_written_without_escapes(
    agent: str, channel: str, chat: ChatType, native_id: str
) -> None:
    key = SessionKey(agent=agent, kind=KeyKind(chat), name=native_id, channel=channel)
    assert str(key) == f"agent:{agent}:{channel}:{chat}:{native_id}"


@st.composite
def spellings(draw: st.DrawFn) -> tuple[SessionKey, str]:
    """A key as routing makes it, and another text that a caller may type for it."""
    key = KNOWN_CHANNELS.fold_key(draw(keys()))
    text = str(key)
    head, rest = text[: len(f"agent:{key.agent}:")], text[len(f"agent:{key.agent}:") :]
    if draw(st.booleans()):
        head = head.upper()
    if key.kind is KeyKind.DIRECT and draw(st.booleans()):
        rest = re.sub("(^|:)direct:", r"\1dm:", rest, count=1)
    return key, draw(st.sampled_from(["", " ", "\t\n"])) + head + rest + draw(st.sampled_from(["", " "]))


@pytest.mark.requirement("P25")
@settings(max_examples=examples(80, 2_000))
@given(spellings())
def test_every_spelling_of_a_key_resolves_to_that_key(spelling: tuple[SessionKey, str]) -> None:
    key, text = spelling
    assert resolve(text, Viewpoint(agent="someone")) == ByKey(key)
