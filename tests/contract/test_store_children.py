"""Sessions that are tied together: exchanges between two, and what a requester is owed for a child."""

from dataclasses import replace

import pytest

from roost.core import a2a, children
from roost.core.effects import (
    AcceptInput,
    AcknowledgeCompletion,
    Effects,
    EndRun,
    OweCompletion,
    PutExchange,
    QueueRun,
    RequestStop,
    SettleCompletion,
    SteerChild,
)
from roost.core.errors import Conflict
from roost.core.events import EventKind
from roost.core.exchanges import Completion, CompletionStatus, Exchange, ExchangeState, Phase, Sent
from roost.core.inbound import InputMode
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.principals import OWNER
from roost.core.remotes import RemoteSession
from roost.core.runs import Outcome, Request, Run, RunKind, RunState, Step, StepKind, StopRequest
from roost.core.snapshots import ExchangeSnapshot, RunSnapshot, SpawnSnapshot
from roost.core.threads import BindThread, ThreadBinding
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON
from tests.contract.homes import Reopen
from tests.contract.scenes import Seen, as_entries, change, claim_of, everything, known, opened, started

SIDE = SessionKey.named("main", "side")
CHILD = SessionKey.parse("agent:main:subagent:one")
OTHER = SessionKey.parse("agent:main:subagent:two")
Advance = Seen[RunSnapshot, Effects]
Look = Seen[ExchangeSnapshot, Effects]


async def test_the_decision_to_spawn_sees_whose_the_thread_is_that_its_run_answers_in(
    store: Store, lease: Lease
) -> None:
    seen: Seen[SpawnSnapshot, Effects] = Seen(())
    await opened(store)
    await store.spawn(MAIN, seen)
    assert (seen.last.requester.running, seen.last.bound) == (None, None)
    thread = replace(builders.CHAT, thread="t1")
    bound = ThreadBinding(address=thread, key=MAIN, bound_by=OWNER, bound_at=NOON, used_at=NOON)
    run = builders.run("r-1", request=Request(reply_to=thread))
    await change(store, QueueRun(run=run))
    (claimed,) = await store.claim_runs(lease, everything)
    await store.spawn(MAIN, lambda seen: (BindThread(binding=bound),))
    await store.spawn(MAIN, seen)
    assert (seen.last.requester.running, seen.last.bound) == (claimed, bound)


async def test_the_decision_on_an_end_sees_the_exchange_and_both_its_sides(
    store: Store, lease: Lease
) -> None:
    await opened(store)
    await opened(store, SIDE)
    exchange = Exchange(id="x-1", requester=MAIN, target=SIDE, request="say", created_at=NOON, max_turns=5)
    run = builders.run("r-1", SIDE, request=Request(kind=RunKind.EXCHANGE, exchange_id="x-1"))
    await change(store, PutExchange(exchange=exchange), QueueRun(run=run), key=SIDE)
    (claimed,) = await store.claim_runs(lease, everything)
    back = builders.run("r-2", request=Request(kind=RunKind.EXCHANGE, exchange_id="x-1"))
    advanced = replace(exchange, phase=Phase.LOOP, state=ExchangeState.REPLIED, turn=1)
    seen = Advance((builders.done("r-1"), PutExchange(exchange=advanced), QueueRun(run=back)))
    await store.finish_run(claim_of(claimed), seen)
    assert (seen.last.run, seen.last.exchange) == (claimed, exchange)
    assert (seen.last.session.key, seen.last.session.running) == (SIDE, claimed)
    assert seen.last.partner is not None
    assert seen.last.partner.session is not None
    assert seen.last.partner.key == MAIN
    assert await store.exchange("x-1") == advanced
    (claimed,) = await store.claim_runs(lease, everything)
    seen = Advance((builders.done("r-2"),))
    await store.finish_run(claim_of(claimed), seen)
    assert seen.last.partner is not None
    assert seen.last.partner.key == SIDE


