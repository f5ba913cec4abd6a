"""A gateway that ends at a chosen call and lives again, over what outlives it: the store's rows and the platform
with its people."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Self

import anyio

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.deliveries import DeliveryState
from roost.core.entries import Entry
from roost.core.envelopes import Conversation, Sender
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.models import ModelRef, ModelRequest, ModelSpec
from roost.core.queries import HistoryQuery, SessionQuery
from roost.core.queuesettings import QueuePolicy, QueueSettings
from roost.core.sessions import SessionStatus
from roost.core.snapshots import Snapshot
from roost.core.tools import Place
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.outbox import DELIVERIES
from roost.engine.rules import Part, Rules
from roost.engine.scheduler import RUNS
from roost.ports import Store, Tool
from roost.testing.clock import FakeClock
from roost.testing.crashing import (
    Crashed,
    Crashes,
    CrashingChannel,
    CrashingModel,
    CrashingStore,
    CrashPoint,
    Moment,
)
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import Script
from tests.grounds import Ground
from tests.scale import chosen, count
from tests.snapshots import snapshot

MAIN = SessionKey.named("main", "main")
ADA = Sender(id="ada", name="Ada")
WITH_ADA = Conversation(chat_type=ChatType.DIRECT, peer="ada")
CHAT = Address(channel="loopback", to="ada")
SPEC = ModelSpec(ref=ModelRef("scripted", "one"), context_window=100_000, max_tokens=4_096)
DOOR = ChannelPolicy(dm_policy=DmPolicy.OPEN, owner_ids=("loopback:ada",))
WITHIN_S = 60
AT_WORK = frozenset({SessionStatus.QUEUED, SessionStatus.RUNNING})
UNSENT = (DeliveryState.INTENT, DeliveryState.SENDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """What one person says in one chat."""

    text: str
    sender: Sender = ADA
    chat: Conversation = WITH_ADA


@dataclass(kw_only=True)
class Lives(ABC):
    """What outlives the gateway. `sayings` are said in order, each once the one before it has been dealt with."""

    ground: Ground
    sayings: tuple[Saying, ...]
    channel: LoopbackChannel = field(default_factory=LoopbackChannel)
    clock: FakeClock = field(default_factory=FakeClock)
    said: int = 0
    lives: int = 0
    store: Store = field(init=False)
    model: ScriptedModel = field(init=False)

    @abstractmethod
    def answer(self, request: ModelRequest) -> Script:
        """What the model says follows from what it was asked, however often it is asked."""

    def tools(self, store: Store, crashes: Crashes) -> tuple[Tool, ...]:
        return ()

    def part(self, crashes: Crashes, tools: tuple[Tool, ...]) -> Part:
        return Part(
            model=CrashingModel(self.model, crashes),
            spec=SPEC,
            reason="the only model",
            system="You are a test.",
            place=Place(workspace="/nonexistent"),
            tools=tools,
        )

    def rules(self, part: Part) -> Rules:
        return Rules(
            cast=lambda session, run: part,
            doors={"loopback": DOOR},
            queue=QueuePolicy(base=QueueSettings(debounce_ms=0)),
        )

    async def converse(self) -> None:
        """What happens in a life."""
        await self.settled()
        while self.said < len(self.sayings):
            await self.say()
            await self.settled()

    # -- one life after another -----------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self.store = await self.ground.opened(self.clock)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.store.close()

    async def live(self, point: CrashPoint | None = None) -> Crashes:
        """One life of the gateway, until all is settled or it crashes."""
        crashes = Crashes(point)
        self.lives += 1
        self.model = ScriptedModel(otherwise=self.answer, clock=self.clock)
        try:
            with anyio.fail_after(WITHIN_S):
                async with self._engine(crashes).serving(Gateway(name="crash", holder=f"life-{self.lives}")):
                    await self.converse()
        except* Crashed:
            pass
        return crashes

    async def strike(self, point: CrashPoint) -> Crashes:
        """A life that ends at this point, and what a new process finds after it."""
        struck = await self.live(point)
        print(f"crashed {point.moment} call {point.at}, {struck.calls[point.at - 1 : point.at]}")  # noqa: T201 — shown when it fails
        if self.ground.durable:
            await self.store.close()
            self.store = await self.ground.opened(self.clock)
        return struck

    def _engine(self, crashes: Crashes) -> Engine:
        store, channel = CrashingStore(self.store, crashes), CrashingChannel(self.channel, crashes)
        rules = self.rules(self.part(crashes, self.tools(store, crashes)))
        return Engine(store, self.clock, FreshIds(self.clock), rules, [channel], jitter=lambda: 0.0)

    # -- within a life --------------------------------------------------------------------------------

    async def say(self) -> None:
        """The next saying; it is said once, whatever becomes of it."""
        saying = self.sayings[self.said]
        self.said += 1
        await self.channel.say(
            saying.text, sender=saying.sender, chat=saying.chat, external_id=f"e{self.said}"
        )

    async def settled(self) -> None:
        """Return once all that was said is heard, and nothing waits, runs or is to be sent. These are no calls of the gateway."""
        await self.channel.wait_acknowledged()

        async def at_rest() -> bool | None:
            page = await self.store.list_sessions(SessionQuery(limit=100))
            return None if any(row.status in AT_WORK for row in page.rows) else True

        async def sent() -> bool | None:
            return None if any([await self.store.deliveries(state, 1) for state in UNSENT]) else True

        await self.store.wait_for(RUNS, at_rest)
        await self.store.wait_for(DELIVERIES, sent)

    # -- afterwards -----------------------------------------------------------------------------------

    async def entries(self, key: SessionKey = MAIN) -> tuple[Entry, ...]:
        return (await self.store.history(HistoryQuery(key=key, limit=100))).entries

    async def snapshot(self) -> Snapshot:
        await self.store.acquire_lease(Gateway(name="crash", holder="look"))
        return await snapshot(self.store)


def sayings(*texts: str) -> tuple[Saying, ...]:
    return tuple(Saying(text=text) for text in texts)


def points(
    kind: str, calls: tuple[str, ...], one_in: Mapping[str, int], sharp: Collection[str] = ()
) -> Iterator[CrashPoint]:
    """Before and after every call; at reduced scale one in a few of these, and the sharp ones."""
    step = count(one_in[kind], 1)
    if kind == "postgres":
        # Each life takes a second there.
        step, sharp = count(step, max(1, one_in[kind] // 40)), ()
    for place, (number, moment) in enumerate(product(range(1, len(calls) + 1), Moment)):
        if chosen(place, step) or calls[number - 1] in sharp:
            yield CrashPoint(at=number, moment=moment)
