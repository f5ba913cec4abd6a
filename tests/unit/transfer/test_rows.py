"""The row of an imported conversation."""

import pytest

from roost.core.addresses import ChatType, Origin
from roost.core.entries import EntryDraft
from roost.core.identities import IdentityLink
from roost.core.imports import ImportedGeneration
from roost.core.keys import SessionKey
from roost.core.messages import AssistantMessage, Text, Usage
from roost.core.principals import OWNER, Principal, PrincipalKind, person
from roost.core.sessions import Counters, Facts, Labels, Lineage, Overrides, Session, SessionKind
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from roost.transfer.index import IndexEntry, IndexTimes
from roost.transfer.options import ImportOptions
from roost.transfer.rows import ImportPlace, facts_of, owner_of, session_row

LINKS = (IdentityLink(name="Alice", members=("telegram:123",)),)
OPTIONS = ImportOptions(now=NOON, links=LINKS)
ALICE = Principal(PrincipalKind.PERSON, "alice")


def generation(
    name: str = "s", *drafts: EntryDraft, opened_at: int = 0, archived: bool = False
) -> ImportedGeneration:
    return ImportedGeneration(session_id=name, opened_at=opened_at, drafts=drafts, archived=archived)


def row(
    *generations: ImportedGeneration,
    entry: IndexEntry | None = None,
    key: SessionKey = MAIN,
    archived: bool = False,
) -> Session:
    place = ImportPlace(key=key, owner=OWNER)
    return session_row(place, OPTIONS, generations or (generation(),), entry, archived=archived)


@pytest.mark.requirement("S25")
@pytest.mark.parametrize(
    ("key", "owner"),
    [
        ("agent:main:main", OWNER),
        ("agent:main:main:thread:7", OWNER),
        ("agent:main:main:heartbeat", OWNER),
        ("global", OWNER),
        ("agent:main:telegram:direct:123", ALICE),
        ("agent:main:telegram:direct:124", person("telegram", "124")),
        ("agent:main:telegram:acct:direct:124", person("telegram", "124")),
        ("agent:main:telegram:slash:124", person("telegram", "124")),
        ("agent:main:direct:alice", ALICE),
        ("agent:main:direct:124", OWNER),
        ("agent:main:telegram:group:-1", OWNER),
        ("agent:main:discord:channel:1:thread:2", OWNER),
        ("agent:main:cron:daily", OWNER),
        ("agent:main:hook:u", OWNER),
        ("agent:main:node-1", Principal(PrincipalKind.NODE, "1")),
        ("agent:main:subagent:u", OWNER),
        ("agent:main:my notes", OWNER),
    ],
)
def test_the_owner_follows_from_the_key_and_the_configuration(key: str, owner: Principal) -> None:
    assert owner_of(SessionKey.parse(key), OPTIONS) == owner


def test_a_child_is_its_parents() -> None:
    assert owner_of(SessionKey.parse("agent:main:subagent:u"), OPTIONS, ALICE) == ALICE
    assert owner_of(MAIN, OPTIONS, ALICE) == OWNER


@pytest.mark.parametrize(
    ("key", "facts"),
    [
        (MAIN, Facts(kind=SessionKind.MAIN, rule="an import")),
        (
            SessionKey.parse("agent:main:telegram:group:-1:topic:42"),
            Facts(
                kind=SessionKind.GROUP,
                channel="telegram",
                chat_type=ChatType.GROUP,
                peer="-1",
                thread="42",
                rule="an import",
            ),
        ),
        (
            SessionKey.parse("agent:main:slack:team:direct:u:thread:1.2"),
            Facts(
                kind=SessionKind.OTHER,
                channel="slack",
                chat_type=ChatType.DIRECT,
                account="team",
                peer="u",
                thread="1.2",
                rule="an import",
            ),
        ),
        (SessionKey.parse("agent:main:cron:j"), Facts(kind=SessionKind.CRON, rule="an import")),
    ],
)
def test_the_facts_follow_from_the_key(key: SessionKey, facts: Facts) -> None:
    assert facts_of(key, "main") == facts


def test_names_origin_and_preferences_are_those_of_the_index() -> None:
    entry = IndexEntry(
        name="main",
        labels=Labels(label="Garden"),
        origin=Origin(label="Alice"),
        overrides=Overrides(model="m", thinking="high"),
    )
    found = row(entry=entry)
    assert (found.labels, found.origin, found.overrides) == (entry.labels, entry.origin, entry.overrides)
    assert (found.route, found.owner, found.lineage) == (None, OWNER, Lineage())


def test_the_current_transcript_is_the_last_that_is_not_archived() -> None:
    assert row(generation("a"), generation("b"), generation("c", archived=True)).session_id == "b"


def test_times_are_those_of_the_index() -> None:
    said = IndexTimes(created=10, started=20, interacted=30, updated=40, pinned=50)
    times = row(entry=IndexEntry(name="main", times=said)).times
    assert (times.created, times.started, times.interacted, times.updated) == (10, 20, 30, 40)
    assert (times.pinned, times.archived) == (50, None)


def test_nothing_happened_in_the_future() -> None:
    later = NOON + 1
    said = IndexTimes(created=later, started=later, interacted=later, updated=later, pinned=later)
    times = row(entry=IndexEntry(name="main", times=said)).times
    assert {times.created, times.started, times.interacted, times.updated, times.pinned} == {NOON}


def test_without_an_index_the_transcript_tells_the_times() -> None:
    drafts = (
        builders.said("a", "x", at=50),
        builders.said("b", "y", at=NOON + 1),
        builders.said("c", "z", at=40),
    )
    times = row(generation("s", *drafts, opened_at=30)).times
    assert (times.created, times.started, times.interacted, times.updated) == (30, 30, 50, 50)


def test_a_conversation_that_tells_no_time_is_of_now() -> None:
    times = row().times
    assert (times.created, times.started, times.interacted, times.updated) == (NOON,) * 4


def test_the_time_in_the_archive_begins_with_the_import() -> None:
    said = IndexTimes(archived=1, pinned=1)
    times = row(entry=IndexEntry(name="main", times=said), archived=True).times
    assert (times.archived, times.pinned) == (NOON, None)


SAID = Counters(input=1, output=2, total=3, context_window=4, compactions=5)


@pytest.mark.requirement("D35")
def test_counts_of_the_index_hold_where_the_transcript_has_none() -> None:
    entry = IndexEntry(name="main", counters=SAID)
    assert row(entry=entry).counters == SAID
    assert row(generation("s", builders.said("a", "x")), entry=entry).counters == Counters(
        input=1, output=2, total=3, context_window=4
    )


def test_usage_in_the_transcript_is_left_to_the_store_to_count() -> None:
    message = AssistantMessage(content=(Text("x"),), at=0, usage=Usage(input=9))
    entry = IndexEntry(name="main", counters=SAID)
    found = row(generation("s", EntryDraft(id="a", body=message)), entry=entry)
    assert found.counters == Counters(context_window=4)
