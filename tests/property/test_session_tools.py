"""Whatever is stored and whoever asks: session tools reveal exactly what the guard allows."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.keys import KeyKind, SessionKey
from roost.core.messages import ProvenanceKind
from roost.core.models import ModelRef, ModelSpec
from roost.core.principals import OWNER, Principal, person
from roost.core.reach import SessionReach
from roost.core.references import resolve
from roost.core.runs import Cause
from roost.core.statuscard import AnsweringModel
from roost.core.tools import Invocation, Place
from roost.core.visibility import (
    SANDBOX_TEXT,
    AgentToAgent,
    Allowed,
    Denied,
    Level,
    Operation,
    Target,
    decide,
)
from roost.ports import Tool
from roost.scanners.stdlib import StdlibScanner
from roost.testing import builders
from roost.testing.clock import FakeClock
from roost.tools.access import Access
from roost.tools.session_status import Models, SessionStatus
from roost.tools.sessions_history import SessionsHistory
from roost.tools.sessions_list import SessionsList
from roost.tools.sessions_search import SessionsSearch
from tests.contract.homes import STORES, Home
from tests.contract.scenes import change
from tests.scale import examples
from tests.unit.tools.calls import nowhere, text_of

AGENTS = ("main", "ops")
PEOPLE = (OWNER, person("telegram", "1"), person("telegram", "2"))
SCANNER = StdlibScanner()
SPEC = ModelSpec(ref=ModelRef("demo", "demo"), context_window=1_000, max_tokens=10)

ANSWERING = AnsweringModel(name="demo/demo", reason="the only one")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A session; its parent is one that was planted before it."""

    key: SessionKey
    owner: Principal
    parent: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    place: int
    principal: Principal
    level: Level
    sandboxed: bool
    lifted: bool
    a2a: AgentToAgent


@st.composite
def forests(draw: st.DrawFn) -> tuple[Planted, ...]:
    planted: list[Planted] = []
    for number in range(draw(st.integers(1, 6))):
        parent = draw(st.none() | st.integers(0, number - 1)) if number else None
        kind = KeyKind.NAMED if parent is None else KeyKind.SUBAGENT
        name = draw(st.sampled_from(("main", f"n{number}"))) if kind is KeyKind.NAMED else f"c{number}"
        key = SessionKey(agent=draw(st.sampled_from(AGENTS)), kind=kind, name=name)
        if all(one.key != key for one in planted):
            owner = draw(st.sampled_from(PEOPLE))
            planted.append(Planted(key=key, owner=owner, parent=_within(parent, planted)))
    return tuple(planted)


def _within(parent: int | None, planted: list[Planted]) -> int | None:
    return parent if parent is not None and parent < len(planted) else None


askers = st.builds(
    Asker,
    place=st.integers(0, 5),
    principal=st.sampled_from(PEOPLE),
    level=st.sampled_from(Level),
    sandboxed=st.booleans(),
    lifted=st.booleans(),
    a2a=st.builds(
        AgentToAgent,
        enabled=st.booleans(),
        allow=st.none() | st.frozensets(st.sampled_from(AGENTS)),
    ),
)


