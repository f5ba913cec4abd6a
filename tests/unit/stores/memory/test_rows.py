import pytest

from roost.core.errors import InvalidInput
from roost.core.sessions import Labels
from roost.stores.memory.rows import Records, Rows, Undo


def planted() -> tuple[Rows[str, int], Undo]:
    undo: Undo = []
    rows: Rows[str, int] = Rows(undo)
    for name, row in (("a", 1), ("b", 2), ("c", 3)):
        rows.put(name, row)
    undo.clear()
    return rows, undo


def undone(undo: Undo) -> None:
    while undo:
        undo.pop()()


def test_rows_are_kept_by_name_in_order_of_arrival() -> None:
    rows, _ = planted()
    rows.put("a", 9)
    assert list(rows) == [9, 2, 3]
    assert (rows.get("b"), rows.get("x"), len(rows)) == (2, None, 3)
    assert "b" in rows
    assert "x" not in rows


def test_rows_are_dropped_by_name_and_by_what_they_are() -> None:
    rows, _ = planted()
    rows.drop("b")
    assert list(rows) == [1, 3]
    rows.drop_where(lambda row: row > 1)
    assert list(rows) == [1]


def test_every_change_can_be_undone_to_the_same_order() -> None:
    rows, undo = planted()
    rows.put("b", 7)
    rows.put("d", 4)
    rows.drop("a")
    rows.put("a", 8)
    rows.drop_where(lambda row: row > 3)
    rows.put("e", 5)
    rows.put("e", 6)
    undone(undo)
    assert list(rows) == [1, 2, 3]
    assert "d" not in rows


def test_rows_may_change_while_they_are_looked_at() -> None:
    rows, _ = planted()
    for row in rows:
        rows.put(f"more {row}", row)
    assert len(rows) == 6


def test_a_record_that_no_database_could_write_is_refused_and_leaves_what_was_there() -> None:
    undo: Undo = []
    records: Records[str, Labels] = Records(undo)
    records.put("a", Labels(label="home"))
    with pytest.raises(InvalidInput):
        records.put("a", Labels(label="half \ud83d"))
    assert list(records) == [Labels(label="home")]
    assert len(undo) == 1
