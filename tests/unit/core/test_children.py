from dataclasses import replace

import pytest

from roost.core.children import child_end, waits, yield_end
from roost.core.deliveries import DeliveryKind
from roost.core.effects import (
    AcceptInput,
    AcknowledgeCompletion,
    AddDelivery,
    AppendEntries,
    Effect,
    Effects,
    QueueRun,
    SettleCompletion,
)
from roost.core.endings import Ending
from roost.core.exchanges import Completion, CompletionStatus
from roost.core.inbound import InboundRecord, InputMode
from roost.core.messages import ProvenanceKind, Text, UserMessage
from roost.core.runs import Lane, Outcome, Request, Run, RunKind, RunState
from roost.core.snapshots import Batch, RunSnapshot, Snapshot
from tests import samples
from tests.samples import CHAT, CHILD, MAIN, NOON, OTHER_CHAT

BATCH = samples.run("b1", request=Request(reply_to=CHAT, exchange_id="x7"))
YIELDED = replace(BATCH, outcome=Outcome(state=RunState.DONE, at=NOON, yielded=True))
CHILD_RUN = samples.run("r1", key=CHILD, kind=ProvenanceKind.SUBAGENT, request=Request(lane=Lane.SUBAGENT))
ENDS = {
    RunState.DONE: CompletionStatus.OK,
    RunState.FAILED: CompletionStatus.ERROR,
    RunState.TIMEOUT: CompletionStatus.TIMEOUT,
    RunState.KILLED: CompletionStatus.KILLED,
    RunState.INTERRUPTED: CompletionStatus.INTERRUPTED,
}


def told(completion: Completion, written: str | None) -> str:
    return f"Status: {completion.status} Result: {written or completion.result}"


def ending(reply: str | None = "found it", state: RunState = RunState.DONE) -> Ending:
    outcome = Outcome(state=state, at=NOON, error=None if state is RunState.DONE else "boom")
    return Ending(outcome=outcome, announce=told, reply=reply, met=lambda session: session.route)


def spawned(batch: Run = BATCH, requester: Snapshot | None = None, *siblings: Completion) -> RunSnapshot:
    """The run of a child that the requester's run `batch` spawned."""
    asked_by = requester or samples.snapshot(batch.key)
    return RunSnapshot(
        run=CHILD_RUN,
        session=samples.snapshot(CHILD),
        completion=samples.completion("r1", requester=asked_by.key),
        batch=Batch(run=batch, siblings=siblings),
        requester=asked_by,
    )


def announcing(snapshot: RunSnapshot) -> RunSnapshot:
    """The child's announce run, after its task ended well."""
    assert snapshot.completion is not None
    request = Request(kind=RunKind.ANNOUNCE, requester=MAIN, completes="r1")
    settled = replace(snapshot.completion, status=CompletionStatus.OK, result="found it", settled_at=NOON)
    return replace(snapshot, run=samples.run("a1", key=CHILD, request=request), completion=settled)


def kinds(effects: Effects) -> list[type[Effect]]:
    return [type(effect) for effect in effects]


def sibling(status: CompletionStatus, acknowledged_at: int | None = None) -> Completion:
    settled = None if status is CompletionStatus.PENDING else NOON
    base = replace(
        samples.completion("r0"), created_at=1, status=status, result="earlier", settled_at=settled
    )
    return replace(base, acknowledged_at=acknowledged_at)


@pytest.mark.requirement("P1")
@pytest.mark.parametrize(("state", "status"), ENDS.items())
@pytest.mark.parametrize("batch", [BATCH, YIELDED])
def test_every_end_of_a_child_settles_its_completion_once(
    state: RunState, status: CompletionStatus, batch: Run
) -> None:
    settle, *_ = child_end(spawned(batch), ending("said", state))
    assert isinstance(settle, SettleCompletion)
    assert (settle.child_run, settle.status, settle.at) == ("r1", status, NOON)
    assert settle.result == ("said" if state in {RunState.DONE, RunState.TIMEOUT} else None)
    assert settle.error == (None if state is RunState.DONE else "boom")


