"""What is taken from an OpenClaw index, and what is not."""

import json

import pytest

from roost.core.addresses import ChatType, Origin
from roost.core.channeltraits import KNOWN_CHANNELS
from roost.core.errors import InvalidInput
from roost.core.jsonl import Malformed
from roost.core.sessions import Counters, Labels, Overrides
from roost.transfer.index import LABEL_CHARS, IndexEntry, IndexTimes, key_named, read_index


def one(**said: object) -> IndexEntry:
    found = read_index(json.dumps({"agent:main:main": said}).encode())
    assert not isinstance(found, Malformed)
    return found[0]


@pytest.mark.requirement("D41")
@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("main", "agent:ops:home"),
        ("MAIN", "agent:ops:home"),
        ("home", "agent:ops:home"),
        ("agent:main:main", "agent:main:main"),
        ("Agent:Main:Telegram:DM:123", "agent:main:telegram:direct:123"),
        ("telegram:dm:123", "agent:ops:telegram:direct:123"),
        ("agent:main:discord:channel:ABC", "agent:main:discord:channel:abc"),
        ("agent:main:signal:group:AbC=", "agent:main:signal:group:AbC="),
        ("cron:daily", "agent:ops:cron:daily"),
        ("subagent:u", "agent:ops:subagent:u"),
        ("group:-100", "agent:ops:telegram:group:-100"),
        ("agent:main:group:-100", "agent:main:telegram:group:-100"),
        ("120@g.us", "agent:ops:telegram:group:120@g.us"),
        ("discord:guild-1:channel-9", "agent:ops:discord:channel:9"),
        ("global", "global"),
        ("unknown", "unknown"),
        ("my notes", "agent:ops:my notes"),
    ],
)
def test_a_name_in_any_spelling_is_read_as_its_key(name: str, key: str) -> None:
    assert str(key_named(name, "ops", "home", KNOWN_CHANNELS, "telegram")) == key


@pytest.mark.parametrize(
    "name", ["", "  ", "agent:", "agent:x", "agent::main", "agent:x:", "a\0b", "x" * 5000]
)
def test_a_malformed_name_is_refused_and_given_to_no_agent(name: str) -> None:
    with pytest.raises(InvalidInput):
        key_named(name, "main", "main", KNOWN_CHANNELS)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not valid JSON"),
        (b"[]", "not a JSON object"),
        (b"\xff", "not valid UTF-8"),
        (b'{"a":' + b"[" * 10_000, "nested too deeply"),
    ],
)
def test_an_index_that_cannot_be_read_says_why(content: bytes, reason: str) -> None:
    assert read_index(content) == Malformed(reason)


def test_entries_come_in_their_order_whatever_they_hold() -> None:
    found = read_index(b'\xef\xbb\xbf{"b":7,"a":{},"c":null}')
    assert found == (IndexEntry(name="b"), IndexEntry(name="a"), IndexEntry(name="c"))


@pytest.mark.parametrize("session_id", ["../x", "/etc/passwd", "a/b", "a\0", "", " a", 7, None, "x" * 200])
def test_a_session_id_that_is_not_one_is_none(session_id: object) -> None:
    assert one(sessionId=session_id, previousSessionId=session_id).session_id is None
    assert one(previousSessionId=session_id, usageFamilySessionIds=[session_id]).earlier == ()


def test_former_session_ids_come_oldest_first_and_once() -> None:
    found = one(sessionId="c", usageFamilySessionIds=["a", "b", "a", 7], previousSessionId="b")
    assert (found.session_id, found.earlier) == ("c", ("a", "b"))
    assert one(usageFamilySessionIds="a").earlier == ()


def test_names_and_preferences_are_taken() -> None:
    found = one(
        label="Garden",
        displayName="The garden",
        subject="House",
        groupChannel="#house",
        space="Home",
        modelOverride="sonnet-4.5",
        providerOverride="anthropic",
        modelOverrideSource="user",
        thinkingLevel="high",
    )
    assert found.labels == Labels(
        label="Garden", display_name="The garden", subject="House", room="#house", space="Home"
    )
    assert found.overrides == Overrides(model="anthropic/sonnet-4.5", thinking="high")


