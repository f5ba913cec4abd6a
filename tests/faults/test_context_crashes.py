"""A gateway that ends at any call while contexts are pruned, condensed or saved as notes: nothing is lost or half done."""

from dataclasses import dataclass, field, replace

import pytest

from roost.channels.loopback import EVERYTHING, LoopbackChannel
from roost.core.compaction import SECTIONS
from roost.core.messages import AssistantMessage, Compaction, ToolCall, ToolResult, UserMessage, text_of
from roost.core.models import FailureKind, ModelRequest
from roost.core.tools import Place
from roost.engine.rules import Part
from roost.ports import Store, Tool
from roost.testing.crashing import Crashes
from roost.testing.scripts import CallTool, Fail, Say, Script
from roost.tools.notes import Notes
from tests.faults.lives import CHAT, SPEC, Lives, Saying, points, sayings
from tests.grounds import Ground

WINDOW = 1_600
WIDEST = 5_600
NOTE = "- what matters"
SUMMARY = "\n".join(f"## {section}\nNone." for section in SECTIONS)
MESSAGES = tuple(f"{'word ' * 120} number {number}" for number in range(10))
ONE_IN = {"memory": 41, "sqlite": 83, "postgres": 331}


@dataclass(kw_only=True)
class Growing(Lives):
    """A conversation that outgrows its window."""

    sayings: tuple[Saying, ...] = sayings(*MESSAGES)
    channel: LoopbackChannel = field(default_factory=lambda: LoopbackChannel(abilities=EVERYTHING))

    def answer(self, request: ModelRequest) -> Script:
        """A prompt that is too wide is refused."""
        last = request.messages[-1]
        if request.system.startswith("Condense"):
            return (Say(SUMMARY),)
        if any("soon be condensed" in text_of(message) for message in request.messages):
            if isinstance(last, ToolResult):
                return (Say("NO_REPLY"),)
            return (CallTool(ToolCall(id="n1", name="write", arguments={"content": NOTE})),)
        if sum(len(text_of(message)) for message in request.messages) > WIDEST:
            return (Fail(FailureKind.OVERFLOW, "too long"),)
        return (Say(f"re {text_of(last).split()[-1]}"),)

    def tools(self, store: Store, crashes: Crashes) -> tuple[Tool, ...]:
        return (Notes("notes.md"),)

    def part(self, crashes: Crashes, tools: tuple[Tool, ...]) -> Part:
        spec, place = replace(SPEC, context_window=WINDOW), Place(workspace=str(self.ground.folder))
        return replace(super().part(crashes, tools), spec=spec, place=place)


async def assert_whole(scene: Growing) -> None:
    bodies = [entry.body for entry in await scene.entries()]
    assert [text_of(body) for body in bodies if isinstance(body, UserMessage)] == list(MESSAGES)
    expected = [f"re {number}" for number in range(len(MESSAGES))]
    assert [text_of(body) for body in bodies if isinstance(body, AssistantMessage)] == expected
    assert list(scene.channel.replies(CHAT)) == expected
    assert not any(isinstance(body, ToolResult) for body in bodies)
    snapshot = await scene.snapshot()
    assert (snapshot.running, snapshot.queued, snapshot.pending) == (None, (), ())
    assert snapshot.session is not None
    compactions = sum(isinstance(body, Compaction) for body in bodies)
    assert snapshot.session.counters.compactions == compactions >= 1
    assert snapshot.session.counters.total < WINDOW
    assert (scene.ground.folder / "notes.md").read_text() == f"{NOTE}\n"
    assert await scene.store.check() == ()


@pytest.mark.requirement("P10", "P11")
@pytest.mark.timeout(900)
async def test_after_a_crash_at_any_call_the_context_is_condensed_once_and_nothing_said_is_lost(
    ground: Ground,
) -> None:
    async with Growing(ground=await ground.fresh("dry")) as scene:
        calls = (await scene.live()).calls
        await assert_whole(scene)
    for point in points(ground.kind, calls, ONE_IN):
        async with Growing(ground=await ground.fresh(f"{point.at}-{point.moment}")) as scene:
            await scene.strike(point)
            await scene.live()
            await assert_whole(scene)
