"""A store with a few sessions in it, and session tools that look into it."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from roost.core.effects import AcceptInput, OpenGeneration, QueueRun
from roost.core.entries import EntryDraft
from roost.core.inbound import InputMode
from roost.core.jsonvalue import compact
from roost.core.keys import SessionKey
from roost.core.messages import ProvenanceKind
from roost.core.principals import OWNER, Principal, person
from roost.core.reach import SessionReach
from roost.core.runs import Cause
from roost.core.sessions import Session
from roost.core.tools import Invocation, Place, ToolOutcome
from roost.core.visibility import AgentToAgent, Level
from roost.ports import Store, Tool
from roost.scanners.stdlib import StdlibScanner
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from roost.tools.access import Access
from roost.tools.sessions_history import SessionsHistory
from roost.tools.sessions_list import SessionsList
from roost.tools.sessions_search import SessionsSearch
from tests.contract.scenes import always, change, known
from tests.unit.tools.calls import nowhere, text_of

ALICE = person("telegram", "7")
ALICES = SessionKey.parse("agent:main:telegram:direct:7")
SIDE = SessionKey.named("main", "side")
OPS = SessionKey.named("ops", "main")
CHILD = SessionKey.parse("agent:main:subagent:one")
GRANDCHILD = SessionKey.parse("agent:ops:subagent:two")
EVERYONE = AgentToAgent(enabled=True, allow=None)
SCANNER = StdlibScanner()


def id_of(key: SessionKey) -> str:
    """The id of a session's first generation."""
    return f"{key.agent or key.kind}-{key.name or key.kind}"


@dataclass
class House:
    """One store and the reach of the session tools in it; `key`, `principal` and `sandboxed` are the caller's."""

    clock: FakeClock = field(default_factory=FakeClock)
    store: Store = field(init=False)
    reach: SessionReach = field(default_factory=lambda: SessionReach(agent="main"))
    key: SessionKey = MAIN
    principal: Principal = OWNER
    sandboxed: bool = False
    cause: ProvenanceKind = ProvenanceKind.HUMAN

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock)

    @property
    def access(self) -> Access:
        return Access(self.store, self.clock, self.reach)

    @property
    def list(self) -> SessionsList:
        return SessionsList(self.access, SCANNER, lambda session: f"/transcripts/{session.session_id}.jsonl")

    @property
    def history(self) -> SessionsHistory:
        return SessionsHistory(self.access, SCANNER)

    @property
    def search(self) -> SessionsSearch:
        return SessionsSearch(self.access, SCANNER)

    def seeing(self, level: Level, a2a: AgentToAgent | None = None) -> None:
        self.reach = replace(self.reach, level=level, a2a=a2a or AgentToAgent())

    def invocation(self, arguments: dict[str, Any]) -> Invocation:
        return Invocation(
            run_id="r1",
            call_id=compact(arguments),
            agent=self.key.agent,
            key=self.key,
            cause=Cause(principal=self.principal, kind=self.cause, trace="t1"),
            place=Place(workspace="/w", sandboxed=self.sandboxed),
            arguments=arguments,
        )

    async def call(self, tool: Tool, **arguments: Any) -> ToolOutcome:
        return await tool.run(self.invocation(arguments), nowhere)

    async def ask(self, tool: Tool, **arguments: Any) -> dict[str, Any]:
        """What the tool found."""
        outcome = await self.call(tool, **arguments)
        assert not outcome.is_error, text_of(outcome)
        found: dict[str, Any] = json.loads(text_of(outcome))
        return found

    async def refused(self, tool: Tool, **arguments: Any) -> dict[str, Any]:
        """How the tool said no."""
        outcome = await self.call(tool, **arguments)
        assert outcome.is_error
        told: dict[str, Any] = json.loads(text_of(outcome))
        return told

    async def hear(self, key: SessionKey, *texts: str) -> None:
        """Messages that wait for a run."""
        run = builders.run("waiting", key, at=self.clock.now())
        await change(self.store, QueueRun(run=run), key=key)
        for number, text in enumerate(texts):
            message = builders.inbound(f"heard-{number}", key, text=text)
            taken = AcceptInput(inbound=message, run_id=run.id, mode=InputMode.OPEN)
            await self.store.accept_inbound(message, always(taken))

    async def open(
        self,
        key: SessionKey = MAIN,
        *drafts: EntryDraft,
        owner: Principal = OWNER,
        parent: SessionKey | None = None,
    ) -> Session:
        """A session a minute younger than the one before."""
        self.clock.advance(60_000)
        row = builders.session(key, at=self.clock.now(), owner=owner, parent=parent)
        await change(self.store, builders.opening(row, id_of(key)), key=key)
        await self.store.append(key, drafts)
        return await known(self.store, key)

    async def reset(self, *drafts: EntryDraft, key: SessionKey = MAIN) -> str:
        """The id of the generation in which the conversation goes on."""
        number = 1 + len(await self.store.generations(key))
        generation = builders.generation(key, f"{id_of(key)}-{number}", number)
        await change(self.store, OpenGeneration(generation=generation), key=key)
        await self.store.append(key, drafts)
        return generation.session_id

    async def family(self) -> None:
        """The owner's main with a child and a grandchild, another session, another agent, another person."""
        await self.open(MAIN)
        await self.open(CHILD, parent=MAIN)
        await self.open(GRANDCHILD, parent=CHILD)
        await self.open(SIDE)
        await self.open(OPS)
        await self.open(ALICES, owner=ALICE)
