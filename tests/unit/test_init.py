"""`import roost` is cheap, and gives what it promises when it is asked for."""

import pytest

import roost
from tests.imported import imported


def test_what_it_offers_is_there_when_it_is_asked_for() -> None:
    assert roost.Client.__name__ == "Client"
    assert callable(roost.open)
    assert callable(roost.replay)
    with pytest.raises(AttributeError, match="nothing"):
        _ = roost.nothing


def test_an_import_loads_nothing_that_is_not_needed() -> None:
    assert sorted(imported("roost") & {"anyio", "pydantic", "roost.config", "starlette", "apsw"}) == []
