"""Session keys: every shape, its text, and what is refused."""

import pytest

from roost.core.errors import InvalidInput
from roost.core.keys import KeyKind, SessionKey


def key(kind: KeyKind, name: str, *, beat: bool = False, **parts: str) -> SessionKey:
    return SessionKey(
        agent="main",
        kind=kind,
        name=name,
        channel=parts.get("channel"),
        account=parts.get("account"),
        topic=parts.get("topic"),
        run=parts.get("run"),
        thread=parts.get("thread"),
        heartbeat=beat,
    )


SHAPES = [
    ("agent:main:main", key(KeyKind.NAMED, "main")),
    ("agent:main:direct:123", key(KeyKind.DIRECT, "123")),
    ("agent:main:telegram:direct:123", key(KeyKind.DIRECT, "123", channel="telegram")),
    (
        "agent:main:telegram:default:direct:123",
        key(KeyKind.DIRECT, "123", channel="telegram", account="default"),
    ),
    ("agent:main:telegram:group:-100", key(KeyKind.GROUP, "-100", channel="telegram")),
    ("agent:main:telegram:work:group:-100", key(KeyKind.GROUP, "-100", channel="telegram", account="work")),
    ("agent:main:discord:channel:c1", key(KeyKind.CHANNEL, "c1", channel="discord")),
    (
        "agent:main:matrix:channel:!Room:server.org",
        key(KeyKind.CHANNEL, "!Room:server.org", channel="matrix"),
    ),
    (
        "agent:main:telegram:group:-100:topic:42",
        key(KeyKind.GROUP, "-100", channel="telegram", topic="42"),
    ),
    ("agent:main:slack:channel:c1:thread:1.2", key(KeyKind.CHANNEL, "c1", channel="slack", thread="1.2")),
    ("agent:main:main:thread:7", key(KeyKind.NAMED, "main", thread="7")),
    ("agent:main:cron:daily", key(KeyKind.CRON, "daily")),
    ("agent:main:cron:daily:run:9f", key(KeyKind.CRON, "daily", run="9f")),
    ("agent:main:hook:u1", key(KeyKind.HOOK, "u1")),
    ("agent:main:node-n1", key(KeyKind.NODE, "n1")),
    ("agent:main:subagent:u1", key(KeyKind.SUBAGENT, "u1")),
    ("agent:main:acp:u1", key(KeyKind.ACP, "u1")),
    ("agent:main:explicit:notes", key(KeyKind.EXPLICIT, "notes")),
    ("agent:main:dashboard:u1", key(KeyKind.DASHBOARD, "u1")),
    ("agent:main:discord:slash:55", key(KeyKind.SLASH, "55", channel="discord")),
    ("agent:main:main:heartbeat", key(KeyKind.NAMED, "main", beat=True)),
    (
        "agent:main:telegram:group:-100:topic:42:thread:7:heartbeat",
        key(KeyKind.GROUP, "-100", channel="telegram", topic="42", thread="7", beat=True),
    ),
    ("global", SessionKey(agent="", kind=KeyKind.GLOBAL)),
    ("global:heartbeat", SessionKey(agent="", kind=KeyKind.GLOBAL, heartbeat=True)),
    ("unknown", SessionKey(agent="", kind=KeyKind.UNKNOWN)),
    ("agent:main:openai-user:Ann", key(KeyKind.NAMED, "openai-user:Ann")),
    ("agent:main:group:-100", key(KeyKind.NAMED, "group:-100")),
    ("agent:main:agent:ops:direct:5", key(KeyKind.NAMED, "agent:ops:direct:5")),
]


@pytest.mark.requirement("D32", "D41", "P25")
@pytest.mark.parametrize(("text", "value"), SHAPES)
def test_every_shape_has_its_text(text: str, value: SessionKey) -> None:
    assert SessionKey.parse(text) == value
    assert str(value) == text


