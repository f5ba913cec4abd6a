import pytest

from tests.unit.tools.houses import House


@pytest.fixture
async def house() -> House:
    house = House()
    await house.family()
    return house
