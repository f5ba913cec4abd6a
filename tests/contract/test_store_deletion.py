"""Deletion: a session goes with its content, and only with it."""

from dataclasses import replace

import pytest

from roost.core.deliveries import DeliveryState
from roost.core.effects import (
    AddDelivery,
    AppendEntries,
    BindThread,
    DeleteSession,
    OweCompletion,
    Pin,
    PutExchange,
    Snapshot,
    UnbindThread,
)
from roost.core.errors import NotFound
from roost.core.exchanges import Completion, Exchange
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery
from roost.core.sessions import Summary, ThreadBinding
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.clock import NOON
from tests.contract import scenes
from tests.contract.scenes import change, known, opened

CHILD = SessionKey.parse("agent:main:subagent:one")
NOWHERE = SessionKey.named("main", "nowhere")


@pytest.mark.requirement("D37")
async def test_deleting_a_session_removes_it_with_its_content(store: Store, lease: Lease) -> None:
    await opened(store, CHILD)
    await scenes.accepted(store, "m-1", "r-1")
    exchange = Exchange(id="x-1", requester=CHILD, target=MAIN, request="say", created_at=NOON, max_turns=5)
    owed = Completion(child_run="c-1", child=CHILD, requester=MAIN, batch="r-1", created_at=NOON)
    binding = ThreadBinding(address=CHAT, key=MAIN, bound_by=OWNER, bound_at=NOON, used_at=NOON)
    await change(
        store,
        AppendEntries(key=MAIN, drafts=(builders.said("e-1", "words"),)),
        AddDelivery(delivery=builders.delivery("d-1")),
        PutExchange(exchange=exchange),
        OweCompletion(completion=owed),
        BindThread(binding=binding),
    )
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
    assert await store.deliveries(DeliveryState.INTENT, 10) == ()
    assert await store.claim_runs(lease, scenes.everything) == ()
    assert await known(store, CHILD) == other


@pytest.mark.requirement("D37")
async def test_a_deleted_key_can_be_opened_again_from_nothing(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("e-1", "words"),))
    await change(store, DeleteSession(key=MAIN), builders.opening(builders.session(), "s-new"))
    assert (await known(store)).summary == Summary()
    assert await store.entries("s-new") == ()
    events = await store.events(MAIN, after=0, limit=10)
    assert [(event.number, event.ref) for event in events] == [(1, "s-new")]


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
    await change(store, UnbindThread(address=CHAT), UnbindThread(address=CHAT))
    assert await store.thread_binding(CHAT) is None
