"""Retention beyond removing old sessions: archiving, closed generations, crowds and space."""

from dataclasses import replace

import pytest

from roost.core.addresses import Address
from roost.core.effects import (
    AddDelivery,
    DeleteSession,
    Effect,
    OpenGeneration,
    OweCompletion,
    Pin,
    QueueRun,
)
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery, SearchQuery, SessionQuery
from roost.core.retention import Crowd, Cutoffs, Disk, Swept
from roost.core.search import parse_query
from roost.core.sessions import Base, Generation, OpenedBy
from roost.core.threads import BindThread, ThreadBinding, UnbindThread
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract.scenes import change, opened, owed
from tests.contract.test_store_retention import (
    ACP,
    AFTER,
    ALL,
    BEAT,
    CHILD,
    CRON,
    GROUP,
    HELD,
    HOOK,
    NONE,
    finished,
    left,
    planted,
)

# -- archiving ---------------------------------------------------------------------------------------

DASHBOARD = SessionKey.parse("agent:main:dashboard:one")


async def archived(store: Store) -> set[SessionKey]:
    return {row.key for row in (await store.list_sessions(SessionQuery(archived=True))).rows}


async def swept(store: Store, cutoffs: Cutoffs) -> Swept:
    dry = await store.sweep(cutoffs, dry_run=True)
    assert await store.sweep(cutoffs) == dry
    return dry


async def test_children_and_dashboards_are_archived_after_their_time_and_stay_readable(
    store: Store, clock: FakeClock
) -> None:
    await planted(store)
    await opened(store, DASHBOARD)
    await store.append(CHILD, (builders.said("e-1", "zebra"),))
    assert await swept(store, Cutoffs(archive_children_before=NOON, archive_dashboards_before=NOON)) == NONE
    assert (await swept(store, Cutoffs(archive_children_before=AFTER))).archived == (CHILD,)
    clock.advance(5)
    assert (await swept(store, Cutoffs(archive_dashboards_before=AFTER))).archived == (DASHBOARD,)
    assert await archived(store) == {GROUP, CHILD, DASHBOARD}
    row = await store.session(DASHBOARD)
    assert row is not None
    assert (row.times.archived, row.times.updated) == (NOON + 5, NOON)
    assert len(await store.search(SearchQuery(query=parse_query("zebra")))) == 1
    both = Cutoffs(archive_children_before=AFTER, archive_dashboards_before=AFTER)
    assert await swept(store, both) == NONE


@pytest.mark.parametrize("effects", [effects for _, effects in HELD], ids=[name for name, _ in HELD])
async def test_a_child_that_is_still_needed_is_not_archived(
    store: Store, effects: tuple[Effect, ...]
) -> None:
    await planted(store)
    held = tuple(_moved(effect) for effect in effects)
    await change(store, *held, key=CHILD)
    assert CHILD not in (await swept(store, Cutoffs(archive_children_before=AFTER))).archived


def _moved(effect: Effect) -> Effect:
    """The same for the child instead of the hook."""
    match effect:
        case Pin():
            return replace(effect, key=CHILD)
        case QueueRun():
            return QueueRun(run=builders.run("r-1", CHILD))
        case AddDelivery():
            return AddDelivery(delivery=builders.delivery("d-1", CHILD))
        case OweCompletion() if effect.completion.requester == HOOK:
            return owed(ACP, CHILD)
        case _:
            return owed(CHILD, ACP)


THREAD = Address(channel="telegram", to="77", thread="5")
BINDING = ThreadBinding(address=THREAD, key=CHILD, bound_by=OWNER, bound_at=NOON, used_at=NOON)


async def test_a_child_that_lives_in_a_chat_thread_is_not_archived(store: Store) -> None:
    await planted(store)
    await change(store, BindThread(binding=BINDING), key=CHILD)
    assert (await swept(store, Cutoffs(archive_children_before=AFTER))).archived == ()
    await change(store, UnbindThread(address=THREAD), key=CHILD)
    assert (await swept(store, Cutoffs(archive_children_before=AFTER))).archived == (CHILD,)


@pytest.mark.requirement("P22")
@pytest.mark.parametrize("cutoffs", [Cutoffs(synthetic_before=AFTER), Cutoffs(disk=Disk(most=1, goal=1))])
async def test_a_child_that_people_talk_to_in_a_chat_thread_is_not_removed(
    store: Store, cutoffs: Cutoffs
) -> None:
    await opened(store, CHILD)
    await store.append(CHILD, (builders.said("e-1", "said by a person"),))
    await change(store, BindThread(binding=BINDING), key=CHILD)
    assert (await swept(store, cutoffs)).sessions == ()
    assert await store.thread_binding(THREAD) == BINDING
    await change(store, UnbindThread(address=THREAD), key=CHILD)
    assert (await swept(store, cutoffs)).sessions == (CHILD,)


