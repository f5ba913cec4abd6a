"""A store in memory with work waiting in it, and the smallest parts that do the work."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, field

from roost.core.admission import ChannelPolicy
from roost.core.effects import AcceptInput, QueueRun
from roost.core.inbound import InputMode
from roost.core.leases import Gateway, Lease
from roost.core.messages import Text, ToolCall
from roost.core.models import ToolSpec
from roost.core.queries import HistoryQuery
from roost.core.runs import Claim, Request, Run, RunState
from roost.core.sessions import Session
from roost.core.snapshots import Advance
from roost.core.tools import Invocation, Place, ToolOutcome, ToolTraits
from roost.core.turntaking import Backlog
from roost.core.workspacefiles import WorkspaceFile
from roost.engine.feed import Feed
from roost.engine.rulebook import Rulebook
from roost.engine.rules import Part, Rules
from roost.engine.runner import Runner
from roost.engine.stops import Stops
from roost.engine.turn import Turn
from roost.engine.voice import Voice
from roost.engine.work import Headway, Playing, Work
from roost.ports import Report, Store, Tool
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import CHAT, MAIN
from roost.testing.clock import FakeClock
from roost.testing.scripted import ScriptedModel
from tests.flows.gateways import SPEC

HOME = Gateway(name="home", holder="this process")


@dataclass
class Doing:
    """A tool that does what it is given to do."""

    name: str
    act: Callable[[], Awaitable[str]]
    traits: ToolTraits = field(default_factory=ToolTraits)

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(name=self.name, description="Does it.", parameters={})

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        await report("under way")
        return ToolOutcome(content=(Text(await self.act()),))


@dataclass
class Scene:
    clock: FakeClock = field(default_factory=FakeClock)
    model: ScriptedModel = field(default_factory=ScriptedModel)
    tools: tuple[Tool, ...] = ()
    files: tuple[WorkspaceFile, ...] = ()
    system: str = "You are a test."
    store: Store = field(init=False)
    rules: Rules = field(init=False)
    lease: Lease = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock)
        self.rules = Rules(cast=self.cast)

    def cast(self, session: Session, run: Run) -> Part:
        return Part(
            model=self.model,
            spec=SPEC,
            reason="the only model",
            system=self.system,
            place=Place(workspace="/nonexistent"),
            tools=self.tools,
            files=self.files,
        )

    async def hear(self, name: str, *, text: str | None = None, request: Request | None = None) -> None:
        """A message that opens a run of the same name."""
        message = builders.inbound(name, text=text or name, at=self.clock.now())
        row = builders.session()
        run = builders.run(name, at=self.clock.now(), request=request or Request(reply_to=CHAT))
        await self.store.accept_inbound(
            message,
            lambda snapshot: (
                *(() if snapshot.session else (builders.opening(row, "gen-1"),)),
                QueueRun(run=run),
                AcceptInput(inbound=message, run_id=name, mode=InputMode.OPEN),
            ),
        )

    async def claimed(self, name: str = "r1", *, request: Request | None = None) -> Run:
        """A run that has begun, with one message to take."""
        await self.hear(name, request=request)
        self.lease = await self.store.acquire_lease(HOME)
        runs = await self.store.claim_runs(self.lease, everything)
        return runs[0]

    async def turn(self, run: Run, *, most_steps: int = 5) -> Turn:
        return Turn(await self.work(run), most_steps)

    async def work(self, run: Run) -> Work:
        assert run.session_id is not None
        assert run.claim is not None
        found = await self.store.conversation(run.session_id)
        assert found is not None
        return Work(
            store=self.store,
            clock=self.clock,
            claim=run.claim,
            conversation=found,
            playing=Playing(self.cast(found.session, run)),
            headway=Headway(run=run, moved_at=self.clock.now()),
            lent=nullcontext,
            voice=Voice.mute(run),
            doors=lambda at: ChannelPolicy(owner_ids=(CHAT.to,)),
        )

    async def bodies(self) -> list[object]:
        page = await self.store.history(HistoryQuery(key=MAIN, limit=100))
        return [entry.body for entry in page.entries]


def everything(backlog: Backlog) -> tuple[str, ...]:
    return tuple(run.id for run in backlog.ready)


def call(name: str, call_id: str | None = None) -> ToolCall:
    return ToolCall(id=call_id or name, name=name, arguments={})


def runner(scene: Scene, stops: Stops | None = None) -> Runner:
    feed = Feed(scene.store, scene.clock)
    return Runner(scene.store, scene.clock, Rulebook(scene.rules), stops or Stops(), feed)


async def outcome(scene: Scene, run: Run) -> tuple[RunState, str | None]:
    after = await scene.store.run(run.id)
    assert after is not None
    assert after.outcome is not None
    return after.outcome.state, after.outcome.code


class Failing(MemoryStore):
    """Does not keep the end of a run, for these reasons first."""

    def __init__(self, clock: FakeClock, *errors: Exception) -> None:
        super().__init__(clock)
        self.errors = list(errors)

    async def finish_run(self, claim: Claim, advance: Advance) -> Run:
        if self.errors:
            raise self.errors.pop(0)
        return await super().finish_run(claim, advance)
