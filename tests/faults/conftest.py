"""Each kind of store that a gateway may die on."""

import pytest

from tests.grounds import KINDS, Ground, GroundOf


@pytest.fixture(params=KINDS)
def ground(request: pytest.FixtureRequest, ground_of: GroundOf) -> Ground:
    return ground_of(request.param)
