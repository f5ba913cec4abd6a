"""What one session asks of another, against turns of the same gateway: children, and messages that are waited for."""

import asyncio
import statistics
import time
from dataclasses import replace
from pathlib import Path

import apsw

from bench.figures import Figure, at_least, at_most
from bench.gateways import NAME, Desk, Gate, model_process, served
from bench.model_process import CALLS, CROWD, SENDS
from bench.scale import size
from bench.turns import WARM_UP, people, walls
from roost.clock import SystemClock
from roost.core.delegation import Delegation
from roost.core.messages import ProvenanceKind
from roost.core.models import ModelRef, ModelSpec
from roost.core.reach import SessionReach
from roost.core.rights import Rights
from roost.core.runs import Run
from roost.core.sending import SendRules
from roost.core.sessions import Session
from roost.core.spawnwishes import ChildAgent, Models, SpawnRules
from roost.core.tools import Invocation, ToolOutcome
from roost.core.visibility import Level
from roost.engine.rules import Part
from roost.models.openai import OpenAIModel
from roost.ports import Report, Tool, Topic, TopicKind
from roost.scanners.re2 import Re2Scanner
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.connection import open_reader
from roost.tools.access import Access
from roost.tools.sessions_send import SessionsSend
from roost.tools.sessions_spawn import SessionsSpawn

ROUNDS, TURNS = size(6), size(10)
SPEC = ModelSpec(ref=ModelRef("fake", "4"), context_window=1_000_000, max_tokens=4_096)
ENDED = "SELECT count(*) FROM completions WHERE requester = ? AND body ->> '$.status' IS NOT NULL"
ANNOUNCED = "SELECT count(*) FROM completions WHERE requester = ? AND acknowledged_at IS NOT NULL"


def parent_of(person: str) -> str:
    return f"agent:main:{NAME}:direct:{person}"


class Timed:
    """A tool, and when its calls began and ended."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self.spec, self.traits = tool.spec, tool.traits
        self.began: list[float] = []
        self.ended: list[float] = []

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        self.began.append(time.perf_counter())
        outcome = await self._tool.run(invocation, report)
        self.ended.append(time.perf_counter())
        if outcome.is_error:
            raise RuntimeError(str(outcome.content))
        return outcome


class Office(Gate):
    """A gate in which the name of an owner says which model answers: those that call a tool are told its result and
    say nothing. Everyone else, and whatever follows, is answered with words."""

    def __init__(self, desk: Desk, endpoint: OpenAIModel, store: SqliteStore) -> None:
        super().__init__(desk, endpoint, store)
        self.owners = (*(f"{model}_{number}" for model in CALLS for number in range(ROUNDS)), *SENDS.values())
        access = Access(store, SystemClock(), SessionReach(agent="main", level=Level.ALL))
        child = ChildAgent(rights=Rights(), model=None, own_model=str(SPEC.ref))
        self.spawn = Timed(
            SessionsSpawn(
                access,
                SpawnRules(
                    delegation=Delegation(agent="main"),
                    agents=("main",),
                    child=lambda agent, depth: child,
                    models=Models(ask_for=lambda name: SPEC, find=lambda name: SPEC),
                    max_children=CROWD,
                ),
            )
        )
        rules = SendRules(agents=frozenset({"main"}), max_turns=0)
        self.send = Timed(SessionsSend(access, Re2Scanner(), rules))

    def cast(self, session: Session, run: Run) -> Part:
        part = super().cast(session, run)
        model = run.key.name.partition("_")[0]
        if run.cause.kind is not ProvenanceKind.HUMAN or model not in CALLS:
            return part
        return replace(
            part,
            spec=replace(part.spec, ref=ModelRef("fake", model)),
            tools=(self.spawn, self.send),
            rights=Rights(spawns=1),
        )

    async def spawned(self, number: int, reader: apsw.Connection) -> float:
        """Milliseconds from a call that spawns until the child's report is in its requester's transcript."""
        person = f"spawns-1_{number}"
        before = reader.execute(ANNOUNCED, (parent_of(person),)).get
        told = self.desk.expect(person)
        self.write(person)
        over = await self.counted(reader, ANNOUNCED, person, before + 1)
        await told
        return (over - self.spawn.began[-1]) * 1000

    async def sent(self, number: int) -> float:
        """Milliseconds of a call that sends and waits for the reply."""
        announced = self.desk.expect(SENDS[f"sends-{number}"])
        self.write(f"sends-{number}_0")
        await announced
        return (self.send.ended[-1] - self.send.began[-1]) * 1000

    async def crowd(self, number: int, reader: apsw.Connection) -> float:
        """Seconds from the first of many calls that spawn to the end of the last child."""
        person, first = f"spawns-{CROWD}_{number}", len(self.spawn.began)
        self.write(person)
        over = await self.counted(reader, ENDED, person, CROWD)
        await self.counted(reader, ANNOUNCED, person, CROWD)
        return over - self.spawn.began[first]

    async def counted(self, reader: apsw.Connection, statement: str, person: str, wanted: int) -> float:
        """When so many completions of a person's session are so far."""
        parent = parent_of(person)

        async def enough() -> float | None:
            return time.perf_counter() if reader.execute(statement, (parent,)).get >= wanted else None

        return await self.store.wait_for(Topic(TopicKind.SESSION, parent), enough)

    def write(self, person: str) -> None:
        self.turns += 1
        self.desk.hand_in(person, f"e{self.turns}")


async def one_at_a_time(folder: Path, url: str) -> list[Figure]:
    """Each in turns with ordinary ones, and judged by its best round: the machine's other work hits all alike."""
    turn = spawn = send = float("inf")
    async with served(folder / "delegation.db", url, Office) as office:
        await walls(people(office, "warm"), WARM_UP)
        for target in SENDS.values():
            await office.turn(target)
        reader = open_reader(folder / "delegation.db")
        for number in range(ROUNDS):
            turn = min(turn, statistics.median(await walls(people(office, f"p{number}"), TURNS)))
            spawn = min(
                spawn, statistics.median([await office.spawned(number, reader) for _ in range(TURNS)])
            )
            send = min(send, statistics.median([await office.sent(number) for _ in range(TURNS)]))
        reader.close()
    return [
        at_most("spawn call to announce recorded, p50", spawn, turn, "ms", 3),
        at_most("sessions_send with wait, p50", send, turn, "ms", 3),
    ]


async def many_children(folder: Path, url: str) -> list[Figure]:
    path = folder / "children.db"
    children = independent = 0.0
    async with served(path, url, Office) as office:
        await walls(people(office, "warm"), WARM_UP)
        reader = open_reader(path)
        for number in range(size(3)):
            began = time.perf_counter()
            await asyncio.gather(*(office.turn(f"r{number}-{person}") for person in range(CROWD)))
            independent = max(independent, CROWD / (time.perf_counter() - began))
            children = max(children, CROWD / await office.crowd(number, reader))
        reader.close()
    return [at_least(f"{CROWD} children", children, independent, "a s", 0.7)]


async def measure(folder: Path) -> list[Figure]:
    with model_process() as url:
        return [*await one_at_a_time(folder, url), *await many_children(folder, url)]
