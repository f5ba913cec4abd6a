"""How things stand, on the terminal."""

from pathlib import Path

import pytest

from roost.app.serving import Served
from tests.unit.cli.conftest import Told, as_json


@pytest.mark.requirement("D48")
def test_status_names_the_store_the_channels_and_what_fills_each_session(
    served: Served, home: Path, told: Told
) -> None:
    told("agent", "-m", "what is a session?")
    shown = told("status")
    assert f"store     {home / 'roost.db'}" in shown
    assert "channels  webhook" in shown
    assert "security" not in shown
    heads, row = shown.splitlines()[-2:]
    assert heads.split() == ["session", "status", "last", "context", "model", "about"]
    assert "%)" in row
    assert "demo" in row
    found = as_json(told, "status")
    assert found["channels"]["channelOrder"] == ["webhook"]
    assert not {"usage", "securityAudit"} & found.keys()


def test_status_tells_what_is_left_open_and_what_was_spent_where_it_is_asked(
    served: Served, told: Told
) -> None:
    told("agent", "-m", "what is a session?")
    deep, usage = told("status", "--deep"), told("status", "--usage")
    assert ("security" in deep, "30 days" in deep) == (True, False)
    assert ("security" in usage, "30 days" in usage) == (False, True)
    found = as_json(told, "status", "--all")
    assert found["usage"]["totals"]["calls"] == 1
    assert found["securityAudit"]["findings"]
