"""Children that end in every way while their gateway dies at every single call: each is told once, as it ended.

Each batch is one person's: five children, one for each status, and one death. All batches share a store.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import product

import anyio
import pytest

from roost.channels.loopback import LoopbackChannel
from roost.core.addresses import Address, ChatType
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.deliveries import DeliveryState
from roost.core.envelopes import Conversation, Sender
from roost.core.exchanges import CompletionStatus
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import ProvenanceKind, ToolResult, UserMessage, text_of
from roost.core.models import FailureKind, ModelRequest
from roost.core.queries import HistoryQuery, SessionQuery
from roost.core.queuesettings import QueuePolicy, QueueSettings
from roost.core.recovery import MAX_AGE_MS
from roost.core.routing import RoutingRules
from roost.core.runs import Run
from roost.core.scopes import DmScope
from roost.core.sessions import Session
from roost.core.spawning import run_of
from roost.engine.gateway import UNSENT, Engine
from roost.engine.ids import FreshIds
from roost.engine.outbox import DELIVERIES
from roost.engine.rules import Rules
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
from roost.testing.scripts import Fail, Hang, Say, Script
from tests.faults.family import family
from tests.flows.nursery import call, hears_of_ends, said_to, spawns, task_of
from tests.grounds import Ground
from tests.scale import FULL, count

DOWN = Fail(FailureKind.PERMANENT, "the provider is down")
KINDS = tuple(status for status in CompletionStatus if status is not CompletionStatus.PENDING)
LIMIT_S = 5
WITHIN_S = 60
SPAWNS = {"memory": count(50, 1_000), "sqlite": count(50, 1_000), "postgres": count(10, 1_000)}
BLOCK = re.compile(r"^\d+\. (\S+)\nStatus: (\w+)", re.MULTILINE)
WORDS = {"success": CompletionStatus.OK}


class Shape(StrEnum):
    """Who is owed: a chat, a turn that waits for all of them, or a sub-agent."""

    CHAT = "chat"
    YIELDED = "yielded"
    NESTED = "nested"


# -- what models do ----------------------------------------------------------------------------------


def answer(request: ModelRequest) -> Script:
    """What is done follows from what was asked, however often it is asked."""
    words = " ".join(text_of(one) for one in request.messages if isinstance(one, UserMessage))
    down, asked, task = "while down" in words, said_to(request), task_of(request)
    if "Your task is done" in asked:
        return [DOWN] if down else [Say("Status: killed\nResult: found")]
    match (task or said_first(request)).split()[0]:
        case "ok":
            return [Say("found")]
        case "error":
            return [DOWN]
        case "timeout" | "killed" | "interrupted":
            return [Hang()]
        case _:
            return _parent(request, task or said_first(request))


def said_first(request: ModelRequest) -> str:
    """What the person said; reports may have come since, and a reminder of who is at work stands before it."""
    lines = (text_of(one).split("\n")[-1] for one in request.messages if isinstance(one, UserMessage))
    return next(line for line in lines if line.split()[:1] and line.split()[0] in set(Shape))


def _parent(request: ModelRequest, asked: str) -> Script:
    """Spawns one child for each status, stops one of them, and waits if it was told to."""
    shape, down = asked.split(maxsplit=1)[0], "while down" if "while down" in asked else ""
    done = sum(isinstance(one, ToolResult) for one in request.messages)
    if shape == Shape.NESTED and task_of(request) is None:
        return [Say("Begun.")] if done else spawns(f"inner {down}")
    if not done:
        return [
            call("sessions_spawn", f"c-{kind}", task=f"{kind} {down}", label=str(kind), **_limit(kind))
            for kind in KINDS
        ]
    if done == len(KINDS):
        return [call("subagents", "c-kill", action="kill", target="killed")]
    if shape == Shape.YIELDED and done == len(KINDS) + 1:
        return [call("sessions_yield")]
    heard = hears_of_ends(request)
    return [DOWN] if heard and down else [Say("Heard." if heard else "Begun.")]


def _limit(kind: CompletionStatus) -> dict[str, int]:
    return {"runTimeoutSeconds": LIMIT_S} if kind is CompletionStatus.TIMEOUT else {}


# -- what outlives a gateway -------------------------------------------------------------------------


@dataclass
class Batch:
    """Five children of one person. `aged` once the gateway was away for too long."""

    number: int
    shape: Shape
    down: bool
    said: bool = False
    aged: bool = False

    @property
    def sender(self) -> Sender:
        return Sender(id=f"p{self.number}", name="P")

    @property
    def top(self) -> SessionKey:
        return SessionKey.parse(f"agent:main:loopback:direct:p{self.number}")


@dataclass
class Scene:
    """The store's rows and the platform with its people."""

    ground: Ground
    clock: FakeClock
    store: Store
    channel: LoopbackChannel = field(default_factory=LoopbackChannel)
    batches: list[Batch] = field(default_factory=list)
    lives: int = 0
    model: ScriptedModel = field(init=False)

    async def play(self, shape: Shape, *, down: bool, point: CrashPoint | None = None) -> Crashes:
        """One batch to its end, through as many lives of the gateway as it takes."""
        batch = Batch(len(self.batches), shape, down)
        self.batches.append(batch)
        crashes = struck = Crashes(point)
        over = False
        while not over:
            over = await self._live(batch, crashes)
            crashes = Crashes() if crashes.struck else crashes
            if self.ground.durable:
                await self.store.close()
                self.store = await self.ground.opened(self.clock)
        return struck

    async def _live(self, batch: Batch, crashes: Crashes) -> bool:
        """Whether all is over after one life, which a crash may end early."""
        self.lives += 1
        over = False
        try:
            with anyio.fail_after(WITHIN_S):
                async with self._engine(crashes).serving(Gateway(name="crash", holder=f"life-{self.lives}")):
                    over = await self._watch(batch)
        except* Crashed:
            pass
        if not over and not crashes.struck:
            batch.aged = True
            self.clock.advance(MAX_AGE_MS + 1)
        return over

    async def _watch(self, batch: Batch) -> bool:
        """Help each child to its end; False once only one is left that ends when nobody looks after it."""
        if not batch.said:
            batch.said = True
            words = f"{batch.shape} {'while down' if batch.down else ''}"
            chat = Conversation(chat_type=ChatType.DIRECT, peer=batch.sender.id or "")
            await self.channel.say(words, sender=batch.sender, chat=chat, external_id=f"e{batch.number}")
        await self._ended(batch, CompletionStatus.OK, CompletionStatus.ERROR, CompletionStatus.KILLED)
        await self._until(lambda: self._idle(batch))
        if not await self._has_ended(batch, CompletionStatus.TIMEOUT):
            await self._begun(batch, CompletionStatus.TIMEOUT)
            self.clock.advance(LIMIT_S * 1_000 + 1)
            await self._ended(batch, CompletionStatus.TIMEOUT)
        if not await self._has_ended(batch, CompletionStatus.INTERRUPTED):
            await self._begun(batch, CompletionStatus.INTERRUPTED)
            await self._until(lambda: self._at_rest(batch, but=CompletionStatus.INTERRUPTED))
            return False
        await self._until(lambda: self._at_rest(batch))
        await self.store.wait_for(DELIVERIES, self._all_sent)
        return True

    def _engine(self, crashes: Crashes) -> Engine:
        store, channel = CrashingStore(self.store, crashes), CrashingChannel(self.channel, crashes)
        self.model = ScriptedModel(otherwise=answer, clock=self.clock)
        model = CrashingModel(self.model, crashes)
        stops, cast = family(store, self.clock, model)
        rules = Rules(
            cast=cast,
            doors={"loopback": ChannelPolicy(dm_policy=DmPolicy.OPEN)},
            queue=QueuePolicy(base=QueueSettings(debounce_ms=0)),
            routing=RoutingRules(dm_scope=DmScope.PER_CHANNEL_PEER),
        )
        new_id = FreshIds(self.clock)
        return Engine(store, self.clock, new_id, rules, [channel], jitter=lambda: 0.0, stops=stops)

    # -- looking -------------------------------------------------------------------------------------

    async def _until(self, look: Callable[[], Awaitable[bool]]) -> None:
        news = anyio.Event()

        def changed(key: SessionKey) -> None:
            news.set()

        with self.store.watch(None, changed):
            while not await look():
                await news.wait()
                news = anyio.Event()

    async def below(self, key: SessionKey) -> dict[str, Session]:
        """The children of a session by their labels."""
        query = SessionQuery(parents=frozenset({key}), archived=None, limit=100)
        return {row.labels.label or "": row for row in (await self.store.list_sessions(query)).rows}

    async def requester(self, batch: Batch) -> SessionKey | None:
        """The session that the five are owed to."""
        if batch.shape is not Shape.NESTED:
            return batch.top
        return next((row.key for row in (await self.below(batch.top)).values()), None)

    async def run(self, batch: Batch, kind: CompletionStatus) -> Run | None:
        requester = await self.requester(batch)
        child = (await self.below(requester)).get(kind) if requester else None
        return await self.store.run(run_of(child.key)) if child else None

    async def _has_ended(self, batch: Batch, *kinds: CompletionStatus) -> bool:
        runs = [await self.run(batch, kind) for kind in kinds]
        return all(run is not None and run.state.ended for run in runs)

    async def _ended(self, batch: Batch, *kinds: CompletionStatus) -> None:
        await self._until(lambda: self._has_ended(batch, *kinds))

    async def _begun(self, batch: Batch, kind: CompletionStatus) -> None:
        """Return once a child is under way in this life, or has ended."""
        async with anyio.create_task_group() as group:

            async def first(happened: Callable[[], Awaitable[None]]) -> None:
                await happened()
                group.cancel_scope.cancel()

            group.start_soon(first, partial(self._asked, kind))
            group.start_soon(first, partial(self._ended, batch, kind))

    async def _asked(self, kind: CompletionStatus) -> None:
        while not any((task_of(one) or "").startswith(kind) for one in self.model.requests):
            await self.model.asked(len(self.model.requests) + 1)

    async def _idle(self, batch: Batch) -> bool:
        """Whether the requester's own turn is over."""
        requester = await self.requester(batch)
        row = await self.store.session(requester) if requester else None
        return row is not None and not row.status.active

    async def _at_rest(self, batch: Batch, but: CompletionStatus | None = None) -> bool:
        # From below: what ends there is work further up from the same moment on.
        requester = await self.requester(batch)
        rows = await self.below(requester) if requester else {}
        rows = {**rows, **await self.below(batch.top)}
        top = await self.store.session(batch.top)
        at_work = [name for name, row in rows.items() if row.status.active and name != but]
        return not at_work and (top is None or not top.status.active)

    async def _all_sent(self) -> bool | None:
        unsent = [await self.store.deliveries(state, 1) for state in UNSENT]
        return None if any(unsent) else True


