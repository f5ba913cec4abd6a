"""The doors through which something is done to a session that is named, each as an object that can be tried.

A door that is added to `DOORS` is held to the same table as all others.
"""

import json
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from roost.core.effects import QueueRun
from roost.core.errors import RoostError
from roost.core.jsonvalue import JsonValue
from roost.core.keys import KeyKind, SessionKey
from roost.core.leases import Lease
from roost.core.messages import ProvenanceKind
from roost.core.rights import Rights
from roost.core.runs import Cause
from roost.core.spawning import run_of
from roost.core.tools import Invocation, Place
from roost.core.visibility import Operation
from roost.engine.feed import Feed
from roost.ports import Store, Tool
from roost.testing import builders
from roost.testing.clock import FakeClock
from roost.tools.access import Access
from tests.contract.scenes import change
from tests.flows.guards import INNER, NOWHERE, TOP, Asker, Box, Relation, Who, promised, relatives
from tests.unit.tools.calls import nowhere, text_of

EVERYONE = frozenset(Relation)
BETWEEN_PROBES_MS = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    allowed: bool
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One asker with the tools it is configured with."""

    asker: Asker
    store: Store
    clock: FakeClock
    tools: dict[str, Tool]
    access: Access
    calls: "count[int]" = field(default_factory=count)

    def call(self, **arguments: JsonValue) -> Invocation:
        asker = self.asker
        return Invocation(
            run_id=run_name(asker.key),
            call_id=f"{asker}-{next(self.calls)}",
            agent="main",
            key=asker.key,
            cause=Cause(principal=asker.who.principal, kind=ProvenanceKind.HUMAN, trace="t1"),
            place=Place(workspace="/w", sandboxed=asker.box is not Box.NONE),
            arguments=arguments,
            rights=Rights(spawns=1),
        )

    async def use(self, tool: str, **arguments: JsonValue) -> Answer:
        outcome = await self.tools[tool].run(self.call(**arguments), nowhere)
        return Answer(allowed=not outcome.is_error, words=text_of(outcome))


class Door(Protocol):
    """`records` what it refuses; some only say that there is no such thing. `works` says whether a run of each asker must
    be under way."""

    @property
    def name(self) -> str: ...
    @property
    def operation(self) -> Operation: ...
    @property
    def records(self) -> bool: ...
    @property
    def works(self) -> bool: ...

    def expected(self, relation: Relation, asker: Asker) -> bool | None:
        """Whether it opens; None where it cannot even name such a session."""
        ...

    async def probe(self, cell: Cell, key: SessionKey) -> Answer: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDoor:
    """A tool that takes the name of a session; `reaches` are those it can name at all."""

    tool: str
    operation: Operation
    arguments: dict[str, Any]
    named_by: str = "sessionKey"
    reaches: frozenset[Relation] = EVERYONE
    records: bool = True
    works: bool = False

    @property
    def name(self) -> str:
        return f"{self.operation}-{self.arguments.get('action', self.tool)}"

    def expected(self, relation: Relation, asker: Asker) -> bool | None:
        return relation in self.reaches and promised(self.operation, relation, asker)

    async def probe(self, cell: Cell, key: SessionKey) -> Answer:
        answer = await cell.use(self.tool, **{self.named_by: str(key), **self.arguments})
        return Answer(allowed=answer.allowed, words=_comparable(answer.words, key))


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnDoor:
    """Spawns below the session that asks, and can name no other."""

    name: str = "spawn-sessions_spawn"
    operation: Operation = Operation.SPAWN
    records: bool = True
    works: bool = True
    tool: str = "sessions_spawn"

    def expected(self, relation: Relation, asker: Asker) -> bool | None:
        return promised(Operation.SPAWN, relation, asker) if relation is Relation.SELF else None

    async def probe(self, cell: Cell, key: SessionKey) -> Answer:
        return await cell.use(self.tool, task="look")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardDoor:
    """What every tool goes through, for an operation for which there is no tool."""

    operation: Operation
    records: bool = True
    works: bool = False
    tool: None = None

    @property
    def name(self) -> str:
        return f"{self.operation}-guard"

    def expected(self, relation: Relation, asker: Asker) -> bool | None:
        return promised(self.operation, relation, asker)

    async def probe(self, cell: Cell, key: SessionKey) -> Answer:
        try:
            await cell.access.find(self.operation, str(key), cell.call())
        except RoostError as error:
            return Answer(allowed=False, words=str(error))
        return Answer(allowed=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedDoor:
    """Listening to a session is reading its history."""

    name: str = "history-feed"
    operation: Operation = Operation.HISTORY
    records: bool = True
    works: bool = False
    tool: None = None

    def expected(self, relation: Relation, asker: Asker) -> bool | None:
        return promised(Operation.HISTORY, relation, asker)

    async def probe(self, cell: Cell, key: SessionKey) -> Answer:
        caller = cell.access.reach.caller(cell.call())
        try:
            async with Feed(cell.store, cell.clock).subscribe(key, caller):
                return Answer(allowed=True)
        except RoostError as error:
            return Answer(allowed=False, words=str(error))


def _comparable(words: str, key: SessionKey) -> str:
    """A refusal without what differs from call to call whatever is refused: the name asked for, the id of the call."""
    words = words.replace(str(key), str(NOWHERE))
    try:
        told = json.loads(words)
    except ValueError:
        return words
    return json.dumps({name: value for name, value in told.items() if name != "runId"})


OWN_CHILDREN = frozenset({Relation.CHILD})

DOORS: tuple[Door, ...] = (
    ToolDoor(tool="sessions_search", operation=Operation.SEARCH, arguments={"query": "canary"}),
    ToolDoor(tool="sessions_history", operation=Operation.HISTORY, arguments={}),
    ToolDoor(tool="session_status", operation=Operation.STATUS, arguments={}),
    ToolDoor(tool="session_status", operation=Operation.PATCH, arguments={"model": "demo/demo"}),
    ToolDoor(
        tool="sessions_send",
        operation=Operation.SEND,
        arguments={"message": "hello", "timeoutSeconds": 0},
        works=True,
    ),
    ToolDoor(
        tool="subagents",
        operation=Operation.STOP,
        arguments={"action": "kill"},
        named_by="target",
        reaches=OWN_CHILDREN,
        records=False,
    ),
    ToolDoor(
        tool="subagents",
        operation=Operation.STOP,
        arguments={"action": "steer", "message": "go on"},
        named_by="target",
        reaches=OWN_CHILDREN,
        records=False,
    ),
    SpawnDoor(),
    FeedDoor(),
    *(
        GuardDoor(operation=one)
        for one in (Operation.LIST, Operation.STOP, Operation.RESET, Operation.DELETE, Operation.EXPORT)
    ),
)
TOOLS = frozenset(
    {"sessions_search", "sessions_history", "session_status", "sessions_send", "subagents", "sessions_spawn"}
)


# -- the work of the sessions in the table -----------------------------------------------------------


def run_name(key: SessionKey) -> str:
    return run_of(key) if key.kind is KeyKind.SUBAGENT else f"run-{key}"


async def set_to_work(store: Store, lease: Lease, *, under_way: bool) -> None:
    """Runs of those who ask, under way or over, and of everyone whom they spawned."""
    askers = {*TOP.values(), *INNER.values()}
    everyone = {key for who in Who for key in relatives(who, inner=True).values()}
    for key in askers | {key for key in everyone if key.kind is KeyKind.SUBAGENT}:
        await change(store, QueueRun(run=builders.run(run_name(key), key)), key=key)
        if not under_way:
            await change(store, builders.done(run_name(key)), key=key)
    if under_way:
        wanted = {run_name(key) for key in askers}
        await store.claim_runs(
            lease, lambda backlog: tuple(one.id for one in backlog.ready if one.id in wanted)
        )
