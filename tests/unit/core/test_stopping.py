from dataclasses import replace

import pytest

from roost.core import stopping
from roost.core.effects import (
    AcknowledgeCompletion,
    AddDelivery,
    AppendEntries,
    Effects,
    EndRun,
    KillInput,
    PutExchange,
    QueueRun,
    RequestStop,
    SettleCompletion,
)
from roost.core.exchanges import Completion, CompletionStatus, Phase
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind, UserMessage, text_of
from roost.core.runs import Outcome, Parked, Request, Run, RunKind, RunState, StopRequest
from roost.core.sessions import Lineage
from roost.core.snapshots import RunSnapshot, Snapshot
from roost.core.sources import child_key
from roost.core.trees import Tree
from tests import samples
from tests.samples import ALICE, CHAT, CHILD, GRANDCHILD, MAIN, NOON, OTHER_CHAT, inbound, pending

STOP = StopRequest(reason="enough", by=ALICE, at=NOON)
RUNNING, WAITING = samples.run("r1"), samples.queued("q1")


def of_child(name: str, state: RunState = RunState.RUNNING, key: SessionKey = CHILD) -> Run:
    return samples.run(name, key=key, state=state, kind=ProvenanceKind.SUBAGENT, request=Request())


def below(key: SessionKey = CHILD, parent: SessionKey = MAIN, *owed: Completion) -> Snapshot:
    snapshot = samples.snapshot(key)
    assert snapshot.session is not None
    return replace(snapshot, session=snapshot.session._replace(lineage=Lineage(parent=parent)), children=owed)


def tree(*runs: Run, session: Snapshot | None = None, under: tuple[Snapshot, ...] = ()) -> Tree:
    own = session or samples.snapshot()
    seen = tuple(RunSnapshot(run=run, session=own) for run in runs)
    return Tree(session=own, below=under, runs=seen)


def of(effects: Effects, kind: type) -> list[object]:
    return [effect for effect in effects if isinstance(effect, kind)]


def test_what_runs_is_asked_to_end_and_what_waits_ends() -> None:
    stopped = stopping.stop(tree(RUNNING, WAITING), STOP)
    assert of(stopped.effects, RequestStop) == [RequestStop(run_id="r1", stop=STOP)]
    assert of(stopped.effects, EndRun) == [
        EndRun(run_id="q1", outcome=Outcome(state=RunState.KILLED, at=NOON, error="enough", code="stopped"))
    ]
    assert (stopped.runs, stopped.ended, stopped.children, stopped.nothing) == (("r1",), 1, 0, False)


def test_nothing_to_stop_is_nothing() -> None:
    stopped = stopping.stop(tree(), STOP)
    assert stopped.nothing
    assert stopped.effects == ()


@pytest.mark.requirement("P3")
def test_who_waits_elsewhere_is_told_by_a_notice_and_who_waits_here_by_the_answer() -> None:
    here, there, nowhere = inbound("a"), inbound("b", reply_to=OTHER_CHAT), inbound("c", reply_to=None)
    waiting = tuple(pending(one, "q1") for one in (here, there, nowhere))
    session = replace(samples.snapshot(), pending=waiting)
    stopped = stopping.stop(tree(WAITING, session=session), STOP, told=CHAT)
    assert [effect.inbound_id for effect in stopped.effects if isinstance(effect, KillInput)] == [
        "a",
        "b",
        "c",
    ]
    told = [effect.delivery for effect in stopped.effects if isinstance(effect, AddDelivery)]
    assert [(one.address, one.text) for one in told] == [(OTHER_CHAT, "Not answered (enough): b")]
    assert stopped.cleared == (here, there, nowhere)


@pytest.mark.requirement("P20")
def test_who_was_promised_an_answer_is_told_when_what_was_parked_is_stopped() -> None:
    parked = replace(WAITING, parked=Parked(at=NOON, setting="budgets.perDay.tokens", reason="used up"))
    elsewhere = stopping.stop(tree(parked), STOP, told=OTHER_CHAT)
    (told,) = (effect.delivery for effect in elsewhere.effects if isinstance(effect, AddDelivery))
    assert (told.address, told.text[:23]) == (CHAT, "Not answered (enough): ")
    assert of(stopping.stop(tree(parked), STOP, told=CHAT).effects, AddDelivery) == []


