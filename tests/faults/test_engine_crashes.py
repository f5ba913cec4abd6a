"""A gateway that ends at every single call it makes: its next life answers what is left, and nothing twice."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import anyio
import pytest

from roost.channels.loopback import EVERYTHING, LoopbackChannel
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.channels import ChannelAbilities
from roost.core.deliveries import Delivery, DeliveryState
from roost.core.effects import Effects, Snapshot
from roost.core.entries import Entry
from roost.core.envelopes import Conversation, Sender
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import AssistantMessage, Text, ToolCall, ToolResult, UserMessage, text_of
from roost.core.models import ModelRef, ModelRequest, ModelSpec, ToolSpec
from roost.core.queries import HistoryQuery
from roost.core.queuesettings import QueuePolicy, QueueSettings
from roost.core.sessions import SessionStatus
from roost.core.tools import Invocation, Place, ToolOutcome, ToolTraits
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.rules import Part, Rules
from roost.ports import Report, Store, Topic, TopicKind
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
from roost.testing.scripts import CallTool, Say, Script
from tests.scale import chosen, count

MAIN = SessionKey.named("main", "main")
ADA = Sender(id="ada", name="Ada")
CHAT = Address(channel="loopback", to="ada")
SPEC = ModelSpec(ref=ModelRef("scripted", "one"), context_window=100_000, max_tokens=4_096)
CALL = ToolCall(id="c1", name="count", arguments={})
MESSAGES = ("use the tool", "say nothing", "speak")
REPLIES = ("I used it.", "I speak.")
WITHIN_S = 20
KINDS = {
    "all": EVERYTHING,
    "asked": ChannelAbilities(longest=4000, answers=True),
    "dedupes": ChannelAbilities(longest=4000, dedupes=True),
    "neither": ChannelAbilities(longest=4000),
}


def answer(request: ModelRequest) -> Script:
    """What is said follows from what was asked, however often it is asked."""
    last = request.messages[-1]
    if isinstance(last, ToolResult):
        return (Say(REPLIES[0]),)
    match MESSAGES.index(text_of(last).splitlines()[-1]):
        case 0:
            return (CallTool(CALL),)
        case 1:
            return (Say("NO_REPLY"),)
        case _:
            return (Say(REPLIES[1]),)


@dataclass
class Counting:
    """A tool that knows how often it was run."""

    traits: ToolTraits
    crashes: Crashes = field(default_factory=Crashes)
    times: int = 0
    spec: ToolSpec = field(default=ToolSpec(name="count", description="Counts.", parameters={}))

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        with self.crashes.call("tool.run"):
            self.times += 1
            return ToolOutcome(content=(Text(str(self.times)),))


@dataclass
class Scene:
    """What outlives a gateway: the store's rows, the platform with its people, and what the tool did."""

    kind: str
    folder: Path
    channel: LoopbackChannel
    tool: Counting
    clock: FakeClock = field(default_factory=FakeClock)
    said: int = 0
    lives: int = 0
    store: Store = field(init=False)

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
        """One life of the gateway, until all is settled or it crashes."""
        crashes = Crashes(point)
        self.tool.crashes = crashes
        self.lives += 1
        gateway = Gateway(name="crash", holder=f"life-{self.lives}")
        try:
            with anyio.fail_after(WITHIN_S):
                async with self._engine(crashes).serving(gateway):
                    await self._converse()
        except* Crashed:
            pass
        return crashes

    def _engine(self, crashes: Crashes) -> Engine:
        part = Part(
            model=CrashingModel(ScriptedModel(otherwise=answer, clock=self.clock), crashes),
            spec=SPEC,
            reason="the only model",
            system="You are a test.",
            place=Place(workspace="/nonexistent"),
            tools=(self.tool,),
        )
        rules = Rules(
            cast=lambda session, run: part,
            doors={"loopback": ChannelPolicy(dm_policy=DmPolicy.OPEN, owner_ids=("loopback:ada",))},
            queue=QueuePolicy(base=QueueSettings(debounce_ms=0)),
        )
        store, channel = CrashingStore(self.store, crashes), CrashingChannel(self.channel, crashes)
        return Engine(store, self.clock, FreshIds(self.clock), rules, [channel], jitter=lambda: 0.0)

    async def _converse(self) -> None:
        """Each message is said once the one before it has been dealt with."""
        await self._settled()
        while self.said < len(MESSAGES):
            text = MESSAGES[self.said]
            self.said += 1
            chat = Conversation(chat_type=ChatType.DIRECT, peer="ada")
            await self.channel.say(text, sender=ADA, chat=chat, external_id=f"e{self.said}")
            await self._settled()

    async def _settled(self) -> None:
        await self.channel.wait_acknowledged()
        if not self.said:
            return

        async def check() -> bool | None:
            session = await self.store.session(MAIN)
            under_way = [
                *await self.store.deliveries(DeliveryState.INTENT, 10),
                *await self.store.deliveries(DeliveryState.SENDING, 10),
            ]
            return (session is not None and session.status is SessionStatus.DONE and not under_way) or None

        await self.store.wait_for(Topic(TopicKind.SESSION, str(MAIN)), check)

    async def entries(self) -> tuple[Entry, ...]:
        return (await self.store.history(HistoryQuery(key=MAIN, limit=100))).entries

    async def snapshot(self) -> Snapshot:
        def nothing(snapshot: Snapshot) -> Effects:
            return ()

        await self.store.acquire_lease(Gateway(name="crash", holder="look"))
        return await self.store.change_session(MAIN, nothing)


