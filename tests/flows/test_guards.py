"""Every operation, relation, level, sandbox and door: none is unguarded, and each answers as promised."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import anyio
import pytest

from roost.app.desk import Desk
from roost.app.providers import open_models
from roost.config import Loaded, load, policies
from roost.core.errors import RoostError
from roost.core.feeds import SessionChanged
from roost.core.jsonvalue import JsonValue
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind
from roost.core.principals import OWNER, Principal, PrincipalKind
from roost.core.references import resolve
from roost.core.runs import Cause
from roost.core.tools import Invocation, Place
from roost.core.visibility import Caller, Level, Operation, PersonCaller
from roost.engine.feed import Feed
from roost.ports import Store, Tool
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.testing import builders
from roost.testing.clock import FakeClock
from roost.tools.access import Access
from tests.contract.homes import FIRST, STORES
from tests.contract.scenes import known
from tests.flows.guards import (
    BOB,
    NOWHERE,
    Asker,
    Box,
    Relation,
    Who,
    is_elses,
    plant,
    promised,
    setting_named,
)
from tests.scale import FULL
from tests.unit.tools.calls import nowhere, text_of

Configured = dict[tuple[Level, Box], Loaded]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    allowed: bool
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One asker with the tools it is configured with."""

    asker: Asker
    store: Store
    clock: FakeClock
    tools: dict[str, Tool]
    access: Access

    def call(self, **arguments: JsonValue) -> Invocation:
        asker = self.asker
        return Invocation(
            run_id="r1",
            call_id="c1",
            agent="main",
            key=asker.key,
            cause=Cause(principal=asker.who.principal, kind=ProvenanceKind.HUMAN, trace="t1"),
            place=Place(workspace="/w", sandboxed=asker.box is not Box.NONE),
            arguments=arguments,
        )

    async def use(self, tool: str, **arguments: JsonValue) -> Answer:
        outcome = await self.tools[tool].run(self.call(**arguments), nowhere)
        return Answer(allowed=not outcome.is_error, words=text_of(outcome))


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A way for an agent to do something to a session that it names."""

    operation: Operation
    tool: str | None
    probe: Callable[[Cell, SessionKey], Awaitable[Answer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A tool that shows what sessions there are."""

    operation: Operation
    tool: str
    rows: str
    field: str
    arguments: dict[str, JsonValue]

    async def shown(self, cell: Cell) -> set[SessionKey]:
        told = json.loads((await cell.use(self.tool, **self.arguments)).words)
        seen_from = cell.access.reach.viewpoint(cell.call())
        return {resolve(row[self.field], seen_from).key for row in told[self.rows]}


def by_tool(operation: Operation, tool: str, **arguments: JsonValue) -> Door:
    async def probe(cell: Cell, key: SessionKey) -> Answer:
        return await cell.use(tool, sessionKey=str(key), **arguments)

    return Door(operation=operation, tool=tool, probe=probe)


def by_guard(operation: Operation) -> Door:
    """What every tool goes through, for an operation that has none."""

    async def probe(cell: Cell, key: SessionKey) -> Answer:
        try:
            await cell.access.find(operation, str(key), cell.call())
        except RoostError as error:
            return Answer(allowed=False, words=str(error))
        return Answer(allowed=True, words="")

    return Door(operation=operation, tool=None, probe=probe)


VIEWS = (
    View(
        operation=Operation.LIST, tool="sessions_list", rows="sessions", field="key", arguments={"limit": 200}
    ),
    View(
        operation=Operation.SEARCH,
        tool="sessions_search",
        rows="results",
        field="sessionKey",
        arguments={"query": "canary", "limit": 25},
    ),
)
DOORS = (
    by_tool(Operation.SEARCH, "sessions_search", query="canary"),
    by_tool(Operation.HISTORY, "sessions_history"),
    by_tool(Operation.STATUS, "session_status"),
    by_tool(Operation.PATCH, "session_status", model="demo/demo"),
    by_guard(Operation.LIST),
    by_guard(Operation.SEND),
    by_guard(Operation.SPAWN),
    by_guard(Operation.STOP),
    by_guard(Operation.RESET),
    by_guard(Operation.EXPORT),
)
TOUCHING_NO_SESSION = {"agents_list"}
# They act on the caller's own session and on what it spawned, and can name nothing else.
OF_THE_CALLER = {"sessions_spawn", "sessions_yield", "subagents"}
# Takes a run that is under way; it finds its target by `Access.find`, which stands in the table as it is.
FROM_A_RUN = {"sessions_send"}