@pytest.mark.requirement("P6")
async def test_a_message_between_sessions_is_delivered_when_taken_and_running_when_a_model_is_asked(
    store: Store, lease: Lease
) -> None:
    await opened(store)
    await opened(store, SIDE)
    exchange = Exchange(id="x-1", requester=MAIN, target=SIDE, request="say", created_at=NOON, max_turns=5)
    run = builders.run("r-1", SIDE, request=Request(kind=RunKind.EXCHANGE, exchange_id="x-1"))
    message = AcceptInput(inbound=builders.inbound("m-1", SIDE), run_id="r-1", mode=InputMode.OPEN)
    await change(store, PutExchange(exchange=exchange), QueueRun(run=run), message, key=SIDE)
    (claimed,) = await store.claim_runs(lease, everything)
    assert await store.exchange("x-1") == exchange
    await store.take_inputs(claim_of(claimed), as_entries)
    assert await store.exchange("x-1") == replace(exchange, state=ExchangeState.DELIVERED)
    step = Step(kind=StepKind.TOOL, at=NOON, tool="t", call_id="c")
    for kind, state in ((StepKind.TOOL, ExchangeState.DELIVERED), (StepKind.MODEL, ExchangeState.RUNNING)):
        await store.begin_step(claim_of(claimed), replace(step, kind=kind))
        assert await store.exchange("x-1") == replace(exchange, state=state)
    seen = await store.events(SIDE, after=0, limit=100)
    assert [event.ref for event in seen if event.kind is EventKind.EXCHANGE] == ["x-1"] * 3


async def test_who_stops_waiting_leaves_an_exchange_that_is_not_answered(store: Store, lease: Lease) -> None:
    await opened(store)
    await opened(store, SIDE)
    awaited = Exchange(
        id="x-1",
        requester=MAIN,
        target=SIDE,
        request="say",
        created_at=NOON,
        max_turns=5,
        sent=Sent(awaited=True),
    )
    replied = replace(awaited, id="x-2", state=ExchangeState.REPLIED)
    await change(store, PutExchange(exchange=awaited), PutExchange(exchange=replied), key=SIDE)
    left = replace(awaited, sent=Sent())
    assert await store.exchanges(MAIN, SIDE) == (awaited, replied)
    assert await store.exchanges(SIDE, MAIN) == ()
    assert [await store.change_exchange(name, a2a.leave) for name in ("x-1", "x-1", "x-2", "none")] == [
        left,
        left,
        replied,
        None,
    ]
    assert [await store.exchange(name) for name in ("x-1", "x-2")] == [left, replied]


async def test_what_went_to_other_gateways_is_listed_until_it_is_over(store: Store, lease: Lease) -> None:
    await opened(store)
    there, beside = (
        Sent(remote=RemoteSession(gateway=name, session='"phase":"done"')) for name in ("office", "lab")
    )
    first, second, third = (
        Exchange(
            id=f"x-{number}",
            requester=MAIN,
            target=MAIN,
            request='"remote":{"gateway":"lab"',
            created_at=NOON - number,
            max_turns=0,
            sent=sent,
        )
        for number, sent in enumerate((there, Sent(), beside))
    )
    await change(store, *(PutExchange(exchange=one) for one in (first, second, third)))
    assert await store.remote_exchanges(10) == (first, third)
    assert await store.remote_exchanges(1) == (first,)
    assert await store.remote_exchanges(10, {"lab", "nobody"}) == (first,)
    assert await store.remote_exchanges(10, {"lab", "office"}) == ()
    done = replace(first, phase=Phase.DONE, state=ExchangeState.REPLIED)
    assert await store.change_exchange("x-0", lambda _: (PutExchange(exchange=done),)) == done
    assert await store.remote_exchanges(10) == (third,)


def _never(snapshot: ExchangeSnapshot) -> Effects:
    pytest.fail("there is nothing to decide about")


async def looked_at(store: Store, exchange: Exchange) -> ExchangeSnapshot:
    look = Look(())
    assert await store.change_exchange(exchange.id, look) == exchange
    return look.last


async def test_an_exchange_is_decided_about_as_it_is_with_its_target_and_who_began_it(
    store: Store, lease: Lease
) -> None:
    claim = await started(store, lease, "r-1")
    await opened(store, SIDE)
    begun, unsaid = (
        Exchange(
            id=name,
            requester=MAIN,
            target=SIDE,
            request="say",
            created_at=NOON,
            max_turns=0,
            sent=Sent(by=by),
        )
        for name, by in (("x-1", "r-1"), ("x-2", None))
    )
    await change(store, PutExchange(exchange=begun), PutExchange(exchange=unsaid), key=SIDE)
    seen = await looked_at(store, begun)
    assert seen == ExchangeSnapshot(
        exchange=begun, target=await change(store, key=SIDE), sender=await store.run("r-1")
    )
    assert not seen.called_off
    await change(store, RequestStop(run_id="r-1", stop=StopRequest(reason="/stop", by=OWNER, at=NOON)))
    assert (await looked_at(store, begun)).called_off
    await store.finish_run(claim, lambda snapshot: (builders.done("r-1"),))
    assert (await looked_at(store, begun)).called_off
    seen = await looked_at(store, unsaid)
    assert (seen.sender, seen.called_off) == (None, False)
    assert await store.change_exchange("none", _never) is None