@pytest.mark.requirement("P22", "F4")
async def test_a_session_that_another_one_goes_on_from_is_archived_and_not_removed(store: Store) -> None:
    await opened(store, CHILD)
    await store.append(CHILD, (builders.said("e-1", "found"),))
    fork = builders.opening(builders.session(DASHBOARD), "s-fork")
    base = Base(session_id=f"{CHILD}-1", seq=1)
    await change(store, replace(fork, generation=replace(fork.generation, base=base)), key=DASHBOARD)
    assert (await swept(store, Cutoffs(synthetic_before=AFTER, disk=Disk(most=1, goal=1)))).sessions == ()
    assert (await swept(store, Cutoffs(archive_children_before=AFTER))).archived == (CHILD,)
    assert (await swept(store, Cutoffs(synthetic_before=AFTER))).sessions == ()
    found = await store.conversation("s-fork")
    assert found is not None
    assert [entry.id for entry in found.entries] == ["e-1"]
    await change(store, DeleteSession(key=DASHBOARD), key=DASHBOARD)
    assert (await swept(store, Cutoffs(synthetic_before=AFTER))).sessions == (CHILD,)


async def test_of_too_many_sessions_the_oldest_without_a_person_are_archived(
    store: Store, clock: FakeClock
) -> None:
    await planted(store)
    clock.advance(10)
    await store.append(HOOK, (builders.said("e-1", "again"),))
    assert await swept(store, Cutoffs(crowd=Crowd(most=6))) == NONE
    assert (await swept(store, Cutoffs(crowd=Crowd(most=4)))).archived == (ACP, CRON)
    assert (await swept(store, Cutoffs(crowd=Crowd(most=1, spared=NOON + 10)))).archived == (BEAT, CHILD)
    assert (await swept(store, Cutoffs(crowd=Crowd(most=1)))).archived == (HOOK,)
    assert await swept(store, Cutoffs(crowd=Crowd(most=0))) == NONE
    assert MAIN not in await archived(store)


# -- closed generations ------------------------------------------------------------------------------


async def reset(store: Store, name: str, *, base: Base | None = None, key: SessionKey = MAIN) -> None:
    row = await store.session(key)
    assert row is not None
    generation = Generation(
        session_id=name,
        key=key,
        number=0,
        opened_at=row.times.updated,
        opened_by=OpenedBy.BACK if base else OpenedBy.NEW,
        base=base,
        previous=row.session_id,
    )
    await change(store, OpenGeneration(generation=generation), key=key)


async def test_closed_generations_go_after_their_time_and_the_current_one_stays(
    store: Store, clock: FakeClock
) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("e-1", "zebra"),))
    await reset(store, "second")
    await store.append(MAIN, (builders.said("e-2", "zebra"),))
    clock.advance(10)
    await store.append(MAIN, (builders.said("e-3", "zebra"),))
    await reset(store, "third")
    assert (await swept(store, Cutoffs(generations_before=NOON))).generations == 0
    assert (await swept(store, Cutoffs(generations_before=NOON + 10))).generations == 1
    assert [one.session_id for one in await store.generations(MAIN)] == ["second", "third"]
    assert len(await store.search(SearchQuery(query=parse_query("zebra")))) == 2
    assert (await swept(store, Cutoffs(generations_before=NOON + 11))).generations == 1
    assert [one.session_id for one in await store.generations(MAIN)] == ["third"]
    await store.append(MAIN, (builders.said("e-4", "zebra"),))
    await reset(store, "fourth")
    assert [one.number for one in await store.generations(MAIN)] == [3, 4]
    page = await store.history(HistoryQuery(key=MAIN))
    assert [entry.id for entry in page.entries] == ["e-4"]


async def test_a_generation_that_another_one_continues_stays(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("e-1", "a"),))
    first = (await store.generations(MAIN))[0].session_id
    await reset(store, "second")
    await reset(store, "third", base=Base(session_id=first, seq=1))
    assert (await swept(store, Cutoffs(generations_before=AFTER))).generations == 1
    assert [one.session_id for one in await store.generations(MAIN)] == [first, "third"]


@pytest.mark.parametrize("effect", [Pin(key=MAIN, at=NOON), QueueRun(run=builders.run("r-1", MAIN))])
async def test_generations_of_a_session_that_is_pinned_or_at_work_stay(store: Store, effect: Effect) -> None:
    await opened(store)
    await reset(store, "second")
    await change(store, effect)
    assert await swept(store, Cutoffs(generations_before=AFTER)) == NONE


# -- space -------------------------------------------------------------------------------------------


@pytest.mark.requirement("P22")
async def test_a_store_that_is_too_large_loses_its_oldest_sessions_without_a_person(
    store: Store, clock: FakeClock
) -> None:
    for key in (MAIN, DASHBOARD, ACP, HOOK, CHILD):
        await opened(store, key)
        await store.append(key, (builders.said(f"e of {key}", "x" * 1_000_000),))
        clock.advance(10)
    await change(store, Pin(key=CHILD, at=NOON), key=CHILD)
    assert await swept(store, Cutoffs(disk=Disk(most=100_000_000, goal=0))) == NONE
    one = await swept(store, Cutoffs(disk=Disk(most=4_900_000, goal=4_900_000)))
    assert (one.sessions, one.over) == ((ACP,), 0)
    more = await swept(store, Cutoffs(disk=Disk(most=1, goal=1)))
    assert more.sessions == (HOOK,)
    assert more.over > 2_500_000
    await store.give_back()
    assert {MAIN, DASHBOARD, CHILD} == await left(store)


async def test_giving_space_back_changes_nothing_that_can_be_asked(store: Store, lease: Lease) -> None:
    await finished(store, lease, HOOK)
    await store.sweep(ALL)
    before = (await store.list_sessions(SessionQuery())).rows
    await store.give_back()
    assert (await store.list_sessions(SessionQuery())).rows == before
    assert await store.give_back() == 0
