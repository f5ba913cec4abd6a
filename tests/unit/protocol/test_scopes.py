"""A scope that is missing, as clients are told."""

from roost.protocol.scopes import Scope, missing


def test_a_missing_scope_is_named() -> None:
    assert missing(Scope.WRITE).details == {
        "code": "MISSING_SCOPE",
        "missingScope": "operator.write",
        "requiredScopes": ["operator.write"],
    }
