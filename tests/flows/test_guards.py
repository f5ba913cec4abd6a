"""Every operation, relation, level, sandbox and door: none is unguarded, and each answers as promised."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path

import anyio
import pytest

from roost.core.errors import RoostError
from roost.core.feeds import SessionChanged
from roost.core.keys import SessionKey
from roost.core.principals import OWNER, Principal, PrincipalKind
from roost.core.visibility import Caller, Level, Operation, PersonCaller
from roost.engine.feed import Feed
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.testing import builders
from roost.testing.clock import FakeClock
from tests.contract.homes import FIRST, STORES
from tests.contract.scenes import known
from tests.flows.askers import VIEWS, Configured, View, assert_told, cells_of
from tests.flows.doors import BETWEEN_PROBES_MS, DOORS, TOOLS, Answer, Door, set_to_work
from tests.flows.guards import (
    BOB,
    NOWHERE,
    Asker,
    Box,
    Who,
    plant,
    promised,
)
from tests.grounds import laid
from tests.scale import FULL

TOUCHING_NO_SESSION = {"agents_list", "cron"}
# It ends the turn of the session that calls it, and can name nothing.
OF_THE_CALLER = {"sessions_yield"}


@asynccontextmanager
async def planted(kind: str, folder: Path, *, works: bool = False) -> AsyncIterator[Store]:
    clock = FakeClock()
    store: Store = (
        MemoryStore(clock) if kind == "memory" else SqliteStore.open(laid(folder / "guards.db"), clock)
    )
    lease = await store.acquire_lease(FIRST)
    await plant(store)
    await set_to_work(store, lease, under_way=works)
    yield store
    await store.close()


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with planted(request.param, tmp_path) as store:
        yield store


# -- agents ------------------------------------------------------------------------------------------


@pytest.mark.requirement("D01", "S17")
async def test_every_operation_and_every_session_tool_is_in_the_table(
    tmp_path: Path, configured: Configured
) -> None:
    assert {one.operation for one in DOORS} | {one.operation for one in VIEWS} == set(Operation)
    in_table = TOOLS | {one.tool for one in VIEWS} | TOUCHING_NO_SESSION | OF_THE_CALLER
    async with planted("memory", tmp_path) as store:
        assert {name async for cell in cells_of(store, configured) for name in cell.tools} == in_table


@pytest.mark.requirement("S13")
async def test_no_session_tool_can_be_told_of_another_gateway(tmp_path: Path, configured: Configured) -> None:
    async with planted("memory", tmp_path) as store:
        async for cell in cells_of(store, configured):
            for tool in cell.tools.values():
                words = json.dumps(tool.spec.parameters).lower()
                assert not [word for word in ("gateway", "url", "host", "endpoint") if word in words]


@pytest.mark.requirement("P8", "D30", "D68", "S17", "S20")
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.tool)
async def test_an_agent_is_shown_exactly_what_is_promised(
    view: View, store: Store, configured: Configured
) -> None:
    async for cell in cells_of(store, configured):
        shown = await view.shown(cell)
        for relation, key in cell.asker.targets.items():
            assert (key in shown) is promised(view.operation, relation, cell.asker), (cell.asker, relation)


@pytest.mark.requirement("P8", "D30", "D68", "S16", "S17", "S20")
@pytest.mark.parametrize("kind", STORES if FULL else ("memory",))
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
async def test_an_agent_may_do_exactly_what_is_promised(
    door: Door, kind: str, tmp_path: Path, configured: Configured
) -> None:
    async with planted(kind, tmp_path, works=door.works) as store:
        async for cell in cells_of(store, configured):
            absent: str | None = None
            for relation, key in cell.asker.targets.items():
                expected = door.expected(relation, cell.asker)
                if expected is None:
                    continue
                before = await known(store, key)
                cell.clock.advance(BETWEEN_PROBES_MS)
                answer = await door.probe(cell, key)
                assert answer.allowed is expected, (cell.asker, relation, answer.words)
                if not expected:
                    assert await known(store, key) == before
                    if door.records:
                        (denial,) = await store.denials(1)
                        assert (denial.at, denial.target) == (cell.clock.now(), str(key))
                    absent = absent or (await door.probe(cell, NOWHERE)).words
                    assert_told(answer.words, absent, relation, cell.asker, plainly=door.records)


# -- the feed ----------------------------------------------------------------------------------------


async def heard(feed: Feed, key: SessionKey, caller: Caller) -> Answer:
    try:
        async with feed.subscribe(key, caller):
            return Answer(allowed=True, words="")
    except RoostError as error:
        return Answer(allowed=False, words=str(error))


TABLE = {
    key
    for who, inner in product(Who, (False, True))
    for key in Asker(who=who, inner=inner, level=Level.ALL, box=Box.NONE).targets.values()
}
OPERATOR = Principal(PrincipalKind.OPERATOR, "desk")
PEOPLE = {
    PersonCaller(principal=OWNER): True,
    PersonCaller(principal=OPERATOR): False,
    PersonCaller(principal=BOB): False,
}


@pytest.mark.requirement("P2", "P8")
@pytest.mark.parametrize(("caller", "hears_all"), PEOPLE.items(), ids=str)
async def test_a_person_hears_what_is_theirs_and_who_rules_hears_all(
    store: Store, caller: PersonCaller, hears_all: bool
) -> None:
    feed = Feed(store, FakeClock())
    absent = await heard(feed, NOWHERE, caller)
    for key in TABLE:
        theirs = (await known(store, key)).owner == caller.principal
        answer = await heard(feed, key, caller)
        assert answer.allowed is (hears_all or theirs), key
        assert answer.allowed or answer.words == absent.words


@pytest.mark.requirement("P2", "P8")
async def test_the_feed_of_all_sessions_tells_a_person_of_their_own_only(store: Store) -> None:
    everything = set(TABLE)
    own = {key for key in everything if (await known(store, key)).owner == BOB}
    for caller, expected in ((PersonCaller(principal=BOB), own), (PersonCaller(principal=OWNER), everything)):
        async with Feed(store, FakeClock()).subscribe_all(caller) as changes:
            for key in (*(everything - own), *own):
                await store.append(key, (builders.said(f"{caller.principal}-{key}", "more"),))
            told: set[SessionKey] = set()
            with anyio.fail_after(60):
                while told != expected:
                    change = await anext(changes)
                    assert isinstance(change, SessionChanged)
                    told.add(change.session.key)
                    assert told <= expected
