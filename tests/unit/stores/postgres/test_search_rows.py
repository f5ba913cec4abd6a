import pytest

from roost.core.entries import Entry, EntryDraft
from roost.core.queries import SearchQuery
from roost.core.search import parse_query
from roost.stores.postgres.search_rows import LONGEST_TOKEN, search_row
from roost.stores.postgres.tables import WriterTables
from roost.testing.builders import MAIN, generation, said, session


async def write(tables: WriterTables, *drafts: EntryDraft) -> None:
    await tables.insert_session(session(MAIN))
    await tables.insert_generation(generation(MAIN, "g-1"))
    entries = [
        Entry(session_id="g-1", seq=seq, id=one.id, body=one.body) for seq, one in enumerate(drafts, 1)
    ]
    await tables.insert_entries(MAIN, entries)


async def found(tables: WriterTables, text: str) -> list[str]:
    return [hit.entry.id for hit in await tables.search(SearchQuery(query=parse_query(text)))]


@pytest.mark.parametrize(
    "text", ["it's \\ a: b & c | !d <-> 'e'", "a* NEAR(b)", "drop;-- table", "back\\slash", "預算 表"]
)
async def test_no_text_is_a_command_to_the_index(tables: WriterTables, text: str) -> None:
    await write(tables, said("a", f"before {text} after"), said("b", "other"))
    assert await found(tables, text) == ["a"]


async def test_a_phrase_is_found_however_late_it_stands(tables: WriterTables) -> None:
    words = " ".join(f"w{number}" for number in range(9_000))
    await write(tables, said("a", f"{words} grey heron"), said("b", f"heron {words} grey"))
    assert await found(tables, '"grey heron"') == ["a"]
    assert await found(tables, "heron grey") == ["b", "a"]


async def test_a_word_longer_than_the_index_takes_is_found_whole(tables: WriterTables) -> None:
    long = "x" * 5_000
    await write(tables, said("a", f"{long}a"), said("b", f"{long}b"), said("c", "x" * LONGEST_TOKEN))
    assert await found(tables, f"{long}a") == ["a"]
    assert await found(tables, "x" * LONGEST_TOKEN) == ["c"]


async def test_what_the_server_holds_is_what_was_said_and_nothing_is_given_back(tables: WriterTables) -> None:
    await write(tables, said("a", "é" * 100))
    full = await tables.fullness()
    assert full.sessions == 1
    assert full.bytes >= 200
    assert await tables.free_pages(10) == 0


def test_an_entry_without_a_word_is_not_in_the_index() -> None:
    assert search_row(1, 1, said("a", "?!").body) is None