@pytest.mark.parametrize("stopped", [True, False])
async def test_who_began_an_exchange_and_yielded_stands_where_that_goes_on(
    store: Store, lease: Lease, stopped: bool
) -> None:
    claim = await started(store, lease, "r-1")
    await opened(store, SIDE)
    exchange = Exchange(
        id="x-1",
        requester=MAIN,
        target=SIDE,
        request="say",
        created_at=NOON,
        max_turns=0,
        sent=Sent(by="r-1"),
    )
    await change(store, PutExchange(exchange=exchange), key=SIDE)
    await opened(store, row=builders.session(CHILD, parent=MAIN))
    awaited = owed("c-1", CHILD, "r-1")
    yielded = EndRun(run_id="r-1", outcome=Outcome(state=RunState.DONE, at=NOON, yielded=True))
    await store.finish_run(claim, lambda snapshot: (yielded, OweCompletion(completion=awaited)))
    assert not (await looked_at(store, exchange)).called_off
    run = await store.run("r-1")
    assert run is not None
    told = (
        SettleCompletion(child_run="c-1", status=CompletionStatus.OK, at=NOON),
        AcknowledgeCompletion(child_run="c-1", at=NOON),
        *(() if stopped else children.go_on(run, (awaited,), NOON)),
    )
    await change(store, *told)
    seen = await looked_at(store, exchange)
    assert seen.called_off is stopped
    assert seen.sender is not None
    assert (seen.sender.id == "r-1") is stopped


def owed(child_run: str, child: SessionKey, batch: str) -> Completion:
    return Completion(child_run=child_run, child=child, requester=MAIN, batch=batch, created_at=NOON)


async def with_children(store: Store, lease: Lease) -> Run:
    """A requester whose run spawned two children and ended; the first child's run, claimed."""
    claim = await started(store, lease, "r-1")
    for key in (CHILD, OTHER):
        await opened(store, row=builders.session(key, parent=MAIN))
    await change(
        store,
        OweCompletion(completion=owed("c-1", CHILD, "r-1")),
        OweCompletion(completion=owed("c-2", OTHER, "r-1")),
        OweCompletion(completion=owed("c-3", OTHER, "another batch")),
        QueueRun(run=builders.run("c-1", CHILD, request=Request(requester=MAIN))),
    )
    await store.finish_run(claim, lambda snapshot: (builders.done("r-1"),))
    (run,) = await store.claim_runs(lease, everything)
    return run


@pytest.mark.requirement("P1")
async def test_the_decision_on_a_childs_end_sees_what_its_requester_is_owed(
    store: Store, lease: Lease
) -> None:
    run = await with_children(store, lease)
    announce = Request(kind=RunKind.ANNOUNCE, requester=MAIN, completes="c-1")
    settle = SettleCompletion(child_run="c-1", status=CompletionStatus.OK, at=NOON, result="done")
    queue = QueueRun(run=builders.run("a-1", CHILD, request=announce))
    seen = Advance((settle, builders.done("c-1"), queue))
    await store.finish_run(claim_of(run), seen)
    first = seen.last
    assert first.completion == owed("c-1", CHILD, "r-1")
    assert first.siblings == (owed("c-2", OTHER, "r-1"),)
    assert first.batch == await store.run("r-1")
    assert first.requester is not None
    assert [one.child_run for one in first.requester.children] == ["c-1", "c-2", "c-3"]

    (announcing,) = await store.claim_runs(lease, everything)
    seen = Advance((builders.done("a-1"),))
    await store.finish_run(claim_of(announcing), seen)
    settled = replace(owed("c-1", CHILD, "r-1"), status=CompletionStatus.OK, result="done", settled_at=NOON)
    assert (seen.last.completion, seen.last.siblings) == (settled, first.siblings)
    assert seen.last.batch == first.batch


# -- completions -------------------------------------------------------------------------------------