@asynccontextmanager
async def scenes(ground: Ground) -> AsyncIterator[Scene]:
    clock = FakeClock()
    scene = Scene(ground, clock, await ground.opened(clock))
    try:
        yield scene
    finally:
        await scene.store.close()


# -- what came of it ---------------------------------------------------------------------------------


async def told_in(scene: Scene, key: SessionKey) -> Counter[tuple[str, CompletionStatus]]:
    """How often a session was told of which child that it ended how."""
    page = await scene.store.history(HistoryQuery(key=key, limit=1_000))
    told: Counter[tuple[str, CompletionStatus]] = Counter()
    for entry in page.entries:
        body = entry.body
        if not isinstance(body, UserMessage) or body.provenance.kind is not ProvenanceKind.SUBAGENT:
            continue
        text = text_of(body)
        if text.startswith("Status: "):
            word = re.split(r"\W", text.removeprefix("Status: "))[0]
            told[body.provenance.source_session or "", WORDS.get(word) or CompletionStatus(word)] += 1
        for child, word in BLOCK.findall(text):
            told[child, WORDS.get(word) or CompletionStatus(word)] += 1
    return told


async def assert_told_once(scene: Scene, batch: Batch) -> None:
    requester = await scene.requester(batch)
    assert requester is not None
    children = await scene.below(requester)
    assert set(children) == {str(kind) for kind in KINDS}, batch
    expected = Counter((str(children[kind].key), kind) for kind in KINDS)
    assert await told_in(scene, requester) == expected, batch
    assert await scene.store.completions(requester) == (), batch
    assert await scene.store.completions(batch.top) == (), batch
    chat = scene.channel.replies(Address(channel="loopback", to=batch.sender.id or ""))
    announced = Counter(text.split()[1].strip(":") for text in chat if text.startswith("Status: "))
    match batch.shape:
        case Shape.CHAT:
            assert announced == Counter(("success", "error", "timeout", "interrupted")), (batch, chat)
        case Shape.NESTED:
            # The sub-agent's own end: it fails where it hears of a child while the provider is down.
            assert announced.keys() <= {"success", "error"}, (batch, chat)
            assert announced.total() == (await told_in(scene, batch.top)).total() == 1, (batch, chat)
        case Shape.YIELDED:
            # Who ended before the turn waited for them is announced, and nobody else.
            assert announced <= Counter(("success", "error")), (batch, chat)