def test_one_run_can_be_stopped_with_what_waits_for_it_alone() -> None:
    waiting = (pending(inbound("a"), "q1"), pending(inbound("b"), "q2"))
    session = replace(samples.snapshot(), pending=waiting)
    stopped = stopping.stop_run(tree(RUNNING, WAITING, session=session), "q1", STOP)
    assert (stopped.runs, stopped.ended, stopped.cleared) == ((), 1, (inbound("a"),))


@pytest.mark.parametrize(
    ("batch", "outcome", "stops"),
    [
        # It yielded, and its children are all there is of it.
        ("r0", Outcome(state=RunState.DONE, at=NOON, yielded=True), True),
        # It is over: what it left behind was not waited for.
        ("r0", Outcome(state=RunState.DONE, at=NOON), False),
        ("another", Outcome(state=RunState.DONE, at=NOON, yielded=True), False),
    ],
)
def test_a_turn_is_stopped_with_what_it_waits_for(batch: str, outcome: Outcome, stops: bool) -> None:
    owed = replace(samples.completion("c-run", batch=batch), child=CHILD)
    session = replace(samples.snapshot(), children=(owed,))
    whole = tree(of_child("c-run"), session=session, under=(below(),))
    stopped = stopping.stop_run(
        replace(whole, batches=(replace(samples.run(batch), outcome=outcome),)), "r0", STOP
    )
    assert stopped.runs == (("c-run",) if stops else ())
    assert (stopped.children, stopped.nothing) == ((1, False) if stops else (0, True))
    assert bool(of(stopped.effects, AcknowledgeCompletion)) is stops


def test_a_turn_is_stopped_in_the_run_in_which_it_goes_on() -> None:
    goes_on = samples.run("c1", request=Request(completes="r0"))
    deep = replace(samples.completion("d-run", batch="c1"), child=CHILD)
    waiting = (pending(inbound("a"), "c1"), pending(inbound("b"), "q9"))
    session = replace(samples.snapshot(), children=(deep,), pending=waiting)
    whole = tree(goes_on, of_child("d-run"), session=session, under=(below(),))
    stopped = stopping.stop_run(replace(whole, batches=(goes_on,)), "r0", STOP)
    assert (set(stopped.runs), stopped.children) == ({"c1", "d-run"}, 1)
    assert stopped.cleared == (inbound("a"),)


def test_an_exchange_that_waits_is_over() -> None:
    serving = samples.queued("x", kind=ProvenanceKind.INTER_SESSION, request=Request(exchange_id="x1"))
    snapshot = RunSnapshot(run=serving, session=samples.snapshot(), exchange=samples.exchange())
    stopped = stopping.stop(Tree(session=samples.snapshot(), runs=(snapshot,)), STOP)
    (put,) = (effect for effect in stopped.effects if isinstance(effect, PutExchange))
    assert (put.exchange.phase, put.exchange.error) == (Phase.DONE, "enough")


@pytest.mark.requirement("P6")
@pytest.mark.parametrize(("sender", "lines"), [("r0", 0), ("elsewhere", 1)])
def test_who_sent_a_message_hears_that_it_was_stopped_unless_it_is_stopped_with_it(
    sender: str, lines: int
) -> None:
    asking, serving = samples.run("r0"), of_child("x", RunState.QUEUED)
    serving = replace(serving, request=Request(exchange_id="x1"))
    snapshot = RunSnapshot(
        run=serving,
        session=below(),
        exchange=replace(samples.exchange(), requester=MAIN, target=CHILD),
        partner=samples.snapshot(),
        sender=replace(asking, id=sender),
    )
    begun = RunSnapshot(run=asking, session=samples.snapshot())
    stopped = stopping.stop(Tree(session=samples.snapshot(), below=(below(),), runs=(begun, snapshot)), STOP)
    assert len(of(stopped.effects, AppendEntries)) == lines


