from dataclasses import replace

import pytest

from roost.core.effects import AcceptInput, Effects, QueueRun
from roost.core.endings import Ending
from roost.core.exchanges import Exchange, ExchangeState, Phase, Sent
from roost.core.inbound import InputMode
from roost.core.messages import ProvenanceKind, Text
from roost.core.principals import OWNER
from roost.core.remotes import BEYOND, RemoteSession
from roost.core.runs import Outcome, RunState, StopRequest
from roost.core.snapshots import RunSnapshot
from roost.core.unheard import unheard
from tests import samples
from tests.samples import BOB, MAIN, NOON, OPS

SENT = Sent(by="r1", awaited=True)
REPLIED = replace(samples.exchange(Phase.DONE), state=ExchangeState.REPLIED, first_reply="three", sent=SENT)
FAILED = replace(REPLIED, state=ExchangeState.FAILED, first_reply=None, error="boom")


def told(
    exchange: Exchange | None, state: RunState = RunState.TIMEOUT, stop: StopRequest | None = None
) -> Effects:
    run = replace(samples.run(principal=BOB), stop=stop)
    ending = Ending(outcome=Outcome(state=state, at=NOON + 5), announce=lambda _, __: "")
    return unheard(RunSnapshot(run=run, session=samples.snapshot(), awaited=exchange), ending)


@pytest.mark.requirement("P6")
@pytest.mark.parametrize(
    ("exchange", "text"),
    [(REPLIED, "three"), (FAILED, "There is no reply to the message x1: failed, boom.")],
)
def test_what_a_call_did_not_hear_is_told_in_a_turn_with_the_rights_of_who_asked(
    exchange: Exchange, text: str
) -> None:
    queued, said = told(exchange)
    assert isinstance(queued, QueueRun)
    assert isinstance(said, AcceptInput)
    assert (queued.run.key, queued.run.hears_late, queued.run.queued_at) == (MAIN, True, NOON + 5)
    assert (queued.run.cause.principal, queued.run.cause.kind) == (BOB, ProvenanceKind.INTER_SESSION)
    assert queued.run.cause.hops == (OPS,)
    assert (said.run_id, said.mode, said.inbound.content) == (queued.run.id, InputMode.OPEN, (Text(text),))
    assert (said.inbound.provenance.source_session, said.inbound.principal) == (str(OPS), BOB)


def test_what_came_from_another_gateway_sends_nothing_there() -> None:
    far = RemoteSession(gateway="far", session="main")
    queued, said = told(replace(REPLIED, target=MAIN, sent=replace(SENT, remote=far)))
    assert isinstance(queued, QueueRun)
    assert isinstance(said, AcceptInput)
    assert queued.run.cause.hops == (BEYOND,)
    assert said.inbound.provenance.source_session == "far/main"


@pytest.mark.parametrize(
    "exchange",
    [
        None,
        replace(REPLIED, state=ExchangeState.RUNNING, phase=Phase.PRIMARY),
        replace(REPLIED, first_reply=None),
        replace(REPLIED, sent=replace(SENT, awaited=False)),
        replace(REPLIED, sent=replace(SENT, waiter="later")),
        replace(REPLIED, phase=Phase.LOOP, turn=1),
    ],
    ids=["nothing", "still to come", "no words", "left", "asked again later", "told in a turn"],
)
def test_what_is_told_otherwise_or_not_there_is_not_told(exchange: Exchange | None) -> None:
    assert told(exchange) == ()


@pytest.mark.parametrize(("goes_on", "count"), [(True, 2), (False, 0)])
def test_who_is_stopped_for_good_is_told_nothing(goes_on: bool, count: int) -> None:
    stop = StopRequest(reason="stopped", by=OWNER, at=NOON, goes_on=goes_on)
    assert len(told(REPLIED, RunState.KILLED, stop)) == count
    assert told(REPLIED, RunState.KILLED) == ()
