from pathlib import Path

import pytest

from roost.stores.statements import load, together

TEXT = """-- What this file is.

-- name: one
SELECT 1;

-- name: two
-- Why it is so.
SELECT a
FROM b; -- name: not_one

-- name: open
AND c = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "queries.sql"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_statements_are_found_by_name_without_comments_and_semicolons(file: Path) -> None:
    assert dict(load(file)) == {
        "one": "SELECT 1",
        "two": "SELECT a\nFROM b; -- name: not_one",
        "open": "AND c = 3",
    }


def test_statements_cannot_be_changed(file: Path) -> None:
    with pytest.raises(TypeError):
        load(file)["one"] = "DROP TABLE a"  # type: ignore[index]


def test_a_name_that_is_not_there_is_an_error(file: Path) -> None:
    with pytest.raises(KeyError):
        load(file)["three"]


def test_a_statement_stands_where_others_name_it_and_what_no_statement_is_called_stays() -> None:
    shared = {"old": "FROM a WHERE b < 1", "count_old": "SELECT count(*) /* old */ /* filters */"}
    assert dict(together(shared)) == {
        **shared,
        "count_old": "SELECT count(*) FROM a WHERE b < 1 /* filters */",
    }
    own = together(shared, {"old": "FROM a WHERE c"})
    assert (own["old"], own["count_old"]) == (
        "FROM a WHERE c",
        "SELECT count(*) FROM a WHERE c /* filters */",
    )
