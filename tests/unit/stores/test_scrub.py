from dataclasses import replace

import pytest

from roost.core.inbound import InboundRecord, InboundState, InputMode, Source
from roost.stores.scrub import without_content
from roost.testing import builders

SOURCE = Source(channel="telegram", external_id="7", idempotency_key="k")
MESSAGE = replace(builders.inbound("m-1", text="secret", source=SOURCE), sender_name="Alice")


@pytest.mark.parametrize("state", InboundState)
def test_the_identity_stays_and_the_words_go(state: InboundState) -> None:
    record = InboundRecord(inbound=MESSAGE, state=state, mode=InputMode.OPEN, run_id="r-1")
    left = without_content(record)
    assert left == replace(record, inbound=replace(MESSAGE, content=(), sender_name=None))


def test_the_words_it_was_merged_with_go() -> None:
    merged = InboundRecord(
        inbound=MESSAGE, state=InboundState.MERGED, merged_into="m-2", reason="dropped: secret"
    )
    left = without_content(merged)
    assert (left.state, left.merged_into, left.reason) == (InboundState.MERGED, "m-2", None)


def test_the_reason_of_a_death_stays() -> None:
    dead = InboundRecord(inbound=MESSAGE, state=InboundState.DEAD, reason="queue full")
    assert without_content(dead).reason == "queue full"


def test_doing_it_again_changes_nothing() -> None:
    once = without_content(InboundRecord(inbound=MESSAGE, state=InboundState.MERGED))
    assert without_content(once) == once
