"""The same storm within one process and on a clock of its own: many seeds, and a crash at any call of any port."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from random import Random

import anyio
import anyio.lowlevel
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.channels import ChannelAbilities
from roost.core.envelopes import Conversation, Sender
from roost.core.inbound import InboundState
from roost.core.leases import Gateway
from roost.core.messages import AssistantMessage, ToolResult, text_of
from roost.core.models import ModelRef, ModelRequest, ModelSpec
from roost.core.queuesettings import QueuePolicy
from roost.core.routing import RoutingRules
from roost.core.scopes import DmScope
from roost.core.tools import Place
from roost.engine import condensing
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.rules import Part, Rules
from roost.ports import Store
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
from tests.faults.numbered import (
    COMPACT,
    SHORT,
    answer,
    command_id,
    condenses,
    external_id,
    judge,
    judge_commands,
    settings,
    stop_all,
    summary,
    words,
)
from tests.grounds import Ground, GroundOf
from tests.scale import count, seeds

MESSAGES = count(60, 500)
SENDERS = ("ada", "bob", "eve")
SPEC = ModelSpec(ref=ModelRef("scripted", "one"), context_window=1_000_000, max_tokens=4_096)
NEITHER = ChannelAbilities(longest=4000)
LONGEST_LIFE = 600
WITHIN_S = count(60, 600)


class Life:
    """One gateway under way: its engine, and the answers it waits for."""

    def __init__(self, storm: "Storm", crashes: Crashes) -> None:
        self.storm, self.chance, self.clock = storm, storm.chance, storm.clock
        self.store = CrashingStore(storm.store, crashes)
        self.pauses: list[anyio.Event] = []
        self._model = CrashingModel(ScriptedModel(otherwise=self._answer, clock=self.clock), crashes)
        channel = CrashingChannel(storm.channel, crashes)
        self.engine = Engine(
            self.store, self.clock, FreshIds(self.clock), self._rules(), [channel], jitter=lambda: 0.0
        )

    async def say(self) -> None:
        storm = self.storm
        for _ in range(min(self.chance.choice((1, 1, 2, 5)), MESSAGES - storm.said)):
            name, text = external_id(storm.said), words(storm.said, self.chance)
            storm.said += 1
            await storm.say(name, text, self.chance.choice(SENDERS))

    async def answer(self) -> None:
        if self.pauses:
            self.pauses.pop(self.chance.randrange(len(self.pauses))).set()

    async def stop(self) -> None:
        await stop_all(self.store, self.engine, self.clock.now())

    async def compact(self) -> None:
        storm = self.storm
        name = command_id(storm.commands)
        storm.commands += 1
        await storm.say(name, COMPACT, self.chance.choice(SENDERS))

    async def reload(self) -> None:
        await self.engine.reload(self._rules())

    async def wait(self) -> None:
        self.clock.advance(self.chance.choice((1, 50, 500, 2_000, 130_000)))

    async def happen(self, odds: "Mapping[Happening, int]") -> None:
        (what,) = self.chance.choices(list(odds), list(odds.values()))
        await what(self)
        for _ in range(self.chance.choice((0, 1, 5, 20, 60))):
            await anyio.lowlevel.checkpoint()

    async def calm(self) -> None:
        """Time goes on, and every answer comes, until nothing is left to do."""
        settled = anyio.Event()

        async def wait_settled() -> None:
            await self.storm.channel.wait_acknowledged()
            await self.engine.settled()
            settled.set()

        async with anyio.create_task_group() as group:
            group.start_soon(wait_settled)
            while not settled.is_set():
                while self.pauses:
                    self.pauses.pop().set()
                # A writer has a thread of its own, which needs time that is not this loop's.
                await anyio.sleep(0.002 if self.storm.ground.durable else 0)
                for _ in range(5 if self.storm.ground.durable else 100):
                    await anyio.lowlevel.checkpoint()
                self.clock.advance(2_000)

    def _answer(self, request: ModelRequest) -> Script:
        if condenses(request.system):
            return summary(self._pause)
        turns = [
            (isinstance(one, AssistantMessage), text_of(one))
            for one in request.messages
            if not isinstance(one, ToolResult)
        ]
        last = isinstance(request.messages[-1], ToolResult)
        return answer(turns, last_is_result=last, pause=self._pause)

    def _pause(self) -> anyio.Event:
        self.pauses.append(anyio.Event())
        return self.pauses[-1]

    def _rules(self) -> Rules:
        part = Part(
            model=self._model,
            spec=SPEC,
            reason="the only model",
            system="You are a test.",
            place=Place(workspace="/nonexistent"),
            context=SHORT,
        )
        return Rules(
            cast=lambda session, run: part,
            doors={"loopback": ChannelPolicy(dm_policy=DmPolicy.OPEN)},
            routing=RoutingRules(dm_scope=DmScope.PER_CHANNEL_PEER),
            queue=QueuePolicy(base=settings(self.chance)),
        )


Happening = Callable[[Life], Awaitable[None]]
# What can happen while a gateway lives, with its odds; its end comes by a crash. Resets and calls that hang lie in
# what is said to it, and every life and every reload brings queue settings of its own.
DISTURBANCES: Mapping[Happening, int] = {
    Life.say: 30,
    Life.answer: 25,
    Life.wait: 15,
    Life.stop: 2,
    Life.compact: 4,
    Life.reload: 3,
}


class Storm:
    """What outlives a gateway: the store's rows, and the platform with its people."""

    store: Store

    def __init__(self, ground: Ground, seed: int) -> None:
        self.chance = Random(seed)
        self.ground = ground
        self.clock, self._database_clock = FakeClock(), FakeClock()
        self.channel = LoopbackChannel(abilities=NEITHER)
        self.said = self.commands = self.lives = 0

    async def open(self) -> None:
        self.store = await self.ground.opened(self.clock, self._database_clock)

    async def say(self, name: str, text: str, sender: str) -> None:
        chat = Conversation(chat_type=ChatType.DIRECT, peer=sender)
        await self.channel.say(text, sender=Sender(id=sender), chat=chat, external_id=name)

    async def pass_over(self) -> None:
        while self.said < MESSAGES:
            point = CrashPoint(
                at=self.chance.randrange(1, LONGEST_LIFE), moment=self.chance.choice(list(Moment))
            )
            await self._live(Crashes(point), self._weather)
        await self._live(Crashes(), Life.calm)

    async def _weather(self, life: Life) -> None:
        while self.said < MESSAGES:
            await life.happen(DISTURBANCES)

    async def _live(self, crashes: Crashes, course: Callable[[Life], Awaitable[None]]) -> None:
        if self.ground.durable and self.lives:
            await self.store.close()
            await self.open()
        self.lives += 1
        life = Life(self, crashes)
        try:
            with anyio.fail_after(WITHIN_S):
                async with life.engine.serving(Gateway(name="storm", holder=f"life-{self.lives}")):
                    await course(life)
        except* Crashed:
            pass

    def seen(self) -> list[str]:
        places = [Address(channel="loopback", to=sender) for sender in SENDERS]
        return [text for place in places for text in self.channel.replies(place)]


