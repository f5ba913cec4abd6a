"""Rows on a file of their own, in a transaction that is never committed."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from roost.core.keys import SessionKey
from roost.core.sessions import Session
from roost.stores.sqlite.connection import open_writer
from roost.stores.sqlite.tables import SqliteTables, WriterTables
from roost.stores.tables import drive
from roost.testing.builders import MAIN, generation, session
from roost.testing.clock import NOON
from tests.grounds import laid


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    connection = open_writer(laid(tmp_path / "rows.db"))
    connection.execute("BEGIN")
    yield connection
    connection.close()


@pytest.fixture
def tables(connection: apsw.Connection) -> SqliteTables:
    return SqliteTables(connection, "default", lambda: NOON)


@pytest.fixture
def writer_tables(connection: apsw.Connection) -> WriterTables:
    return WriterTables(connection, "default", lambda: NOON)


def open_session(
    tables: SqliteTables, key: SessionKey = MAIN, *, parent: SessionKey | None = None
) -> Session:
    """A session with its first generation, `<key>-1`."""
    row = session(key, parent=parent)
    drive(tables.insert_session(row))
    drive(tables.insert_generation(generation(key, f"{key}-1")))
    found = drive(tables.session(key))
    assert found is not None
    return found