@pytest.mark.requirement("P25")
@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("agent:main:telegram:dm:123", "agent:main:telegram:direct:123"),
        ("agent:main:dm:123", "agent:main:direct:123"),
        ("agent:main:telegram:default:DM:123", "agent:main:telegram:default:direct:123"),
        ("AGENT:Main:Telegram:GROUP:AbC:TOPIC:Q:Thread:Z", "agent:main:Telegram:group:AbC:topic:Q:thread:Z"),
        ("agent:main:CRON:Job:RUN:Id", "agent:main:cron:Job:run:Id"),
        ("agent:main:NODE-N1:HEARTBEAT", "agent:main:node-N1:heartbeat"),
        ("Global", "global"),
    ],
)
def test_only_the_agent_and_the_words_of_the_grammar_ignore_case(typed: str, text: str) -> None:
    assert str(SessionKey.parse(typed)) == text


@pytest.mark.requirement("P25", "S21")
@pytest.mark.parametrize(
    "text",
    [
        *("", "agent", "agent:", "agent:x", "agent:x:", "agent::main", "agent: :main", "agent:a b:main"),
        *("main", "telegram:direct:123", "cron:daily", "unknown:heartbeat", "global:thread:5"),
        *("agent:-x:main", f"agent:{'a' * 65}:main", "agent:hoo\N{KELVIN SIGN}:main"),
        *("agent:main:a\nb", "agent:main:telegram:direct:a\x00b", "agent:main:main ", "agent:main: main"),
        *("agent:main:telegram:direct:\udc00", "agent:main:" + "x" * 513, "agent:main:" + "x" * 5_000),
    ],
)
def test_a_text_that_is_no_key_is_refused_and_given_to_no_agent(text: str) -> None:
    with pytest.raises(InvalidInput):
        SessionKey.parse(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("agent:main:telegram:group:direct:5", key(KeyKind.GROUP, "direct:5", channel="telegram")),
        ("agent:main:a:b:direct:c", key(KeyKind.DIRECT, "c", channel="a", account="b")),
        ("agent:main:direct:group:5", key(KeyKind.DIRECT, "group:5")),
        ("agent:main:irc:direct:heartbeat", key(KeyKind.DIRECT, "heartbeat", channel="irc")),
        ("agent:main:cron:heartbeat", key(KeyKind.CRON, "heartbeat")),
        ("agent:main:hook:thread:5", key(KeyKind.HOOK, "thread:5")),
        ("agent:main:cron:job:run:a:b", key(KeyKind.CRON, "job:run:a:b")),
        ("agent:main:cron:a:run:b:run:c", key(KeyKind.CRON, "a:run:b", run="c")),
        ("agent:main:x:thread:1:thread:2", key(KeyKind.NAMED, "x:thread:1", thread="2")),
        ("agent:main:x:thread:direct:5", key(KeyKind.DIRECT, "5", channel="x", account="thread")),
        ("agent:main:node-x:group:5", key(KeyKind.NODE, "x:group:5")),
        ("agent:main:telegram::direct:5", key(KeyKind.NAMED, "telegram::direct:5")),
        ("agent:main:telegram:group:", key(KeyKind.NAMED, "telegram:group:")),
        ("agent:main:heartbeat", key(KeyKind.NAMED, "heartbeat")),
        ("agent:main:direct:a%3Ab", key(KeyKind.DIRECT, "a%3Ab")),
    ],
)
def test_a_text_with_two_readings_has_the_first_of_them(text: str, value: SessionKey) -> None:
    assert SessionKey.parse(text) == value


