from dataclasses import replace

import pytest

from roost.core.inbound import InboundState
from roost.core.snapshots import RunSnapshot, Snapshot
from tests import samples
from tests.samples import inbound, pending


@pytest.mark.parametrize(("began_in", "reset"), [(None, False), ("s1", False), ("closed", True)])
def test_a_run_is_reset_away_once_the_generation_it_began_in_is_closed(
    began_in: str | None, reset: bool
) -> None:
    run = replace(samples.run(), session_id=began_in)
    assert RunSnapshot(run=run, session=samples.snapshot()).reset_away is reset
    assert not RunSnapshot(run=run, session=Snapshot(key=samples.MAIN)).reset_away


def test_a_message_carries_what_was_merged_into_it_also_through_others() -> None:
    records = {name: pending(inbound(name), "q1") for name in "abcde"}
    into = {"a": "b", "b": "d", "c": "e"}
    merged = tuple(replace(records[one], state=InboundState.MERGED, merged_into=into[one]) for one in into)
    snapshot = Snapshot(key=samples.MAIN, pending=(records["d"], records["e"]), merged=merged)
    assert [one.inbound.id for one in snapshot.carried(records["d"])] == ["a", "b", "d"]
    assert [one.inbound.id for one in snapshot.carried(records["e"])] == ["c", "e"]
