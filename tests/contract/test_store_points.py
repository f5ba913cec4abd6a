"""Save points: kept with their session, and what they name with them."""

from dataclasses import replace

import pytest

from roost.core.effects import ChangeSession, DeleteSession
from roost.core.errors import Conflict, NotFound
from roost.core.keys import SessionKey
from roost.core.points import MOST_POINTS, Pointed, deleting, saving
from roost.core.principals import OWNER, person
from roost.core.retention import Cutoffs
from roost.core.seals import Seals
from roost.core.sessions import Base, Lineage, OpenedBy, Overrides
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract.homes import Reopen
from tests.contract.scenes import change, known, opened, reset

CHILD = SessionKey.parse("agent:main:subagent:one")
LATER = Cutoffs(synthetic_before=NOON + 10, archive_children_before=NOON + 10, generations_before=NOON + 10)


async def pointed(store: Store, key: SessionKey = MAIN) -> Pointed:
    found = await store.pointed(key)
    assert found is not None
    return found


async def names(store: Store, key: SessionKey = MAIN) -> list[str]:
    return [one.name for one in (await pointed(store, key)).points]


async def test_a_point_is_where_the_session_was_however_it_goes_on(store: Store, reopen: Reopen) -> None:
    await opened(store)
    row = builders.session(CHILD)._replace(lineage=Lineage(parent=MAIN, depth=1))
    await opened(store, row=row)
    await change(store, ChangeSession(key=MAIN, overrides=Overrides(model="a/b", thinking="low")))
    await store.append(MAIN, (builders.said("e1", "one"), builders.answered("e2", "two")))
    before = await known(store)
    (point,) = await store.change_points(MAIN, saving("early", NOON, person("telegram", "7")))
    assert await known(store) == before
    await store.append(MAIN, (builders.said("e3", "three"),))
    await reset(store, 2)
    again = await reopen()
    assert (await pointed(again)).points == (point,)
    assert (point.base, point.by) == (Base(session_id=f"{MAIN}-1", seq=2), person("telegram", "7"))
    assert (point.model, point.overrides.thinking) == ("a/b", "low")
    assert [one.key for one in point.children] == [CHILD]


async def test_points_are_in_the_order_in_which_they_were_saved(store: Store, clock: FakeClock) -> None:
    await opened(store)
    for number, name in enumerate(("c", "a", "b")):
        await store.change_points(MAIN, saving(name, NOON + number, OWNER))
    assert await names(store) == ["c", "a", "b"]
    assert [one.name for one in await store.change_points(MAIN, deleting("a"))] == ["c", "b"]
    assert await names(store) == ["c", "b"]


async def test_what_is_refused_changes_nothing(store: Store) -> None:
    await opened(store)
    await store.change_points(MAIN, saving("a", NOON, OWNER))
    with pytest.raises(Conflict):
        await store.change_points(MAIN, saving("a", NOON, OWNER))
    with pytest.raises(NotFound):
        await store.change_points(MAIN, deleting("b"))
    assert await names(store) == ["a"]
    with pytest.raises(NotFound):
        await store.change_points(CHILD, saving("a", NOON, OWNER))
    assert await store.pointed(CHILD) is None


async def test_there_are_never_more_than_there_may_be(store: Store) -> None:
    await opened(store)
    for number in range(MOST_POINTS):
        await store.change_points(MAIN, saving(str(number), NOON, OWNER))
    with pytest.raises(Conflict):
        await store.change_points(MAIN, saving("more", NOON, OWNER))
    assert len(await names(store)) == MOST_POINTS


async def test_points_go_with_their_session(store: Store) -> None:
    await opened(store)
    await store.change_points(MAIN, saving("a", NOON, OWNER))
    await change(store, DeleteSession(key=MAIN))
    assert await store.pointed(MAIN) is None
    await opened(store)
    assert await names(store) == []


async def test_retention_keeps_what_a_point_names(store: Store, clock: FakeClock) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("e1", "one"),))
    await store.change_points(MAIN, saving("a", NOON, OWNER))
    await reset(store, 2)
    await reset(store, 3)
    swept = await store.sweep(LATER)
    assert swept.generations == 1
    assert [one.session_id for one in await store.generations(MAIN)] == [f"{MAIN}-1", f"{MAIN}-3"]
    await store.change_points(MAIN, deleting("a"))
    assert (await store.sweep(LATER)).generations == 1


async def test_retention_removes_and_archives_no_session_that_was_saved(store: Store) -> None:
    await opened(store, CHILD)
    await store.change_points(CHILD, saving("a", NOON, OWNER))
    swept = await store.sweep(LATER)
    assert (swept.sessions, swept.archived) == ((), ())
    await store.change_points(CHILD, deleting("a"))
    assert (await store.sweep(LATER)).sessions == (CHILD,)


async def test_the_generations_of_a_fork_are_told_with_those_it_went_off_from(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("e1", "one"),))
    opening = builders.opening(builders.session(CHILD), "fork")
    forked = replace(opening.generation, opened_by=OpenedBy.FORK, base=Base(session_id=f"{MAIN}-1", seq=1))
    await change(store, replace(opening, generation=forked), key=CHILD)
    found = await pointed(store, CHILD)
    assert {one.session_id for one in found.generations} == {"fork", f"{MAIN}-1"}


async def test_a_point_holds_no_configured_secret(store: Store) -> None:
    await opened(store)
    store.keep_out(Seals({"open-sesame-77": "token"}))
    (point,) = await store.change_points(MAIN, saving("open-sesame-77", NOON, OWNER))
    assert point.name == "{{secret:token}}"
    assert await names(store) == [point.name]