@pytest.mark.requirement("P1")
async def test_a_session_is_owed_each_child_until_it_acknowledges(
    store: Store, lease: Lease, reopen: Reopen
) -> None:
    await with_children(store, lease)
    await change(
        store,
        SettleCompletion(child_run="c-2", status=CompletionStatus.ERROR, at=NOON + 1, error="it broke"),
    )
    store = await reopen()
    failed = replace(
        owed("c-2", OTHER, "r-1"), status=CompletionStatus.ERROR, error="it broke", settled_at=NOON + 1
    )
    expected = (owed("c-1", CHILD, "r-1"), failed, owed("c-3", OTHER, "another batch"))
    assert await store.completions(MAIN) == expected
    await change(store, AcknowledgeCompletion(child_run="c-2", at=NOON + 2))
    assert await store.completions(MAIN) == (expected[0], expected[2])
    assert await store.completions(CHILD) == ()
    assert await store.completion("c-1") == expected[0]
    assert await store.completion("c-2") == replace(failed, acknowledged_at=NOON + 2)
    assert await store.completion("nowhere") is None


@pytest.mark.requirement("P9", "D63")
async def test_a_session_has_yielded_while_a_turn_of_it_waits_for_a_child(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r-1")
    owing = [OweCompletion(completion=owed(name, CHILD, "r-1")) for name in ("c-1", "c-2")]
    assert not (await change(store, *owing)).yielded
    ended = builders.done("r-1")
    yielded = replace(ended, outcome=replace(ended.outcome, yielded=True))
    await store.finish_run(claim, lambda snapshot: (yielded,))
    first, last = (
        SettleCompletion(child_run=one.completion.child_run, status=CompletionStatus.OK, at=NOON)
        for one in owing
    )
    assert (await change(store, first)).yielded
    assert not (await change(store, last)).yielded


@pytest.mark.requirement("P9")
async def test_a_session_whose_children_nobody_waits_for_has_not_yielded(store: Store, lease: Lease) -> None:
    await with_children(store, lease)
    assert not (await change(store)).yielded


@pytest.mark.requirement("P1")
async def test_only_the_first_settlement_and_acknowledgement_count(store: Store, lease: Lease) -> None:
    await with_children(store, lease)
    await change(store, SettleCompletion(child_run="c-2", status=CompletionStatus.OK, at=NOON, result="yes"))
    told = await store.completions(MAIN)
    before = await known(store)
    await change(store, SettleCompletion(child_run="c-2", status=CompletionStatus.KILLED, at=NOON + 1))
    assert await store.completions(MAIN) == told
    await change(store, SettleCompletion(child_run="nowhere", status=CompletionStatus.OK, at=NOON))
    assert await known(store) == before
    await change(store, AcknowledgeCompletion(child_run="c-2", at=NOON))
    before = await known(store)
    await change(store, AcknowledgeCompletion(child_run="c-2", at=NOON + 1))
    assert await known(store) == before


async def test_when_more_was_said_about_a_task_is_known_until_it_is_settled(
    store: Store, lease: Lease
) -> None:
    await with_children(store, lease)
    before = await known(store)
    await change(store, SteerChild(child_run="c-1", at=NOON + 1), SteerChild(child_run="nobody", at=NOON))
    assert (await known(store)).events == before.events
    await change(store, SteerChild(child_run="c-1", at=NOON + 2))
    await change(store, SettleCompletion(child_run="c-1", status=CompletionStatus.OK, at=NOON + 3))
    await change(store, SteerChild(child_run="c-1", at=NOON + 4))
    steered = await store.completion("c-1")
    settled = replace(
        owed("c-1", CHILD, "r-1"), status=CompletionStatus.OK, settled_at=NOON + 3, steered_at=NOON + 2
    )
    assert steered == settled


async def test_a_child_run_is_owed_once(store: Store, lease: Lease) -> None:
    await with_children(store, lease)
    with pytest.raises(Conflict):
        await change(store, OweCompletion(completion=owed("c-1", CHILD, "r-9")))


@pytest.mark.requirement("F1")
async def test_what_a_session_sent_and_was_sent_is_listed_newest_first(store: Store) -> None:
    other = SessionKey.named("ops", "main")
    for key in (MAIN, SIDE, other):
        await opened(store, key)
    sent = [
        Exchange(
            id=f"x-{number}", requester=a, target=b, request="say", created_at=NOON + number, max_turns=5
        )
        for number, (a, b) in enumerate([(MAIN, SIDE), (SIDE, MAIN), (SIDE, other), (MAIN, other)])
    ]
    for one in sent:
        await change(store, PutExchange(exchange=one), key=one.requester)
    assert await store.exchanges_of(MAIN, 10) == (sent[3], sent[1], sent[0])
    assert await store.exchanges_of(MAIN, 2) == (sent[3], sent[1])
    assert await store.exchanges_of(SessionKey.named("ops", "nobody"), 2) == ()