@pytest.mark.requirement("P25")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (key(KeyKind.DIRECT, "a:thread:b"), "agent:main:direct:a:%74hread:b"),
        (key(KeyKind.DIRECT, "a:topic:b"), "agent:main:direct:a:topic:b"),
        (key(KeyKind.GROUP, "a:topic:b", channel="t"), "agent:main:t:group:a:%74opic:b"),
        (key(KeyKind.GROUP, "a:thread", channel="t", topic="5"), "agent:main:t:group:a:%74hread:topic:5"),
        (key(KeyKind.DIRECT, "a:heartbeat"), "agent:main:direct:a:%68eartbeat"),
        (key(KeyKind.CRON, "a:run:b"), "agent:main:cron:a:%72un:b"),
        (key(KeyKind.CRON, "a", run="b:c"), "agent:main:cron:a:run:b%3Ac"),
        (key(KeyKind.CRON, "a", run="heartbeat"), "agent:main:cron:a:run:%68eartbeat"),
        (key(KeyKind.DIRECT, "5", channel="direct"), "agent:main:%64irect:direct:5"),
        (key(KeyKind.GROUP, "5", channel="node-x"), "agent:main:%6Eode-x:group:5"),
        (key(KeyKind.DIRECT, "5", channel="agent"), "agent:main:%61gent:direct:5"),
        (key(KeyKind.DIRECT, "5", channel="a:b"), "agent:main:a%3Ab:direct:5"),
        (key(KeyKind.DIRECT, "5", channel="t", account="Group"), "agent:main:t:%47roup:direct:5"),
        (key(KeyKind.NAMED, "main", thread="direct:5"), "agent:main:main:thread:%64irect:5"),
        (key(KeyKind.NAMED, "main", thread="thread:5"), "agent:main:main:thread:%74hread:5"),
        (key(KeyKind.HOOK, "u", thread="a:heartbeat"), "agent:main:hook:u:thread:a:%68eartbeat"),
        (key(KeyKind.GROUP, "g", channel="t", topic="thread:1"), "agent:main:t:group:g:topic:%74hread:1"),
        (key(KeyKind.DIRECT, "%41"), "agent:main:direct:%41"),
        (key(KeyKind.DIRECT, "a:%74hread:b"), "agent:main:direct:a:%2574hread:b"),
        (key(KeyKind.DIRECT, " a\x00 "), "agent:main:direct:%20a%00%20"),
        (key(KeyKind.DIRECT, "a/b 😀"), "agent:main:direct:a/b 😀"),
    ],
)
def test_only_what_would_read_as_structure_is_encoded(value: SessionKey, text: str) -> None:
    assert str(value) == text
    assert SessionKey.parse(text) == value


@pytest.mark.parametrize(
    "name",
    [
        *("direct:5", "telegram:group:5", "t:a:direct:5", "cron:x", "node-x", "dm:5"),
        *("x:heartbeat", "x:thread:5", " x", "x ", "a\x00b", "\udc00"),
    ],
)
def test_a_name_that_reads_as_another_key_cannot_be_one(name: str) -> None:
    with pytest.raises(InvalidInput):
        SessionKey.named("main", name)


def test_a_thread_or_heartbeat_of_a_bare_word_is_refused_where_it_reads_as_another_key() -> None:
    for word in ("direct", "telegram:direct", "cron"):
        assert str(SessionKey.named("main", word)) == f"agent:main:{word}"
        with pytest.raises(InvalidInput):
            key(KeyKind.NAMED, word, beat=True)
        with pytest.raises(InvalidInput):
            key(KeyKind.NAMED, word, thread="5")


