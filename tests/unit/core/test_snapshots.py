from dataclasses import replace

import pytest

from roost.core.snapshots import RunSnapshot, Snapshot
from tests import samples


@pytest.mark.parametrize(("began_in", "reset"), [(None, False), ("s1", False), ("closed", True)])
def test_a_run_is_reset_away_once_the_generation_it_began_in_is_closed(
    began_in: str | None, reset: bool
) -> None:
    run = replace(samples.run(), session_id=began_in)
    assert RunSnapshot(run=run, session=samples.snapshot()).reset_away is reset
    assert not RunSnapshot(run=run, session=Snapshot(key=samples.MAIN)).reset_away
