"""Settings in the words of before."""

from pathlib import Path

import pytest

from roost.cli.oldspellings import old_spellings, resets, respell
from roost.config import ConfigSource


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", "{}"),
        (
            "{ session: {\n  // An hour.\n  idleMinutes: 60,\n  dmScope: 'per-peer' } }",
            '{ session: {\n    "reset": {"mode": "idle", "idleMinutes": 60},\n  // An hour.\n  dmScope: \'per-peer\' } }',
        ),
        (
            '{ session: { reset: { mode: "daily" }, idleMinutes: 60 } }',
            '{ session: { reset: { mode: "daily" } } }',
        ),
        (
            '{ session: { resetByType: { group: {}, dm: { mode: "idle", idleMinutes: 5 } } } }',
            '{ session: { resetByType: {\n      "direct": {"mode": "idle", "idleMinutes": 5},\n     group: {} } } }',
        ),
    ],
)
def test_what_they_say_stays(tmp_path: Path, before: str, after: str) -> None:
    source = ConfigSource({"ROOST_HOME": str(tmp_path)})
    source.file.write_text(before)
    was = source.read().settings
    for old in old_spellings(was):
        respell(source, old)
    now = source.read().settings
    assert resets(now) == resets(was)
    assert not list(old_spellings(now))
    assert source.file.read_text() == after
