from typing import get_args

import pytest

from roost.core import effects as fx
from roost.core.deliveries import Delivery, DeliveryKind
from roost.core.entries import EntryDraft
from roost.core.exchanges import CompletionStatus
from roost.core.firings import Firing, FiringState, PutFiring
from roost.core.inbound import InputMode
from roost.core.ledger import Denial, LedgerRow
from roost.core.messages import Notice, Usage
from roost.core.principals import OWNER
from roost.core.runs import Outcome, Progress, RunKind, RunState, StopRequest
from roost.core.threads import BindThread, ThreadBinding, UnbindThread, UseThread
from tests import samples

DRAFTS = tuple(EntryDraft(id=name, body=Notice(kind="k", at=1, data={})) for name in ("e1", "e2"))
DELIVERY = Delivery(
    id="d1", key=samples.MAIN, address=samples.CHAT, kind=DeliveryKind.NOTICE, text="hi", created_at=1
)
BINDING = ThreadBinding(address=samples.CHAT, key=samples.MAIN, bound_by=OWNER, bound_at=1, used_at=1)
FIRING = Firing(id="f1", job_id="j1", due_at=1, at=1, state=FiringState.OK, key=samples.MAIN)
LEDGER_ROW = LedgerRow(
    id="c1",
    at=1,
    key=samples.MAIN,
    session_id="s1",
    principal=OWNER,
    run_id="r1",
    run_kind=RunKind.TURN,
    provider="p",
    model="m",
    usage=Usage(),
)

SAID = [
    (fx.OpenSession(session=samples.session(), generation=samples.generation()), "session.opened", ("s1",)),
    (fx.OpenGeneration(generation=samples.generation()), "session.reset", ("s1",)),
    (fx.ChangeSession(key=samples.MAIN), "session.changed", ("agent:main:main",)),
    (fx.Archive(key=samples.MAIN, at=1), "session.changed", ("agent:main:main",)),
    (fx.Pin(key=samples.MAIN, at=1), "session.changed", ("agent:main:main",)),
    (fx.DeleteSession(key=samples.MAIN), None, ()),
    (fx.DiscardSession(key=samples.MAIN), None, ()),
    (fx.AppendEntries(key=samples.MAIN, drafts=DRAFTS), "entry", ("e1", "e2")),
    (fx.AcceptInput(inbound=samples.inbound(), run_id="r1", mode=InputMode.OPEN), "input.accepted", ("m1",)),
    (fx.MoveInput(inbound_id="m1", run_id="r1", mode=InputMode.OPEN), None, ()),
    (fx.MergeInput(inbound_id="m1", into="m2", reason="x"), "input.merged", ("m1",)),
    (fx.KillInput(inbound_id="m1", reason="x"), "input.dead", ("m1",)),
    (fx.KeepInput(inbound_id="m1"), "input.taken", ("m1",)),
    (
        fx.AnswerInput(inbound=samples.inbound(), command="/status", answer="well"),
        "input.answered",
        ("m1",),
    ),
    (fx.RequestStop(run_id="r1", stop=StopRequest(reason="x", by=OWNER, at=1)), None, ()),
    (fx.QueueRun(run=samples.run()), "run.queued", ("r1",)),
    (fx.DelayRun(run_id="r1", ready_at=1), None, ()),
    (fx.RequeueRun(run_id="r1", ready_at=1, progress=Progress()), "run.queued", ("r1",)),
    (fx.EndRun(run_id="r1", outcome=Outcome(state=RunState.DONE, at=1)), "run.ended", ("r1",)),
    (fx.PutExchange(exchange=samples.exchange()), "exchange", ("x1",)),
    (fx.OweCompletion(completion=samples.completion()), "child", ("r1",)),
    (fx.AddDelivery(delivery=DELIVERY), "delivery", ("d1",)),
    (fx.SteerChild(child_run="r1", at=1), None, ()),
    (fx.SettleCompletion(child_run="r1", status=CompletionStatus.OK, at=1), "child", ("r1",)),
    (fx.AcknowledgeCompletion(child_run="r1", at=1), "child", ("r1",)),
    (BindThread(binding=BINDING), None, ()),
    (UseThread(address=samples.CHAT, key=samples.MAIN, at=1), None, ()),
    (UnbindThread(address=samples.CHAT), None, ()),
    (PutFiring(firing=FIRING), None, ()),
    (
        fx.RecordDenial(denial=Denial(at=1, operation="send", principal=OWNER, rule="r", reason="x")),
        None,
        (),
    ),
    (fx.RecordUsage(row=LEDGER_ROW), None, ()),
]


@pytest.mark.parametrize(("effect", "event", "refs"), SAID)
def test_an_effect_tells_the_feed_what_it_touched(
    effect: fx.Effect, event: str | None, refs: tuple[str, ...]
) -> None:
    assert (effect.event and str(effect.event), effect.refs) == (event, refs)


def test_the_table_above_knows_every_effect() -> None:
    assert {type(effect) for effect, _, _ in SAID} == set(get_args(fx.Effect))
