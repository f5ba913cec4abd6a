import json
from pathlib import Path

import pytest

from roost.app.zones import zone_of
from roost.clock import host_zone
from roost.config import load


@pytest.mark.parametrize(
    ("named", "configured", "zone"),
    [
        (None, None, None),
        ("UTC+3", None, None),
        ("Asia/Tokyo", None, "Asia/Tokyo"),
        (None, "Europe/Berlin", "Europe/Berlin"),
        ("Asia/Tokyo", "Europe/Berlin", "Europe/Berlin"),
    ],
)
def test_the_configured_zone_goes_before_that_of_the_environment_and_that_before_the_hosts(
    tmp_path: Path, named: str | None, configured: str | None, zone: str | None
) -> None:
    own = {} if configured is None else {"userTimezone": configured}
    (tmp_path / "roost.json").write_text(json.dumps({"agents": {"defaults": own}}))
    environ = {"ROOST_HOME": str(tmp_path)} | ({} if named is None else {"TZ": named})
    assert str(zone_of(load(environ))) == (str(host_zone()) if zone is None else zone)
