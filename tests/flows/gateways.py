"""A whole gateway for a flow: real store, real engine, loopback channel, scripted model."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from roost.channels.loopback import LoopbackChannel
from roost.clock import SystemClock
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.envelopes import Conversation, Sender
from roost.core.leases import Gateway, Lease
from roost.core.models import ModelRef, ModelSpec
from roost.core.queuesettings import QueuePolicy, QueueSettings
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.core.tools import Place
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.rules import Part, Rules
from roost.ports import Clock, Store, Tool
from roost.stores.sqlite.store import SqliteOptions
from roost.testing.clock import FakeClock
from roost.testing.scripted import ScriptedModel
from tests.grounds import Ground

ADA = Sender(id="ada", name="Ada")
BOB = Sender(id="bob", name="Bob")
SPEC = ModelSpec(ref=ModelRef("scripted", "one"), context_window=100_000, max_tokens=4_096)


def chat(sender: Sender) -> Conversation:
    return Conversation(chat_type=ChatType.DIRECT, peer=sender.id)


def place(sender: Sender, channel: str = "loopback") -> Address:
    return Address(channel=channel, to=sender.id or "")


@dataclass
class Bench:
    """What a test holds: the model to script, the channel to speak on, the rules to change before it starts."""

    store: Store
    clock: Clock
    model: ScriptedModel = field(default_factory=ScriptedModel)
    channel: LoopbackChannel = field(default_factory=LoopbackChannel)
    tools: tuple[Tool, ...] = ()
    rules: Rules = field(init=False)

    def __post_init__(self) -> None:
        self.rules = Rules(
            cast=self.cast,
            doors={"loopback": ChannelPolicy(dm_policy=DmPolicy.OPEN, owner_ids=("loopback:ada",))},
            queue=QueuePolicy(base=QueueSettings(debounce_ms=0)),
        )

    def cast(self, session: Session, run: Run) -> Part:
        return Part(
            model=self.model,
            spec=SPEC,
            reason="the only model",
            system="You are a test.",
            place=Place(workspace="/nonexistent"),
            tools=self.tools,
        )

    def change(self, **parts: object) -> None:
        self.rules = replace(self.rules, **parts)  # type: ignore[arg-type]

    def engine(self) -> Engine:
        return Engine(
            self.store, self.clock, FreshIds(self.clock), self.rules, [self.channel], jitter=lambda: 0.0
        )

    @asynccontextmanager
    async def serving(self, name: str = "flow") -> AsyncIterator[tuple[Engine, Lease]]:
        engine = self.engine()
        async with engine.serving(Gateway(name=name, holder=name)) as lease:
            yield engine, lease

    async def say(self, text: str, sender: Sender = ADA, *, external_id: str | None = None) -> None:
        await self.channel.say(text, sender=sender, chat=chat(sender), external_id=external_id)

    async def replies(self, sender: Sender = ADA, at_least: int = 1) -> tuple[str, ...]:
        return await self.channel.wait_replies(place(sender), at_least)


def benches(kind: str, folder: Path) -> AbstractAsyncContextManager[Bench]:
    return benches_on(Ground(kind, folder))


@asynccontextmanager
async def benches_on(ground: Ground, by: Clock | None = None) -> AsyncIterator[Bench]:
    """`by` is moved by the test; leases do not run out meanwhile."""
    clock, judge = (SystemClock(), None) if by is None else (by, FakeClock())
    store = await ground.opened(clock, judge, options=SqliteOptions())
    try:
        yield Bench(store, clock)
    finally:
        await store.close()
