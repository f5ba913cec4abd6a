"""What a client's errors say."""

import pytest

from roost.client.errors import ConnectionLost, Refused, Starting, TurnFailed, Unreachable
from roost.core.errors import RoostError


@pytest.mark.parametrize("kind", [ConnectionLost, Starting, TurnFailed, Unreachable])
def test_every_error_is_one_of_roosts(kind: type[RoostError]) -> None:
    assert str(kind("what happened")) == "what happened"


def test_a_refusal_keeps_what_the_gateway_said_of_it() -> None:
    finer = Refused("no", wire_code="FORBIDDEN", details={"code": "MISSING_SCOPE"})
    assert (finer.reason, finer.finest) == ("MISSING_SCOPE", "MISSING_SCOPE")
    plain = Refused("no", wire_code="FORBIDDEN", details={})
    assert (plain.reason, plain.finest) == (None, "refused")
