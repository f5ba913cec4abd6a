"""A session spawns another: whether it may, and everything that is written when it does."""

from dataclasses import replace

import pytest

from roost.core.addresses import Address
from roost.core.effects import AcceptInput, Effects, OpenSession, OweCompletion, QueueRun
from roost.core.errors import Conflict, Forbidden
from roost.core.exchanges import Cleanup, Completion, CompletionStatus
from roost.core.messages import ProvenanceKind, Text
from roost.core.principals import OWNER
from roost.core.rights import Rights
from roost.core.runs import Lane, Request, StopRequest
from roost.core.sessions import Base, OpenedBy
from roost.core.snapshots import Snapshot
from roost.core.spawning import (
    FORK_TOKENS,
    SpawnOrder,
    ThreadTerms,
    refuse_crowd,
    refuse_depth,
    run_of,
    spawn,
    thread_of,
    too_large,
)
from roost.core.terms import SpawnContext, SpawnMode, Terms
from roost.core.threads import BindThread
from tests import samples
from tests.samples import CHAT, MAIN, NOON

RUN = samples.run("r1", request=Request(reply_to=CHAT))
PARENT = replace(samples.snapshot(), running=RUN)
ORDER = SpawnOrder(
    run_id="r1",
    call_id="c1",
    agent="main",
    task=" count ",
    terms=Terms(rights=Rights(spawns=1), max_depth=2, task="count"),
    at=NOON,
    max_children=2,
    label="counter",
)


def one(effects: Effects, kind: type) -> object:
    (found,) = [effect for effect in effects if isinstance(effect, kind)]
    return found


def test_a_spawn_opens_the_child_with_its_task_and_owes_its_end() -> None:
    effects = spawn(PARENT, replace(ORDER, cleanup=Cleanup.DELETE, limit_ms=5_000))
    child = ORDER.child
    opened, queued = one(effects, OpenSession), one(effects, QueueRun)
    accepted, owed = one(effects, AcceptInput), one(effects, OweCompletion)
    assert isinstance(opened, OpenSession)
    assert (opened.session.key, opened.session.lineage.parent, opened.session.lineage.depth) == (
        child,
        MAIN,
        1,
    )
    assert opened.session.lineage.terms == ORDER.terms
    assert (opened.session.labels.label, opened.session.owner) == ("counter", OWNER)
    assert (opened.generation.opened_by, opened.generation.base) == (OpenedBy.FIRST, None)
    assert isinstance(queued, QueueRun)
    assert queued.run.id == run_of(child)
    assert queued.run.request == Request(lane=Lane.SUBAGENT, requester=MAIN, longest_ms=5_000)
    assert queued.run.cause.kind is ProvenanceKind.SUBAGENT
    assert queued.run.cause.hops == (MAIN,)
    assert isinstance(accepted, AcceptInput)
    (text,) = accepted.inbound.content
    assert isinstance(text, Text)
    assert "depth 1/2" in text.text
    assert "[Subagent Task]\ncount\n" in text.text
    assert isinstance(owed, OweCompletion)
    assert owed.completion == Completion(
        child_run=run_of(child),
        child=child,
        requester=MAIN,
        batch="r1",
        created_at=NOON,
        cleanup=Cleanup.DELETE,
    )


def test_the_same_call_spawns_the_same_child() -> None:
    assert spawn(PARENT, ORDER) == spawn(PARENT, ORDER)
    assert replace(ORDER, call_id="c2").child != ORDER.child


def test_a_forked_child_begins_where_its_requester_is() -> None:
    opened = one(spawn(PARENT, replace(ORDER, context=SpawnContext.FORK)), OpenSession)
    assert isinstance(opened, OpenSession)
    assert opened.generation.base == Base(session_id="s1", seq=0)
    assert opened.generation.opened_by is OpenedBy.FORK


@pytest.mark.parametrize(
    "snapshot",
    [
        Snapshot(key=MAIN),
        samples.snapshot(),
        replace(PARENT, running=samples.run("another")),
        replace(PARENT, running=replace(RUN, stop=StopRequest(reason="enough", by=OWNER, at=NOON))),
    ],
    ids=["no session", "no run", "another run", "stopped"],
)
def test_a_run_that_is_over_spawns_nothing(snapshot: Snapshot) -> None:
    with pytest.raises(Conflict, match="has ended"):
        spawn(snapshot, ORDER)


def test_only_children_at_work_count_against_the_limit() -> None:
    ended = replace(samples.completion("a"), status=CompletionStatus.OK)
    at_work = samples.completion("b")
    assert spawn(replace(PARENT, children=(ended, at_work)), ORDER)
    with pytest.raises(Forbidden, match=r"2 children .*maxChildrenPerAgent"):
        spawn(replace(PARENT, children=(at_work, samples.completion("c"))), ORDER)
    with pytest.raises(Forbidden):
        refuse_crowd((at_work,), 1)


def test_depth_is_refused_by_its_setting() -> None:
    refuse_depth(1, 1)
    with pytest.raises(Forbidden, match="maxSpawnDepth allows 1"):
        refuse_depth(0, 1)


def test_a_thread_is_bound_to_the_child_it_was_asked_for_in() -> None:
    thread = Address(channel="discord", to="room", thread="t1")
    order = replace(
        ORDER,
        binding=ThreadTerms(idle_ms=1, max_age_ms=2),
        terms=replace(ORDER.terms, mode=SpawnMode.SESSION),
    )
    asked = replace(RUN, request=Request(reply_to=thread))
    bound = one(spawn(replace(PARENT, running=asked), order), BindThread)
    assert isinstance(bound, BindThread)
    assert (bound.binding.address, bound.binding.key, bound.binding.bound_by) == (thread, order.child, OWNER)
    assert (bound.binding.idle_ms, bound.binding.max_age_ms) == (1, 2)


@pytest.mark.parametrize("address", [None, CHAT])
def test_what_is_in_no_thread_cannot_be_bound(address: Address | None) -> None:
    with pytest.raises(Forbidden, match="no thread"):
        thread_of(replace(RUN, request=Request(reply_to=address)))


def test_a_long_conversation_is_too_large_to_fork() -> None:
    session = samples.session()
    counted = session._replace(counters=session.counters._replace(total=FORK_TOKENS))
    assert not too_large(counted, FORK_TOKENS)
    assert too_large(counted, FORK_TOKENS + 1)
    assert too_large(session._replace(counters=session.counters._replace(total=FORK_TOKENS + 1)), 0)
