"""Deletion: a session goes with its content, once nothing is left to do in it, and takes nothing else along."""

from dataclasses import replace

import pytest

from roost.core.addresses import ChatType
from roost.core.deliveries import Confirmed, DeliveryState, Unknown
from roost.core.effects import (
    AcceptInput,
    AcknowledgeCompletion,
    AddDelivery,
    AppendEntries,
    DeleteSession,
    DiscardSession,
    Effect,
    KillInput,
    OpenGeneration,
    Pin,
    PutExchange,
    QueueRun,
)
from roost.core.errors import Conflict, NotFound
from roost.core.exchanges import Exchange, ExchangeState, Phase
from roost.core.inbound import InputMode
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.ledger import LedgerRow
from roost.core.messages import Usage
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery, LedgerQuery, SessionQuery
from roost.core.runs import RunKind
from roost.core.sessions import Base, Summary
from roost.core.snapshots import Snapshot
from roost.core.threads import BindThread, ThreadBinding, UnbindThread, UseThread
from roost.core.visibility import VisibleScope
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.clock import NOON
from tests.contract import scenes
from tests.contract.homes import Reopen
from tests.contract.scenes import change, known, opened, owed, started

CHILD = SessionKey.parse("agent:main:subagent:one")
GRANDCHILD = SessionKey.parse("agent:main:subagent:two")
SIDE = SessionKey.named("main", "side")
NOWHERE = SessionKey.named("main", "nowhere")


@pytest.mark.requirement("D37")
async def test_deleting_a_session_removes_it_with_its_content(store: Store, lease: Lease) -> None:
    await opened(store, CHILD)
    claim = await started(store, lease, "r-1")
    exchange = Exchange(id="x-1", requester=CHILD, target=MAIN, request="say", created_at=NOON, max_turns=5)
    binding = ThreadBinding(address=CHAT, key=MAIN, bound_by=OWNER, bound_at=NOON, used_at=NOON)
    await change(
        store,
        AppendEntries(key=MAIN, drafts=(builders.said("e-1", "words"),)),
        AddDelivery(delivery=builders.delivery("d-1")),
        PutExchange(exchange=exchange),
        owed(CHILD, MAIN),
        AcknowledgeCompletion(child_run="c-1", at=NOON),
        BindThread(binding=binding),
    )
    (sending,) = await store.claim_deliveries(lease, 1)
    assert sending.claim is not None
    await store.settle_delivery(sending.claim, Confirmed())
    await store.finish_run(claim, lambda snapshot: (builders.done("r-1"),))
    await scenes.reset(store, 2)
    other = await known(store, CHILD)
    assert (await change(store, DeleteSession(key=MAIN))) == Snapshot(key=MAIN)

    assert await store.session(MAIN) is None
    assert await store.generations(MAIN) == ()
    assert await store.session_by_id(f"{MAIN}-1") is None
    assert await store.entries(f"{MAIN}-1") == ()
    assert (await store.history(HistoryQuery(key=MAIN))).entries == ()
    assert await store.events(MAIN, after=0, limit=100) == ()
    assert await store.run("r-1") is None
    assert await store.exchange("x-1") is None
    assert await store.completions(MAIN) == ()
    assert await store.thread_binding(CHAT) is None
    assert await store.delivery("d-1") is None
    assert await known(store, CHILD) == other


async def test_an_exchange_goes_with_whom_it_is_between_as_it_was_written_last(
    store: Store, lease: Lease
) -> None:
    await opened(store)
    for key in (CHILD, SIDE):
        await opened(store, key)
    first = Exchange(id="x-1", requester=CHILD, target=MAIN, request="say", created_at=NOON, max_turns=5)
    await change(store, PutExchange(exchange=first))
    await change(store, PutExchange(exchange=replace(first, target=SIDE, phase=Phase.DONE)), key=SIDE)
    await change(store, DeleteSession(key=SIDE), key=SIDE)
    assert await store.exchange("x-1") is None


@pytest.mark.requirement("P6", "D37")
@pytest.mark.parametrize(
    ("state", "stays"),
    [(ExchangeState.FAILED, True), (ExchangeState.EXPIRED, True), (ExchangeState.REPLIED, False)],
)
async def test_a_message_that_died_stays_for_its_sender_when_whom_it_went_to_is_deleted(
    store: Store, state: ExchangeState, stays: bool
) -> None:
    """Whatever its text looks like in a row."""
    words = '"state":"failed"' if state is ExchangeState.REPLIED else '"state":"replied"'
    sent = Exchange(id="x-1", requester=SIDE, target=MAIN, request=words, created_at=NOON, max_turns=0)
    over = replace(sent, state=state, phase=Phase.DONE, error=words)
    await opened(store)
    await opened(store, SIDE)
    await change(store, PutExchange(exchange=over))
    await change(store, DeleteSession(key=MAIN))
    kept = (over,) if stays else ()
    assert await store.exchange("x-1") == (over if stays else None)
    assert await store.exchanges_of(SIDE, 10) == kept
    await change(store, DeleteSession(key=SIDE), key=SIDE)
    assert await store.exchange("x-1") is None


