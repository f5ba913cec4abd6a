"""Errors as clients are told them."""

from roost.core.errors import Conflict, Fenced, Forbidden, InvalidInput, NotFound, RoostError
from roost.protocol.frames import ErrorCode, Failure

BROKEN = Failure(code=ErrorCode.UNAVAILABLE, message="something broke in the gateway")
_ASKED_WRONG = (InvalidInput, NotFound, Conflict)


def failure_of(error: RoostError) -> Failure:
    """The request was wrong, was not allowed, or cannot be served now."""
    if isinstance(error, Forbidden):
        code = ErrorCode.FORBIDDEN
    elif isinstance(error, _ASKED_WRONG):
        code = ErrorCode.INVALID_REQUEST
    else:
        code = ErrorCode.UNAVAILABLE
    # Clients hold no claim: what is fenced is their gateway, which may have another lease soon.
    again = error.retryable or isinstance(error, Fenced)
    # The message has the hint too, for clients that show nothing else.
    details = {"code": error.code, **({"hint": error.hint} if error.hint else {})}
    return Failure(code=code, message=str(error), details=details, retryable=again or None)


def unknown_method(name: str) -> Failure:
    return Failure(code=ErrorCode.INVALID_REQUEST, message=f"unknown method: {name}")
