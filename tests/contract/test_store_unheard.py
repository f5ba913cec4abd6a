"""A run that ends in a call to another session sees what became of that message, and of no other."""

from dataclasses import replace

import pytest

from roost.core.effects import Effects, EndRun, PutExchange
from roost.core.exchanges import Exchange, ExchangeState, Phase, Sent
from roost.core.leases import Lease
from roost.core.runs import Outcome, RunState, Step, StepKind
from roost.core.sending import MessageId
from roost.core.snapshots import RunSnapshot
from roost.core.toolnames import SESSIONS_SEND
from roost.ports import Store
from roost.testing.clock import NOON
from tests.contract.scenes import change, started
from tests.samples import MAIN, OPS, exchange

OF_CALL = MessageId.of_call("r-1", "c-1").message


def replied(name: str, sent: Sent) -> Exchange:
    return replace(exchange(Phase.DONE), id=name, state=ExchangeState.REPLIED, first_reply="three", sent=sent)


@pytest.mark.requirement("P6")
@pytest.mark.parametrize(
    ("sent", "tool", "seen"),
    [
        (replied(OF_CALL, Sent(by="r-1", awaited=True)), SESSIONS_SEND, True),
        (replied("x", Sent(awaited=True, waiter="r-1", asked_in="c-1")), SESSIONS_SEND, True),
        (replied("x", Sent(awaited=True, waiter="r-1", asked_in="c-0")), SESSIONS_SEND, False),
        (replied("x", Sent(awaited=True, waiter="r-0", asked_in="c-1")), SESSIONS_SEND, False),
        (replied(OF_CALL, Sent(by="r-1", awaited=True)), "exec", False),
    ],
    ids=["sent by it", "asked for by it", "by another call", "by another run", "another tool"],
)
async def test_a_run_that_ends_in_a_call_sees_the_message_of_that_call(
    store: Store, lease: Lease, sent: Exchange, tool: str, seen: bool
) -> None:
    claim = await started(store, lease, "r-1")
    await started(store, lease, "r-2", OPS)
    await change(store, PutExchange(exchange=sent), key=OPS)
    await store.begin_step(claim, Step(kind=StepKind.TOOL, at=NOON, tool=tool, call_id="c-1"))
    found: list[Exchange | None] = []

    def end(snapshot: RunSnapshot) -> Effects:
        found.append(snapshot.awaited)
        return (EndRun(run_id="r-1", outcome=Outcome(state=RunState.TIMEOUT, at=NOON)),)

    await store.finish_run(claim, end)
    assert found[-1] == (sent if seen else None)
    assert sent.requester == MAIN
