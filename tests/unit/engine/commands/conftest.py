import pytest

from tests.unit.engine.commands.rooms import Room


@pytest.fixture
def room() -> Room:
    return Room()
