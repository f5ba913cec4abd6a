"""Errors as clients are told them."""

import pytest

from roost.core.errors import (
    Conflict,
    Fenced,
    Forbidden,
    InvalidInput,
    NotFound,
    RoostError,
    StoreUnavailable,
)
from roost.protocol.errors import failure_of, unknown_method
from roost.protocol.frames import ErrorCode


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (InvalidInput("x"), ErrorCode.INVALID_REQUEST, None),
        (NotFound("x"), ErrorCode.INVALID_REQUEST, None),
        (Conflict("x"), ErrorCode.INVALID_REQUEST, True),
        (Forbidden("x"), ErrorCode.FORBIDDEN, None),
        (StoreUnavailable("x"), ErrorCode.UNAVAILABLE, True),
        (Fenced("x"), ErrorCode.UNAVAILABLE, True),
    ],
)
def test_an_error_is_told_with_its_own_code_and_whether_to_try_again(
    error: RoostError, code: ErrorCode, retryable: bool | None
) -> None:
    told = failure_of(error)
    assert (told.code, told.retryable, told.details) == (code, retryable, {"code": error.code})


def test_a_hint_goes_with_the_message_and_beside_it() -> None:
    told = failure_of(NotFound("no such thing", hint="look again"))
    assert told.message == "no such thing (look again)"
    assert told.details == {"code": "not_found", "hint": "look again"}
    assert unknown_method("x").message == "unknown method: x"