@pytest.mark.parametrize(("batch", "ends"), [("x", True), ("another", False)])
def test_an_exchange_whose_answer_waits_for_children_is_over_when_they_are_stopped(
    batch: str, ends: bool
) -> None:
    request = Request(exchange_id="x1")
    yielded = replace(
        samples.run("x", kind=ProvenanceKind.INTER_SESSION, request=request),
        outcome=Outcome(state=RunState.DONE, at=NOON, yielded=True),
    )
    asked = RunSnapshot(run=yielded, session=samples.snapshot(), exchange=samples.exchange())
    session = replace(samples.snapshot(), children=(samples.completion("c-run", batch=batch),))
    stopped = stopping.stop_below(Tree(session=session, asked=(asked,)), STOP)
    over = [effect.exchange for effect in stopped.effects if isinstance(effect, PutExchange)]
    assert [(one.phase, one.error) for one in over] == ([(Phase.DONE, "enough")] if ends else [])


def test_a_turn_goes_on_with_what_has_ended_when_the_rest_of_what_it_waits_for_is_stopped() -> None:
    yielded = replace(
        samples.run("x", kind=ProvenanceKind.INTER_SESSION, request=Request(exchange_id="x1")),
        outcome=Outcome(state=RunState.DONE, at=NOON, yielded=True),
    )
    done = replace(samples.completion("a", batch="x"), status=CompletionStatus.OK, result="42")
    owed = (done, samples.completion("b", batch="x"), samples.completion("c", batch="another"))
    session = replace(samples.snapshot(), children=owed)
    asked = RunSnapshot(run=yielded, session=session, exchange=samples.exchange())
    stopped = stopping.stop_below(Tree(session=session, batches=(yielded,), asked=(asked,)), STOP)
    (goes_on,) = (effect.run for effect in stopped.effects if isinstance(effect, QueueRun))
    assert (goes_on.request.completes, goes_on.request.exchange_id) == ("x", "x1")
    assert of(stopped.effects, PutExchange) == []
    killed = [effect.child_run for effect in stopped.effects if isinstance(effect, SettleCompletion)]
    assert sorted(killed) == ["b", "c"]
    known = [effect.child_run for effect in stopped.effects if isinstance(effect, AcknowledgeCompletion)]
    assert sorted(known) == ["a", "b", "c"]
    assert len(of(stopped.effects, AppendEntries)) == 1


@pytest.mark.requirement("D51", "P27")
def test_children_and_theirs_are_stopped_and_settled_as_killed_so_that_nobody_goes_on() -> None:
    child = replace(samples.completion("c-run"), child=CHILD)
    grandchild = replace(samples.completion("g-run", requester=CHILD), child=GRANDCHILD)
    session = replace(samples.snapshot(), children=(child,))
    under = (below(CHILD, MAIN, grandchild), below(GRANDCHILD, CHILD))
    runs = (of_child("g-run", key=GRANDCHILD),)
    stopped = stopping.stop(tree(*runs, session=session, under=under), STOP)
    assert stopped.children == 2
    assert stopped.runs == ("g-run",)
    settled = [effect for effect in stopped.effects if isinstance(effect, SettleCompletion)]
    assert [(one.child_run, one.status, one.error) for one in settled] == [
        ("c-run", CompletionStatus.KILLED, "enough"),
        ("g-run", CompletionStatus.KILLED, "enough"),
    ]
    assert len(of(stopped.effects, AcknowledgeCompletion)) == 2
    told = [effect for effect in stopped.effects if isinstance(effect, AppendEntries)]
    assert [one.key for one in told] == [MAIN, CHILD]
    body = told[0].drafts[0].body
    assert isinstance(body, UserMessage)
    assert "Status: killed" in text_of(body)
    assert f"Stats: runtime 1h00m00s • tokens 0 (in 0 / out 0) • session {CHILD}" in text_of(body)


def test_a_child_that_had_ended_is_told_as_it_ended() -> None:
    done = replace(samples.completion("c-run"), status=CompletionStatus.OK, result="42", settled_at=NOON)
    session = replace(samples.snapshot(), children=(done,))
    stopped = stopping.stop(tree(session=session), STOP)
    assert of(stopped.effects, SettleCompletion) == []
    (told,) = (effect for effect in stopped.effects if isinstance(effect, AppendEntries))
    body = told.drafts[0].body
    assert isinstance(body, UserMessage)
    assert "Result: 42" in text_of(body)
    assert stopped.children == 0


