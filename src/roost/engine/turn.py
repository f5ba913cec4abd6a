"""One run as it happens: model calls and tool calls in turn, each recorded before it begins and kept when it ends.

The last answer is not written here: it goes into the transaction that ends the run.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from roost.core import timeline
from roost.core.entries import Entry, EntryDraft
from roost.core.errors import RoostError
from roost.core.inputs import entries_of
from roost.core.ledger import LedgerRow
from roost.core.messages import (
    AssistantMessage,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    tool_calls,
)
from roost.core.models import (
    FailureKind,
    Finished,
    ModelFailed,
    ModelRequest,
    TextDelta,
    unreadable_arguments,
)
from roost.core.notices import derived_id
from roost.core.recovery import OUTCOME_UNKNOWN
from roost.core.runs import Claim, Run, Step, StepKind
from roost.core.sessions import Session
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.core.transcript import build_prompt, gateway_message
from roost.engine.rules import Part
from roost.ports import Clock, Store, Tool

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Turn:
    """The state of one run under way. `partial` is what the model has said of an answer that is not finished,
    `moved_at` when something last happened."""

    store: Store
    clock: Clock
    run: Run
    claim: Claim
    session: Session
    part: Part
    most_steps: int
    entries: list[Entry] = field(default_factory=list)
    partial: list[str] = field(default_factory=list)
    calls: int = 0
    moved_at: int = 0
    asking: bool = False

    def __post_init__(self) -> None:
        self.moved_at = self.clock.now()

    async def play(self) -> AssistantMessage:
        """The last answer of the run. What is said to it after that is the next run's."""
        await self._read_context()
        await self._answer_open_calls()
        await self._take_inputs()
        for _ in range(self.most_steps):
            answer = await self._ask()
            if not tool_calls(answer):
                return answer
            await self._keep(answer)
            await self._run_tools(tool_calls(answer))
            await self._take_inputs()
        raise ModelFailed(
            f"the run took {self.most_steps} steps without an answer",
            kind=FailureKind.PERMANENT,
            hint="ask for less at once",
        )

    def left_off(self, reason: str) -> AssistantMessage | None:
        """What had been said when the run was ended."""
        if not self.partial:
            return None
        return AssistantMessage(
            content=(Text("".join(self.partial)),),
            at=self.clock.now(),
            provider=self.part.spec.ref.provider,
            model=self.part.spec.ref.model,
            stop=StopReason.ABORTED,
            error=reason,
        )

    async def _read_context(self) -> None:
        generations = await self.store.generations(self.run.key)
        for segment in timeline.context(generations, self.session.session_id):
            self.entries += await self.store.entries(
                segment.session_id, after=segment.after, through=segment.through
            )

    async def _take_inputs(self) -> None:
        self.entries += await self.store.take_inputs(self.claim, entries_of)

    async def _answer_open_calls(self) -> None:
        """Calls that an earlier life of the gateway left without a result. Beside others they may all have begun,
        though only the first was recorded: of those, one that must not run twice is not run again."""
        step = self.run.progress.step
        begun = step is None or step.kind is StepKind.TOOL
        calls = _open_calls(self.entries, self.run.id)
        for call in calls:
            traits = next((one.traits for one in self.part.tools if one.spec.name == call.name), ToolTraits())
            if begun and traits.parallel and not traits.reenterable:
                await self._keep(self._result(call, _failure(OUTCOME_UNKNOWN)))
        await self._run_tools(_open_calls(self.entries, self.run.id))

    async def _ask(self) -> AssistantMessage:
        at = self.clock.now()
        await self.store.begin_step(self.claim, Step(kind=StepKind.MODEL, at=at))
        request = ModelRequest(
            spec=self.part.spec,
            system=self.part.system,
            messages=(*build_prompt(self.entries).messages, *self._asked_by_gateway(at)),
            tools=tuple(tool.spec for tool in self.part.tools),
            thinking=self.part.thinking,
        )
        self.partial.clear()
        answer = None
        self.asking, self.moved_at = True, at
        async with self.part.model.stream(request) as events:
            async for event in events:
                self.moved_at = self.clock.now()
                match event:
                    case TextDelta():
                        self.partial.append(event.text)
                    case Finished():
                        answer = event.message
                    case _:
                        pass
        self.asking = False
        if answer is None:
            raise ModelFailed("the answer has no end", kind=FailureKind.TRANSIENT)
        await self._account(answer)
        return answer

    def _asked_by_gateway(self, at: int) -> tuple[UserMessage, ...]:
        """What the gateway itself asks of this run; it is no part of the transcript."""
        prompt = self.run.request.prompt
        return () if prompt is None else (gateway_message(prompt, at),)

    async def _account(self, answer: AssistantMessage) -> None:
        self.calls += 1
        await self.store.record_usage(
            LedgerRow(
                id=derived_id(self.run.id, "call", str(self.run.progress.recoveries), str(self.calls)),
                at=answer.at,
                key=self.run.key,
                session_id=self.session.session_id,
                principal=self.run.cause.principal,
                run_id=self.run.id,
                run_kind=self.run.request.kind,
                provider=answer.provider,
                model=answer.model,
                usage=answer.usage,
            )
        )

    async def _keep(self, *bodies: AssistantMessage | ToolResult) -> None:
        drafts = tuple(
            EntryDraft(
                id=derived_id(self.run.id, "entry", str(len(self.entries) + place)),
                body=body,
                run_id=self.run.id,
            )
            for place, body in enumerate(bodies)
        )
        self.entries += await self.store.append(self.run.key, drafts, claim=self.claim)
        self.moved_at = self.clock.now()
        self.partial.clear()

    async def _run_tools(self, calls: Sequence[ToolCall]) -> None:
        """One after another, unless every tool says that it may run beside the others."""
        tools = {tool.spec.name: tool for tool in self.part.tools}
        together = len(calls) > 1 and all(
            call.name in tools and tools[call.name].traits.parallel for call in calls
        )
        if not together:
            for call in calls:
                await self._begin_tool(call, tools.get(call.name))
                await self._keep(await self._run_tool(call, tools.get(call.name)))
            return
        results: dict[str, ToolResult] = {}

        async def run(call: ToolCall) -> None:
            results[call.id] = await self._run_tool(call, tools[call.name])

        await self._begin_tool(calls[0], tools[calls[0].name])
        async with anyio.create_task_group() as group:
            for call in calls:
                group.start_soon(run, call)
        await self._keep(*(results[call.id] for call in calls))

    async def _begin_tool(self, call: ToolCall, tool: Tool | None) -> None:
        step = Step(
            kind=StepKind.TOOL,
            at=self.clock.now(),
            tool=call.name,
            call_id=call.id,
            reenterable=tool is not None and tool.traits.reenterable,
        )
        await self.store.begin_step(self.claim, step)

    async def _run_tool(self, call: ToolCall, tool: Tool | None) -> ToolResult:
        return self._result(call, await self._outcome(call, tool))

    def _result(self, call: ToolCall, outcome: ToolOutcome) -> ToolResult:
        return ToolResult(
            call_id=call.id,
            tool=call.name,
            content=outcome.content,
            at=self.clock.now(),
            is_error=outcome.is_error,
            details=outcome.details,
        )

    async def _outcome(self, call: ToolCall, tool: Tool | None) -> ToolOutcome:
        if tool is None:
            offered = ", ".join(sorted(one.spec.name for one in self.part.tools)) or "none"
            return _failure(f"There is no tool {call.name!r} here. Tools: {offered}.")
        if (raw := unreadable_arguments(call)) is not None:
            return _failure(f"The arguments are not a JSON object; write them again. They were: {raw[:500]}")
        if tool.traits.privileged and not self.run.cause.by_owner:
            return _failure(
                f"{call.name} needs the owner's own word as the cause of this run; tell the owner what you need."
            )
        invocation = Invocation(
            run_id=self.run.id,
            call_id=call.id,
            agent=self.run.key.agent,
            key=self.run.key,
            cause=self.run.cause,
            place=self.part.place,
            arguments=call.arguments,
        )
        try:
            return await tool.run(invocation, _unheard)
        except RoostError as error:
            return _failure(str(error))
        except Exception:  # noqa: BLE001 — a tool that breaks is told to the model, and does not end the run
            _log.exception("tool %s broke in run %s", call.name, self.run.id)
            return _failure(f"{call.name} broke; what it did until then is not known.")


def _open_calls(entries: Sequence[Entry], run_id: str) -> tuple[ToolCall, ...]:
    answered: set[str] = set()
    for entry in reversed(entries):
        if isinstance(entry.body, ToolResult):
            answered.add(entry.body.call_id)
        elif isinstance(entry.body, AssistantMessage) and entry.run_id == run_id:
            return tuple(call for call in tool_calls(entry.body) if call.id not in answered)
        else:
            break
    return ()


def _failure(text: str) -> ToolOutcome:
    return ToolOutcome(content=(Text(text),), is_error=True)


async def _unheard(output: str) -> None:
    """Live output has no listener until there is a feed; the result holds it all the same."""
