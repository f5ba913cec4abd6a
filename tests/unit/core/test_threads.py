from dataclasses import replace

import pytest

from roost.core.addresses import Account, Address
from roost.core.principals import OWNER
from roost.core.threads import ThreadBinding, ThreadPolicy, ThreadSettings
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


def test_an_account_is_asked_before_its_channel_and_that_before_all() -> None:
    policy = ThreadPolicy(
        base=ThreadSettings(idle_ms=1),
        by_channel={"slack": ThreadSettings(idle_ms=2)},
        by_account={Account("slack", "work"): ThreadSettings(idle_ms=3)},
    )
    places = (("slack", "work"), ("slack", "home"), ("matrix", "work"))
    found = [policy.of(Address(channel=name, to="x", account=account)).idle_ms for name, account in places]
    assert found == [3, 2, 1]


def test_a_binding_lives_until_it_is_over_or_its_channel_has_none_any_more() -> None:
    binding = bound(idle_ms=100)
    off = ThreadPolicy(by_channel={samples.CHAT.channel: ThreadSettings(enabled=False)})
    assert ThreadPolicy().living(binding, 5001) == binding
    assert ThreadPolicy().living(binding, 5100) is None
    assert ThreadPolicy().living(None, 5001) is None
    assert off.living(replace(binding, idle_ms=0), 5001) is None
