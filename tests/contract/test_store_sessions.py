"""Sessions: one row a key, changed by decisions, each of them whole or not at all."""

from dataclasses import replace

import anyio
import pytest

from roost.core.addresses import Address, Origin
from roost.core.effects import (
    AddDelivery,
    AppendEntries,
    Archive,
    ChangeSession,
    Effects,
    OpenGeneration,
    OweCompletion,
    Pin,
    QueueRun,
)
from roost.core.errors import Conflict, NotFound
from roost.core.events import EventKind
from roost.core.exchanges import Completion
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.messages import Usage
from roost.core.sessions import Counters, Labels, Overrides, SessionStatus, Summary
from roost.core.snapshots import Snapshot
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract import scenes
from tests.contract.homes import Reopen
from tests.contract.scenes import MindChangedError, Seen, change, known, opened

CHILD = SessionKey.parse("agent:main:subagent:one")
GRANDCHILD = SessionKey.parse("agent:main:subagent:two")
NOWHERE = SessionKey.named("main", "nowhere")
LATER = NOON + 60_000


async def test_a_key_that_was_never_used_has_nothing(store: Store) -> None:
    assert await store.session(MAIN) is None
    assert await store.session_by_id("main-1") is None
    assert await store.generations(MAIN) == ()
    assert await store.ancestors(MAIN) == ()
    assert await store.events(MAIN, after=0, limit=10) == ()
    assert await store.thread_binding(CHAT) is None


async def test_an_opened_session_is_there_after_a_restart(store: Store, reopen: Reopen) -> None:
    row = builders.session()._replace(
        labels=Labels(label="home", subject="plans"),
        origin=Origin(label="Alice", provider="loopback", sender="alice"),
        route=CHAT,
        overrides=Overrides(model="demo/demo-2"),
        counters=Counters(context_window=200_000),
    )
    await change(store, builders.opening(row, "s-1"))
    store = await reopen()
    found = await known(store)
    assert found == row._replace(session_id="s-1", version=found.version, events=1)
    assert await store.generations(MAIN) == (builders.generation(MAIN, "s-1"),)
    assert await store.session_by_id("s-1") == found


async def test_a_key_is_opened_once(store: Store) -> None:
    before = await opened(store)
    with pytest.raises(Conflict):
        await change(store, builders.opening(builders.session(), "other"))
    assert await known(store) == before
    assert await store.session_by_id("other") is None


async def test_a_session_id_is_given_once(store: Store) -> None:
    taken = (await opened(store)).session_id
    with pytest.raises(Conflict):
        await change(store, builders.opening(builders.session(CHILD), taken), key=CHILD)
    assert await store.session(CHILD) is None


async def test_generations_are_numbered_by_the_store_whatever_a_decision_says(store: Store) -> None:
    first = replace(
        builders.opening(builders.session(), "s-1"), generation=builders.generation(MAIN, "s-1", 7)
    )
    await change(store, first)
    for number, session_id in ((1, "s-2"), (99, "s-3")):
        await change(store, OpenGeneration(generation=builders.generation(MAIN, session_id, number)))
    generations = await store.generations(MAIN)
    assert [(one.number, one.session_id) for one in generations] == [(1, "s-1"), (2, "s-2"), (3, "s-3")]


@pytest.mark.requirement("P4")
async def test_a_decision_that_raises_leaves_nothing(store: Store) -> None:
    before = await opened(store)

    def decide(snapshot: Snapshot) -> Effects:
        raise MindChangedError("changed its mind")

    with pytest.raises(MindChangedError, match="changed its mind"):
        await store.change_session(MAIN, decide)
    assert await known(store) == before


async def test_an_effect_that_fails_takes_the_earlier_ones_with_it(store: Store) -> None:
    before = await opened(store)
    with pytest.raises(NotFound):
        await change(
            store,
            builders.opening(builders.session(CHILD), "child-1"),
            AppendEntries(key=MAIN, drafts=(builders.said("e-1", "words"),)),
            QueueRun(run=builders.run("r-1")),
            AddDelivery(delivery=builders.delivery("d-1")),
            ChangeSession(key=MAIN, labels=Labels(label="new")),
            ChangeSession(key=NOWHERE, labels=Labels(label="new")),
        )
    assert await known(store) == before
    assert await store.session(CHILD) is None
    assert await store.entries(before.session_id) == ()
    assert await store.run("r-1") is None
    assert await store.delivery("d-1") is None