class World:
    """A planted store, and one who asks in it."""

    def __init__(self, home: Home, forest: tuple[Planted, ...], asker: Asker) -> None:
        self.store = home.store
        self.forest = forest
        own = forest[asker.place % len(forest)].key
        reach = SessionReach(agent=own.agent, level=asker.level, lifted=asker.lifted, a2a=asker.a2a)
        access = Access(home.store, FakeClock(), reach)
        self.list = SessionsList(access, SCANNER, lambda session: None)
        self.history = SessionsHistory(access, SCANNER)
        self.search = SessionsSearch(access, SCANNER)
        self.status = SessionStatus(
            access, Models(find=lambda name: SPEC, answering=lambda session: ANSWERING)
        )
        self.call = Invocation(
            run_id="r1",
            call_id="c1",
            agent=own.agent,
            key=own,
            cause=Cause(principal=asker.principal, kind=ProvenanceKind.HUMAN, trace="t1"),
            place=Place(workspace="/w", sandboxed=asker.sandboxed),
            arguments={},
        )
        self.caller = reach.caller(self.call)
        self.seen_from = reach.viewpoint(self.call)

    async def plant(self) -> None:
        for number, one in enumerate(self.forest):
            parent = None if one.parent is None else self.forest[one.parent].key
            row = builders.session(one.key, owner=one.owner, parent=parent)
            await change(self.store, builders.opening(row, f"id-{number}"), key=one.key)
            await self.store.append(one.key, (builders.said(f"e-{number}", "canary"),))

    async def ask(self, tool: Tool, **arguments: Any) -> tuple[bool, str]:
        """Whether the answer is a refusal, and its words."""
        call = Invocation(
            run_id=self.call.run_id,
            call_id=self.call.call_id,
            agent=self.call.agent,
            key=self.call.key,
            cause=self.call.cause,
            place=self.call.place,
            arguments=arguments,
        )
        outcome = await tool.run(call, nowhere)
        return outcome.is_error, text_of(outcome)

    async def target(self, key: SessionKey, owner: Principal) -> Target:
        return Target(key=key, agent=key.agent, owner=owner, ancestors=await self.store.ancestors(key))

    async def allowed(self, operation: Operation) -> set[SessionKey]:
        return {
            one.key
            for one in self.forest
            if decide(operation, self.caller, await self.target(one.key, one.owner)) == Allowed()
        }

    def meant(self, shown: str) -> SessionKey:
        return resolve(shown, self.seen_from).key


@pytest.mark.requirement("P8", "P26", "D30", "D68", "S17", "S20")
@pytest.mark.parametrize("kind", STORES)
@settings(max_examples=examples(20, 400))
@given(forest=forests(), asker=askers)
def test_session_tools_reveal_exactly_what_the_guard_allows(
    kind: str, forest: tuple[Planted, ...], asker: Asker
) -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(explore(Home(kind, Path(folder), FakeClock()), forest, asker))


async def explore(home: Home, forest: tuple[Planted, ...], asker: Asker) -> None:
    await home.open()
    world = World(home, forest, asker)
    await world.plant()
    await lists(world)
    await searches(world)
    for operation, tool in ((Operation.HISTORY, world.history), (Operation.STATUS, world.status)):
        await reads(world, operation, tool)
    await home.close()


async def lists(world: World) -> None:
    _, text = await world.ask(world.list, includeDerivedTitles=True, includeLastMessage=True, messageLimit=1)
    rows = json.loads(text)["sessions"]
    assert {world.meant(row["key"]) for row in rows} == await world.allowed(Operation.LIST)
    known = await world.allowed(Operation.STATUS)
    linked = {name for row in rows for name in (row["parentSessionKey"], *row["childSessions"]) if name}
    assert {world.meant(name) for name in linked} <= known


async def searches(world: World) -> None:
    _, text = await world.ask(world.search, query="canary", limit=25)
    assert {world.meant(row["sessionKey"]) for row in json.loads(text)["results"]} == await world.allowed(
        Operation.SEARCH
    )


async def reads(world: World, operation: Operation, tool: Tool) -> None:
    """By key and by id, the answer is the guard's; a refusal is recorded, and hides what it must hide."""
    absent = await world.ask(tool, sessionKey="agent:main:nowhere")
    for number, one in enumerate(world.forest):
        for name in (str(one.key), f"id-{number}"):
            before = len(await world.store.denials(1_000))
            refused, words = await world.ask(tool, sessionKey=name)
            decision = decide(operation, world.caller, await world.target(one.key, one.owner))
            assert refused is isinstance(decision, Denied)
            assert len(await world.store.denials(1_000)) == before + refused
            if isinstance(decision, Denied):
                assert "canary" not in words
                assert (refused, words) == absent or not (decision.absent or world.caller.sandboxed)
                assert SANDBOX_TEXT in words or not world.caller.sandboxed
