import apsw
import pytest

from roost.core.errors import StoreCorrupt
from roost.core.keys import SessionKey
from roost.core.listing import glance_at
from roost.core.queries import SessionQuery
from roost.core.sessions import Labels, Overrides, Session
from roost.stores.sqlite.tables import SqliteTables
from roost.stores.tables import drive
from roost.testing.builders import CHAT, MAIN, session
from tests.unit.stores.conftest import open_session

CHILD = SessionKey.named("main", "child")


@pytest.mark.parametrize(
    "written",
    [
        session(),
        session(CHILD, parent=MAIN),
        session()._replace(route=CHAT, labels=Labels(label="x"), overrides=Overrides(model="demo/demo-2")),
    ],
)
def test_a_list_reads_of_each_row_what_the_whole_session_says(tables: SqliteTables, written: Session) -> None:
    drive(tables.insert_session(written))
    (whole,) = drive(tables.sessions(SessionQuery()))
    assert drive(tables.glances(SessionQuery())) == [glance_at(whole)]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE sessions SET status = 'weird'",
        "UPDATE sessions SET kind = 'weird'",
        "UPDATE sessions SET parent = 'nonsense'",
        "UPDATE sessions SET labels = '{'",
    ],
)
def test_a_list_with_a_damaged_row_in_it_is_told_as_damage(
    tables: SqliteTables, connection: apsw.Connection, damage: str
) -> None:
    open_session(tables)
    connection.execute(damage)
    with pytest.raises(StoreCorrupt):
        drive(tables.glances(SessionQuery()))
