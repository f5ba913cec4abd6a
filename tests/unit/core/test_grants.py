"""What a credential may do."""

import pytest

from roost.core.grants import EVERY, Scope, grant, holds, lacking


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


@pytest.mark.requirement("S3")
def test_a_client_gets_what_it_asks_for_and_its_record_holds() -> None:
    asked = ("operator.write", "operator.unheard", "operator.write", "operator.admin")
    assert grant(asked, EVERY) == (Scope.WRITE, Scope.ADMIN)
    assert grant(asked, {Scope.WRITE}) == (Scope.WRITE,)
    assert grant((), EVERY) == ()


def test_the_first_scope_that_is_lacking_is_named() -> None:
    assert lacking((Scope.READ, Scope.ADMIN, Scope.PAIRING), {Scope.WRITE}) is Scope.ADMIN
    assert lacking((Scope.READ,), {Scope.WRITE}) is None
