"""A conversation between two agents whose gateway ends at every single call it makes: the same words, one announce."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import anyio
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy, GroupPolicy
from roost.core.envelopes import Conversation, Sender
from roost.core.exchanges import ExchangeState, Phase
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import AssistantMessage, ToolCall, ToolResult, UserMessage, text_of
from roost.core.models import ModelRef, ModelRequest, ModelSpec
from roost.core.queries import HistoryQuery
from roost.core.queuesettings import QueuePolicy, QueueSettings
from roost.core.reach import SessionReach
from roost.core.runs import Run
from roost.core.sending import SendRules
from roost.core.sessions import Session
from roost.core.tools import Place
from roost.core.visibility import Level
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.rules import Part, Rules
from roost.ports import Store
from roost.scanners.stdlib import StdlibScanner
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
from roost.tools.access import Access
from roost.tools.sessions_send import SessionsSend
from tests.scale import chosen, count

MAIN = SessionKey.named("main", "main")
GROUP = SessionKey.parse("agent:main:loopback:group:kitchen")
KITCHEN = Conversation(chat_type=ChatType.GROUP, peer="kitchen")
IN_KITCHEN = Address(channel="loopback", to="kitchen")
ADA, BOB = Sender(id="ada", name="Ada"), Sender(id="bob", name="Bob")
WITH_ADA = Conversation(chat_type=ChatType.DIRECT, peer="ada")
TO_ADA = Address(channel="loopback", to="ada")
SPEC = ModelSpec(ref=ModelRef("scripted", "one"), context_window=100_000, max_tokens=4_096)
SEND = ToolCall(id="c1", name="sessions_send", arguments={"sessionKey": str(GROUP), "message": "dinner?"})
TURNS = 5
WITHIN_S = 20
SAYINGS = ((BOB, KITCHEN, "hi"), (ADA, WITH_ADA, "ask the kitchen"))


def answer(request: ModelRequest) -> Script:
    """What is said follows from what was asked, however often it is asked."""
    if isinstance(request.messages[-1], ToolResult):
        return (Say("They eat pasta."),)
    asked = text_of([one for one in request.messages if isinstance(one, UserMessage)][-1])
    if asked.startswith("Agent-to-agent announce step."):
        return (Say("Pasta it is."),)
    if asked.startswith("Agent-to-agent reply step."):
        return (Say(f"turn {asked.partition(' Turn ')[2].partition(' ')[0]}"),)
    if asked.startswith("Agent-to-agent message."):
        return (Say("pasta"),)
    return (CallTool(SEND),) if "ask the kitchen" in asked else (Say("hello"),)


KITCHEN_WORDS = ["hi", "hello", "dinner?", "pasta", "turn 1", "turn 2", "turn 3", "turn 4", "Pasta it is."]
MAIN_WORDS = [
    "ask the kitchen",
    "",
    "They eat pasta.",
    "pasta",
    "turn 1",
    "turn 2",
    "turn 3",
    "turn 4",
    "turn 5",
]


@dataclass
class Scene:
    """What outlives a gateway: the store's rows and the platform with its people."""

    kind: str
    folder: Path
    channel: LoopbackChannel = field(default_factory=LoopbackChannel)
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
        self.lives += 1
        try:
            with anyio.fail_after(WITHIN_S):
                engine = self._engine(crashes)
                async with engine.serving(Gateway(name="crash", holder=f"life-{self.lives}")):
                    await self._converse(engine)
        except* Crashed:
            pass
        return crashes

    def _engine(self, crashes: Crashes) -> Engine:
        store, channel = CrashingStore(self.store, crashes), CrashingChannel(self.channel, crashes)
        access = Access(store, self.clock, SessionReach(agent="main", level=Level.AGENT))
        rules = SendRules(agents=frozenset({"main"}), max_turns=TURNS)
        model = CrashingModel(ScriptedModel(otherwise=answer, clock=self.clock), crashes)

        def cast(session: Session, run: Run) -> Part:
            return Part(
                model=model,
                spec=SPEC,
                reason="the only model",
                system="You are a test.",
                place=Place(workspace="/nonexistent"),
                tools=(SessionsSend(access, StdlibScanner(), rules),),
            )

        door = ChannelPolicy(
            dm_policy=DmPolicy.OPEN,
            group_policy=GroupPolicy.OPEN,
            require_mention=False,
            owner_ids=("loopback:ada",),
        )
        engine_rules = Rules(
            cast=cast, doors={"loopback": door}, queue=QueuePolicy(base=QueueSettings(debounce_ms=0))
        )
        return Engine(store, self.clock, FreshIds(self.clock), engine_rules, [channel], jitter=lambda: 0.0)

    async def _converse(self, engine: Engine) -> None:
        """Each message is said once the one before it has been dealt with."""
        await self._settled(engine)
        while self.said < len(SAYINGS):
            sender, chat, text = SAYINGS[self.said]
            self.said += 1
            await self.channel.say(text, sender=sender, chat=chat, external_id=f"e{self.said}")
            await self._settled(engine)

    async def _settled(self, engine: Engine) -> None:
        await self.channel.wait_acknowledged()
        await engine.settled()

    async def words(self, key: SessionKey) -> list[str]:
        page = await self.store.history(HistoryQuery(key=key, limit=100, tools=False))
        said = (
            entry.body for entry in page.entries if isinstance(entry.body, UserMessage | AssistantMessage)
        )
        return [text_of(body) for body in said]


@asynccontextmanager
async def scenes(kind: str, folder: Path) -> AsyncIterator[Scene]:
    scene = Scene(kind, folder)
    try:
        yield scene
    finally:
        await scene.store.close()


async def assert_whole(scene: Scene) -> None:
    assert await scene.words(GROUP) == KITCHEN_WORDS
    assert await scene.words(MAIN) == MAIN_WORDS
    assert scene.channel.replies(IN_KITCHEN) == ("hello", "Pasta it is.")
    assert scene.channel.replies(TO_ADA) == ("They eat pasta.",)
    page = await scene.store.history(HistoryQuery(key=MAIN, limit=100))
    (result,) = (entry.body for entry in page.entries if isinstance(entry.body, ToolResult))
    assert '"status":"ok"' in text_of(result).replace(" ", "")
    events = await scene.store.events(GROUP, after=0, limit=1_000)
    (exchange_id,) = {event.ref for event in events if event.kind == "exchange"}
    exchange = await scene.store.exchange(exchange_id)
    assert exchange is not None
    assert (exchange.phase, exchange.state, exchange.turn) == (Phase.DONE, ExchangeState.REPLIED, TURNS)
    assert await scene.store.check() == ()


@pytest.mark.requirement("D17", "D18", "P6", "P10")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_an_exchange_of_five_turns_is_the_same_wherever_its_gateway_dies(
    kind: str, tmp_path: Path
) -> None:
    async with scenes(kind, tmp_path / "dry") as scene:
        calls = (await scene.live()).calls
        await assert_whole(scene)
    step = count(17 if kind == "memory" else 41, 1)
    for place, (number, moment) in enumerate(product(range(1, len(calls) + 1), Moment)):
        if not chosen(place, step):
            continue
        async with scenes(kind, tmp_path / f"{number}-{moment}") as scene:
            struck = await scene.live(CrashPoint(at=number, moment=moment))
            print(f"crashed {moment} call {number}, {struck.calls[number - 1 : number]}")  # noqa: T201 — shown when it fails
            await scene.restart()
            await scene.live()
            await assert_whole(scene)
