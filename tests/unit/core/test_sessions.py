from dataclasses import replace

import pytest

from roost.core.principals import OWNER
from roost.core.sessions import Counters, Growth, Session, SessionStatus, Summary, ThreadBinding, grown
from tests import samples


def bound(*, idle_ms: int = 0, max_age_ms: int = 0) -> ThreadBinding:
    return ThreadBinding(
        address=samples.CHAT,
        key=samples.MAIN,
        bound_by=OWNER,
        bound_at=1000,
        used_at=5000,
        idle_ms=idle_ms,
        max_age_ms=max_age_ms,
    )


@pytest.mark.parametrize(
    ("binding", "now", "expired"),
    [
        (bound(), 10**15, False),
        (bound(idle_ms=100), 5099, False),
        (bound(idle_ms=100), 5100, True),
        (bound(max_age_ms=9000), 9999, False),
        (bound(max_age_ms=9000), 10_000, True),
        (bound(idle_ms=100_000, max_age_ms=9000), 10_000, True),
    ],
)
def test_a_binding_ends_when_it_is_idle_or_old_and_zero_means_no_limit(
    binding: ThreadBinding, now: int, expired: bool
) -> None:
    assert binding.expired(now) is expired


def test_a_new_session_is_idle_and_at_its_first_version() -> None:
    session: Session = samples.session()
    assert (session.status, session.version, session.events) == (SessionStatus.IDLE, 1, 0)


@pytest.mark.parametrize(("at", "updated"), [(samples.NOON + 5, samples.NOON + 5), (1, samples.NOON)])
def test_a_session_grows_in_summary_counters_and_activity_and_nothing_else(at: int, updated: int) -> None:
    before = samples.session()
    growth = Growth(summary=Summary(entries=3), counters=Counters(total=9), at=at)
    after = grown(before, growth, version=4, events=7)
    times = before.times._replace(updated=updated)
    same = replace(
        after, summary=before.summary, counters=before.counters, version=1, events=0, times=before.times
    )
    assert same == before
    assert (after.summary, after.counters, after.times) == (growth.summary, growth.counters, times)
    assert (after.version, after.events) == (4, 7)
