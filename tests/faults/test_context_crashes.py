"""A gateway that ends at any call while contexts are pruned, condensed or saved as notes: nothing is lost or half done."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from roost.channels.loopback import EVERYTHING, LoopbackChannel
from roost.core.addresses import ChatType
from roost.core.admission import ChannelPolicy, DmPolicy
from roost.core.compaction import SECTIONS
from roost.core.envelopes import Conversation
from roost.core.messages import AssistantMessage, Compaction, ToolCall, ToolResult, UserMessage, text_of
from roost.core.models import FailureKind, ModelRequest
from roost.core.queuesettings import QueuePolicy, QueueSettings
from roost.core.runs import Run
from roost.core.sessions import Session
from roost.core.tools import Place, ToolTraits
from roost.engine.gateway import Engine
from roost.engine.ids import FreshIds
from roost.engine.rules import Part, Rules
from roost.testing.crashing import Crashes, CrashingChannel, CrashingModel, CrashingStore, CrashPoint, Moment
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import CallTool, Fail, Say, Script
from roost.tools.notes import Notes
from tests.faults.test_engine_crashes import ADA, CHAT, SPEC, Counting, Scene
from tests.scale import chosen, count

WINDOW = 1_600
WIDEST = 5_600
NOTE = "- what matters"
SUMMARY = "\n".join(f"## {section}\nNone." for section in SECTIONS)
MESSAGES = tuple(f"{'word ' * 120} number {number}" for number in range(10))


def answer(request: ModelRequest) -> Script:
    """What is said follows from what was asked; a prompt that is too wide is refused."""
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


class Growing(Scene):
    """A conversation that outgrows its window."""

    def __post_init__(self) -> None:
        self.folder.mkdir()
        super().__post_init__()

    def _engine(self, crashes: Crashes) -> Engine:
        part = Part(
            model=CrashingModel(ScriptedModel(otherwise=answer, clock=self.clock), crashes),
            spec=replace(SPEC, context_window=WINDOW),
            reason="the only model",
            system="You are a test.",
            place=Place(workspace=str(self.folder)),
            tools=(Notes("notes.md"),),
        )

        def cast(session: Session, run: Run) -> Part:
            return part

        rules = Rules(
            cast=cast,
            doors={"loopback": ChannelPolicy(dm_policy=DmPolicy.OPEN, owner_ids=("loopback:ada",))},
            queue=QueuePolicy(base=QueueSettings(debounce_ms=0)),
        )
        store, channel = CrashingStore(self.store, crashes), CrashingChannel(self.channel, crashes)
        return Engine(store, self.clock, FreshIds(self.clock), rules, [channel], jitter=lambda: 0.0)

    async def _converse(self) -> None:
        await self._settled()
        while self.said < len(MESSAGES):
            text = MESSAGES[self.said]
            self.said += 1
            chat = Conversation(chat_type=ChatType.DIRECT, peer="ada")
            await self.channel.say(text, sender=ADA, chat=chat, external_id=f"e{self.said}")
            await self._settled()


@asynccontextmanager
async def growing(kind: str, folder: Path) -> AsyncIterator[Growing]:
    scene = Growing(kind, folder, LoopbackChannel(abilities=EVERYTHING), Counting(ToolTraits()))
    try:
        yield scene
    finally:
        await scene.store.close()


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
    assert (scene.folder / "notes.md").read_text() == f"{NOTE}\n"
    assert await scene.store.check() == ()


@pytest.mark.requirement("P10", "P11")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_after_a_crash_at_any_call_the_context_is_condensed_once_and_nothing_said_is_lost(
    kind: str, tmp_path: Path
) -> None:
    async with growing(kind, tmp_path / "dry") as scene:
        calls = (await scene.live()).calls
        await assert_whole(scene)
    step = count(41 if kind == "memory" else 83, 1)
    for place, (number, moment) in enumerate(product(range(1, len(calls) + 1), Moment)):
        if not chosen(place, step):
            continue
        async with growing(kind, tmp_path / f"{number}-{moment}") as scene:
            struck = await scene.live(CrashPoint(at=number, moment=moment))
            print(f"crashed {moment} call {number}, {struck.calls[number - 1 : number]}")  # noqa: T201 — shown when it fails
            await scene.restart()
            await scene.live()
            await assert_whole(scene)
