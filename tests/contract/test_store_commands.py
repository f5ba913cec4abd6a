"""A command: accepted with its answer, seeing all unfinished work below, and a run that was asked to end."""

from dataclasses import replace

import pytest

from roost.core.deliveries import DeliveryState
from roost.core.effects import (
    AcceptInput,
    AcknowledgeCompletion,
    AddDelivery,
    AnswerInput,
    DeleteSession,
    DiscardSession,
    Effects,
    EndRun,
    OpenSession,
    OweCompletion,
    QueueRun,
    RequestStop,
)
from roost.core.errors import Conflict, Fenced, InvalidInput
from roost.core.events import EventKind
from roost.core.exchanges import Completion
from roost.core.inbound import InboundState, InputMode, Source
from roost.core.keys import KeyKind, SessionKey
from roost.core.parking import Waits
from roost.core.principals import OWNER
from roost.core.rights import Rights
from roost.core.runs import Outcome, Parked, Run, RunState, Step, StepKind, StopRequest
from roost.core.sessions import Lineage
from roost.core.terms import SpawnMode, Terms
from roost.core.trees import Tree
from roost.core.visibility import Level
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from tests.contract.homes import Home
from tests.contract.scenes import everything

STOP = StopRequest(reason="enough", by=OWNER, at=1)
CHILD = SessionKey(agent="main", kind=KeyKind.SUBAGENT, name="child")
GRANDCHILD = SessionKey(agent="main", kind=KeyKind.SUBAGENT, name="grandchild")
IDLE = SessionKey(agent="main", kind=KeyKind.SUBAGENT, name="idle")


async def opened(store: Store, key: SessionKey = MAIN, parent: SessionKey | None = None) -> None:
    row = builders.session(key, parent=parent)
    opening = OpenSession(session=row, generation=builders.generation(key, f"gen-{key.name}"))
    await store.change_session(key, lambda snapshot: (opening,))


async def queued(store: Store, name: str, key: SessionKey) -> None:
    await store.change_session(key, lambda snapshot: (QueueRun(run=builders.run(name, key)),))


async def started(home: Home, name: str = "r1") -> Run:
    await opened(home.store)
    message = builders.inbound(f"m-{name}")
    await home.store.change_session(
        MAIN,
        lambda snapshot: (
            QueueRun(run=builders.run(name)),
            AcceptInput(inbound=message, run_id=name, mode=InputMode.OPEN),
        ),
    )
    (run,) = await home.store.claim_runs(home.lease, everything)
    return run


async def test_a_command_is_answered_once_however_often_it_comes(home: Home) -> None:
    await opened(home.store)
    message = replace(builders.inbound("c1"), source=Source(channel="loopback", external_id="x1"))
    calls = []

    def decide(tree: Tree) -> Effects:
        calls.append(tree)
        delivery = replace(builders.delivery("d1"), address=CHAT)
        return (AnswerInput(inbound=message, command="/x", answer="yes"), AddDelivery(delivery=delivery))

    first = await home.store.accept_command(message, decide)
    again = await home.store.accept_command(replace(message, id="c2"), decide)
    assert (first.duplicate, again.duplicate) == (False, True)
    assert again.record == first.record
    assert (first.record.state, first.record.reason, first.record.answer) == (
        InboundState.ANSWERED,
        "/x",
        "yes",
    )
    assert len(calls) == 1
    assert len(await home.store.deliveries(DeliveryState.INTENT, 10)) == 1
    events = await home.store.events(MAIN, after=0, limit=10)
    assert (EventKind.INPUT_ANSWERED, "c1") in [(event.kind, event.ref) for event in events]


async def test_a_command_that_is_not_dealt_with_is_refused(home: Home) -> None:
    await opened(home.store)
    with pytest.raises(InvalidInput, match="neither kept nor refused"):
        await home.store.accept_command(builders.inbound("c1"), lambda tree: ())


async def test_a_command_sees_the_unfinished_work_of_the_whole_tree(home: Home) -> None:
    store = home.store
    await opened(store)
    await opened(store, CHILD, MAIN)
    await opened(store, GRANDCHILD, CHILD)
    await opened(store, IDLE, MAIN)
    await opened(store, SessionKey.named("main", "elsewhere"))
    await queued(store, "own", MAIN)
    await queued(store, "deep", GRANDCHILD)
    await queued(store, "other", SessionKey.named("main", "elsewhere"))
    owed = Completion(child_run="deep", child=GRANDCHILD, requester=CHILD, batch="b", created_at=1)
    await store.change_session(CHILD, lambda snapshot: (OweCompletion(completion=owed),))
    seen: list[Tree] = []

    def decide(tree: Tree) -> Effects:
        seen.append(tree)
        return (AnswerInput(inbound=builders.inbound("c1"), command="/x", answer=""),)

    await store.accept_command(builders.inbound("c1"), decide)
    (tree,) = seen
    assert tree.session.key == MAIN
    assert [one.key for one in tree.below] == [CHILD, GRANDCHILD]
    assert [one.run.id for one in tree.runs] == ["own", "deep"]
    assert tree.below[0].children == (owed,)
    assert tree.runs[1].completion == owed


async def test_what_hung_below_a_session_that_has_gone_still_hangs_below_its_parent(home: Home) -> None:
    store = home.store
    await opened(store)
    await opened(store, CHILD, MAIN)
    await opened(store, GRANDCHILD, CHILD)
    await queued(store, "deep", GRANDCHILD)
    owed = Completion(child_run="x", child=IDLE, requester=CHILD, batch="b", created_at=1)
    await store.change_session(CHILD, lambda snapshot: (OweCompletion(completion=owed),))
    told = AcknowledgeCompletion(child_run="x", at=2)
    await store.change_session(CHILD, lambda snapshot: (told,))
    await store.change_session(CHILD, lambda snapshot: (DeleteSession(key=CHILD),))
    seen: list[Tree] = []

    def decide(tree: Tree) -> Effects:
        seen.append(tree)
        return (AnswerInput(inbound=builders.inbound("c1"), command="/x", answer=""),)

    await store.accept_command(builders.inbound("c1"), decide)
    assert [one.key for one in seen[0].below] == [GRANDCHILD]


