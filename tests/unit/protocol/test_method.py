"""What a method asks of who calls it."""

from roost.protocol.method import Method
from roost.protocol.params import NoParams
from roost.protocol.scopes import Scope


def test_a_method_needs_nothing_a_scope_or_what_its_parameters_ask_for() -> None:
    nothing = NoParams()
    assert Method(name="m", params=NoParams, result=dict, needs=None).scope(nothing) is None
    assert Method(name="m", params=NoParams, result=dict, needs=Scope.READ).scope(nothing) is Scope.READ
    dependent = Method(name="m", params=NoParams, result=dict, needs=lambda params: Scope.ADMIN)
    assert dependent.scope(nothing) is Scope.ADMIN
