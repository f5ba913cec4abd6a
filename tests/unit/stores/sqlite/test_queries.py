"""No statement reads a whole table that grows, but for those that are meant to."""

import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from roost.stores.sql.rows import FILTERS
from roost.stores.sqlite.connection import open_writer
from roost.stores.sqlite.rows import SQL

# A table of a handful of rows, the newest few, or a sum over all.
WHOLE = {
    "leases",
    "hostings",
    "newest_epoch",
    "registered",
    "jobs",
    "every_firing",
    "count_every_firing",
    "denials",
    "usage",
    "spending",
    "dearest",
}
STATEMENTS = sorted(name for name in SQL if not name.startswith(("where_", "from_")) and name not in WHOLE)
GROWING = re.compile(
    r"(?<!SCAN CONSTANT ROW\n)SCAN (?!\(|f VIRTUAL|entry_search VIRTUAL|json_each|ends|heads|askers|lanes|spells|CONSTANT)(\w+)\b(?! USING (COVERING )?INDEX (runs_|deliveries_waiting|inbound_pending))"
)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    folder: Path = tmp_path_factory.mktemp("plans")
    connection = open_writer(folder / "plans.db")
    yield connection
    connection.close()


def plan(connection: apsw.Connection, sql: str) -> str:
    named = set(re.findall(r":(\w+)", sql))
    numbered = 1 if "?1" in sql else sql.count("?")
    values = dict.fromkeys(named, 1) if named else (1,) * numbered
    return "\n".join(str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values))


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_finds_its_rows_by_an_index(connection: apsw.Connection, name: str) -> None:
    found = plan(connection, SQL[name].replace(FILTERS, ""))
    assert not GROWING.search(found), found


@pytest.mark.parametrize("name", ["active_runs", "pending_inputs"])
def test_what_is_going_on_in_a_session_is_found_without_reading_what_is_over(
    connection: apsw.Connection, name: str
) -> None:
    assert "_by_key" not in plan(connection, SQL[name])


def test_the_check_notices_a_statement_without_an_index(connection: apsw.Connection) -> None:
    assert GROWING.search(plan(connection, "SELECT * FROM inbound WHERE reason = ?"))