async def test_numbers_of_events_that_were_undone_are_given_again(store: Store) -> None:
    await opened(store)
    with pytest.raises(NotFound):
        await change(store, Pin(key=MAIN, at=1), Pin(key=NOWHERE, at=1))
    await change(store, Pin(key=MAIN, at=2))
    await store.append(MAIN, (builders.said("e-1", "words"), builders.said("e-2", "more")))
    events = await store.events(MAIN, after=0, limit=10)
    assert [event.number for event in events] == [1, 2, 3, 4]
    assert [event.kind for event in events] == [
        EventKind.SESSION_OPENED,
        EventKind.SESSION_CHANGED,
        EventKind.ENTRY,
        EventKind.ENTRY,
    ]
    assert [event.ref for event in events] == [f"{MAIN}-1", str(MAIN), "e-1", "e-2"]


async def test_a_decision_sees_the_session_as_it_stands(store: Store, lease: Lease) -> None:
    claim = await scenes.started(store, lease, "r-1")
    await scenes.accepted(store, "m-1", "r-2")
    await scenes.accepted(store, "m-2", "r-3")
    completion = Completion(child_run="c-1", child=CHILD, requester=MAIN, batch="r-1", created_at=NOON)
    await change(store, OweCompletion(completion=completion))
    seen: Seen[Snapshot, Effects] = Seen(())
    assert await store.change_session(MAIN, seen) == seen.last.session
    assert seen.last == Snapshot(
        key=MAIN,
        session=await known(store),
        generation=builders.generation(MAIN, f"{MAIN}-1"),
        running=await store.run(claim.id),
        queued=(await scenes.known_run(store, "r-2"), await scenes.known_run(store, "r-3")),
        pending=(await scenes.known_inbound(store, "m-1"), await scenes.known_inbound(store, "m-2")),
        children=(completion,),
    )


async def test_a_decision_about_a_key_without_a_session_sees_an_empty_snapshot(store: Store) -> None:
    seen: Seen[Snapshot, Effects] = Seen(())
    assert await store.change_session(NOWHERE, seen) is None
    assert seen.last == Snapshot(key=NOWHERE)


async def test_a_change_is_answered_with_the_snapshot_after_it(store: Store) -> None:
    await opened(store)
    after = await change(store, QueueRun(run=builders.run("r-1")), Pin(key=MAIN, at=LATER))
    assert after.session == await known(store)
    assert [run.id for run in after.queued] == ["r-1"]
    assert after.session is not None
    assert after.session.times.pinned == LATER


async def test_a_decision_raises_the_version_by_one_whatever_it_changes(store: Store) -> None:
    before = await opened(store)
    await change(
        store,
        ChangeSession(key=MAIN, labels=Labels(label="new"), touched=LATER),
        AppendEntries(key=MAIN, drafts=(builders.said("e-1", "words"),)),
        QueueRun(run=builders.run("r-1")),
    )
    assert (await known(store)).version == before.version + 1


async def test_a_decision_that_asks_for_nothing_leaves_the_version(store: Store) -> None:
    before = await opened(store)
    await change(store)
    assert await known(store) == before


async def test_a_change_replaces_what_it_names_and_leaves_the_rest(store: Store) -> None:
    before = await opened(store)
    labels, overrides = Labels(label="work"), Overrides(thinking="high")
    await change(store, ChangeSession(key=MAIN, labels=labels, status=SessionStatus.DONE))
    await change(store, ChangeSession(key=MAIN, overrides=overrides, counters=Counters(total=7)))
    after = await known(store)
    assert after == before._replace(
        labels=labels,
        overrides=overrides,
        counters=Counters(total=7),
        status=SessionStatus.DONE,
        version=before.version + 2,
        events=before.events + 2,
    )


async def test_activity_and_interaction_only_move_forward(store: Store) -> None:
    await opened(store)
    await change(store, ChangeSession(key=MAIN, touched=LATER, interacted=LATER))
    await change(store, ChangeSession(key=MAIN, touched=NOON, interacted=NOON))
    times = (await known(store)).times
    assert (times.updated, times.interacted) == (LATER, LATER)