async def assert_all_told_once(scene: Scene) -> None:
    """Also of those that ended long ago."""
    for batch in scene.batches:
        await assert_told_once(scene, batch)
    assert await scene.store.check() == ()
    assert await scene.store.deliveries(DeliveryState.FAILED, 1) == ()


A_SCENE = 100
"""So many batches share a store: one that holds more is searched for longer, and shows nothing more."""


@pytest.mark.requirement("P1", "P10", "D27")
@pytest.mark.timeout(3_000)
async def test_however_children_end_and_wherever_their_gateway_dies_each_is_told_once(
    ground: Ground,
) -> None:
    points: list[tuple[Shape, bool, CrashPoint]] = []
    wanted = SPAWNS[ground.kind]
    async with scenes(await ground.fresh("family")) as scene:
        for shape, down in product(Shape, (False, True)):
            calls = len((await scene.play(shape, down=down)).calls)
            places = product(range(1, calls + 1), Moment)
            points += [(shape, down, CrashPoint(at=at, moment=moment)) for at, moment in places]
        await assert_all_told_once(scene)
        played = len(scene.batches)
    # Odd, so that both moments are met, and no longer than leaves as many as are wanted.
    every = 1 if FULL and ground.kind != "postgres" else (len(points) * len(KINDS) // wanted - 1) | 1
    chosen = points[::every]
    print(f"{len(points)} points, every {every}")  # noqa: T201 — shown when it fails
    for first in range(0, len(chosen), A_SCENE):
        async with scenes(await ground.fresh(f"family-{first}")) as scene:
            for shape, down, point in chosen[first : first + A_SCENE]:
                struck = await scene.play(shape, down=down, point=point)
                print(f"{shape}, {down}: {point.moment} {struck.calls[point.at - 1 : point.at]}")  # noqa: T201 — shown when it fails
                await assert_told_once(scene, scene.batches[-1])
            await assert_all_told_once(scene)
            played += len(scene.batches)
    assert played * len(KINDS) >= wanted