@pytest.mark.requirement("D35")
def test_counts_are_taken() -> None:
    found = one(
        inputTokens=1,
        outputTokens=2,
        totalTokens=3,
        contextTokens=4,
        cacheRead=5,
        cacheWrite=6,
        estimatedCostUsd=0.25,
        compactionCount=7,
    )
    assert found.counters == Counters(
        input=1,
        output=2,
        total=3,
        context_window=4,
        cache_read=5,
        cache_write=6,
        cost_micros=250_000,
        compactions=7,
    )


def test_times_are_taken() -> None:
    found = one(
        createdAt=10,
        sessionStartedAt=11,
        lastInteractionAt=12,
        updatedAt=13.9,
        archivedAt=14,
        pinnedAt=15,
    )
    assert found.times == IndexTimes(
        created=10, started=11, interacted=12, updated=13, archived=14, pinned=15
    )


def test_where_a_conversation_was_met_is_taken_for_people_to_read() -> None:
    origin = {
        "label": "Alice",
        "provider": "telegram",
        "surface": "phone",
        "chatType": "dm",
        "from": "a",
        "to": "b",
        "accountId": "c",
        "threadId": 42,
    }
    found = one(spawnedBy="agent:main:main", origin=origin)
    assert found.origin == Origin(
        label="Alice",
        provider="telegram",
        surface="phone",
        chat_type=ChatType.DIRECT,
        sender="a",
        to="b",
        account="c",
        thread="42",
    )
    assert (found.parent, found.provider, found.left_out) == ("agent:main:main", "telegram", ())


@pytest.mark.requirement("S25")
def test_rights_routes_paths_and_policies_are_only_named() -> None:
    rights = {
        "sendPolicy": "allow",
        "elevatedLevel": "full",
        "verboseLevel": "full",
        "execHost": "gateway",
        "execCwd": "/",
        "sandbox": "off",
        "inheritedToolAllow": ["*"],
        "spawnedWorkspaceDir": "/",
        "sessionFile": "/etc/passwd",
        "groupActivation": "always",
        "queueMode": "interrupt",
        "lastTo": "evil",
        "lastChannel": "telegram",
        "owner": "person:evil",
        "authProfileOverride": "stolen",
    }
    found = one(**rights)
    assert found.left_out == tuple(sorted(rights))
    assert (found.overrides, found.origin, found.labels) == (Overrides(), Origin(), Labels())
    assert found.session_id is None


@pytest.mark.parametrize(
    "said",
    [
        {"modelOverride": "m", "modelOverrideSource": "auto"},
        {"modelOverride": "m\nx"},
        {"modelOverride": "m/../x y"},
        {"modelOverride": "m" * 600},
        {"modelOverride": 7},
        {"providerOverride": "p"},
        {"thinkingLevel": "HIGH!"},
        {"thinkingLevel": ["high"]},
    ],
)
def test_a_preference_that_nobody_set_or_that_is_none_is_left_out(said: dict[str, object]) -> None:
    assert one(**said).overrides == Overrides()


def test_a_pin_from_before_sources_were_kept_is_a_persons() -> None:
    assert one(modelOverride="m").overrides == Overrides(model="m")


@pytest.mark.parametrize("value", [-1, 1e300, "1", None, True, float(10**40), [], {}])
def test_a_time_or_count_that_cannot_be_is_not_said(value: object) -> None:
    found = one(updatedAt=value, inputTokens=value, estimatedCostUsd=None if value is True else value)
    assert (found.times, found.counters) == (IndexTimes(), Counters())


def test_names_are_single_lines_of_bounded_length() -> None:
    labels = one(label="a\x1b[31m\r\nb\0", displayName="x" * 10_000, subject=" \n ", room="old room").labels
    assert labels == Labels(label="a [31m b", display_name="x" * LABEL_CHARS, room="old room")


def test_half_a_character_in_an_index_does_no_harm() -> None:
    found = read_index(rb'{"agent:main:\ud800":{"label":"\udfff!"}}')
    assert not isinstance(found, Malformed)
    assert (found[0].name, found[0].labels.label) == ("agent:main:\ufffd", "\ufffd!")


@pytest.mark.parametrize(
    ("said", "provider"),
    [({"channel": "slack"}, "slack"), ({"lastChannel": "irc"}, "irc"), ({}, None)],
)
def test_the_channel_of_an_old_name_is_looked_for_where_it_may_be(
    said: dict[str, object], provider: str | None
) -> None:
    assert one(**said).provider == provider


def test_the_parent_may_be_named_in_another_way() -> None:
    assert one(parentSessionKey="agent:main:main").parent == "agent:main:main"
    assert one(spawnedBy=7).parent is None
