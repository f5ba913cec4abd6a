from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from roost.core.errors import InvalidInput
from roost.engine.zones import zone_named, zones_of


def test_a_place_is_known_by_its_name_and_none_means_here() -> None:
    assert zone_named("Europe/Berlin", UTC) == ZoneInfo("Europe/Berlin")
    assert zones_of(UTC)(None) is UTC


@pytest.mark.parametrize("name", ["", "Mars/Base", "../etc/passwd", "Europe/Berlin\x00", "/etc/localtime"])
def test_a_place_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="no time zone"):
        zone_named(name, UTC)
