from roost.core.leases import FORGOTTEN_MS, LEASE_MS, RENEW_MS, Gateway, Lease


def test_a_lease_is_live_until_the_moment_it_expires() -> None:
    lease = Lease(gateway=Gateway(name="first", holder="process-1"), epoch=1, expires_at=100)
    assert lease.live(99)
    assert not lease.live(100)
    assert not lease.live(101)


def test_a_lease_outlives_two_renewals_that_failed() -> None:
    assert LEASE_MS > 3 * RENEW_MS


def test_a_lease_is_forgotten_when_it_was_released_or_ended_long_ago() -> None:
    lease = Lease(gateway=Gateway(name="first", holder="process-1"), epoch=1, expires_at=100)
    assert not lease.forgotten(100 + FORGOTTEN_MS - 1)
    assert lease.forgotten(100 + FORGOTTEN_MS)
