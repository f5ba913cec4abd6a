"""Why a client is not let in."""

from roost.protocol.turnedaway import CROWDED, Flaw, throttled, to_be_paired, unproven
from tests.unit.core.test_devices import request


def test_who_is_to_be_paired_is_told_the_request_and_not_its_code() -> None:
    refusal = to_be_paired(request())
    assert refusal.failure is not None
    assert refusal.failure.details is not None
    assert refusal.failure.details["requestId"] == "r-d-0"
    assert refusal.failure.details["requestedScopes"] == ["operator.read"]
    assert "CODE" not in str(refusal)
    assert refusal.reason.endswith("(requestId: r-d-0)")


def test_who_is_slowed_is_told_for_how_long() -> None:
    failure = throttled(1_234).failure
    assert failure is not None
    assert (failure.retry_after_ms, failure.retryable) == (1_234, True)


def test_a_flaw_is_named_and_a_crowd_may_come_again() -> None:
    failure = unproven(Flaw.NONCE).failure
    assert failure is not None
    assert failure.details == {"code": "DEVICE_AUTH_NONCE_MISMATCH", "reason": "device-nonce"}
    assert CROWDED.failure is not None
    assert CROWDED.failure.retryable