@asynccontextmanager
async def scenes(
    kind: str, folder: Path, abilities: ChannelAbilities, traits: ToolTraits
) -> AsyncIterator[Scene]:
    scene = Scene(kind, folder, LoopbackChannel(abilities=abilities), Counting(traits))
    try:
        yield scene
    finally:
        await scene.store.close()


async def assert_whole(scene: Scene) -> None:
    bodies = [entry.body for entry in await scene.entries()]
    assert [text_of(body) for body in bodies if isinstance(body, UserMessage)] == list(MESSAGES)
    answers = [text_of(body) for body in bodies if isinstance(body, AssistantMessage)]
    assert answers == ["", REPLIES[0], "NO_REPLY", REPLIES[1]]
    results = [body for body in bodies if isinstance(body, ToolResult)]
    assert [result.call_id for result in results] == [CALL.id]
    if scene.tool.traits.reenterable:
        assert not results[0].is_error
    else:
        assert scene.tool.times == 1 or (scene.tool.times == 0 and results[0].is_error)
    await assert_shown(scene)
    snapshot = await scene.snapshot()
    assert snapshot.pending == ()
    assert (snapshot.running, snapshot.queued) == (None, ())
    assert await scene.store.check() == ()


async def assert_shown(scene: Scene) -> None:
    """Each reply once where the channel dedupes or can be asked; elsewhere never twice, and never lost in silence."""
    shown = scene.channel.replies(CHAT)
    uncertain: tuple[Delivery, ...] = await scene.store.deliveries(DeliveryState.UNCERTAIN, 10)
    if scene.channel.abilities.dedupes or scene.channel.abilities.answers:
        assert shown == REPLIES
        assert uncertain == ()
        return
    times = Counter(shown)
    assert times.keys() <= set(REPLIES)
    assert all(number == 1 for number in times.values())
    assert {*shown, *(delivery.text for delivery in uncertain)} == set(REPLIES)


# Between what the world sees and what the store knows: struck at every scale.
SHARP = frozenset({"channel.send", "tool.run"})


def sampled(kind: str, calls: tuple[str, ...]) -> Iterator[tuple[int, Moment]]:
    """Every call, before and after it; at reduced scale the sharp ones and one in a few."""
    step = count(7 if kind == "memory" else 15, 1)
    for place, (number, moment) in enumerate(product(range(1, len(calls) + 1), Moment)):
        if chosen(place, step) or calls[number - 1] in SHARP:
            yield number, moment


# Each way of knowing what was sent, each kind of tool, each store; not every mix of them.
CASES = [("all", False), ("asked", True), ("dedupes", True), ("neither", False)]


@pytest.mark.requirement("P9", "P10")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("abilities", "reenterable"), CASES)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_after_a_crash_at_any_call_every_message_is_answered_and_no_answer_comes_twice(
    kind: str, abilities: str, *, reenterable: bool, tmp_path: Path
) -> None:
    traits = ToolTraits(reenterable=reenterable)
    async with scenes(kind, tmp_path / "dry", KINDS[abilities], traits) as scene:
        calls = (await scene.live()).calls
        await assert_whole(scene)
    for number, moment in sampled(kind, calls):
        point = CrashPoint(at=number, moment=moment)
        folder = tmp_path / f"{number}-{moment}"
        async with scenes(kind, folder, KINDS[abilities], traits) as scene:
            struck = await scene.live(point)
            print(f"crashed {moment} call {number}, {struck.calls[number - 1 : number]}")  # noqa: T201 — shown when it fails
            await scene.restart()
            await scene.live()
            await assert_whole(scene)


FIRST = (
    CrashPoint(at=2, moment=Moment.AFTER, call="channel.send"),
    CrashPoint(at=2, moment=Moment.BEFORE, call="channel.send"),
    CrashPoint(at=1, moment=Moment.AFTER, call="tool.run"),
    CrashPoint(at=3, moment=Moment.BEFORE, call="store.finish_run"),
)


@pytest.mark.requirement("P10")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", FIRST, ids=lambda point: f"{point.call}-{point.moment}")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_crash_during_recovery_changes_nothing(kind: str, first: CrashPoint, tmp_path: Path) -> None:
    traits, abilities = ToolTraits(), KINDS["asked"]
    async with scenes(kind, tmp_path / "dry", abilities, traits) as scene:
        assert (await scene.live(first)).struck
        await scene.restart()
        calls = (await scene.live()).calls
        await assert_whole(scene)
    for number, moment in sampled(kind, calls):
        async with scenes(kind, tmp_path / f"{number}-{moment}", abilities, traits) as scene:
            await scene.live(first)
            await scene.restart()
            again = await scene.live(CrashPoint(at=number, moment=moment))
            print(f"crashed again {moment} call {number}, {again.calls[number - 1 : number]}")  # noqa: T201 — shown when it fails
            await scene.restart()
            await scene.live()
            await assert_whole(scene)
