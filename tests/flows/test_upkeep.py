"""Old tool results that a model is not shown again, and notes it saves before a context is condensed."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from roost.core.budgets import BudgetScope, Limit, Measure, Period
from roost.core.messages import (
    AssistantMessage,
    Compaction,
    Notice,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    text_of,
)
from roost.core.models import FailureKind, ModelRequest, ToolSpec
from roost.core.pruning import PruningSettings
from roost.core.sessions import SessionStatus
from roost.core.tools import Invocation, ToolOutcome, ToolTraits, WorkspaceAccess
from roost.core.upkeep import ContextSettings
from roost.ports import Report
from roost.testing.clock import FakeClock
from roost.testing.scripts import CallTool, Fail, Say, Script, Spend
from roost.tools.notes import Notes
from tests.flows.contexts import (
    MAIN,
    NOTES,
    WIDE,
    House,
    answer,
    is_flush,
    numbered,
)
from tests.flows.gateways import ADA, place

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


# -- without means -----------------------------------------------------------------------------------


def costing(total: int) -> Callable[[ModelRequest], Script]:
    usage = Usage(input=total - 5, output=5, total=total)
    return lambda request: (*answer(request), Spend(usage))


async def upkeep_left_out(house: House, texts: list[str], *, spent: int, limit: int) -> None:
    """After an answer that leaves too little for more, the next message is told so, and waits for nothing else."""
    house.bench.model.otherwise = costing(spent)
    house.bench.change(
        budgets=(Limit(scope=BudgetScope.SESSION, measure=Measure.TOKENS, hard=limit, period=Period.EVER),)
    )
    before = len(house.bench.channel.replies(place(ADA)))
    await house.talk(*texts[:1])
    replies = house.bench.channel.replies(place(ADA))[before:]
    assert [text[:3] for text in replies] == ["re "]
    assert (await house.bench.store.session(MAIN)).status is SessionStatus.DONE  # type: ignore[union-attr]
    (denial,) = await house.bench.store.denials(10)
    assert (denial.operation, denial.rule) == ("model_call", "budgets.perSession.tokens")
    await house.talk(*texts[1:])
    assert "used up" in house.bench.channel.replies(place(ADA))[-1]


@pytest.mark.requirement("P20")
async def test_notes_for_which_there_are_no_means_are_left_out_and_nobody_waits_for_them(
    house: House,
) -> None:
    writable(house)
    await upkeep_left_out(house, ["one", "two"], spent=2_000, limit=2_400)
    assert not any(is_flush(request) for request in house.bench.model.requests)
    assert not any(isinstance(body, Notice) for body in await house.bodies())


@pytest.mark.requirement("P20")
async def test_a_compaction_that_nobody_asked_for_is_left_out_where_there_are_no_means(house: House) -> None:
    *before, one, two = numbered(8)
    house.bench.model.otherwise = costing(1_000)
    await house.talk(*before)
    assert not await house.compactions()
    await upkeep_left_out(house, [one, two], spent=3_500, limit=4_000)
    assert not await house.compactions()
