"""What a connection may do."""

import pytest

from roost.protocol.scopes import EVERY, Scope, grant, holds, missing


@pytest.mark.parametrize(
    ("granted", "needed", "held"),
    [
        ((Scope.ADMIN,), Scope.PAIRING, True),
        ((Scope.WRITE,), Scope.READ, True),
        ((Scope.WRITE,), Scope.ADMIN, False),
        ((Scope.READ,), Scope.WRITE, False),
        ((Scope.READ,), Scope.READ, True),
        ((), Scope.READ, False),
    ],
)
def test_admin_holds_all_and_write_holds_read(granted: tuple[str, ...], needed: Scope, *, held: bool) -> None:
    assert holds(granted, needed) is held


def test_a_client_gets_what_it_asks_for_and_its_record_holds() -> None:
    asked = ("operator.write", "operator.unheard", "operator.write", "operator.admin")
    assert grant(asked, EVERY) == (Scope.WRITE, Scope.ADMIN)
    assert grant(asked, {Scope.WRITE}) == (Scope.WRITE,)
    assert grant((), EVERY) == ()


def test_a_missing_scope_is_named() -> None:
    assert missing(Scope.WRITE).details == {
        "code": "MISSING_SCOPE",
        "missingScope": "operator.write",
        "requiredScopes": ["operator.write"],
    }
