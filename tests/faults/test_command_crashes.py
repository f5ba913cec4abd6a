"""A gateway that ends at every single call it makes while it carries out commands: done once, answered once.

What was stopped before the crash is not taken up again after it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from roost.channels.loopback import EVERYTHING, LoopbackChannel
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.deliveries import DeliveryState
from roost.core.effects import Effects, Snapshot
from roost.core.envelopes import Conversation, Sender
from roost.core.events import EventKind
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import AssistantMessage, StopReason, UserMessage, text_of
from roost.core.models import ModelRef, ModelRequest, ModelSpec
from roost.core.queries import HistoryQuery
from roost.core.queuesettings import QueuePolicy, QueueSettings
from roost.core.sessions import SessionStatus
from roost.core.tools import Place
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.rules import Part, Rules
from roost.ports import Store, Topic, TopicKind
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.store import SqliteOptions
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
from roost.testing.scripts import Hang, Say, Script
from tests.faults.test_engine_crashes import sampled

MAIN = SessionKey.named("main", "main")
ADA = Sender(id="ada", name="Ada")
CHAT = Address(channel="loopback", to="ada")
SPEC = ModelSpec(ref=ModelRef("scripted", "one"), context_window=100_000, max_tokens=4_096)
MESSAGES = ("work", "/stop", "/usage", "speak")
WITHIN_S = 20
AT_WORK = frozenset({SessionStatus.QUEUED, SessionStatus.RUNNING})


def answer(request: ModelRequest) -> Script:
    if text_of(request.messages[-1]).splitlines()[-1] == "work":
        return (Say("half"), Hang())
    return (Say("I speak."),)


@dataclass
class Scene:
    """What outlives a gateway: the store's rows and the platform with its people."""

    kind: str
    folder: Path
    channel: LoopbackChannel = field(default_factory=lambda: LoopbackChannel(abilities=EVERYTHING))
    clock: FakeClock = field(default_factory=FakeClock)
    said: int = 0
    lives: int = 0
    store: Store = field(init=False)
    model: ScriptedModel = field(init=False)

    def __post_init__(self) -> None:
        self.store = self._opened()

    def _opened(self) -> Store:
        if self.kind == "memory":
            return MemoryStore(self.clock)
        options = SqliteOptions(synchronous="OFF", readers=1)
        return SqliteStore.open(self.folder / "crash.db", self.clock, options=options)

    async def restart(self) -> None:
        if self.kind == "sqlite":
            await self.store.close()
            self.store = self._opened()

    async def live(self, point: CrashPoint | None = None) -> Crashes:
        """One life of the gateway, until all is settled or it crashes. What was stopped stays stopped in it."""
        crashes, stopped = Crashes(point), await self.stopped()
        self.lives += 1
        self.model = ScriptedModel(otherwise=answer, clock=self.clock)
        gateway = Gateway(name="crash", holder=f"life-{self.lives}")
        try:
            with anyio.fail_after(WITHIN_S):
                async with self._engine(crashes).serving(gateway):
                    await self._converse()
        except* Crashed:
            pass
        asked = [text_of(request.messages[-1]).splitlines()[-1] for request in self.model.requests]
        assert not (stopped and "work" in asked)
        return crashes

    async def stopped(self) -> bool:
        events = await self.store.events(MAIN, after=0, limit=100)
        return any(event.kind is EventKind.INPUT_ANSWERED for event in events)

    def _engine(self, crashes: Crashes) -> Engine:
        part = Part(
            model=CrashingModel(self.model, crashes),
            spec=SPEC,
            reason="the only model",
            system="You are a test.",
            place=Place(workspace="/nonexistent"),
        )
        rules = Rules(
            cast=lambda session, run: part,
            doors={"loopback": ChannelPolicy(dm_policy=DmPolicy.OPEN, owner_ids=("loopback:ada",))},
            queue=QueuePolicy(base=QueueSettings(debounce_ms=0)),
        )
        store, channel = CrashingStore(self.store, crashes), CrashingChannel(self.channel, crashes)
        return Engine(store, self.clock, FreshIds(self.clock), rules, [channel], jitter=lambda: 0.0)

    async def _converse(self) -> None:
        if self.said == 0:
            await self._say()
            await self.model.asked(1)
        while self.said < len(MESSAGES):
            await self._say()
            await self._settled()
        await self._settled()

    async def _say(self) -> None:
        text = MESSAGES[self.said]
        self.said += 1
        chat = Conversation(chat_type=ChatType.DIRECT, peer="ada")
        await self.channel.say(text, sender=ADA, chat=chat, external_id=f"e{self.said}")

    async def _settled(self) -> None:
        await self.channel.wait_acknowledged()

        async def check() -> bool | None:
            session = await self.store.session(MAIN)
            under_way = [
                *await self.store.deliveries(DeliveryState.INTENT, 10),
                *await self.store.deliveries(DeliveryState.SENDING, 10),
            ]
            return (session is not None and session.status not in AT_WORK and not under_way) or None

        await self.store.wait_for(Topic(TopicKind.SESSION, str(MAIN)), check)

    async def snapshot(self) -> Snapshot:
        def nothing(snapshot: Snapshot) -> Effects:
            return ()

        await self.store.acquire_lease(Gateway(name="crash", holder="look"))
        return await self.store.change_session(MAIN, nothing)


@asynccontextmanager
async def scenes(kind: str, folder: Path) -> AsyncIterator[Scene]:
    scene = Scene(kind, folder)
    try:
        yield scene
    finally:
        await scene.store.close()


async def assert_whole(scene: Scene) -> None:
    stop, usage, reply = scene.channel.replies(CHAT)
    assert stop.startswith("Stopped ")
    assert usage == "Figures below answers: tokens."
    assert reply.startswith("I speak.")
    entries = (await scene.store.history(HistoryQuery(key=MAIN, limit=100))).entries
    bodies = [entry.body for entry in entries]
    heard = [text_of(body) for body in bodies if isinstance(body, UserMessage)]
    assert heard in (["work", "speak"], ["speak"])
    answers = [body for body in bodies if isinstance(body, AssistantMessage)]
    assert text_of(answers[-1]) == "I speak."
    assert all(body.stop is StopReason.ABORTED for body in answers[:-1])
    snapshot = await scene.snapshot()
    assert snapshot.session is not None
    assert snapshot.session.overrides.usage == "tokens"
    assert (snapshot.pending, snapshot.running, snapshot.queued) == ((), None, ())
    assert await scene.store.check() == ()


@pytest.mark.requirement("D51", "P27", "P14")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_after_a_crash_at_any_call_what_was_stopped_stays_stopped_and_commands_are_done_once(
    kind: str, tmp_path: Path
) -> None:
    async with scenes(kind, tmp_path / "dry") as scene:
        calls = (await scene.live()).calls
        await assert_whole(scene)
    points = [CrashPoint(at=number, moment=moment) for number, moment in sampled(kind, calls)]
    sharp = [
        CrashPoint(at=at, moment=moment, call="store.accept_command") for at in (1, 2) for moment in Moment
    ]
    for place, point in enumerate((*sharp, *points)):
        async with scenes(kind, tmp_path / str(place)) as scene:
            struck = await scene.live(point)
            print(f"crashed at {point}, {struck.calls[point.at - 1 : point.at]}")  # noqa: T201 — shown when it fails
            await scene.restart()
            await scene.live()
            await assert_whole(scene)
