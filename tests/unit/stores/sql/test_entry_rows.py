from dataclasses import replace

import apsw
import pytest

from roost.core.entries import Entry, EntryDraft
from roost.core.events import Event, EventKind
from roost.core.keys import SessionKey
from roost.core.messages import Notice, Provenance, ProvenanceKind
from roost.core.queries import Position, SearchQuery
from roost.core.search import Query, parse_query
from roost.core.sessions import Lineage
from roost.core.visibility import VisibleScope
from roost.stores.sqlite.search_rows import MOST_MARKS
from roost.stores.sqlite.tables import SqliteTables
from roost.stores.tables import drive
from roost.testing.builders import MAIN, answered, generation, returned, said, session
from roost.testing.clock import NOON
from tests.unit.stores.conftest import open_session

FIRST = f"{MAIN}-1"


def entry(seq: int, draft: EntryDraft) -> Entry:
    return Entry(session_id=FIRST, seq=seq, id=draft.id, body=draft.body, run_id="run-1", source='{"id":1}')


def write(tables: SqliteTables, *drafts: EntryDraft) -> list[Entry]:
    open_session(tables)
    entries = [entry(seq, draft) for seq, draft in enumerate(drafts, start=1)]
    drive(tables.insert_entries(MAIN, entries))
    return entries


def test_entries_read_back_as_they_were_written(tables: SqliteTables) -> None:
    entries = write(tables, said("a", "hello"), answered("b", "hi"), returned("c", "call", "look", "seen"))
    assert drive(tables.entries(FIRST, 0, None)) == tuple(entries)
    assert drive(tables.entries(FIRST, 1, 2)) == (entries[1],)


def test_no_entries_need_no_generation(tables: SqliteTables) -> None:
    drive(tables.insert_entries(MAIN, []))


def test_older_entries_come_newest_first(tables: SqliteTables) -> None:
    a, b, c = write(tables, said("a", "hello"), returned("b", "call", "look", "seen"), answered("c", "hi"))
    first = generation(MAIN, FIRST)
    assert drive(tables.entries_before(first, None, 2, tools=True)) == [c, b]
    assert drive(tables.entries_before(first, Position(1, 3), 5, tools=True)) == [b, a]
    assert drive(tables.entries_before(first, Position(2, 1), 5, tools=False)) == [c, a]


def test_where_a_text_comes_from_is_in_columns(tables: SqliteTables, connection: apsw.Connection) -> None:
    origin = Provenance(kind=ProvenanceKind.HUMAN, source_session="agent:main:other")
    write(tables, said("a", "hello", provenance=origin), answered("b", "hi"))
    rows = connection.execute(
        "SELECT role, provenance, source_session, principal, at FROM entries ORDER BY seq"
    )
    assert list(rows) == [
        ("user", "human", "agent:main:other", str(origin.principal), NOON),
        ("assistant", None, None, None, NOON),
    ]


def test_what_has_no_words_is_not_in_the_index(tables: SqliteTables, connection: apsw.Connection) -> None:
    notice = EntryDraft(id="b", body=Notice(kind="reset", at=NOON, data={}))
    write(tables, said("a", "words"), notice)
    assert connection.execute("SELECT count(*) FROM entry_search").get == 1


@pytest.mark.parametrize(
    "text",
    ['he said "quote" OR 1', "a* NEAR(b)", "-minus col:value ^start", "{braces} + (parens)", "drop;--"],
)
def test_no_text_is_a_command_to_the_index(tables: SqliteTables, text: str) -> None:
    (written,) = write(tables, said("a", f"before {text} after"))
    (hit,) = drive(tables.search(SearchQuery(query=parse_query(text.replace('"', "")))))
    assert hit.entry == written


def test_search_can_be_narrowed_to_one_session(tables: SqliteTables) -> None:
    (written,) = write(tables, said("a", "needle"))
    query = SearchQuery(query=parse_query("needle"), key=MAIN)
    assert [hit.entry for hit in drive(tables.search(query))] == [written]
    assert drive(tables.search(replace(query, key=replace(MAIN, name="other")))) == ()


def test_events_read_back_in_order_from_a_number_on(tables: SqliteTables) -> None:
    open_session(tables)
    events = [Event(key=MAIN, number=n, at=NOON, kind=EventKind.ENTRY, ref=f"e-{n}") for n in (1, 2, 3)]
    drive(tables.insert_events(events))
    assert drive(tables.events(MAIN, 1, 10)) == tuple(events[1:])
    assert drive(tables.events(MAIN, 0, 1)) == (events[0],)


@pytest.mark.requirement("P26")
@pytest.mark.parametrize("children", [1, MOST_MARKS + 1])
def test_a_search_of_few_sessions_and_one_of_many_find_what_is_in_them(
    tables: SqliteTables, children: int
) -> None:
    write(tables, said("a", "zebra"))
    for number in range(children + 1):
        key = SessionKey.named("main", f"s{number}")
        lineage = Lineage(parent=MAIN, depth=1) if number else Lineage()
        drive(tables.insert_session(session(key)._replace(lineage=lineage)))
        drive(tables.insert_generation(generation(key, f"g{number}")))
        body = said(f"e{number}", "zebra").body
        drive(tables.insert_entries(key, [Entry(session_id=f"g{number}", seq=1, id=f"e{number}", body=body)]))
    query = SearchQuery(query=parse_query("zebra"), limit=2 * MOST_MARKS)
    tree = replace(query, scope=VisibleScope(self_key=MAIN, tree_of=MAIN))
    assert {hit.entry.id for hit in drive(tables.search(tree))} == {
        "a",
        *(f"e{n + 1}" for n in range(children)),
    }
    of_none = replace(query, scope=VisibleScope(self_key=SessionKey.named("main", "gone")))
    assert drive(tables.search(of_none)) == ()
    assert [hit.entry.id for hit in drive(tables.search(replace(query, key=MAIN)))] == ["a"]


def test_nobody_finds_the_mark_of_a_session(tables: SqliteTables) -> None:
    write(tables, said("a", "zebra"))
    assert drive(tables.search(SearchQuery(query=parse_query("zebra #1 1")))) == ()
    assert drive(tables.search(SearchQuery(query=Query((("1",),))))) == ()
