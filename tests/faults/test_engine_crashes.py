"""A gateway that ends at every single call it makes: its next life answers what is left, and nothing twice."""

from collections import Counter
from dataclasses import dataclass, field

import pytest

from roost.channels.loopback import EVERYTHING, LoopbackChannel
from roost.core.channels import ChannelAbilities
from roost.core.deliveries import Delivery, DeliveryState
from roost.core.messages import AssistantMessage, Text, ToolCall, ToolResult, UserMessage, text_of
from roost.core.models import ModelRequest, ToolSpec
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.ports import Report, Store, Tool
from roost.testing.crashing import Crashes, CrashPoint, Moment
from roost.testing.scripts import CallTool, Say, Script
from tests.faults.lives import CHAT, Lives, Saying, points, sayings
from tests.grounds import Ground

CALL = ToolCall(id="c1", name="count", arguments={})
MESSAGES = ("use the tool", "say nothing", "speak")
REPLIES = ("I used it.", "I speak.")
ABILITIES = {
    "all": EVERYTHING,
    "asked": ChannelAbilities(longest=4000, answers=True),
    "dedupes": ChannelAbilities(longest=4000, dedupes=True),
    "neither": ChannelAbilities(longest=4000),
}
ONE_IN = {"memory": 7, "sqlite": 15, "postgres": 41}
# Between what the world sees and what the store knows: struck at every scale.
SHARP = frozenset({"channel.send", "tool.run"})


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


@dataclass(kw_only=True)
class Scene(Lives):
    """With what the tool did."""

    tool: Counting
    sayings: tuple[Saying, ...] = sayings(*MESSAGES)

    def tools(self, store: Store, crashes: Crashes) -> tuple[Tool, ...]:
        self.tool.crashes = crashes
        return (self.tool,)

    def answer(self, request: ModelRequest) -> Script:
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


def scene_of(ground: Ground, abilities: ChannelAbilities, traits: ToolTraits) -> Scene:
    return Scene(ground=ground, channel=LoopbackChannel(abilities=abilities), tool=Counting(traits))


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


# Each way of knowing what was sent, each kind of tool, each store; not every mix of them.
CASES = [("all", False), ("asked", True), ("dedupes", True), ("neither", False)]


@pytest.mark.requirement("P9", "P10", "P14")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("abilities", "reenterable"), CASES)
async def test_after_a_crash_at_any_call_every_message_is_answered_and_no_answer_comes_twice(
    ground: Ground, abilities: str, *, reenterable: bool
) -> None:
    traits = ToolTraits(reenterable=reenterable)
    async with scene_of(await ground.fresh("dry"), ABILITIES[abilities], traits) as scene:
        calls = (await scene.live()).calls
        await assert_whole(scene)
    for point in points(ground.kind, calls, ONE_IN, SHARP):
        struck = await ground.fresh(f"{point.at}-{point.moment}")
        async with scene_of(struck, ABILITIES[abilities], traits) as scene:
            await scene.strike(point)
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
async def test_a_crash_during_recovery_changes_nothing(ground: Ground, first: CrashPoint) -> None:
    traits, abilities = ToolTraits(), ABILITIES["asked"]
    async with scene_of(await ground.fresh("dry"), abilities, traits) as scene:
        assert (await scene.strike(first)).struck
        calls = (await scene.live()).calls
        await assert_whole(scene)
    for point in points(ground.kind, calls, ONE_IN, SHARP):
        struck = await ground.fresh(f"{point.at}-{point.moment}")
        async with scene_of(struck, abilities, traits) as scene:
            await scene.strike(first)
            await scene.strike(point)
            await scene.live()
            await assert_whole(scene)
