from dataclasses import replace

import pytest

from roost.core.inbound import InboundState
from roost.core.principals import OWNER
from roost.core.runs import StopRequest
from roost.core.snapshots import RunSnapshot, Snapshot
from tests import samples
from tests.samples import inbound, pending

STOP = StopRequest(reason="enough", by=OWNER, at=1)


@pytest.mark.parametrize(("began_in", "reset"), [(None, False), ("s1", False), ("closed", True)])
def test_a_run_is_reset_away_once_the_generation_it_began_in_is_closed(
    began_in: str | None, reset: bool
) -> None:
    run = replace(samples.run(), session_id=began_in)
    assert RunSnapshot(run=run, session=samples.snapshot()).reset_away is reset
    assert not RunSnapshot(run=run, session=Snapshot(key=samples.MAIN)).reset_away


@pytest.mark.parametrize(("stop", "off"), [(None, False), (STOP, True), (replace(STOP, goes_on=True), False)])
def test_an_exchange_is_called_off_once_its_sender_was_stopped_for_good(
    stop: StopRequest | None, off: bool
) -> None:
    ended = RunSnapshot(run=samples.run(), session=samples.snapshot())
    assert not ended.called_off
    assert replace(ended, sender=replace(samples.run(), stop=stop)).called_off is off


def test_a_message_carries_what_was_merged_into_it_also_through_others() -> None:
    records = {name: pending(inbound(name), "q1") for name in "abcde"}
    into = {"a": "b", "b": "d", "c": "e"}
    merged = tuple(replace(records[one], state=InboundState.MERGED, merged_into=into[one]) for one in into)
    snapshot = Snapshot(key=samples.MAIN, pending=(records["d"], records["e"]), merged=merged)
    assert [one.inbound.id for one in snapshot.carried(records["d"])] == ["a", "b", "d"]
    assert [one.inbound.id for one in snapshot.carried(records["e"])] == ["c", "e"]
