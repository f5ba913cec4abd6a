"""A gateway whose agent may spawn: the tools of children, and a model that does what the newest message says."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel

from roost.core.delegation import Delegation
from roost.core.keys import CHILD_KINDS, SessionKey
from roost.core.messages import Message, ToolCall, ToolResult, UserMessage, text_of
from roost.core.models import ModelRequest
from roost.core.queries import SessionQuery
from roost.core.reach import SessionReach
from roost.core.rights import Rights
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.core.spawnwishes import ChildAgent, Models, SpawnRules, ThreadRules
from roost.core.terms import Terms
from roost.core.tools import Place
from roost.core.visibility import Level
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.patience import LOOK_MS
from roost.engine.rules import Part
from roost.engine.scheduler import RUNS
from roost.engine.stops import Stops
from roost.ports import Clock, Store, Tool
from roost.scanners.stdlib import StdlibScanner
from roost.testing.clock import FakeClock
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import CallTool, Script
from roost.tools.access import Access
from roost.tools.sessions_spawn import SessionsSpawn
from roost.tools.sessions_yield import SessionsYield
from roost.tools.subagents import Subagents
from tests.flows.gateways import SPEC, Bench, benches_on
from tests.grounds import Ground
from tests.samples import HOUR

MAIN = SessionKey.named("main", "main")
DEPTH = 3
FEW_LOOKS = 30


def call(tool: str, name: str = "", **arguments: Any) -> CallTool:
    return CallTool(ToolCall(id=name or f"c-{tool}", name=tool, arguments=arguments))


def spawns(*tasks: str, **arguments: Any) -> list[CallTool]:
    return [call("sessions_spawn", f"c{number}", task=task, **arguments) for number, task in enumerate(tasks)]


def newest(request: ModelRequest) -> Message:
    return request.messages[-1]


def said_to(request: ModelRequest) -> str:
    """The newest thing that was said to the model, results of tools aside."""
    said = [text_of(one) for one in request.messages if isinstance(one, UserMessage)]
    return said[-1]


def hears_of_ends(request: ModelRequest) -> bool:
    """Whether the turn that asks goes on with what its children found."""
    return " ended. What " in said_to(request)


def announcing(request: ModelRequest) -> bool:
    return "Your task is done" in said_to(request)


def task_of(request: ModelRequest) -> str | None:
    """The task of the session that asks, if it is a child."""
    tasks = [text_of(one) for one in request.messages if isinstance(one, UserMessage)]
    found = [text for text in tasks if "[Subagent Task]\n" in text]
    return found[-1].split("[Subagent Task]\n")[1].split("\n")[0] if found else None


def results(request: ModelRequest) -> list[dict[str, Any]]:
    """What the tools answered since the model last spoke to people."""
    return [json.loads(text_of(one)) for one in request.messages if isinstance(one, ToolResult)]


async def until_at_rest(store: Store, key: SessionKey = MAIN) -> None:
    """Until nothing is under way in a session: a child that ends before its requester yields is told of in the chat."""

    async def rests() -> bool | None:
        return None if await store.active_runs(key) else True

    await store.wait_for(RUNS, rests)


async def let_time_pass(store: Store, clock: FakeClock, limit_s: int) -> None:
    """Until a run waits for others, then until its time is over, and then until that was seen."""

    async def waits() -> bool | None:
        return True if await store.overdue_runs(clock.now() + HOUR) else None

    await store.wait_for(RUNS, waits)
    clock.advance(limit_s * 1_000)
    latest = clock.now() + FEW_LOOKS * LOOK_MS
    while await store.overdue_runs(clock.now()):
        # A commit takes the time it takes: what else waits for a moment must not come to its own meanwhile.
        if clock.now() < latest:
            clock.advance(LOOK_MS // 10)
        await anyio.lowlevel.checkpoint()


@dataclass
class Nursery:
    """`act` is what the model does, whoever asks."""

    bench: Bench
    act: Callable[[ModelRequest], Script]
    children: int = 5
    level: Level = Level.TREE
    depth: int = DEPTH
    more: tuple[Tool, ...] = ()
    place: Place = field(default_factory=lambda: Place(workspace="/nonexistent"))
    threads: ThreadRules = field(default_factory=ThreadRules)
    stops: Stops = field(default_factory=Stops)
    answered: anyio.Event = field(default_factory=anyio.Event)
    """The requester has; a child that ends earlier is told of earlier."""

    def __post_init__(self) -> None:
        self.bench.model = ScriptedModel(otherwise=self.acted, clock=self.bench.clock)
        self.bench.change(cast=self.cast)

    def acted(self, request: ModelRequest) -> Script:
        return self.act(request)

    def cast(self, session: Session, run: Run) -> Part:
        child = session.key.kind in CHILD_KINDS
        left = (session.lineage.terms or Terms()).rights.spawns if child else self.depth
        reach = SessionReach(agent=session.key.agent, level=self.level)
        access = Access(self.bench.store, self.bench.clock, reach)
        own: tuple[Tool, ...] = (
            SessionsSpawn(access, self.rules()),
            SessionsYield(access),
            Subagents(access, StdlibScanner(), self.stops.end),
        )
        tools = (*(own if left else ()), *self.more)
        return Part(
            model=self.bench.model,
            spec=SPEC,
            reason="the only model",
            system="You are a test.",
            place=self.place,
            tools=tools,
            rights=Rights(spawns=left, sandboxed=self.place.sandboxed),
        )

    def rules(self) -> SpawnRules:
        return SpawnRules(
            delegation=Delegation(agent="main"),
            agents=("main",),
            child=lambda agent, depth: ChildAgent(
                rights=Rights(spawns=max(self.depth - depth, 0)), model=None, own_model=str(SPEC.ref)
            ),
            models=Models(ask_for=lambda name: SPEC, find=lambda name: SPEC),
            max_depth=self.depth,
            max_children=self.children,
            threads=self.threads,
        )

    async def until_answered(self, answer: str = "Begun.") -> None:
        """A commit takes the time it takes, also the one by which a requester answers."""
        assert await self.bench.replies() == (answer,)
        self.answered.set()

    def engine(self) -> Engine:
        bench = self.bench
        return Engine(
            bench.store,
            bench.clock,
            FreshIds(bench.clock),
            bench.rules,
            [bench.channel],
            jitter=lambda: 0.0,
            stops=self.stops,
        )

    def newest_of_main(self) -> ModelRequest:
        """What the model was last shown in a session that nobody spawned."""
        return [request for request in self.bench.model.requests if task_of(request) is None][-1]

    async def session(self, key: SessionKey) -> Session:
        found = await self.bench.store.session(key)
        assert found is not None
        return found

    async def descendants(self) -> list[Session]:
        page = await self.bench.store.list_sessions(SessionQuery(limit=10_000, archived=None))
        spawned = (row for row in page.rows if row.key.kind in CHILD_KINDS)
        return sorted(spawned, key=lambda row: (row.times.created, row.lineage.depth))


@asynccontextmanager
async def nurseries(
    ground: Ground, act: Callable[[ModelRequest], Script], clock: Clock | None = None
) -> AsyncIterator[Nursery]:
    async with benches_on(ground, clock) as bench:
        yield Nursery(bench, act)
