from roost.core.sessions import Growth
from roost.stores.held import Held
from roost.testing.builders import MAIN, session
from roost.testing.clock import NOON

ROW = session(MAIN)
GROWTH = Growth(summary=ROW.summary._replace(entries=3), counters=ROW.counters, at=NOON + 5)


def test_a_session_is_written_where_it_or_its_events_changed() -> None:
    assert not Held(ROW, ROW, ROW.events).changed()
    assert Held(ROW, ROW, ROW.events + 1).changed()
    assert Held(ROW, ROW, ROW.events, GROWTH).changed()
    assert Held(ROW, ROW._replace(session_id="other"), ROW.events).changed()


def test_it_is_written_one_version_later_however_much_has_changed() -> None:
    written = Held(ROW, ROW, ROW.events + 2).written()
    assert (written.version, written.events) == (ROW.version + 1, ROW.events + 2)
    grown = Held(ROW, ROW, ROW.events + 2, GROWTH).written()
    assert (grown.version, grown.events, grown.summary.entries) == (ROW.version + 1, ROW.events + 2, 3)


def test_what_is_read_in_between_has_grown_already_and_is_of_the_same_version() -> None:
    held = Held(ROW, ROW, ROW.events, GROWTH)
    settled = held.settled()
    assert (settled.summary.entries, settled.times.updated, settled.version) == (3, NOON + 5, ROW.version)
    assert held.settled() is settled