@pytest.mark.parametrize(
    ("state", "reply", "calls", "result"),
    [
        (RunState.TIMEOUT, None, 3, "3 tool call(s) made without visible output"),
        (RunState.TIMEOUT, " \n", 1, "1 tool call(s) made without visible output"),
        (RunState.TIMEOUT, "half", 3, "half"),
        (RunState.TIMEOUT, None, 0, None),
        (RunState.FAILED, None, 3, None),
    ],
)
def test_a_child_that_worked_in_silence_until_its_time_was_over_leaves_the_number_of_its_tool_calls(
    state: RunState, reply: str | None, calls: int, result: str | None
) -> None:
    settle, *_ = child_end(spawned(), replace(ending(reply, state), tool_calls=calls))
    assert isinstance(settle, SettleCompletion)
    assert settle.result == result


@pytest.mark.requirement("D63", "P1")
def test_a_requester_that_yielded_hears_nothing_before_its_last_child() -> None:
    waiting = spawned(YIELDED, None, sibling(CompletionStatus.PENDING))
    assert kinds(child_end(waiting, ending())) == [SettleCompletion]


@pytest.mark.requirement("D63", "P1")
def test_the_last_child_of_a_batch_continues_the_requester_with_all_findings() -> None:
    effects = child_end(spawned(YIELDED, None, sibling(CompletionStatus.OK)), ending())
    assert kinds(effects) == [
        SettleCompletion,
        QueueRun,
        AcceptInput,
        AcknowledgeCompletion,
        AcknowledgeCompletion,
    ]
    _, queued, accepted, *_ = effects
    assert isinstance(queued, QueueRun)
    assert isinstance(accepted, AcceptInput)
    run = queued.run
    assert (run.key, run.request.kind, run.cause.kind) == (
        MAIN,
        RunKind.CONTINUATION,
        ProvenanceKind.SUBAGENT,
    )
    assert (run.request.reply_to, run.request.exchange_id, run.request.completes) == (CHAT, "x7", "b1")
    assert (accepted.run_id, accepted.mode) == (run.id, InputMode.OPEN)
    (findings,) = accepted.inbound.content
    assert isinstance(findings, Text)
    assert findings.text.index("earlier") < findings.text.index("found it")
    assert accepted.inbound.provenance.kind is ProvenanceKind.SUBAGENT


def test_what_the_requester_heard_already_is_not_told_again() -> None:
    heard = sibling(CompletionStatus.OK, acknowledged_at=NOON)
    effects = child_end(spawned(YIELDED, None, heard), ending())
    assert [one.child_run for one in effects if isinstance(one, AcknowledgeCompletion)] == ["r1"]
    assert "earlier" not in str(effects)


def test_a_continued_child_still_owes_what_it_owed() -> None:
    nested = replace(YIELDED, key=CHILD, request=Request(lane=Lane.SUBAGENT, completes="first"))
    (_, queued, *_) = child_end(spawned(nested), ending())
    assert isinstance(queued, QueueRun)
    assert (queued.run.request.completes, queued.run.request.lane) == ("first", Lane.SUBAGENT)


@pytest.mark.requirement("P1")
def test_an_idle_sub_agent_is_given_its_childs_end_in_a_new_run() -> None:
    effects = child_end(spawned(replace(BATCH, key=CHILD), samples.snapshot(CHILD)), ending())
    assert kinds(effects) == [SettleCompletion, QueueRun, AcceptInput, AcknowledgeCompletion]
    _, queued, accepted, _ = effects
    assert isinstance(queued, QueueRun)
    assert isinstance(accepted, AcceptInput)
    assert (queued.run.key, queued.run.request.completes) == (CHILD, "b1")
    assert queued.run.request.deadline is None
    assert (accepted.run_id, accepted.mode, accepted.inbound.reply_to) == (
        queued.run.id,
        InputMode.OPEN,
        None,
    )


