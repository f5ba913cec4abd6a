"""Errors are part of the interface: a stable code, what happened, what to do."""

import pytest

from roost.core import errors
from roost.core.errors import RoostError

CODES = {
    "invalid_input",
    "not_found",
    "forbidden",
    "conflict",
    "fenced",
    "lease_held",
    "undelivered",
    "store_unavailable",
    "write_unknown",
    "store_corrupt",
    "config_invalid",
}


def own_kinds() -> list[type[RoostError]]:
    kinds = [*RoostError.__subclasses__(), *errors.StoreUnavailable.__subclasses__()]
    return [kind for kind in kinds if kind.__module__ == errors.__name__]


def test_every_error_has_a_code_of_its_own() -> None:
    own = own_kinds()
    assert {kind.code for kind in own} == CODES
    assert len(own) == len(CODES)


def test_every_error_is_in_the_tree_that_the_module_draws() -> None:
    assert errors.__doc__ is not None
    for code in CODES:
        assert code in errors.__doc__


@pytest.mark.parametrize(("hint", "text"), [("", "no session x"), ("list them", "no session x (list them)")])
def test_an_error_says_what_happened_and_what_to_do(hint: str, text: str) -> None:
    error = errors.NotFound("no session x", hint=hint)
    assert str(error) == text
    assert error.message == "no session x"


def test_only_what_may_pass_is_worth_trying_again() -> None:
    retryable = {kind.code for kind in own_kinds() if kind.retryable}
    assert retryable == {"conflict", "lease_held", "store_unavailable"}
