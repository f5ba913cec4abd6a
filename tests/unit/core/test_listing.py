"""Rows of a list."""

import pytest

from roost.core.addresses import Address, ChatType, Origin
from roost.core.keys import SessionKey
from roost.core.listing import (
    Readable,
    glance_at,
    is_found_by,
    last_message_of,
    readable,
    session_row,
    title_of,
)
from roost.core.sessions import (
    Counters,
    Facts,
    Labels,
    Lineage,
    Overrides,
    SendOverride,
    Session,
    SessionKind,
    SessionStatus,
    Summary,
)
from roost.core.terms import Terms
from roost.scanners.stdlib import StdlibScanner
from tests.credentials import mixed
from tests.samples import CHILD, MAIN, session

SCANNER = StdlibScanner()
KEY = "sk-" + mixed(30)
MASKED = f"{KEY[:6]}…{KEY[-4:]}"

FIELDS = [
    "key",
    "agentId",
    "kind",
    "channel",
    "label",
    "displayName",
    "status",
    "updatedAt",
    "sessionStartedAt",
    "lastInteractionAt",
    "sessionId",
    "model",
    "contextTokens",
    "totalTokens",
    "thinkingLevel",
    "verboseLevel",
    "systemSent",
    "abortedLastRun",
    "sendPolicy",
    "lastChannel",
    "lastTo",
    "deliveryContext",
    "transcriptPath",
    "parentSessionKey",
    "childSessions",
    "spawnDepth",
]


def seen(row: Session) -> Readable:
    (found,) = readable([glance_at(row)], SCANNER)
    return found


@pytest.mark.requirement("D08", "D55")
def test_a_row_has_every_field_whatever_is_known() -> None:
    bare = session()._replace(route=None, counters=Counters())
    row = session_row(seen(bare), "main")
    assert list(row) == FIELDS
    unknown = {name for name, value in row.items() if value is None}
    assert {
        "label",
        "model",
        "contextTokens",
        "totalTokens",
        "deliveryContext",
        "parentSessionKey",
    } <= unknown
    assert (row["childSessions"], row["systemSent"], row["spawnDepth"]) == ((), False, 0)


@pytest.mark.requirement("D08")
def test_a_row_says_what_the_session_is_and_where_its_answers_go() -> None:
    full = session(CHILD)._replace(
        labels=Labels(label="errand", display_name="The errand"),
        lineage=Lineage(parent=MAIN, depth=1),
        route=Address(channel="telegram", to="1", account="work", thread="9"),
        overrides=Overrides(model="a/b", thinking="high", verbose="on", send_policy=SendOverride.DENY),
        counters=Counters(total=500, context_window=8_000),
        summary=Summary(model="demo/demo"),
        status=SessionStatus.KILLED,
    )
    row = session_row(seen(full), "k")
    expected = {
        "key": "k",
        "agentId": "main",
        "label": "errand",
        "displayName": "The errand",
        "status": "killed",
        "sessionId": "s1",
        "model": "demo/demo",
        "contextTokens": 8_000,
        "totalTokens": 500,
        "thinkingLevel": "high",
        "verboseLevel": "on",
        "systemSent": True,
        "abortedLastRun": True,
        "sendPolicy": "deny",
        "lastChannel": "telegram",
        "lastTo": "1",
        "deliveryContext": {"channel": "telegram", "to": "1", "accountId": "work", "threadId": "9"},
        "spawnDepth": 1,
    }
    assert {name: row[name] for name in expected} == expected


def test_a_model_that_was_set_is_told_until_one_has_answered() -> None:
    asked = session()._replace(overrides=Overrides(model="a/b"))
    assert session_row(seen(asked), "k")["model"] == "a/b"


@pytest.mark.requirement("P24")
def test_names_are_redacted_like_everything_that_is_read() -> None:
    named = session()._replace(labels=Labels(label=f"use {KEY}", subject=KEY))
    row = session_row(seen(named), "k")
    assert (row["label"], row["displayName"]) == (f"use {MASKED}", MASKED)


