"""When a message that could not be sent is tried again.

What can never be sent is the channel's to say; here every failure may pass.
"""

from dataclasses import replace

from roost.core.deliveries import Delivery, Postponed, Rejected, SendResult
from roost.core.restarts import JITTER

QUICK_MS = (5_000, 10_000, 20_000)
SLOW_MS = 15_000
SLOWEST_MS = 300_000
GIVE_UP_MS = 1_800_000
EXPIRED = "expired"


def wait_ms(attempts: int, jitter: float) -> int:
    """How long to wait after so many attempts: three short waits, then doubling ones, up to a fifth longer by `jitter`."""
    if attempts <= len(QUICK_MS):
        return QUICK_MS[max(attempts, 1) - 1]
    doublings = attempts - len(QUICK_MS) - 1
    wait = min(SLOW_MS << doublings, SLOWEST_MS)
    return wait + int(wait * JITTER * jitter)


def after_failure(
    delivery: Delivery, error: str, now: int, jitter: float, *, not_before: int = 0
) -> SendResult:
    """What becomes of a delivery whose latest attempt, counted in it, failed; `jitter` lies in [0, 1).

    The short waits are always granted: a message that was made while nothing could be sent is not given up at
    its first attempt. After them, the last attempt is at the end of the term. `not_before` is the platform's wish.
    """
    wait = wait_ms(delivery.attempts, jitter)
    if delivery.attempts <= len(QUICK_MS):
        return Postponed(ready_at=max(now + wait, not_before), error=error)
    deadline = delivery.created_at + GIVE_UP_MS
    if max(now, not_before) >= deadline:
        return Rejected(error=f"{EXPIRED}: {error}")
    return Postponed(ready_at=max(min(now + wait, deadline), not_before), error=error)


def after_doubt(delivery: Delivery, now: int, jitter: float) -> SendResult:
    """What becomes of a delivery that nobody knew the outcome of, now that it may be sent again: the first time at once,
    for most doubts are those of a gateway that ended; then as after any failure."""
    error = delivery.error or "its outcome was not known"
    if delivery.attempts <= 1:
        return Postponed(ready_at=now, error=error)
    return after_failure(replace(delivery, attempts=delivery.attempts - 1), error, now, jitter)