@asynccontextmanager
async def planted(kind: str, folder: Path) -> AsyncIterator[Store]:
    clock = FakeClock()
    store: Store = MemoryStore(clock) if kind == "memory" else SqliteStore.open(folder / "guards.db", clock)
    await store.acquire_lease(FIRST)
    await plant(store)
    yield store
    await store.close()


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with planted(request.param, tmp_path) as store:
        yield store


def settings_of(level: Level, box: Box) -> dict[str, object]:
    kept = "all" if box is Box.LIFTED else "spawned"
    return {
        "agents": {
            "defaults": {"sandbox": {"sessionToolsVisibility": kept}},
            "list": [{"id": "main", "default": True}, {"id": "ops"}, {"id": "closed"}],
        },
        "tools": {
            "sessions": {"visibility": level.name.lower()},
            "agentToAgent": {"enabled": True, "allow": ["main", "ops"]},
        },
    }


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Configured:
    found = {}
    folder = tmp_path_factory.mktemp("configured")
    for level, box in product(Level, Box):
        (folder / "roost.json").write_text(json.dumps(settings_of(level, box)))
        found[level, box] = load({"ROOST_HOME": str(folder)})
    return found


async def cells_of(store: Store, configured: Configured) -> AsyncIterator[Cell]:
    """One for each asker, with the tools that its configuration gives."""
    clock = FakeClock()
    for (level, box), loaded in configured.items():
        agent = loaded.settings.agents.default
        reach = policies.session_reach(loaded.settings, agent)
        async with open_models(loaded.settings, clock) as models:
            desk = Desk(loaded, models, store, clock, threads=frozenset(), stop=lambda run_id, reason: False)
            tools = desk.tools(agent, level)
            for who, inner in product(Who, (False, True)):
                yield Cell(
                    asker=Asker(who=who, inner=inner, level=level, box=box),
                    store=store,
                    clock=clock,
                    tools={one.spec.name: one for one in tools},
                    access=Access(store, clock, reach),
                )


# -- agents ------------------------------------------------------------------------------------------


async def test_every_operation_and_every_session_tool_is_in_the_table(
    tmp_path: Path, configured: Configured
) -> None:
    assert {one.operation for one in (*DOORS, *VIEWS)} == set(Operation)
    in_table = (
        {one.tool for one in (*DOORS, *VIEWS) if one.tool} | TOUCHING_NO_SESSION | OF_THE_CALLER | FROM_A_RUN
    )
    async with planted("memory", tmp_path) as store:
        assert {name async for cell in cells_of(store, configured) for name in cell.tools} == in_table


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
@pytest.mark.parametrize("door", DOORS, ids=lambda door: f"{door.operation}-{door.tool or 'guard'}")
async def test_an_agent_may_do_exactly_what_is_promised(
    door: Door, kind: str, tmp_path: Path, configured: Configured
) -> None:
    async with planted(kind, tmp_path) as store:
        async for cell in cells_of(store, configured):
            absent = await door.probe(cell, NOWHERE)
            for relation, key in cell.asker.targets.items():
                before = await known(store, key)
                cell.clock.advance(1)
                answer = await door.probe(cell, key)
                allowed = promised(door.operation, relation, cell.asker)
                assert answer.allowed is allowed, (cell.asker, relation)
                if not allowed:
                    assert await known(store, key) == before
                    (denial,) = await store.denials(1)
                    assert (denial.at, denial.target) == (cell.clock.now(), str(key))
                    assert_told(answer.words, absent.words, relation, cell.asker)


def assert_told(words: str, absent: str, relation: Relation, asker: Asker) -> None:
    """A sandboxed caller cannot tell denied from absent, nor anyone what is someone else's from nothing."""
    assert "canary" not in words
    if asker.box is not Box.NONE or is_elses(relation, asker):
        assert words == absent, (asker, relation)
    elif setting := setting_named(relation, asker):
        assert setting in words, (asker, relation)


# -- the feed ----------------------------------------------------------------------------------------


@pytest.mark.requirement("P8", "S17")
async def test_an_agent_hears_the_sessions_whose_history_it_may_read(
    store: Store, configured: Configured
) -> None:
    async for cell in cells_of(store, configured):
        feed, caller = Feed(cell.store, FakeClock()), cell.access.reach.caller(cell.call())
        absent = await heard(feed, NOWHERE, caller)
        for relation, key in cell.asker.targets.items():
            answer = await heard(feed, key, caller)
            assert answer.allowed is promised(Operation.HISTORY, relation, cell.asker), (cell.asker, relation)
            if not answer.allowed:
                assert_told(answer.words, absent.words, relation, cell.asker)


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
    PersonCaller(principal=OPERATOR, admin=True): True,
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
            with anyio.fail_after(10):
                while told != expected:
                    change = await anext(changes)
                    assert isinstance(change, SessionChanged)
                    told.add(change.session.key)
                    assert told <= expected