MESSAGE = builders.inbound("m-1")
ACCEPT = AcceptInput(inbound=MESSAGE, run_id="r-1", mode=InputMode.OPEN)
WORK: tuple[tuple[str, tuple[Effect, ...]], ...] = (
    ("a queued run", (QueueRun(run=builders.run("r-1")),)),
    ("a message", (QueueRun(run=builders.run("r-1")), ACCEPT)),
    ("a delivery", (AddDelivery(delivery=builders.delivery("d-1")),)),
    ("an answer it is owed", (owed(CHILD, MAIN),)),
    ("an answer it owes", (owed(MAIN, CHILD),)),
)


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("effects", [effects for _, effects in WORK], ids=[name for name, _ in WORK])
async def test_a_session_with_work_left_is_not_deleted(store: Store, effects: tuple[Effect, ...]) -> None:
    await opened(store, CHILD)
    await opened(store)
    await change(store, *effects)
    before = await known(store)
    with pytest.raises(Conflict):
        await change(store, DeleteSession(key=MAIN))
    assert await known(store) == before


@pytest.mark.requirement("P3")
async def test_a_session_is_deleted_once_its_work_is_done(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r-1")
    with pytest.raises(Conflict):
        await change(store, DeleteSession(key=MAIN))
    delivery = AddDelivery(delivery=builders.delivery("d-1"))
    await store.finish_run(claim, lambda snapshot: (builders.done("r-1"), delivery))
    (sending,) = await store.claim_deliveries(lease, 1)
    assert sending.claim is not None
    lost = await store.settle_delivery(sending.claim, Unknown(error="no answer"))
    with pytest.raises(Conflict):
        await change(store, DeleteSession(key=MAIN))
    await store.resolve_delivery(lost, DeliveryState.DISMISSED, NOON)
    await change(store, DeleteSession(key=MAIN))
    assert await store.session(MAIN) is None


@pytest.mark.requirement("P3", "F4")
async def test_a_session_that_another_one_goes_on_from_is_not_deleted(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("e-1", "words"),))
    await scenes.reset(store, 2)
    fork = builders.opening(builders.session(SIDE), "s-fork")
    base = Base(session_id=f"{MAIN}-1", seq=1)
    await change(store, replace(fork, generation=replace(fork.generation, base=base)), key=SIDE)
    assert (await store.forks(MAIN), await store.forks(SIDE)) == ((SIDE,), ())
    before = await known(store)
    with pytest.raises(Conflict, match="goes on from what was said"):
        await change(store, DeleteSession(key=MAIN))
    await change(store, DiscardSession(key=MAIN))
    assert await known(store) == before
    await change(store, DeleteSession(key=SIDE), key=SIDE)
    await change(store, DiscardSession(key=MAIN))
    assert await store.session(MAIN) is None


async def test_a_session_that_went_on_from_itself_can_be_deleted(store: Store) -> None:
    await opened(store)
    again = builders.generation(MAIN, "s-2", 2)
    base = Base(session_id=f"{MAIN}-1", seq=0)
    await change(store, OpenGeneration(generation=replace(again, base=base)))
    assert await store.forks(MAIN) == ()
    await change(store, DeleteSession(key=MAIN))
    assert await store.session(MAIN) is None


async def test_the_decision_that_ends_the_work_may_delete_the_session(store: Store) -> None:
    await scenes.accepted(store, "m-1", "r-1")
    ended = (KillInput(inbound_id="m-1", reason="deleted"), builders.done("r-1"))
    await change(store, *ended, DeleteSession(key=MAIN))
    assert await store.session(MAIN) is None
    assert await store.run("r-1") is None


@pytest.mark.requirement("D37")
async def test_a_deleted_key_can_be_opened_again_without_what_was_there(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("e-1", "words"),))
    await change(store, DeleteSession(key=MAIN), builders.opening(builders.session(), "s-new"))
    assert (await known(store)).summary == Summary()
    assert [one.session_id for one in await store.generations(MAIN)] == ["s-new"]
    assert await store.entries("s-new") == ()


async def test_the_feed_of_a_key_goes_on_where_it_stopped(store: Store, reopen: Reopen) -> None:
    """Who follows it from a number on misses nothing of the session that came after."""
    await opened(store)
    await store.append(MAIN, (builders.said("e-1", "words"), builders.said("e-2", "more")))
    await change(store, DeleteSession(key=MAIN))
    store = await reopen()
    await change(store, builders.opening(builders.session(), "s-new"))
    await store.append(MAIN, (builders.said("e-3", "again"),))
    events = await store.events(MAIN, after=0, limit=10)
    assert [(event.number, event.ref) for event in events] == [(4, "s-new"), (5, "e-3")]
    assert (await known(store)).events == 5


async def test_the_feed_of_a_key_that_is_never_used_again_is_forgotten(store: Store) -> None:
    for key in (CHILD, SessionKey.parse("agent:main:acp:one"), SessionKey.parse("agent:main:hook:one")):
        await opened(store, key)
        await change(store, DeleteSession(key=key), key=key)
        assert (await opened(store, key)).events == 1


