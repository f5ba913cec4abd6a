import pytest
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UserError,
)

from roost.core.models import FailureKind
from roost.core.secrets import Secret
from roost.models.endpoints import Endpoint
from roost.models.library.failing import failure_of
from roost.testing.clock import NOON

ENDPOINT = Endpoint(provider="local", base_url="http://x", key=Secret("sk-hidden"))


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (ModelTimeoutError("m", "late", phase="connect"), FailureKind.TRANSIENT, "no connection in 10000 ms"),
        (ModelTimeoutError("m", "late", phase="read"), FailureKind.TRANSIENT, "sent nothing for 120000 ms"),
        (
            ModelConnectionError("m", "refused", phase="connect"),
            FailureKind.TRANSIENT,
            "could not be reached",
        ),
        (
            ModelConnectionError("m", "reset", phase="read"),
            FailureKind.TRANSIENT,
            "connection to local failed",
        ),
        (ModelAPIError("m", "overloaded, sk-hidden"), FailureKind.TRANSIENT, "overloaded, ***"),
        (ModelAPIError("m", "x", provider_error_code="rate_limit"), FailureKind.RATE_LIMIT, "broke off"),
        (UserError("cannot write that"), FailureKind.PERMANENT, "could not be written"),
        (UnexpectedModelBehavior("what?", "sk-hidden"), FailureKind.TRANSIENT, "no part of an answer"),
        (
            ModelHTTPError(418, "m", "short and stout"),
            FailureKind.PERMANENT,
            "418 I'm a Teapot: short and stout",
        ),
        (ModelHTTPError(503, "m", {"error": {"message": "busy"}}), FailureKind.TRANSIENT, "busy"),
        (ModelHTTPError(401, "m", {"error": {"message": "sk-hidden"}}), FailureKind.AUTH, "401 Unauthorized"),
    ],
)
def test_what_the_library_raises_has_its_kind_and_shows_no_key(
    error: AgentRunError | UserError, kind: FailureKind, said: str
) -> None:
    failed = failure_of(error, ENDPOINT, NOON)
    assert failed.kind is kind
    assert said in str(failed)
    assert "sk-hidden" not in str(failed)


def test_the_library_may_know_better_that_a_prompt_is_too_long() -> None:
    error = ModelHTTPError.for_category(
        ModelContextWindowExceededError,
        status_code=400,
        model_name="m",
        body={"error": {"message": "zu lang"}},
    )
    failed = failure_of(error, ENDPOINT, NOON)
    assert failed.kind is FailureKind.OVERFLOW
    assert "compact" in failed.hint


def test_how_long_to_wait_is_passed_on_from_wherever_the_library_found_it() -> None:
    assert failure_of(ModelHTTPError(429, "m", None, retry_after=1.5), ENDPOINT, NOON).retry_after_ms == 1_500
