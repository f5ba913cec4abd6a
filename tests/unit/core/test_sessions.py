import pytest

from roost.core.sessions import Counters, Growth, Session, SessionStatus, Summary, grown
from tests import samples


def test_a_new_session_is_idle_and_at_its_first_version() -> None:
    session: Session = samples.session()
    assert (session.status, session.version, session.events) == (SessionStatus.IDLE, 1, 0)


@pytest.mark.parametrize(("at", "updated"), [(samples.NOON + 5, samples.NOON + 5), (1, samples.NOON)])
def test_a_session_grows_in_summary_counters_and_activity_and_nothing_else(at: int, updated: int) -> None:
    before = samples.session()
    growth = Growth(summary=Summary(entries=3), counters=Counters(total=9), at=at)
    after = grown(before, growth, version=4, events=7)
    times = before.times._replace(updated=updated)
    same = after._replace(
        summary=before.summary, counters=before.counters, version=1, events=0, times=before.times
    )
    assert same == before
    assert (after.summary, after.counters, after.times) == (growth.summary, growth.counters, times)
    assert (after.version, after.events) == (4, 7)


def test_a_session_is_active_while_a_run_is_under_way_or_about_to_be() -> None:
    assert {one for one in SessionStatus if one.active} == {SessionStatus.QUEUED, SessionStatus.RUNNING}
