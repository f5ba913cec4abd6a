"""A gateway whose model has a small window."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from roost.core.compaction import SECTIONS
from roost.core.keys import SessionKey
from roost.core.messages import (
    Body,
    Compaction,
    text_of,
)
from roost.core.models import ModelRef, ModelRequest, ModelSpec
from roost.core.queries import HistoryQuery
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.core.tools import Place, WorkspaceAccess
from roost.core.upkeep import ContextSettings
from roost.engine.rules import Part
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.testing.clock import FakeClock
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import Say, Script
from tests.flows.gateways import Bench
from tests.grounds import laid

MAIN = SessionKey.named("main", "main")
SUMMARY = "\n".join(f"## {section}\nNone." for section in SECTIONS)
SPEC = ModelSpec(ref=ModelRef("scripted", "small"), context_window=4_000, max_tokens=500)
WIDE = replace(SPEC, context_window=10_000)
LONG = "word " * 250
NOTES = "memory/day.md"


def is_summary(request: ModelRequest) -> bool:
    return request.system.startswith("Condense")


def is_flush(request: ModelRequest) -> bool:
    return any("soon be condensed" in text_of(message) for message in request.messages)


def last_line(request: ModelRequest) -> str:
    return text_of(request.messages[-1]).splitlines()[-1].strip()


def answer(request: ModelRequest) -> Script:
    if is_summary(request):
        return (Say(SUMMARY),)
    if is_flush(request):
        return (Say("NO_REPLY"),)
    return (Say(f"re {last_line(request)[-8:]}"),)


@dataclass
class House:
    """A bench whose model has a small window, and what a run of it is given."""

    bench: Bench
    workspace: Path
    spec: ModelSpec = SPEC
    access: WorkspaceAccess = WorkspaceAccess.READ
    settings: ContextSettings = field(default_factory=ContextSettings)

    def cast(self, session: Session, run: Run) -> Part:
        return Part(
            model=self.bench.model,
            spec=self.spec,
            reason="the only model",
            system="You are a test.",
            place=Place(workspace=str(self.workspace), access=self.access),
            tools=self.bench.tools,
            context=self.settings,
        )

    async def talk(self, *texts: str) -> None:
        """Each message is said once the one before it was answered, and all that follows from it is over."""
        async with self.bench.serving() as (engine, _):
            for text in texts:
                await self.bench.say(text)
                await self.bench.channel.wait_acknowledged()
                await engine.settled()

    async def bodies(self) -> list[Body]:
        page = await self.bench.store.history(HistoryQuery(key=MAIN, limit=1_000))
        return [entry.body for entry in page.entries]

    async def compactions(self) -> list[Compaction]:
        return [body for body in await self.bodies() if isinstance(body, Compaction)]

    def asked(self) -> list[ModelRequest]:
        """The calls of turns, without those of compactions and flushes."""
        return [one for one in self.bench.model.requests if not is_summary(one) and not is_flush(one)]


def numbered(count: int) -> list[str]:
    return [f"{LONG} message{number:03}" for number in range(count)]


@asynccontextmanager
async def houses(kind: str, folder: Path) -> AsyncIterator[House]:
    clock = FakeClock()
    store: Store = (
        MemoryStore(clock) if kind == "memory" else SqliteStore.open(laid(folder / "flow.db"), clock)
    )
    bench = Bench(store, clock, model=ScriptedModel(otherwise=answer, clock=clock))
    workspace = folder / "workspace"
    workspace.mkdir()
    house = House(bench, workspace)
    bench.change(cast=house.cast)
    try:
        yield house
    finally:
        await store.close()