@pytest.mark.requirement("P27")
async def test_a_run_that_was_stopped_begins_nothing_more_and_can_only_end(home: Home) -> None:
    run = await started(home)
    assert run.claim is not None
    await home.store.change_session(MAIN, lambda snapshot: (RequestStop(run_id="r1", stop=STOP),))
    stored = await home.store.run("r1")
    assert stored is not None
    assert (stored.stop, stored.state) == (STOP, RunState.RUNNING)
    with pytest.raises(Fenced, match="enough"):
        await home.store.begin_step(run.claim, Step(kind=StepKind.MODEL, at=1))
    with pytest.raises(Fenced, match="enough"):
        await home.store.take_inputs(run.claim, lambda records: (builders.said("e1", "x"),))
    # What had happened by then is still kept.
    await home.store.append(MAIN, (builders.answered("e1", "half"),), claim=run.claim)


@pytest.mark.requirement("P27")
async def test_a_parked_run_that_is_stopped_is_taken_at_once_to_be_ended(home: Home) -> None:
    run = await started(home)
    assert run.claim is not None
    parked = Parked(at=1, setting="budgets.perDay.tokens", reason="used up")
    await home.store.reserve(run.claim, (), lambda run, found: Waits(ready_at=2**62, parked=parked))
    assert await home.store.claim_runs(home.lease, everything) == ()
    await home.store.change_session(MAIN, lambda snapshot: (RequestStop(run_id="r1", stop=STOP),))
    (again,) = await home.store.claim_runs(home.lease, everything)
    assert (again.id, again.stop) == ("r1", STOP)


async def test_the_first_request_to_stop_counts(home: Home) -> None:
    await started(home)
    second = replace(STOP, reason="again", at=2)
    await home.store.change_session(MAIN, lambda snapshot: (RequestStop(run_id="r1", stop=STOP),))
    await home.store.change_session(MAIN, lambda snapshot: (RequestStop(run_id="r1", stop=second),))
    stored = await home.store.run("r1")
    assert stored is not None
    assert stored.stop == STOP


async def test_a_run_that_has_ended_cannot_be_stopped(home: Home) -> None:
    await opened(home.store)
    await queued(home.store, "r1", MAIN)
    await home.store.change_session(MAIN, lambda snapshot: (builders.done("r1"),))
    with pytest.raises(Conflict):
        await home.store.change_session(MAIN, lambda snapshot: (RequestStop(run_id="r1", stop=STOP),))


async def test_a_run_may_end_together_with_its_session(home: Home) -> None:
    run = await started(home)
    assert run.claim is not None
    await home.store.take_inputs(run.claim, lambda records: (builders.said("e1", "x"),))
    outcome = Outcome(state=RunState.DONE, at=1)
    ended = await home.store.finish_run(
        run.claim, lambda snapshot: (EndRun(run_id="r1", outcome=outcome), DeleteSession(key=MAIN))
    )
    assert (ended.state, ended.outcome) == (RunState.DONE, outcome)
    assert await home.store.session(MAIN) is None


async def test_a_decision_reaches_the_sessions_below_without_a_message(home: Home) -> None:
    store = home.store
    await opened(store)
    await opened(store, CHILD, MAIN)
    await queued(store, "own", MAIN)
    await queued(store, "deep", CHILD)
    owed = Completion(child_run="deep", child=CHILD, requester=MAIN, batch="own", created_at=1)
    await store.change_session(MAIN, lambda snapshot: (OweCompletion(completion=owed),))
    seen: list[Tree] = []

    def decide(tree: Tree) -> Effects:
        seen.append(tree)
        return (RequestStop(run_id="deep", stop=STOP),)

    await store.change_tree(MAIN, decide)
    assert [one.key for one in seen[0].below] == [CHILD]
    assert [run.id for run in seen[0].batches] == ["own"]
    stopped = await store.run("deep")
    assert stopped is not None
    assert stopped.stop == STOP


async def test_a_session_is_discarded_once_it_has_no_work_left(home: Home) -> None:
    store = home.store
    await opened(store)
    await opened(store, CHILD, MAIN)
    await queued(store, "deep", CHILD)
    discard = DiscardSession(key=CHILD)
    await store.change_session(MAIN, lambda snapshot: (discard,))
    assert await store.session(CHILD) is not None
    await store.change_session(CHILD, lambda snapshot: (builders.done("deep"), discard))
    assert await store.session(CHILD) is None
    await store.change_session(MAIN, lambda snapshot: (discard,))


async def test_the_terms_of_a_spawned_session_are_kept_as_they_were(home: Home) -> None:
    rights = Rights(allow=frozenset({"read", "exec"}), sandboxed=True, level=Level.SELF, spawns=2)
    terms = Terms(rights=rights, mode=SpawnMode.SESSION, task="count", model="p/m")
    lineage = Lineage(parent=MAIN, depth=1, terms=terms)
    await opened(home.store)
    row = builders.session(CHILD, parent=MAIN)._replace(lineage=lineage)
    opening = OpenSession(session=row, generation=builders.generation(CHILD, "gen-child"))
    await home.store.change_session(CHILD, lambda snapshot: (opening,))
    await home.store.append(CHILD, (builders.said("e1", "hello"),))
    found = await home.store.session(CHILD)
    assert found is not None
    assert found.lineage == lineage
