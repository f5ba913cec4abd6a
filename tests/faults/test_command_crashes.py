"""A gateway that ends at every single call it makes while it carries out commands: done once, answered once.

What was stopped before the crash is not taken up again after it.
"""

from dataclasses import dataclass, field

import pytest

from roost.channels.loopback import EVERYTHING, LoopbackChannel
from roost.core.events import EventKind
from roost.core.messages import AssistantMessage, StopReason, UserMessage, text_of
from roost.core.models import ModelRequest
from roost.testing.crashing import Crashes, CrashPoint, Moment
from roost.testing.scripts import Hang, Say, Script
from tests.faults.lives import CHAT, MAIN, Lives, Saying, points, sayings
from tests.grounds import Ground

ONE_IN = {"memory": 7, "sqlite": 15, "postgres": 41}
SHARP = frozenset({"channel.send"})


@dataclass(kw_only=True)
class Scene(Lives):
    sayings: tuple[Saying, ...] = sayings("work", "/stop", "/usage", "speak")
    channel: LoopbackChannel = field(default_factory=lambda: LoopbackChannel(abilities=EVERYTHING))

    def answer(self, request: ModelRequest) -> Script:
        if text_of(request.messages[-1]).splitlines()[-1] == "work":
            return (Say("half"), Hang())
        return (Say("I speak."),)

    async def live(self, point: CrashPoint | None = None) -> Crashes:
        """What was stopped stays stopped in every later life."""
        stopped = await self.stopped()
        crashes = await super().live(point)
        asked = [text_of(request.messages[-1]).splitlines()[-1] for request in self.model.requests]
        assert not (stopped and "work" in asked)
        return crashes

    async def stopped(self) -> bool:
        events = await self.store.events(MAIN, after=0, limit=100)
        return any(event.kind is EventKind.INPUT_ANSWERED for event in events)

    async def converse(self) -> None:
        if self.said == 0:
            await self.say()
            await self.model.asked(1)
        while self.said < len(self.sayings):
            await self.say()
            await self.settled()
        await self.settled()


async def assert_whole(scene: Scene) -> None:
    stop, usage, reply = scene.channel.replies(CHAT)
    assert stop.startswith("Stopped ")
    assert usage == "Figures below answers: tokens."
    assert reply.startswith("I speak.")
    bodies = [entry.body for entry in await scene.entries()]
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
async def test_after_a_crash_at_any_call_what_was_stopped_stays_stopped_and_commands_are_done_once(
    ground: Ground,
) -> None:
    async with Scene(ground=await ground.fresh("dry")) as scene:
        calls = (await scene.live()).calls
        await assert_whole(scene)
    sharp = [
        CrashPoint(at=at, moment=moment, call="store.accept_command") for at in (1, 2) for moment in Moment
    ]
    for number, point in enumerate((*sharp, *points(ground.kind, calls, ONE_IN, SHARP))):
        async with Scene(ground=await ground.fresh(str(number))) as scene:
            await scene.strike(point)
            await scene.live()
            await assert_whole(scene)