def test_what_hangs_below_can_be_stopped_alone() -> None:
    own = replace(samples.snapshot(), pending=(pending(inbound("a"), "q1"),))
    theirs = replace(below(), pending=(pending(inbound("b", key=CHILD, reply_to=None), "c-run"),))
    runs = (RUNNING, WAITING, of_child("c-run"))
    stopped = stopping.stop_below(tree(*runs, session=own, under=(theirs,)), STOP)
    assert (stopped.runs, stopped.ended, stopped.children) == (("c-run",), 0, 1)
    assert [one.id for one in stopped.cleared] == ["b"]


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.QUEUED])
def test_a_child_that_is_killed_ends_by_itself_and_its_requester_goes_on(state: RunState) -> None:
    owed = replace(samples.completion("c-run"), child=CHILD)
    session = replace(samples.snapshot(), children=(owed,))
    runs = (RUNNING, of_child("c-run", state), of_child("g-run", key=GRANDCHILD))
    theirs = replace(below(), pending=(pending(inbound("b", key=CHILD, reply_to=None), "c-run"),))
    under = (theirs, below(GRANDCHILD, CHILD))
    killed = stopping.kill(tree(*runs, session=session, under=under), [CHILD], STOP)
    assert {one.run_id for one in killed.effects if isinstance(one, RequestStop)} == {"c-run", "g-run"}
    assert of(killed.effects, SettleCompletion) == []
    assert of(killed.effects, EndRun) == []
    assert killed.children == 2
    assert killed.runs == (("g-run", "c-run") if state is RunState.RUNNING else ("g-run",))
    assert [one.id for one in killed.cleared] == ["b"]


def test_a_child_that_waits_for_its_own_children_is_settled_when_it_is_killed() -> None:
    owed = replace(samples.completion("c-run"), child=CHILD)
    session = replace(samples.snapshot(), children=(owed,))
    grandchild = replace(samples.completion("g-run", requester=CHILD), child=GRANDCHILD)
    under = (below(CHILD, MAIN, grandchild), below(GRANDCHILD, CHILD))
    runs = (of_child("g-run", key=GRANDCHILD),)
    killed = stopping.kill(tree(*runs, session=session, under=under), [CHILD], STOP)
    settled = [one.child_run for one in killed.effects if isinstance(one, SettleCompletion)]
    assert settled == ["g-run", "c-run"]


@pytest.mark.parametrize(("owed", "children"), [((), 0), ((samples.completion("c-run"),), 1)])
def test_a_child_without_work_is_settled_if_it_is_owed(owed: tuple[Completion, ...], children: int) -> None:
    session = replace(samples.snapshot(), children=owed)
    killed = stopping.kill(tree(session=session), [CHILD], STOP)
    assert killed.children == len(of(killed.effects, SettleCompletion)) == children


@pytest.mark.parametrize("state", [RunState.DONE, RunState.FAILED, RunState.TIMEOUT, RunState.KILLED])
def test_a_run_that_was_stopped_ends_as_stopped_however_it_ended(state: RunState) -> None:
    outcome = Outcome(state=state, at=NOON, error="what it heard first", model="p/m", yielded=True)
    judged = stopping.judged(replace(RUNNING, stop=STOP), outcome)
    assert (judged.state, judged.error, judged.code) == (RunState.KILLED, "enough", "stopped")
    assert (judged.model, judged.yielded) == ("p/m", False)


def test_any_other_run_ends_as_it_ended() -> None:
    done = Outcome(state=RunState.DONE, at=NOON)
    assert stopping.judged(RUNNING, done) is done
    killed = Outcome(state=RunState.KILLED, at=NOON, error="no reason was stored")
    assert stopping.judged(RUNNING, killed) is killed


def waiting_batch(*owed: Completion, runs: tuple[Run, ...] = ()) -> Tree:
    """A session that yielded on a batch of children, all of whom wait for nobody that runs."""
    yielded = replace(
        samples.run("b1", state=RunState.DONE),
        outcome=Outcome(state=RunState.DONE, at=NOON, yielded=True),
    )
    session = replace(samples.snapshot(), children=owed)
    return Tree(
        session=session, batches=(yielded,), runs=tuple(RunSnapshot(run=run, session=session) for run in runs)
    )


