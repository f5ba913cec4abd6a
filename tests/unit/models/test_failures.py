"""What a provider's refusal means."""

import json

import pytest

from roost.core.models import FailureKind, ModelFailed, NeverSent
from roost.core.secrets import Secret
from roost.models.failures import LONGEST_WAIT_MS, QUOTED_CHARS, broken_off, refusal, transient, unreachable

KEY = Secret("sk-very-secret-key")
NOW = 1_750_000_000_000  # 2025-06-15 15:06:40 UTC


def refused(status: int, body: object = "", **headers: str) -> ModelFailed:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return refusal("local", status, named, raw, now=NOW, secrets=(KEY,))


def error(message: str, code: object = None) -> dict[str, object]:
    return {"error": {"message": message, "type": "some_error", "code": code}}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, FailureKind.AUTH),
        (403, FailureKind.AUTH),
        (429, FailureKind.RATE_LIMIT),
        (413, FailureKind.OVERFLOW),
        (408, FailureKind.TRANSIENT),
        (409, FailureKind.TRANSIENT),
        (500, FailureKind.TRANSIENT),
        (502, FailureKind.TRANSIENT),
        (503, FailureKind.TRANSIENT),
        (529, FailureKind.TRANSIENT),
        (400, FailureKind.PERMANENT),
        (402, FailureKind.PERMANENT),
        (404, FailureKind.PERMANENT),
        (422, FailureKind.PERMANENT),
        (301, FailureKind.PERMANENT),
    ],
)
def test_a_status_says_what_to_do(status: int, kind: FailureKind) -> None:
    failed = refused(status, error("no"))
    assert failed.kind is kind
    assert failed.hint
    assert str(status) in failed.message


@pytest.mark.parametrize(
    "body",
    [
        error("This model's maximum context length is 8192 tokens. However, you requested 9000.", None),
        error("no", "context_length_exceeded"),
        error("the request exceeds the available context size (4096), try increasing it"),
        error("Prompt is too long"),
        error("Input is too long for requested model."),
        error("Please reduce the length of the messages."),
        [error("The input exceeds the model's context window")],
        {"detail": "too many tokens"},
        {"error": "requested tokens exceed context window of 2048"},
        b"prompt too long; exceeds the maximum",
    ],
)
@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_context_that_is_too_long_is_known_by_its_words(body: object, status: int) -> None:
    assert refused(status, body).kind is FailureKind.OVERFLOW


def test_an_empty_account_is_not_waited_for() -> None:
    assert refused(429, error("You exceeded your quota", "insufficient_quota")).kind is FailureKind.PERMANENT


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry_after": "2"}, 2_000),
        ({"retry_after": "0.25"}, 250),
        ({"retry_after": "2", "retry_after_ms": "1500"}, 1_500),
        ({"retry_after": "Sun, 15 Jun 2025 15:07:00 GMT"}, 20_000),
        ({"retry_after": "Sun, 15 Jun 2025 15:07:00 -0000"}, 20_000),
        ({"retry_after": "Sun, 15 Jun 2025 15:00:00 GMT"}, 0),
        ({"retry_after": "999999999"}, LONGEST_WAIT_MS),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-1"}, None),
        ({"retry_after": "٣"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait_is_read_from_seconds_milliseconds_or_a_date(
    headers: dict[str, str], wait: int | None
) -> None:
    assert refused(429, error("slow down"), **headers).retry_after_ms == wait


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500])
def test_no_message_holds_the_key(status: int) -> None:
    for body in (
        error(f"bad key {KEY.reveal()}"),
        f"plain {KEY.reveal()}".encode(),
        {"detail": KEY.reveal()},
    ):
        failed = refused(status, body)
        assert KEY.reveal() not in f"{failed} {failed!r}"


def test_of_a_refused_key_nothing_is_quoted() -> None:
    assert "sk-ver" not in str(refused(401, error("Incorrect API key provided: sk-ver***key")))


def test_what_a_provider_says_is_quoted_on_one_short_line() -> None:
    message = refused(400, error("first\nsecond " + "x" * 1000)).message
    assert "first second xxx" in message
    assert len(message) < QUOTED_CHARS + 50
    assert refused(400, b"<html>\xff</html>").message.endswith("<html>\ufffd</html>")
    assert refused(599, b"").message == "local answered 599"


@pytest.mark.parametrize(
    ("reported", "kind"),
    [
        ({"code": 502, "message": "bad gateway"}, FailureKind.TRANSIENT),
        ({"code": "429", "message": "slow"}, FailureKind.RATE_LIMIT),
        ({"code": 401, "message": f"no {KEY.reveal()}"}, FailureKind.AUTH),
        ({"code": "context_length_exceeded"}, FailureKind.OVERFLOW),
        ({"code": "rate_limit_exceeded", "message": "x"}, FailureKind.RATE_LIMIT),
        ({"code": "insufficient_quota", "message": "x"}, FailureKind.PERMANENT),
        ({"type": "authentication_error", "message": KEY.reveal()}, FailureKind.AUTH),
        ({"type": "invalid_request_error", "message": "x"}, FailureKind.PERMANENT),
        ("overloaded", FailureKind.TRANSIENT),
        (None, FailureKind.TRANSIENT),
    ],
)
def test_an_error_in_the_middle_of_an_answer_is_classed(
    reported: dict[str, str] | str | None, kind: FailureKind
) -> None:
    failed = broken_off("local", reported, (KEY,))
    assert failed.kind is kind
    assert KEY.reveal() not in str(failed)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("[Errno 111] Connection refused", FailureKind.TRANSIENT),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate", FailureKind.PERMANENT),
    ],
)
def test_a_provider_that_is_not_reached_is_told_with_the_reason(reason: str, kind: FailureKind) -> None:
    failed = unreachable("local", reason)
    assert isinstance(failed, NeverSent)
    assert failed.kind is kind
    assert reason in failed.message
    assert "baseUrl" in failed.hint


def test_a_passing_failure_says_to_try_again() -> None:
    assert transient("gone").kind is FailureKind.TRANSIENT
    assert transient("gone").hint == "try again"
