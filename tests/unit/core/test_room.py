import pytest

from roost.core.room import Full, Room
from roost.core.sessions import Summary
from roost.testing import builders
from roost.testing.builders import MAIN

ROOM = Room(sessions=2, entries=3)


@pytest.mark.requirement("S23")
def test_one_more_session_fits_until_there_are_as_many_as_may_be() -> None:
    ROOM.refuse_crowd(1)
    with pytest.raises(Full, match=r"there are 2 sessions.*session.maintenance.maxSessions"):
        ROOM.refuse_crowd(2)


@pytest.mark.requirement("S23")
def test_one_more_entry_fits_until_a_session_has_as_many_as_it_may() -> None:
    session = builders.session(MAIN)
    ROOM.refuse_long(session._replace(summary=Summary(entries=2)))
    with pytest.raises(Full, match=r"holds 3 entries.*start it afresh with /new"):
        ROOM.refuse_long(session._replace(summary=Summary(entries=3)))
