from roost.core.entries import Entry
from roost.core.keys import SessionKey
from roost.stores.postgres.checking import CheckedTables
from roost.stores.postgres.rows import Connection
from roost.stores.postgres.tables import WriterTables
from roost.testing.builders import MAIN, generation, said, session

ROW = session(MAIN)._replace(session_id="g-1")
CHILD = SessionKey.named("main", "child")


async def test_what_is_wrong_is_told_and_what_follows_from_other_rows_is_made_anew(
    connection: Connection, tables: WriterTables, checked: CheckedTables
) -> None:
    for row in (ROW, session(CHILD, parent=MAIN)._replace(session_id="g-2")):
        await tables.insert_session(row)
        await tables.insert_generation(generation(row.key, row.session_id))
    entries = [
        Entry(session_id=ROW.session_id, seq=seq, id="e", body=said("e", "zebra").body) for seq in (1, 2)
    ]
    await tables.insert_entries(MAIN, entries)
    await connection.execute("UPDATE sessions SET entries = 2 WHERE parent IS NULL")
    assert await checked.faults() == ()
    await connection.execute("DELETE FROM lineage; DELETE FROM entry_search")
    await connection.execute("INSERT INTO budgets VALUES ('all', 'default', 0, 0, 5, 0)")
    told = await checked.faults()
    assert [fault.partition(":")[0] for fault in told] == [
        "unlinked_children",
        "unsearchable_entries",
        "unsearchable_entries",
        "miscounted_budgets",
    ]
    await checked.mend()
    assert await checked.faults() == ()
    assert await tables.ancestors(CHILD) == (MAIN,)


async def test_what_nothing_follows_from_is_told_and_left(
    connection: Connection, tables: WriterTables, checked: CheckedTables
) -> None:
    await tables.insert_session(ROW)
    await tables.insert_generation(generation(MAIN, ROW.session_id))
    await tables.insert_entries(
        MAIN, [Entry(session_id=ROW.session_id, seq=1, id="e", body=said("e", "zebra").body)]
    )
    await connection.execute("UPDATE entries SET body = 'nonsense', seq = 7; DELETE FROM entry_search")
    await checked.mend()
    assert [fault.partition(":")[0] for fault in await checked.faults()] == [
        "miscounted_sessions",
        "gapped_generations",
    ]
