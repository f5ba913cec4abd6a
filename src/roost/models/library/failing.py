"""What the model library raises, as failures of a call."""

from collections.abc import Iterator
from contextlib import contextmanager

import orjson
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelTimeoutError,
    UserError,
)

from roost.core.models import FailureKind, ModelFailed
from roost.models.endpoints import Endpoint
from roost.models.failures import broken_off, refusal, transient, unreachable


@contextmanager
def failures(endpoint: Endpoint, now: int) -> Iterator[None]:
    """No text is quoted that could hold a header."""
    try:
        yield
    except (AgentRunError, UserError) as error:
        raise failure_of(error, endpoint, now) from error


def failure_of(error: AgentRunError | UserError, endpoint: Endpoint, now: int) -> ModelFailed:
    provider = endpoint.provider
    match error:
        case ModelHTTPError():
            return _refused(error, endpoint, now)
        case ModelTimeoutError():
            if error.phase == "connect":
                return unreachable(provider, f"no connection in {endpoint.connect_ms} ms")
            return transient(f"{provider} sent nothing for {endpoint.idle_ms} ms")
        case ModelConnectionError(phase="connect"):
            return unreachable(provider, str(error.__cause__ or error))
        case ModelConnectionError():
            return transient(f"the connection to {provider} failed ({type(error.__cause__).__name__})")
        case ModelAPIError():
            return broken_off(
                provider, {"message": error.message, "code": error.provider_error_code}, endpoint.secrets
            )
        case UserError():
            return ModelFailed(
                f"the call to {provider} could not be written",
                kind=FailureKind.PERMANENT,
                hint="check the provider's settings",
            )
        case _:
            return transient(f"{provider} sent what is no part of an answer")


def _refused(error: ModelHTTPError, endpoint: Endpoint, now: int) -> ModelFailed:
    body = error.body if isinstance(error.body, str) else orjson.dumps(error.body, default=str).decode()
    headers = dict(error.headers or {})
    if error.retry_after is not None:
        headers["retry-after-ms"] = str(round(error.retry_after * 1000))
    # The library knows more of the ways in which a provider says that a prompt is too long.
    too_long = isinstance(error, ModelContextWindowExceededError)
    return refusal(
        endpoint.provider,
        error.status_code,
        headers,
        body.encode(),
        now=now,
        secrets=endpoint.secrets,
        known=FailureKind.OVERFLOW if too_long else None,
    )
