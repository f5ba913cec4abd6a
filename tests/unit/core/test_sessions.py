import pytest

from roost.core.principals import OWNER
from roost.core.sessions import Session, SessionStatus, ThreadBinding
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