@asynccontextmanager
async def storms(ground: Ground, seed: int) -> AsyncIterator[Storm]:
    storm = Storm(ground, seed)
    await storm.open()
    try:
        yield storm
    finally:
        await storm.store.close()


@pytest.mark.requirement("P3", "P9", "P10", "P13", "P14")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        *(("memory", seed) for seed in seeds(10, 200)),
        *(("sqlite", seed) for seed in seeds(3, 40)),
        *(("postgres", seed) for seed in seeds(1, 20)),
    ],
)
async def test_every_numbered_message_comes_to_one_end_wherever_the_gateway_crashes(
    kind: str, seed: int, ground_of: GroundOf, caplog: pytest.LogCaptureFixture
) -> None:
    async with storms(await ground_of(kind).fresh("storm"), seed) as storm:
        await storm.pass_over()
        await storm.store.acquire_lease(Gateway(name="storm", holder="the test"))
        ends = await judge(storm.store, "loopback", MESSAGES, storm.seen())
        condensed = await judge_commands(storm.store, "loopback", storm.commands)
        print(dict(ends), f"{storm.lives} lives, {condensed} times condensed")  # noqa: T201 — shown when it fails
        assert ends.total() == MESSAGES
        assert ends[InboundState.PENDING] == 0
    # A summary may take too long here: excerpts stand in for it, and that is told.
    assert {record.name for record in caplog.records} <= {condensing.__name__}