def test_who_waits_for_a_batch_goes_on_when_the_last_of_it_is_killed() -> None:
    one, two = (replace(samples.completion(name), child=child_key("main", name)) for name in ("c1", "c2"))
    first = stopping.kill(waiting_batch(one, two), [one.child], STOP)
    assert [effect.child_run for effect in first.effects if isinstance(effect, SettleCompletion)] == ["c1"]
    assert of(first.effects, QueueRun) == of(first.effects, AcknowledgeCompletion) == []
    settled = replace(one, status=CompletionStatus.KILLED, settled_at=NOON)
    again = stopping.kill(waiting_batch(settled, two), [one.child], STOP)
    assert again.effects == ()
    last = stopping.kill(waiting_batch(settled, two), [two.child], STOP)
    assert len(of(last.effects, QueueRun)) == 1
    assert len(of(last.effects, AcknowledgeCompletion)) == 2
    both = stopping.kill(waiting_batch(one, two), [one.child, two.child], STOP)
    assert len(of(both.effects, SettleCompletion)) == 2
    assert len(of(both.effects, QueueRun)) == 1
    assert both.children == 2


def at_task(*, running: bool = False, queued: bool = False) -> Tree:
    """A child, as it is stopped where it is, with the run it was spawned with."""
    spawned = replace(of_child("c-run"), state=RunState.DONE)
    again = samples.run("c-2", key=CHILD, request=Request(completes="c-run"))
    waiting = replace(again, state=RunState.QUEUED)
    session = replace(below(), running=again if running else None, queued=(waiting,) if queued else ())
    task = RunSnapshot(
        run=spawned, session=session, completion=samples.completion("c-run"), requester=samples.snapshot()
    )
    return replace(tree(*([waiting] if queued else []), session=session), task=task)


@pytest.mark.parametrize(
    ("stopped", "settles"),
    [
        (stopping.stop(at_task(), STOP), True),
        (stopping.stop(at_task(queued=True), STOP), True),
        (stopping.stop(at_task(running=True), STOP), False),
        (stopping.stop_below(at_task(), STOP), True),
        (stopping.stop_below(at_task(queued=True), STOP), False),
        (stopping.stop_run(at_task(), "c-run", STOP), True),
        (stopping.stop_run(at_task(queued=True), "c-2", STOP), True),
        (stopping.stop_run(at_task(), "another", STOP), False),
    ],
)
def test_a_task_that_no_run_is_left_to_end_is_settled_when_it_is_stopped(
    stopped: stopping.Stopped, settles: bool
) -> None:
    settled = [one.status for one in stopped.effects if isinstance(one, SettleCompletion)]
    assert settled == ([CompletionStatus.KILLED] if settles else [])


@pytest.mark.parametrize("told", [True, False])
def test_a_run_that_tells_of_a_child_ends_as_one_under_way_unless_its_requester_is_stopped_too(
    told: bool,
) -> None:
    request = Request(kind=RunKind.ANNOUNCE, completes="c-run")
    run = samples.run("a1", key=CHILD, state=RunState.QUEUED, kind=ProvenanceKind.SUBAGENT, request=request)
    seen = RunSnapshot(run=run, session=below())
    alone = Tree(session=below(), runs=(seen,))
    stopped = stopping.stop(
        alone if told else replace(alone, session=samples.snapshot(), below=(below(),)), STOP
    )
    assert of(stopped.effects, RequestStop) == ([RequestStop(run_id="a1", stop=STOP)] if told else [])
    assert bool(of(stopped.effects, EndRun)) is not told
    assert (stopped.runs, stopped.ended) == ((("a1",), 0) if told else ((), 1))


@pytest.mark.requirement("P1")
@pytest.mark.parametrize("own", [True, False])
def test_a_session_that_goes_on_hears_of_its_own_child_which_is_about_to_tell_it_of_its_end(
    own: bool,
) -> None:
    request = Request(kind=RunKind.ANNOUNCE, completes="c-run")
    run = samples.run("a1", key=CHILD, state=RunState.QUEUED, kind=ProvenanceKind.SUBAGENT, request=request)
    requester = samples.MAIN if own else samples.OPS
    ended = replace(samples.completion("c-run", requester=requester), child=CHILD, status=CompletionStatus.OK)
    seen = RunSnapshot(run=run, session=below(), completion=ended)
    session = replace(samples.snapshot(), children=(ended,) if own else ())
    stopped = stopping.stop_below(Tree(session=session, below=(below(),), runs=(seen,)), STOP)
    assert (stopped.effects == ()) is own
    assert stopped.ended == (0 if own else 1)
