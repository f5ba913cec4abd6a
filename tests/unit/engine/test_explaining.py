"""What `/explain` does not say in a chat of its own: the reasons are tested with the command."""

from dataclasses import replace

import pytest

from roost.core.keys import SessionKey
from roost.core.ledger import LedgerRow
from roost.core.messages import Usage
from roost.core.principals import OWNER
from roost.core.runs import RunKind
from roost.testing import builders
from roost.testing.builders import MAIN
from tests.contract.scenes import opened
from tests.unit.engine.commands.rooms import Room

CHILD = SessionKey.parse("agent:main:subagent:one")
CALL = LedgerRow(
    id="u-1",
    at=1,
    key=MAIN,
    session_id="s-1",
    principal=OWNER,
    run_id="r-1",
    run_kind=RunKind.TURN,
    provider="demo",
    model="dear",
    usage=Usage(input=1, cost_micros=2_000_000),
)


@pytest.mark.requirement("F9")
async def test_a_cost_is_explained_by_the_model_most_was_paid_for() -> None:
    room = Room()
    await room.accepted("hello")
    assert await room.ask("/explain cost") == "Cost: no model was called here."
    await room.store.record_usage(CALL)
    await room.store.record_usage(replace(CALL, id="u-2", model="cheap", usage=Usage(cost_micros=500_000)))
    told = await room.ask("/explain cost")
    assert told == ("Cost: $2.5000 in 2 model calls; most of it for demo/dear: $2.0000 in 1 model call.")


@pytest.mark.requirement("F9")
async def test_what_children_cost_is_told_beside_it() -> None:
    room = Room()
    await room.accepted("hello")
    await opened(room.store, row=builders.session(CHILD, parent=MAIN))
    await room.store.record_usage(replace(CALL, key=CHILD))
    assert await room.ask("/explain cost") == (
        "Cost: $0.0000 in 0 model calls; with sub-agents $2.0000 in 1 model call."
    )