def on(kind: SessionKind, channel: str | None, last: str | None, key: SessionKey = MAIN) -> Session:
    facts = Facts(kind=kind, channel=channel, chat_type=ChatType.DIRECT)
    route = Address(channel=last, to="1") if last else None
    return session(key, facts=facts)._replace(route=route)


@pytest.mark.requirement("D08")
@pytest.mark.parametrize(
    ("row", "channel"),
    [
        (on(SessionKind.GROUP, "discord", "telegram"), "discord"),
        (on(SessionKind.GROUP, None, "telegram"), "telegram"),
        (on(SessionKind.MAIN, "discord", "telegram"), "telegram"),
        (on(SessionKind.MAIN, "discord", None), "discord"),
        (on(SessionKind.CRON, "discord", "telegram"), "internal"),
        (on(SessionKind.HOOK, None, None), "internal"),
        (on(SessionKind.NODE, None, None), "internal"),
        (on(SessionKind.OTHER, None, None), "unknown"),
        (on(SessionKind.OTHER, None, None, SessionKey.parse("agent:main:signal:direct:5")), "signal"),
        (on(SessionKind.GROUP, None, None)._replace(origin=Origin(provider="slack")), "slack"),
    ],
)
def test_the_channel_is_that_of_the_rows_kind(row: Session, channel: str) -> None:
    assert session_row(seen(row), "k")["channel"] == channel


@pytest.mark.requirement("D55")
def test_a_title_is_the_name_people_gave_or_what_was_said_first() -> None:
    said = session()._replace(summary=Summary(title=f"Plan the garden with {KEY}", preview=f"Done: {KEY}"))
    assert title_of(seen(said)) == f"Plan the garden with {MASKED}"
    assert title_of(seen(said._replace(labels=Labels(subject="Kitchen")))) == "Kitchen"
    assert title_of(seen(said._replace(labels=Labels(display_name="Us", subject="Kitchen")))) == "Us"
    assert title_of(seen(said._replace(labels=Labels(label="L", display_name="Us")))) == "L"
    assert title_of(seen(session())) is None
    spawned = said._replace(lineage=Lineage(parent=session().key, terms=Terms(task="count to 5")))
    assert title_of(seen(spawned)) == "count to 5"
    assert last_message_of(seen(said)) == f"Done: {MASKED}"
    assert last_message_of(seen(session())) is None


@pytest.mark.requirement("P24")
def test_a_session_is_found_by_what_may_be_read_of_it() -> None:
    said = session()._replace(summary=Summary(title=f"Plan with {KEY}"), labels=Labels(subject="Kitchen"))
    assert all(is_found_by(seen(said), text) for text in ("KITCHEN", "plan", str(said.key)))
    assert not is_found_by(seen(said), KEY[8:20])
    terms = Terms(task=f"count with {KEY}")
    spawned = said._replace(lineage=Lineage(parent=said.key, depth=1, terms=terms))
    assert all(is_found_by(seen(spawned), text) for text in ("COUNT with", "kitchen"))
    assert not any(is_found_by(seen(spawned), text) for text in ("plan", KEY[8:20]))


@pytest.mark.requirement("D55", "P24")
def test_the_words_of_many_rows_are_masked_as_those_of_each_alone() -> None:
    spawned = Lineage(parent=MAIN, depth=1, terms=Terms(task=f"try {KEY}"))
    rows = [
        session()._replace(summary=Summary(title="Plan the garden", preview=f"Done: {KEY}")),
        session()._replace(labels=Labels(label=KEY, subject="Kitchen")),
        session()._replace(labels=Labels(display_name=KEY, subject=f"with {KEY}"), lineage=spawned),
        session()._replace(summary=Summary(title=KEY)),
        session(),
    ]
    shown = readable([glance_at(row) for row in rows], SCANNER)
    assert list(shown) == [seen(row) for row in rows]
    assert KEY not in repr(shown)
    assert repr(shown).count(MASKED) == 6
    assert list(readable([], SCANNER)) == []


def test_rows_without_secrets_are_shown_as_they_are() -> None:
    said = session()._replace(labels=Labels(label="a"), summary=Summary(title="Plan", preview="Done"))
    rows = [glance_at(said)]
    assert readable(rows, SCANNER) is rows