@pytest.mark.requirement("P1", "P15")
def test_an_idle_sub_agent_goes_on_for_whoever_asked_the_turn_that_spawned_its_child() -> None:
    asked = replace(BATCH, key=CHILD, cause=replace(BATCH.cause, hops=(MAIN,)))
    below = replace(CHILD_RUN, cause=replace(BATCH.cause, hops=(MAIN, CHILD)))
    _, queued, *_ = child_end(replace(spawned(asked, samples.snapshot(CHILD)), run=below), ending())
    assert isinstance(queued, QueueRun)
    assert (queued.run.request.reply_to, queued.run.cause.hops) == (CHAT, (MAIN,))


@pytest.mark.requirement("P1", "D21")
def test_a_sub_agent_hears_of_its_child_in_the_time_that_its_task_has_left() -> None:
    at_task = replace(BATCH, key=CHILD, request=Request(longest_ms=7), started_at=NOON)
    _, queued, *_ = child_end(spawned(at_task, samples.snapshot(CHILD)), ending())
    assert isinstance(queued, QueueRun)
    assert queued.run.request.deadline == NOON + 7


def test_a_sub_agent_whose_spawning_run_is_unknown_is_given_it_all_the_same() -> None:
    snapshot = replace(spawned(BATCH, samples.snapshot(CHILD)), batch=Batch())
    (_, queued, *_) = child_end(snapshot, ending())
    assert isinstance(queued, QueueRun)
    assert queued.run.request.completes is None


@pytest.mark.requirement("P1")
def test_a_busy_sub_agent_hears_of_its_child_inside_its_run() -> None:
    busy = replace(samples.snapshot(CHILD), running=samples.run("r8", key=CHILD))
    effects = child_end(spawned(BATCH, busy), ending())
    assert kinds(effects) == [SettleCompletion, AcceptInput, AcknowledgeCompletion]
    assert isinstance(effects[1], AcceptInput)
    assert (effects[1].run_id, effects[1].mode) == ("r8", InputMode.STEER)


def test_a_sub_agent_that_is_compacting_is_not_disturbed() -> None:
    compacting = samples.run("r8", key=CHILD, request=Request(kind=RunKind.COMPACTION))
    busy = replace(samples.snapshot(CHILD), running=compacting)
    assert QueueRun in kinds(child_end(spawned(BATCH, busy), ending()))


@pytest.mark.requirement("D27")
def test_after_success_the_child_is_asked_what_to_announce() -> None:
    settle, asked = child_end(spawned(), ending())
    assert isinstance(settle, SettleCompletion)
    assert isinstance(asked, QueueRun)
    run = asked.run
    assert (run.key, run.request.kind, run.request.completes) == (CHILD, RunKind.ANNOUNCE, "r1")
    assert (run.request.requester, run.request.reply_to) == (MAIN, None)
    assert "ANNOUNCE_SKIP" in (run.request.prompt or "")


@pytest.mark.requirement("D27", "P1")
@pytest.mark.parametrize("state", [RunState.FAILED, RunState.TIMEOUT, RunState.INTERRUPTED])
def test_a_failed_child_is_announced_at_once_in_the_runtimes_words(state: RunState) -> None:
    effects = child_end(spawned(), ending("Status: success", state))
    assert kinds(effects) == [SettleCompletion, AppendEntries, AddDelivery, AcknowledgeCompletion]
    _, appended, sent, _ = effects
    assert isinstance(sent, AddDelivery)
    assert isinstance(appended, AppendEntries)
    assert (sent.delivery.kind, sent.delivery.address) == (DeliveryKind.ANNOUNCE, CHAT)
    assert sent.delivery.text.startswith(f"Status: {ENDS[state]} ")
    (draft,) = appended.drafts
    assert isinstance(draft.body, UserMessage)
    assert (appended.key, draft.body.provenance.kind) == (MAIN, ProvenanceKind.SUBAGENT)