async def test_what_is_archived_is_no_longer_pinned_and_comes_back_unpinned(store: Store) -> None:
    await opened(store)
    await change(store, Pin(key=MAIN, at=LATER))
    await change(store, Archive(key=MAIN, at=LATER))
    times = (await known(store)).times
    assert (times.archived, times.pinned) == (LATER, None)
    await change(store, Archive(key=MAIN, at=None))
    times = (await known(store)).times
    assert (times.archived, times.pinned) == (None, None)


@pytest.mark.requirement("D53")
async def test_a_route_is_remembered_without_touching_origin_activity_or_freshness(
    store: Store, clock: FakeClock
) -> None:
    row = builders.session()._replace(origin=Origin(provider="loopback", sender="alice"), route=CHAT)
    before = await opened(store, row=row)
    clock.advance(60_000)
    elsewhere = Address(channel="telegram", to="77", thread="3")
    await change(store, ChangeSession(key=MAIN, route=elsewhere))
    after = await known(store)
    assert after == before._replace(route=elsewhere, version=before.version + 1, events=before.events + 1)


async def test_a_route_tells_whose_it_is_also_where_that_is_learnt_later(store: Store) -> None:
    await opened(store, row=builders.session()._replace(route=CHAT))
    await change(store, ChangeSession(key=MAIN, route=replace(CHAT, person="ada")))
    route = (await known(store)).route
    assert route is not None
    assert route.person == "ada"


async def test_a_route_of_no_session_is_refused(store: Store) -> None:
    with pytest.raises(NotFound):
        await change(store, ChangeSession(key=NOWHERE, route=CHAT), key=NOWHERE)


@pytest.mark.requirement("P5")
async def test_a_reset_opens_a_generation_and_keeps_what_a_person_set(store: Store, clock: FakeClock) -> None:
    row = builders.session()._replace(
        labels=Labels(label="home"),
        overrides=Overrides(model="demo/demo-2"),
        origin=Origin(sender="alice"),
        route=CHAT,
        counters=Counters(context_window=200_000),
    )
    await opened(store, row=row)
    usage = Usage(input=10, output=5, total=15, cost_micros=3)
    await store.append(MAIN, (builders.said("e-1", "hello"), builders.answered("e-2", "hi", usage=usage)))
    clock.advance(1_000)
    generation = replace(
        builders.generation(MAIN, "s-2", 2, at=clock.now()), rule="daily", previous=f"{MAIN}-1"
    )
    before = await known(store)
    await change(store, OpenGeneration(generation=generation))
    after = await known(store)
    assert after == before._replace(
        session_id="s-2",
        counters=Counters(context_window=200_000),
        summary=Summary(),
        times=before.times._replace(started=clock.now(), updated=clock.now()),
        version=before.version + 1,
        events=before.events + 1,
    )
    first = replace(builders.generation(MAIN, f"{MAIN}-1"), entries=2)
    assert await store.generations(MAIN) == (first, generation)


async def test_a_session_is_found_by_the_id_of_a_closed_generation(store: Store) -> None:
    await opened(store)
    await scenes.reset(store, 2)
    assert await store.session_by_id(f"{MAIN}-1") == await known(store)


async def test_ancestors_are_read_from_the_parent_up(store: Store) -> None:
    await opened(store)
    await opened(store, row=builders.session(CHILD, parent=MAIN))
    await opened(store, row=builders.session(GRANDCHILD, parent=CHILD))
    assert await store.ancestors(GRANDCHILD) == (CHILD, MAIN)
    assert await store.ancestors(CHILD) == (MAIN,)
    assert await store.ancestors(MAIN) == ()


@pytest.mark.requirement("P4")
async def test_decisions_that_meet_on_one_session_wait_for_each_other(store: Store) -> None:
    await opened(store)

    async def add_one() -> None:
        await store.change_session(MAIN, count_up)

    def count_up(snapshot: Snapshot) -> Effects:
        assert snapshot.session is not None
        total = snapshot.session.counters.total
        return (ChangeSession(key=MAIN, counters=Counters(total=total + 1)),)

    async with anyio.create_task_group() as tasks:
        for _ in range(100):
            tasks.start_soon(add_one)
    after = await known(store)
    assert after.counters.total == 100
    assert [event.number for event in await store.events(MAIN, after=0, limit=200)] == list(range(1, 102))