@pytest.mark.requirement("P19")
async def test_the_total_of_a_tree_outlives_its_root(store: Store) -> None:
    await opened(store)
    await opened(store, row=builders.session(CHILD, parent=MAIN))
    await opened(store, row=builders.session(GRANDCHILD, parent=CHILD))
    row = LedgerRow(
        id="u-1",
        at=NOON,
        key=GRANDCHILD,
        session_id=f"{GRANDCHILD}-1",
        principal=OWNER,
        run_id="r-1",
        run_kind=RunKind.TURN,
        provider="demo",
        model="demo-1",
        usage=Usage(input=7),
    )
    await store.record_usage(row)
    await change(store, DeleteSession(key=CHILD))
    await change(store, DeleteSession(key=MAIN))
    await opened(store)
    for root in (MAIN, CHILD, GRANDCHILD):
        assert (await store.usage(LedgerQuery(tree_of=root))).usage == Usage(input=7)


@pytest.mark.requirement("P2")
async def test_who_gets_a_deleted_key_is_not_the_parent_of_its_children(store: Store) -> None:
    await opened(store)
    await opened(store, row=builders.session(CHILD, parent=MAIN))
    await opened(store, row=builders.session(GRANDCHILD, parent=CHILD))
    await change(store, DeleteSession(key=MAIN))
    await opened(store, row=builders.session()._replace())
    assert await store.ancestors(CHILD) == ()
    assert await store.ancestors(GRANDCHILD) == (CHILD,)
    seen = await store.list_sessions(SessionQuery(scope=VisibleScope(self_key=MAIN, tree_of=MAIN)))
    assert [row.key for row in seen.rows] == [MAIN]
    below = await store.list_sessions(SessionQuery(scope=VisibleScope(tree_of=CHILD)))
    assert [row.key for row in below.rows] == [GRANDCHILD]


async def test_a_deleted_session_has_no_ancestors_and_gives_none_to_a_later_child(store: Store) -> None:
    await opened(store)
    await opened(store, row=builders.session(CHILD, parent=MAIN))
    await change(store, DeleteSession(key=CHILD))
    assert await store.ancestors(CHILD) == ()
    await opened(store, row=builders.session(GRANDCHILD, parent=CHILD))
    assert await store.ancestors(GRANDCHILD) == (CHILD,)


@pytest.mark.parametrize("effect", [DeleteSession(key=NOWHERE), Pin(key=NOWHERE, at=1)])
async def test_what_is_not_there_cannot_be_changed(store: Store, effect: Pin | DeleteSession) -> None:
    with pytest.raises(NotFound):
        await change(store, effect)


async def test_a_thread_belongs_to_the_session_it_was_bound_to_last(store: Store) -> None:
    await opened(store)
    await opened(store, CHILD)
    first = ThreadBinding(address=CHAT, key=MAIN, bound_by=OWNER, bound_at=NOON, used_at=NOON)
    second = replace(first, key=CHILD, idle_ms=5, max_age_ms=9)
    await change(store, BindThread(binding=first))
    assert await store.thread_binding(CHAT) == first
    await change(store, BindThread(binding=second))
    assert await store.thread_binding(CHAT) == second
    await change(store, DeleteSession(key=MAIN))
    assert await store.thread_binding(CHAT) == second
    await change(store, UnbindThread(address=CHAT), UnbindThread(address=CHAT), key=CHILD)
    assert await store.thread_binding(CHAT) is None


async def test_a_thread_is_the_same_whether_or_not_it_is_said_who_writes_there(store: Store) -> None:
    await opened(store)
    known = replace(CHAT, person="ada", chat_type=ChatType.DIRECT)
    bound = ThreadBinding(address=known, key=MAIN, bound_by=OWNER, bound_at=NOON, used_at=NOON)
    await change(store, BindThread(binding=bound))
    for address in (CHAT, known):
        found = await store.thread_binding(address)
        assert found == bound
        assert (found.address.person, found.address.chat_type) == ("ada", ChatType.DIRECT)
    await change(store, UnbindThread(address=CHAT))
    assert await store.thread_binding(known) is None


async def test_a_thread_that_is_used_is_fresh_again_unless_it_went_elsewhere_meanwhile(store: Store) -> None:
    await opened(store)
    bound = ThreadBinding(address=CHAT, key=MAIN, bound_by=OWNER, bound_at=NOON, used_at=NOON, idle_ms=5)
    await change(store, UseThread(address=CHAT, key=MAIN, at=NOON))
    assert await store.thread_binding(CHAT) is None
    await change(store, BindThread(binding=bound), UseThread(address=CHAT, key=MAIN, at=NOON + 9))
    assert await store.thread_binding(CHAT) == replace(bound, used_at=NOON + 9)
    for stale in (
        UseThread(address=CHAT, key=MAIN, at=NOON),
        UseThread(address=CHAT, key=CHILD, at=NOON + 99),
    ):
        await change(store, stale)
        assert await store.thread_binding(CHAT) == replace(bound, used_at=NOON + 9)
