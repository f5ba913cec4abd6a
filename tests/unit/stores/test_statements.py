from pathlib import Path

import pytest

from roost.stores.statements import load

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