@pytest.mark.requirement("P1", "P27")
def test_a_killed_child_is_recorded_for_its_parent_but_not_told_in_the_chat() -> None:
    effects = child_end(spawned(), ending(None, RunState.KILLED))
    assert kinds(effects) == [SettleCompletion, AppendEntries, AcknowledgeCompletion]


@pytest.mark.requirement("D27", "D67")
def test_what_the_child_wrote_is_announced_where_it_was_asked_for() -> None:
    effects = child_end(announcing(spawned()), ending("All good."))
    assert kinds(effects) == [AppendEntries, AddDelivery, AcknowledgeCompletion]
    assert isinstance(effects[1], AddDelivery)
    assert effects[1].delivery.text == "Status: ok Result: All good."
    assert effects[1].delivery.key == MAIN


@pytest.mark.requirement("D67")
def test_without_a_place_it_was_asked_from_the_last_route_is_used() -> None:
    snapshot = announcing(spawned(replace(BATCH, request=Request())))
    assert snapshot.requester is not None
    assert snapshot.requester.session is not None
    moved = replace(snapshot.requester, session=snapshot.requester.session._replace(route=OTHER_CHAT))
    (_, sent, _) = child_end(replace(snapshot, requester=moved, batch=Batch()), ending("ok"))
    assert isinstance(sent, AddDelivery)
    assert sent.delivery.address == OTHER_CHAT


@pytest.mark.requirement("D27")
def test_a_child_that_asks_for_silence_is_not_announced_but_counts_as_heard() -> None:
    effects = child_end(announcing(spawned()), ending(" ANNOUNCE_SKIP\n"))
    assert effects == (AcknowledgeCompletion(child_run="r1", at=NOON),)


@pytest.mark.requirement("P1")
@pytest.mark.parametrize(
    ("reply", "state"), [("", RunState.DONE), ("NO_REPLY", RunState.DONE), ("ANNOUNCE_SKIP", RunState.FAILED)]
)
def test_where_the_child_writes_nothing_its_result_is_announced(reply: str, state: RunState) -> None:
    effects = child_end(announcing(spawned()), ending(reply, state))
    assert isinstance(effects[1], AddDelivery)
    assert effects[1].delivery.text == "Status: ok Result: found it"


def test_what_a_continuation_told_meanwhile_is_not_announced_too() -> None:
    snapshot = announcing(spawned())
    assert snapshot.completion is not None
    heard = replace(snapshot, completion=replace(snapshot.completion, acknowledged_at=NOON))
    assert child_end(heard, ending("All good.")) == ()


def test_a_requester_that_is_gone_is_told_nothing() -> None:
    gone = spawned(BATCH, Snapshot(key=MAIN))
    assert kinds(child_end(gone, ending())) == [SettleCompletion]
    assert child_end(announcing(gone), ending("All good.")) == ()


def test_a_child_that_yields_has_not_ended() -> None:
    waiting = ending()
    waiting = replace(waiting, outcome=replace(waiting.outcome, yielded=True))
    assert child_end(spawned(), waiting) == ()


def test_a_later_run_of_a_child_settles_nothing_again() -> None:
    snapshot = spawned()
    again = replace(snapshot, completion=sibling(CompletionStatus.OK))
    assert child_end(again, ending()) == ()
    assert child_end(RunSnapshot(run=samples.run(), session=samples.snapshot()), ending()) == ()


@pytest.mark.requirement("D63")
def test_a_run_that_yields_after_its_children_ended_goes_on_at_once() -> None:
    waiting = replace(ending(), outcome=Outcome(state=RunState.DONE, at=NOON, yielded=True))

    idle = samples.snapshot()

    def yields(*children: Completion, session: Snapshot = idle) -> Effects:
        return yield_end(RunSnapshot(run=BATCH, session=session, spawned=children), waiting)

    done, open_ = sibling(CompletionStatus.OK), sibling(CompletionStatus.PENDING)
    assert kinds(yields(done)) == [QueueRun, AcceptInput, AcknowledgeCompletion]
    assert yields(done, open_) == ()
    assert yields() == ()
    heard = replace(done, acknowledged_at=NOON)
    assert kinds(yields(heard)) == [QueueRun, AcceptInput, AcknowledgeCompletion]
    said = samples.inbound("m9", kind=ProvenanceKind.SUBAGENT, reply_to=None)
    pending = (samples.pending(said, BATCH.id, InputMode.STEER),)
    assert yields(heard, session=replace(samples.snapshot(), pending=pending)) == ()
    ordinary = RunSnapshot(run=BATCH, session=samples.snapshot(), spawned=(done,))
    assert yield_end(ordinary, ending()) == ()