@pytest.mark.parametrize(
    ("agent", "kind", "parts"),
    [
        ("", KeyKind.NAMED, {"name": "main"}),
        ("Main", KeyKind.NAMED, {"name": "main"}),
        ("main", KeyKind.GLOBAL, {}),
        ("", KeyKind.GLOBAL, {"name": "x"}),
        ("", KeyKind.GLOBAL, {"thread": "5"}),
        ("main", KeyKind.NAMED, {}),
        ("main", KeyKind.DIRECT, {"name": ""}),
        ("main", KeyKind.GROUP, {"name": "g"}),
        ("main", KeyKind.SLASH, {"name": "u"}),
        ("main", KeyKind.DIRECT, {"name": "p", "account": "a"}),
        ("main", KeyKind.DIRECT, {"name": "p", "channel": ""}),
        ("main", KeyKind.DIRECT, {"name": "p", "thread": ""}),
        ("main", KeyKind.DIRECT, {"name": "p", "channel": "t", "topic": "5"}),
        ("main", KeyKind.CHANNEL, {"name": "c", "channel": "t", "topic": "5"}),
        ("main", KeyKind.HOOK, {"name": "u", "run": "5"}),
        ("main", KeyKind.HOOK, {"name": "u", "channel": "t"}),
        ("main", KeyKind.NAMED, {"name": "u", "channel": "t"}),
        ("main", KeyKind.DIRECT, {"name": "x" * 500, "thread": "x" * 13}),
        ("main", KeyKind.DIRECT, {"name": "p", "thread": "\ud800"}),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(
    agent: str, kind: KeyKind, parts: dict[str, str]
) -> None:
    with pytest.raises(InvalidInput):
        SessionKey(
            agent=agent,
            kind=kind,
            name=parts.get("name", ""),
            channel=parts.get("channel"),
            account=parts.get("account"),
            topic=parts.get("topic"),
            run=parts.get("run"),
            thread=parts.get("thread"),
        )


def test_the_unknown_key_has_no_heartbeat() -> None:
    with pytest.raises(InvalidInput):
        SessionKey(agent="", kind=KeyKind.UNKNOWN, heartbeat=True)


def test_the_longest_key_reads_back_however_it_is_written() -> None:
    longest = key(KeyKind.DIRECT, "\x80" * 512)
    assert SessionKey.parse(str(longest)) == longest


def test_the_parent_is_the_conversation_without_thread_topic_and_heartbeat() -> None:
    group = key(KeyKind.GROUP, "g", channel="telegram")
    assert key(KeyKind.GROUP, "g", channel="telegram", topic="4", thread="7", beat=True).parent == group
    assert group.parent == group
    assert group.beat.parent == group
    assert str(group.beat) == "agent:main:telegram:group:g:heartbeat"


@pytest.mark.parametrize(
    "text",
    [
        "agent:main:x:heartbeat:heartbeat",
        "agent:main:x:thread:y:thread:z",
        "agent:main:x:heartbeat:thread:y:heartbeat",
    ],
)
def test_the_parent_of_what_ends_twice_as_a_thread_or_heartbeat_does_is_what_all_are_of(text: str) -> None:
    assert SessionKey.parse(text).parent == SessionKey.named("main", "x")


def test_nothing_is_a_thread_of_what_no_key_can_be() -> None:
    with pytest.raises(InvalidInput, match="trimming"):
        SessionKey.parse("agent:main:x :thread:y:thread:z")


def test_a_key_with_a_thread_or_topic_is_a_thread() -> None:
    assert key(KeyKind.GROUP, "g", channel="telegram", topic="4").is_thread
    assert key(KeyKind.NAMED, "main", thread="4").is_thread
    assert not key(KeyKind.GROUP, "g", channel="telegram").is_thread


@pytest.mark.requirement("D31")
def test_the_main_session_is_the_one_of_the_configured_name() -> None:
    work = SessionKey.named("main", "work")
    assert work.is_main("work")
    assert SessionKey(agent="", kind=KeyKind.GLOBAL).is_main("work")
    others = (SessionKey.named("main", "main"), work.beat, key(KeyKind.NAMED, "work", thread="5"))
    assert not any(other.is_main("work") for other in (*others, key(KeyKind.HOOK, "work")))


def test_a_key_is_found_by_an_equal_one_and_by_no_other() -> None:
    rows = {SessionKey.parse(text): text for text, _ in SHAPES}
    assert len(rows) == len(SHAPES)
    assert all(rows[value] == text for text, value in SHAPES)
    assert SHAPES[0][1].beat.parent in rows
