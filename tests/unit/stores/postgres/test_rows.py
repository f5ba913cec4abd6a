from roost.stores.postgres.tables import WriterTables


async def test_rows_tell_what_was_found_and_what_was_changed(tables: WriterTables) -> None:
    insert = "INSERT INTO ended_feeds (key, last) VALUES (?, ?)"
    for pair in (("a", 1), ("b", 2), ("c", 3)):
        assert await tables._changed(insert, pair) == 1
    found = await tables._rows("SELECT last FROM ended_feeds ORDER BY key", ())
    assert [tuple(row) for row in found] == [(1,), (2,), (3,)]
    assert tuple(await tables._row("SELECT last FROM ended_feeds WHERE key = :key", {"key": "b"})) == (2,)
    assert await tables._row("SELECT last FROM ended_feeds WHERE key = ?", ("z",)) is None
    assert await tables._changed("UPDATE ended_feeds SET last = 9", ()) == 3
