"""The tool calls of one run: each recorded before it begins, and never an error that ends the run."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby, takewhile
from types import MappingProxyType
from typing import TypeAlias

import anyio

from roost.core.authority import Unheard, without_word
from roost.core.entries import Entry
from roost.core.errors import RoostError
from roost.core.ledger import Denial
from roost.core.messages import AssistantMessage, Body, Text, ToolCall, ToolResult, tool_calls
from roost.core.models import unreadable_arguments
from roost.core.recovery import OUTCOME_UNKNOWN
from roost.core.rights import meet
from roost.core.runs import Step, StepKind
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.engine.rules import Part
from roost.engine.work import Work
from roost.ports import Report, Tool

_log = logging.getLogger(__name__)

Keep: TypeAlias = Callable[..., Awaitable[None]]

_MISSING = MappingProxyType(
    {
        Unheard.CAUSE: "the owner's own word as the cause of this run",
        Unheard.SWAYED: "the owner's own word after what this run has read of other sessions and conversations",
    }
)


class ToolCalls:
    """`keep` writes results into the transcript."""

    def __init__(self, work: Work, keep: Keep, context_tokens: Callable[[], int]) -> None:
        self._work = work
        self._keep = keep
        self._context_tokens = context_tokens
        self._tools = {tool.spec.name: tool for tool in work.part.tools}
        self._model = str(work.part.spec.ref)
        self._unheard: Unheard | None = Unheard.CAUSE

    async def run(self, calls: Sequence[ToolCall], seen: Sequence[Entry]) -> None:
        """One after another, unless every tool says that it may run beside the others. `seen` is what the model had
        before it when it asked for them."""
        recalling = {name for name, tool in self._tools.items() if tool.traits.recalls}
        self._unheard = without_word(self._work.run.cause, seen, recalling)
        together = len(calls) > 1 and all(
            call.name in self._tools and self._tools[call.name].traits.parallel for call in calls
        )
        if together:
            await self._run_together(calls)
            return
        for group in self._steps(calls):
            with await self._begun(*group):
                results = [self._result(call, await self._shown(call)) for call in group]
            await self._keep(*results)

    async def resume(self, entries: Sequence[Entry]) -> tuple[ToolCall, ...]:
        """Calls that an earlier life of the gateway left without a result, after those were answered that may not
        run again. Beside others they may all have begun, though only the first was recorded."""
        run = self._work.run
        step = run.progress.step
        begun = step is None or step.kind is StepKind.TOOL
        again = []
        for call in _open_calls(entries, run.id):
            traits = self._traits(call)
            if begun and traits.parallel and not traits.reenterable:
                await self._keep(self._result(call, _failure(OUTCOME_UNKNOWN)))
            else:
                again.append(call)
        return tuple(again)

    def end_turn(self, entries: Sequence[Entry]) -> bool:
        """Whether the newest calls of the run include one that ends its turn, and it went well."""
        results = takewhile(lambda body: isinstance(body, ToolResult), _bodies_of(entries, self._work.run.id))
        return any(
            not one.is_error and one.tool in self._tools and self._tools[one.tool].traits.ends_turn
            for one in results
            if isinstance(one, ToolResult)
        )

    def _steps(self, calls: Sequence[ToolCall]) -> Iterator[tuple[ToolCall, ...]]:
        """Calls in their order, those as one step that may all run again after a crash: what is recorded of each is
        what a crowd of them costs most."""

        def repeats(call: ToolCall) -> bool:
            traits = self._traits(call)
            return traits.reenterable and not (traits.waits or traits.ends_turn)

        for alike, grouped in groupby(calls, repeats):
            group = tuple(grouped)
            yield from (group,) if alike else ((call,) for call in group)

    async def _run_together(self, calls: Sequence[ToolCall]) -> None:
        results: dict[str, ToolResult] = {}

        async def run(call: ToolCall) -> None:
            results[call.id] = self._result(call, await self._shown(call))

        with await self._begun(*calls):
            async with anyio.create_task_group() as group:
                for call in calls:
                    group.start_soon(run, call)
        await self._keep(*(results[call.id] for call in calls))

    async def _begun(self, *calls: ToolCall) -> AbstractContextManager[None]:
        """Record that calls begin; within what this answers, they run."""
        traits = [self._traits(call) for call in calls]
        step = Step(
            kind=StepKind.TOOL,
            at=self._work.clock.now(),
            tool=calls[0].name,
            call_id=calls[0].id,
            reenterable=traits[0].reenterable,
            waits=all(one.waits for one in traits),
        )
        await self._work.store.begin_step(self._work.claim, step)
        if self._work.notices:
            await self._work.notices.look()
        return self._work.lent() if step.waits else nullcontext()

    def _traits(self, call: ToolCall) -> ToolTraits:
        tool = self._tools.get(call.name)
        return tool.traits if tool else ToolTraits()

    def _result(self, call: ToolCall, outcome: ToolOutcome) -> ToolResult:
        return ToolResult(
            call_id=call.id,
            tool=call.name,
            content=outcome.content,
            at=self._work.clock.now(),
            is_error=outcome.is_error,
            details=outcome.details,
        )

    async def _shown(self, call: ToolCall) -> ToolOutcome:
        voice, notices = self._work.voice, self._work.notices
        voice.tool_began(call)
        if notices:
            await notices.began(call)
        outcome = await self._outcome(call)
        voice.tool_over(call, outcome)
        if notices:
            await notices.over(call, outcome)
        return outcome

    async def _outcome(self, call: ToolCall) -> ToolOutcome:
        if call.name not in self._tools:
            offered = ", ".join(sorted(self._tools)) or "none"
            return _failure(f"There is no tool {call.name!r} here. Tools: {offered}.")
        if (raw := unreadable_arguments(call)) is not None:
            return _failure(f"The arguments are not a JSON object; write them again. They were: {raw[:500]}")
        try:
            acting = self._work.acting()
        except RoostError as error:
            return _failure(str(error))
        tool = next((one for one in acting.tools if one.spec.name == call.name), None)
        if tool is None:
            return _failure(
                f"{call.name} is not allowed here now: the configuration, the model or who speaks has changed. "
                "Go on without it."
            )
        return await self._allowed(call, tool, acting)

    async def _allowed(self, call: ToolCall, tool: Tool, acting: Part) -> ToolOutcome:
        run = self._work.run
        if tool.traits.privileged and self._unheard:
            return await self._unprivileged(call, self._unheard)
        invocation = Invocation(
            run_id=run.id,
            call_id=call.id,
            agent=run.key.agent,
            key=run.key,
            cause=self._work.run.cause,
            place=acting.place,
            arguments=call.arguments,
            rights=meet(self._work.part.rights, acting.rights),
            model=self._model,
            context_tokens=self._context_tokens,
        )

        async def report(output: str) -> None:
            self._work.move()
            self._work.voice.tool_printed(call, output)

        return await invoked(tool, invocation, report)

    async def _unprivileged(self, call: ToolCall, why: Unheard) -> ToolOutcome:
        reason = f"{call.name} needs {_MISSING[why]}"
        denial = Denial(
            at=self._work.clock.now(),
            operation=call.name,
            principal=self._work.run.cause.principal,
            rule=why,
            reason=reason,
            caller=self._work.run.key,
        )
        await self._work.store.record_denial(denial)
        return _failure(f"{reason}; tell the owner what you need.")


async def invoked(tool: Tool, invocation: Invocation, report: Report) -> ToolOutcome:
    """What a tool answers, whatever happens in it."""
    try:
        return await tool.run(invocation, report)
    except RoostError as error:
        return _failure(str(error))
    except Exception:  # noqa: BLE001 — a tool that breaks is told to its caller, and ends nothing else
        named = {"trace": invocation.cause.trace}
        _log.exception("tool %s broke in run %s", tool.spec.name, invocation.run_id, extra=named)
        return _failure(f"{tool.spec.name} broke; what it did until then is not known.")


def _bodies_of(entries: Sequence[Entry], run_id: str) -> Iterator[Body]:
    """What a run wrote, newest first. What its session was told meanwhile, as of a child's end, is none of it."""
    return (entry.body for entry in reversed(entries) if entry.run_id == run_id)


def _open_calls(entries: Sequence[Entry], run_id: str) -> tuple[ToolCall, ...]:
    answered: set[str] = set()
    for body in _bodies_of(entries, run_id):
        if isinstance(body, ToolResult):
            answered.add(body.call_id)
        elif isinstance(body, AssistantMessage):
            return tuple(call for call in tool_calls(body) if call.id not in answered)
        else:
            break
    return ()


def _failure(text: str) -> ToolOutcome:
    return ToolOutcome(content=(Text(text),), is_error=True)