@pytest.mark.requirement("P1")
def test_what_a_run_heard_of_its_children_and_its_own_end_are_two_messages() -> None:
    above = spawned(BATCH, samples.snapshot(CHILD))
    assert above.completion is not None
    own_end = replace(above, completion=replace(above.completion, child_run=BATCH.id))
    ids = [
        effect.inbound.id
        for effects in (child_end(spawned(YIELDED), ending()), child_end(own_end, ending()))
        for effect in effects
        if isinstance(effect, AcceptInput)
    ]
    assert len(set(ids)) == 2


OWN = samples.completion("r9", batch="r1")
HEARD = samples.pending(
    samples.inbound("m9", kind=ProvenanceKind.SUBAGENT, reply_to=None), "r1", InputMode.STEER
)


def unread(record: InboundRecord) -> RunSnapshot:
    return RunSnapshot(run=samples.run(), session=replace(samples.snapshot(), pending=(record,)))


@pytest.mark.parametrize(
    ("ended", "expected"),
    [
        (RunSnapshot(run=samples.run(), session=samples.snapshot()), False),
        (RunSnapshot(run=samples.run(), session=samples.snapshot(), spawned=(OWN,)), True),
        (unread(HEARD), True),
        (unread(replace(HEARD, run_id="r8")), False),
        (unread(samples.pending(samples.inbound("m9"), "r1")), False),
    ],
)
def test_a_yielded_run_waits_for_its_children_and_for_what_they_said(
    ended: RunSnapshot, expected: bool
) -> None:
    yielded = Outcome(state=RunState.DONE, at=NOON, yielded=True)
    assert waits(ended, yielded) is expected
    assert not waits(ended, replace(yielded, yielded=False))
    last_word = samples.run(request=Request(kind=RunKind.ANNOUNCE))
    assert not waits(replace(ended, run=last_word), yielded)


@pytest.mark.parametrize(
    ("at_work", "state", "expected"),
    [
        (CompletionStatus.PENDING, RunState.DONE, True),
        (CompletionStatus.PENDING, RunState.FAILED, False),
        (CompletionStatus.OK, RunState.DONE, False),
    ],
)
def test_a_task_waits_for_the_children_it_was_shared_among(
    at_work: CompletionStatus, state: RunState, expected: bool
) -> None:
    shared = replace(spawned(), spawned=(sibling(at_work),))
    outcome = Outcome(state=state, at=NOON)
    assert waits(shared, outcome) is expected
    assert not waits(replace(shared, completion=None), outcome)
    assert not waits(announcing(shared), outcome)
    told_before = replace(shared, completion=announcing(shared).completion)
    assert not waits(told_before, outcome)


@pytest.mark.parametrize("yielded", [True, False])
def test_a_task_waits_for_what_its_other_runs_gave_away_and_for_those_that_follow(yielded: bool) -> None:
    outcome, again = Outcome(state=RunState.DONE, at=NOON, yielded=yielded), spawned()
    follower = samples.run("r2", key=CHILD, request=Request(kind=RunKind.CONTINUATION, completes="r1"))
    assert not waits(again, outcome)
    assert waits(replace(again, shared=(sibling(CompletionStatus.PENDING),)), outcome)
    for queued, expected in ((follower, True), (samples.run("r3", key=CHILD), False)):
        assert waits(replace(again, session=replace(again.session, queued=(queued,))), outcome) is expected
