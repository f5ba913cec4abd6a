"""Damage done with raw SQL, and what is made of it."""

from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from roost.core.effects import AddDelivery, KillInput
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import Usage, UserMessage, text_of
from roost.core.queries import HistoryQuery, SearchQuery, SessionQuery
from roost.core.search import parse_query
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.store import SqliteOptions
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock

HERE = Gateway(name="here", holder="process-1")
CHILD = SessionKey.parse("agent:main:subagent:a")
GRANDCHILD = SessionKey.parse("agent:main:subagent:b")


class Patient:
    """A store that can be closed, damaged and opened again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = self._opened()

    def _opened(self) -> SqliteStore:
        return SqliteStore.open(self.path, FakeClock(), options=SqliteOptions(damaged=True))

    async def damage(self, *statements: str) -> None:
        await self.store.close()
        connection = apsw.Connection(str(self.path))
        for statement in statements:
            connection.execute(statement).fetchall()
        connection.close()
        self.store = self._opened()
        await self.store.acquire_lease(HERE)

    async def answers(self) -> list[object]:
        """Everything a reader can ask for."""
        store = self.store
        rows = (await store.list_sessions(SessionQuery())).rows
        return [
            [(row.key, row.summary, row.counters, row.status, row.events) for row in rows],
            [await store.history(HistoryQuery(key=row.key)) for row in rows],
            await store.search(SearchQuery(query=parse_query("zebra"))),
            [await store.search(SearchQuery(query=parse_query("zebra"), key=row.key)) for row in rows],
            [await store.events(row.key, after=0, limit=100) for row in rows],
            [await store.ancestors(row.key) for row in rows],
        ]


@pytest.fixture
async def patient(tmp_path: Path) -> AsyncIterator[Patient]:
    patient = Patient(tmp_path / "patient.db")
    store = patient.store
    await store.acquire_lease(HERE)
    message = builders.inbound("m-1")
    dead = KillInput(inbound_id="m-1", reason="full", inbound=message)
    delivery = AddDelivery(delivery=builders.delivery("d-1"))
    await store.accept_inbound(
        message, lambda snapshot: (builders.opening(builders.session(), "s-1"), dead, delivery)
    )
    usage = Usage(input=3, output=4, total=7)
    await store.append(
        MAIN, (builders.said("e-1", "a zebra"), builders.answered("e-2", "no zebra", usage=usage))
    )
    for key, parent in ((CHILD, MAIN), (GRANDCHILD, CHILD)):
        opening = builders.opening(builders.session(key, parent=parent), f"s of {key}")
        await store.change_session(key, lambda snapshot, opening=opening: (opening,))  # type: ignore[misc]
        await store.append(key, (builders.said(f"e of {key}", "zebra child"),))
    assert await store.check() == ()
    yield patient
    await patient.store.close()


MENDED = {
    "indexes": ("DROP INDEX runs_active", "DROP INDEX sessions_by_activity", "DROP INDEX events_by_age"),
    "statistics": ("UPDATE sqlite_stat1 SET stat = '1 1'",),
    "no statistics": ("DROP TABLE sqlite_stat1",),
    "search": ("DROP TABLE entry_search",),
    "search rows": ("DELETE FROM entry_search WHERE rowid = 1",),
    "search data": ("DELETE FROM entry_search_data",),
    "stray search rows": ("INSERT INTO entry_search (rowid, body) VALUES (99, 'zebra')",),
    "counts": ("UPDATE sessions SET entries = 9, input_tokens = 1, title = 'x', preview = NULL",),
    "budgets": ("INSERT INTO budgets (name, since, spent, held, warned) VALUES ('day', 0, 0, 7, 0)",),
    "kinship": ("DELETE FROM lineage",),
    "state of runs and messages": (
        "UPDATE inbound SET state = 'pending'",
        "UPDATE deliveries SET state = 'confirmed'",
    ),
}


@pytest.mark.requirement("P5")
@pytest.mark.parametrize("damage", MENDED.values(), ids=MENDED)
async def test_what_is_derived_is_made_anew_and_every_answer_is_the_same(
    patient: Patient, damage: tuple[str, ...]
) -> None:
    before = await patient.answers()
    await patient.damage(*damage)
    found = await patient.store.check()
    assert found
    assert set(await patient.store.repair()) == set(found)
    assert await patient.store.check() == ()
    assert await patient.answers() == before
    assert await patient.store.repair() == ()


async def test_a_summary_that_nobody_counts_wrong_is_worked_out_again(patient: Patient) -> None:
    before = await patient.answers()
    await patient.damage("UPDATE sessions SET title = 'x', preview = 'y', model = 'z'")
    await patient.store.repair()
    assert await patient.answers() == before


async def test_numbers_that_a_feed_lost_say_that_something_changed(patient: Patient) -> None:
    before = await patient.store.events(MAIN, after=0, limit=100)
    await patient.damage(
        "DELETE FROM events WHERE session = 1 AND number = 2",
        "UPDATE sessions SET events = events + 1 WHERE id = 1",
    )
    assert await patient.store.repair() == (f"gapped_events: {MAIN}",)
    after = await patient.store.events(MAIN, after=0, limit=100)
    assert [event.number for event in after] == list(range(1, len(before) + 2))
    assert {event.ref for event in after} >= {event.ref for event in before if event.number != 2}


async def test_a_feed_beyond_what_its_row_says_goes_on_after_it(patient: Patient) -> None:
    before = await patient.store.events(MAIN, after=0, limit=100)
    await patient.damage("UPDATE sessions SET events = 1 WHERE id = 1")
    await patient.store.repair()
    assert await patient.store.check() == ()
    await patient.store.append(MAIN, (builders.said("e-9", "more"),))
    after = await patient.store.events(MAIN, after=0, limit=100)
    assert [event.number for event in after] == list(range(1, len(before) + 2))


@pytest.mark.requirement("P5")
async def test_a_transcript_whose_session_is_lost_gets_a_new_one(patient: Patient) -> None:
    await patient.damage("PRAGMA foreign_keys = OFF", "DELETE FROM sessions WHERE id = 1")
    assert await patient.store.check()
    await patient.store.repair()
    assert await patient.store.check() == ()
    row = await patient.store.session_by_id("s-1")
    assert row is not None
    assert row.key == SessionKey.named("main", "recovered-s-1")
    assert (row.summary.entries, row.summary.title) == (2, "a zebra")
    assert len(await patient.store.search(SearchQuery(query=parse_query("zebra")))) == 4
    assert await patient.store.search(SearchQuery(query=parse_query("zebra"), key=row.key))


async def test_a_lost_session_gets_its_key_back_if_its_bill_names_it(patient: Patient) -> None:
    await patient.damage(
        "PRAGMA foreign_keys = OFF",
        "INSERT INTO ledger VALUES"
        " ('c', 'default', 'owner', 0, 'agent:main:main', 'main', 's-1', 'r', 'turn', 'p', 'm', 0, 0, 0, 0, 0, 0, 0)",
        "DELETE FROM sessions WHERE id = 1",
    )
    await patient.store.repair()
    row = await patient.store.session(MAIN)
    assert row is not None
    assert row.summary.entries == 2
    await patient.store.append(MAIN, (builders.said("e-9", "more"),))


@pytest.mark.requirement("P5")
async def test_entries_whose_generation_is_lost_get_a_new_one(patient: Patient) -> None:
    before = await patient.answers()
    await patient.damage("PRAGMA foreign_keys = OFF", "DELETE FROM generations WHERE id = 1")
    await patient.store.repair()
    assert await patient.store.check() == ()
    assert (await patient.answers())[0] == before[0]
    assert (await patient.answers())[2] == before[2]


@pytest.mark.requirement("P5")
async def test_entries_that_no_feed_tells_of_get_a_session_of_their_own(patient: Patient) -> None:
    await patient.damage(
        "PRAGMA foreign_keys = OFF", "DELETE FROM generations WHERE id = 1", "DELETE FROM events"
    )
    await patient.store.repair()
    assert await patient.store.check() == ()
    rows = (await patient.store.list_sessions(SessionQuery(search="recovered"))).rows
    page = await patient.store.history(HistoryQuery(key=rows[0].key))
    assert [text_of(entry.body) for entry in page.entries if isinstance(entry.body, UserMessage)] == [
        "a zebra"
    ]


async def test_an_entry_that_cannot_be_read_is_passed_over_and_kept(patient: Patient) -> None:
    await patient.damage("UPDATE entries SET body = '{' WHERE id = 1", "DROP TABLE entry_search")
    await patient.store.repair()
    assert len(await patient.store.search(SearchQuery(query=parse_query("zebra")))) == 3
    row = await patient.store.session(MAIN)
    assert row is not None
    assert row.summary.entries == 2


async def test_a_repair_that_was_cut_short_is_done_again(patient: Patient) -> None:
    before = await patient.answers()
    await patient.damage("DROP TABLE entry_search")
    await patient.store._mend(lambda tables: tables.drop_search())
    assert await patient.store.check()
    await patient.store.repair()
    assert await patient.answers() == before
