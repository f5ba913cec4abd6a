"""What a model is shown as a conversation grows: pruned, condensed, never larger than its window, nothing lost."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from roost.core.compaction import SECTIONS, CompactionSettings
from roost.core.effects import Effects, QueueRun, Snapshot
from roost.core.keys import SessionKey
from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Notice,
    ProvenanceKind,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    text_of,
)
from roost.core.models import FailureKind, ModelRef, ModelRequest, ModelSpec, ToolSpec
from roost.core.principals import OWNER
from roost.core.pruning import PruningSettings
from roost.core.queries import HistoryQuery, LedgerQuery
from roost.core.runs import Cause, Run, RunState
from roost.core.sessions import Session
from roost.core.tools import Invocation, Place, ToolOutcome, ToolTraits, WorkspaceAccess
from roost.core.transcript import Prompt, Unit
from roost.core.upkeep import ContextSettings, compaction_request
from roost.engine.rules import Part
from roost.ports import Report, Store
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.testing.clock import FakeClock
from roost.testing.providers import violations
from roost.testing.scripted import ScriptedModel
from roost.testing.scripts import CallTool, Fail, Say, Script, Spend, Until
from roost.tools.notes import Notes
from tests.flows.gateways import ADA, Bench, place

MAIN = SessionKey.named("main", "main")
SUMMARY = "\n".join(f"## {section}\nNone." for section in SECTIONS)
SPEC = ModelSpec(ref=ModelRef("scripted", "small"), context_window=4_000, max_tokens=500)
WIDE = replace(SPEC, context_window=10_000)
LONG = "word " * 250
NOTES = "memory/day.md"


def is_summary(request: ModelRequest) -> bool:
    return request.system.startswith("Condense")


def is_flush(request: ModelRequest) -> bool:
    return any("soon be condensed" in text_of(message) for message in request.messages)


def last_line(request: ModelRequest) -> str:
    return text_of(request.messages[-1]).splitlines()[-1].strip()


def answer(request: ModelRequest) -> Script:
    if is_summary(request):
        return (Say(SUMMARY),)
    if is_flush(request):
        return (Say("NO_REPLY"),)
    return (Say(f"re {last_line(request)[-8:]}"),)


@dataclass
class House:
    """A bench whose model has a small window, and what a run of it is given."""

    bench: Bench
    workspace: Path
    spec: ModelSpec = SPEC
    access: WorkspaceAccess = WorkspaceAccess.READ
    settings: ContextSettings = field(default_factory=ContextSettings)

    def cast(self, session: Session, run: Run) -> Part:
        return Part(
            model=self.bench.model,
            spec=self.spec,
            reason="the only model",
            system="You are a test.",
            place=Place(workspace=str(self.workspace), access=self.access),
            tools=self.bench.tools,
            context=self.settings,
        )

    async def talk(self, *texts: str) -> None:
        """Each message is said once the one before it was answered, and all that follows from it is over."""
        async with self.bench.serving() as (engine, _):
            for text in texts:
                await self.bench.say(text)
                await self.bench.channel.wait_acknowledged()
                await engine.settled()

    async def bodies(self) -> list[Body]:
        page = await self.bench.store.history(HistoryQuery(key=MAIN, limit=1_000))
        return [entry.body for entry in page.entries]

    async def compactions(self) -> list[Compaction]:
        return [body for body in await self.bodies() if isinstance(body, Compaction)]

    def asked(self) -> list[ModelRequest]:
        """The calls of turns, without those of compactions and flushes."""
        return [one for one in self.bench.model.requests if not is_summary(one) and not is_flush(one)]


@pytest.fixture(params=["memory", "sqlite"])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    clock = FakeClock()
    store: Store = (
        MemoryStore(clock) if request.param == "memory" else SqliteStore.open(tmp_path / "flow.db", clock)
    )
    bench = Bench(store, clock, model=ScriptedModel(otherwise=answer, clock=clock))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    house = House(bench, workspace)
    bench.change(cast=house.cast)
    try:
        yield house
    finally:
        await store.close()


def numbered(count: int) -> list[str]:
    return [f"{LONG} message{number:03}" for number in range(count)]


# -- compaction --------------------------------------------------------------------------------------


@pytest.mark.requirement("P11")
async def test_a_context_that_grew_too_large_is_condensed_and_the_conversation_goes_on(house: House) -> None:
    texts = numbered(14)
    await house.talk(*texts)

    assert await house.compactions()
    spoken = [text_of(body) for body in await house.bodies() if isinstance(body, UserMessage)]
    assert [text.split()[-1] for text in spoken] == [text.split()[-1] for text in texts]
    replies = house.bench.channel.replies(place(ADA))
    assert [reply.removeprefix("re ") for reply in replies] == [text[-8:] for text in texts]
    session = await house.bench.store.session(MAIN)
    assert session is not None
    assert session.counters.compactions == len(await house.compactions())
    assert 0 < session.counters.total < session.counters.context_window == SPEC.context_window


@pytest.mark.requirement("P11")
async def test_the_last_turns_stay_word_for_word_and_every_prompt_is_one_that_providers_accept(
    house: House,
) -> None:
    texts = numbered(14)
    await house.talk(*texts)
    for number, request in enumerate(house.asked()):
        said = [text_of(one) for one in request.messages if isinstance(one, UserMessage)]
        newest = [f"[Sender: Ada]\n{text}" for text in texts[max(0, number - 2) : number + 1]]
        assert said[-len(newest) :] == newest
        assert violations(prompt_of(request)) == ()


def prompt_of(request: ModelRequest) -> Prompt:
    spoken = [message for message in request.messages if not isinstance(message, ToolResult)]
    return Prompt(units=tuple(Unit(message=message, first=0, last=0) for message in spoken))


@pytest.mark.requirement("P11")
async def test_prompts_begin_with_the_same_words_until_the_context_is_condensed(house: House) -> None:
    await house.talk(*numbered(14))
    requests = house.bench.model.requests
    for before, after in pairwise(requests):
        if is_summary(before) or is_summary(after):
            continue
        assert after.messages[: len(before.messages)] == before.messages


@pytest.mark.requirement("P11")
@pytest.mark.parametrize(
    "summary",
    [(Fail(FailureKind.TRANSIENT),), (Say("## Decisions\nnone of the others"),), (Say(SUMMARY + LONG * 40),)],
)
async def test_a_summariser_that_is_of_no_use_is_asked_twice_at_most_and_excerpts_take_its_place(
    house: House, summary: Script
) -> None:
    house.bench.model.otherwise = lambda request: summary if is_summary(request) else answer(request)
    await house.talk(*numbered(14))
    compactions = await house.compactions()
    calls = [request for request in house.bench.model.requests if is_summary(request)]
    assert compactions
    assert len(calls) <= 2 * len(compactions)
    assert len(house.bench.channel.replies(place(ADA))) == 14
    usage = await house.bench.store.usage(LedgerQuery(key=MAIN))
    failed = isinstance(summary[0], Fail)
    assert usage.calls == 14 + (0 if failed else len(calls))


@pytest.mark.requirement("P11")
async def test_what_is_said_while_a_context_is_condensed_is_answered_after_it(house: House) -> None:
    release = anyio.Event()
    house.settings = ContextSettings(compaction=CompactionSettings(keep_recent=100, keep_turns=1))
    house.bench.model.otherwise = lambda request: (
        (Until(release), Say(SUMMARY)) if is_summary(request) else answer(request)
    )
    async with house.bench.serving() as (engine, _):
        for text in numbered(4):
            await house.bench.say(text)
            await house.bench.channel.wait_acknowledged()
            await engine.settled()
        await condense(house, None)
        await house.bench.model.asked(5)
        await house.bench.say("and this?")
        await house.bench.channel.wait_acknowledged()
        assert len(house.bench.channel.replies(place(ADA))) == 4
        release.set()
        await engine.settled()
    assert house.bench.channel.replies(place(ADA))[-1] == "re nd this?"
    tail = (await house.bodies())[-3:]
    assert [type(body) for body in tail] == [Compaction, UserMessage, AssistantMessage]


@pytest.mark.requirement("P11")
async def test_a_context_that_its_provider_refuses_is_condensed_and_the_question_answered(
    house: House,
) -> None:
    refused: list[int] = []

    def strict(request: ModelRequest) -> Script:
        size = sum(len(text_of(message)) for message in request.messages)
        if not is_summary(request) and size > 6_000:
            refused.append(size)
            return (Fail(FailureKind.OVERFLOW, "too long"),)
        return answer(request)

    house.settings = ContextSettings(ahead=False)
    house.bench.model.otherwise = strict
    await house.talk(*numbered(8))
    assert refused
    assert await house.compactions()
    assert len(house.bench.channel.replies(place(ADA))) == 8
    assert all(reply.startswith("re ") for reply in house.bench.channel.replies(place(ADA)))


async def test_one_message_larger_than_the_window_is_shortened_and_answered(house: House) -> None:
    await house.talk("huge " * 20_000 + "\nthe end")
    assert house.bench.channel.replies(place(ADA)) == ("re the end",)
    (request,) = house.asked()
    assert sum(len(text_of(message)) for message in request.messages) < 4 * SPEC.context_window


async def test_a_provider_that_refuses_even_the_smaller_context_is_told_with_what_to_do(house: House) -> None:
    house.bench.model.otherwise = (Fail(FailureKind.OVERFLOW, "too long"),)
    await house.talk("hello")
    (told,) = house.bench.channel.replies(place(ADA))
    assert "/compact" in told
    assert "/new" in told
    assert len(house.bench.model.requests) == 2


async def condense(house: House, focus: str | None) -> None:
    def queue(snapshot: Snapshot) -> Effects:
        cause = Cause(principal=OWNER, kind=ProvenanceKind.HUMAN, trace="t")
        now = house.bench.clock.now()
        request = compaction_request(focus, place(ADA))
        run = Run(
            id=f"compact-{now}",
            key=MAIN,
            state=RunState.QUEUED,
            cause=cause,
            request=request,
            queued_at=now,
            ready_at=now,
        )
        return (QueueRun(run=run),)

    await house.bench.store.change_session(MAIN, queue)


async def test_a_person_can_have_it_condensed_now_with_a_wish_and_is_told_what_came_of_it(
    house: House,
) -> None:
    house.settings = ContextSettings(compaction=CompactionSettings(keep_recent=100, keep_turns=1))
    async with house.bench.serving() as (engine, _):
        for text in numbered(4):
            await house.bench.say(text)
            await house.bench.channel.wait_acknowledged()
            await engine.settled()
        await condense(house, "the names")
        await engine.settled()
    assert len(await house.compactions()) == 1
    (summary,) = [request for request in house.bench.model.requests if is_summary(request)]
    assert "<focus>\nthe names\n</focus>" in summary.system
    assert house.bench.channel.replies(place(ADA))[-1].startswith("Condensed: ")


async def test_a_short_conversation_is_not_condensed_and_the_person_is_told_why(house: House) -> None:
    async with house.bench.serving() as (engine, _):
        await house.bench.say("hi")
        await house.bench.channel.wait_acknowledged()
        await engine.settled()
        await condense(house, None)
        await engine.settled()
    assert await house.compactions() == []
    assert house.bench.channel.replies(place(ADA))[-1].startswith("Not condensed")


async def test_the_chat_is_told_of_a_compaction_only_where_that_is_asked_for(house: House) -> None:
    house.settings = ContextSettings(notifies=True)
    await house.talk(*numbered(14))
    told = [one for one in house.bench.channel.replies(place(ADA)) if one.startswith("Condensed")]
    assert len(told) == len([body for body in await house.bodies() if isinstance(body, Compaction)])


# -- pruning -----------------------------------------------------------------------------------------


@dataclass
class Reading:
    """A tool with a long answer."""

    text: str
    traits: ToolTraits = field(default=ToolTraits(reenterable=True))
    spec: ToolSpec = field(default=ToolSpec(name="read", description="Reads.", parameters={}))

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return ToolOutcome(content=(Text(self.text),))


def reads(request: ModelRequest) -> Script:
    if isinstance(request.messages[-1], ToolResult):
        return (Say("read it"),)
    number = sum(isinstance(message, UserMessage) for message in request.messages)
    return (CallTool(ToolCall(id=f"c{number}", name="read", arguments={})),)


def results(request: ModelRequest) -> list[str]:
    return [text_of(message) for message in request.messages if isinstance(message, ToolResult)]


@pytest.mark.requirement("D39")
async def test_old_tool_results_are_trimmed_for_the_model_once_its_cache_is_cold_and_stay_trimmed(
    house: House,
) -> None:
    clock = house.bench.clock
    assert isinstance(clock, FakeClock)
    house.spec = WIDE
    whole = "x" * 7_000
    house.bench.tools = (Reading(whole),)
    house.bench.model.otherwise = reads
    await house.talk("one", "two")
    warm = house.bench.model.requests[-1]
    assert results(warm) == [whole, whole]

    clock.advance(300_000)
    await house.talk("three")
    cold = house.bench.model.requests[-2]
    assert [len(text) < 4_000 for text in results(cold)] == [True, False]

    await house.talk("four")  # another life of the gateway, within the life of the cache
    later = house.bench.model.requests[-2]
    assert later.messages[: len(cold.messages)] == cold.messages
    stored = [text_of(body) for body in await house.bodies() if isinstance(body, ToolResult)]
    assert stored == [whole] * 4


@pytest.mark.requirement("D39")
async def test_pruning_can_be_switched_off(house: House) -> None:
    clock = house.bench.clock
    assert isinstance(clock, FakeClock)
    house.settings = ContextSettings(pruning=PruningSettings(enabled=False))
    house.spec = WIDE
    house.bench.tools = (Reading("x" * 7_000),)
    house.bench.model.otherwise = reads
    await house.talk("one", "two")
    clock.advance(300_000)
    await house.talk("three")
    assert {len(text) for text in results(house.bench.model.requests[-1])} == {7_000}
    assert not any(isinstance(body, Notice) for body in await house.bodies())


# -- notes before a compaction -----------------------------------------------------------------------


def noting(*steps: Script) -> Callable[[ModelRequest], Script]:
    """A model that saves a note when it is asked to."""

    def respond(request: ModelRequest) -> Script:
        if not is_flush(request):
            return answer(request)
        if isinstance(request.messages[-1], ToolResult):
            return (Say("NO_REPLY"),)
        return (CallTool(ToolCall(id="n1", name="write", arguments={"content": "- Ada likes tea"})),)

    return respond


def writable(house: House) -> None:
    house.access = WorkspaceAccess.WRITE
    house.bench.tools = (Notes(NOTES),)
    house.bench.model.otherwise = noting()


@pytest.mark.requirement("D40")
async def test_notes_are_saved_in_silence_before_a_context_is_condensed_and_once_until_then(
    house: House,
) -> None:
    writable(house)
    texts = numbered(14)
    await house.talk(*texts)

    assert (house.workspace / NOTES).read_text() == "- Ada likes tea\n"
    assert len(house.bench.channel.replies(place(ADA))) == len(texts)
    assert not any("NO_REPLY" in reply for reply in house.bench.channel.replies(place(ADA)))
    bodies = await house.bodies()
    assert not any(isinstance(body, ToolResult) for body in bodies)
    assert not any("soon be condensed" in text_of(body) for body in bodies if isinstance(body, UserMessage))
    assert not any("NO_REPLY" in text_of(body) for body in bodies if isinstance(body, AssistantMessage))
    order = [type(body) for body in bodies if isinstance(body, Compaction | Notice)]
    assert order[:2] == [Notice, Compaction]
    assert all(order[place : place + 2] != [Notice, Notice] for place in range(len(order)))


@pytest.mark.requirement("D40")
async def test_where_the_workspace_cannot_be_written_no_notes_are_saved(house: House) -> None:
    writable(house)
    house.access = WorkspaceAccess.READ
    await house.talk(*numbered(14))
    assert await house.compactions()
    assert not any(is_flush(request) for request in house.bench.model.requests)
    assert not (house.workspace / NOTES).exists()


async def test_notes_that_cannot_be_saved_are_tried_three_times_and_hold_up_no_answer(house: House) -> None:
    writable(house)
    house.settings = replace(house.settings, ahead=False)

    def failing(request: ModelRequest) -> Script:
        return (Fail(FailureKind.TRANSIENT),) if is_flush(request) else (*answer(request), spend(request))

    house.bench.model.otherwise = failing
    await house.talk(*numbered(14))
    assert sum(is_flush(request) for request in house.bench.model.requests) == 3
    assert len(house.bench.channel.replies(place(ADA))) == 14


def spend(request: ModelRequest) -> Spend:
    tokens = sum(len(text_of(message)) for message in request.messages) // 5
    return Spend(Usage(input=tokens, output=5, total=tokens + 5))
