"""One run as it happens: model calls and tool calls in turn, each kept when it ends.

The last answer is not written here: it goes into the transaction that ends the run.
"""

import logging
from collections.abc import Sequence

from roost.core.errors import RoostError
from roost.core.finishing import Played
from roost.core.inputs import overtaken
from roost.core.ledger import LedgerRow
from roost.core.messages import (
    AssistantMessage,
    Message,
    StopReason,
    ToolResult,
    UserMessage,
    tool_calls,
    with_new_calls,
)
from roost.core.models import FailureKind, ModelFailed
from roost.core.transcript import gateway_message, with_note, with_request
from roost.engine.asking import Asking, Call
from roost.engine.childnotes import children_note, is_reminded
from roost.engine.context import Context
from roost.engine.toolcalls import ToolCalls
from roost.engine.work import Work

_log = logging.getLogger(__name__)

UNANSWERED = "Answer the newest message above that is not answered yet."
TOO_LARGE = "try again, send /compact, or /new to start afresh"


class NothingToAnswer(RoostError):
    """What the run was to answer was taken from it before it began."""

    code = "nothing_to_answer"


class Turn:
    def __init__(self, work: Work, most_steps: int) -> None:
        self._work = work
        self._most_steps = most_steps
        self._asking = Asking(work)
        self._context = Context(work)
        self._tools = ToolCalls(work, self._keep, self._context.tokens)
        self._note: UserMessage | None = None
        self._prompt: str | None = None

    async def play(self) -> Played:
        """The last answer of the run. What is said to it after that is the next run's."""
        await self._tools.run(await self._tools.resume(self._context.entries), self._context.entries)
        if self._has_ended():
            return self._yielded()
        run = self._work.run
        self._prompt = run.request.prompt or overtaken(run, self._context.entries)
        # What it is reminded of counts what it is told now: that is read afterwards, and the call begins after that.
        call = await self._take(at_once=not is_reminded(self._work))
        if self._is_emptied(self._context):
            raise NothingToAnswer(f"run {run.id} has nothing left to answer")
        self._note = await children_note(self._work)
        for left in reversed(range(self._most_steps)):
            answer = with_new_calls(await self._answer(call), (entry.body for entry in self._context.entries))
            calls = tool_calls(answer)
            if not calls:
                return Played(words=answer, told=self._context.told, load=self._context.load(answer))
            await self._keep(answer)
            await self._tools.run(calls, self._context.entries)
            if self._has_ended():
                return self._yielded()
            call = await self._take(at_once=left > 0)
        raise ModelFailed(
            f"the run took {self._most_steps} steps without an answer",
            kind=FailureKind.PERMANENT,
            hint="ask for less at once",
        )

    def left_off(self, stop: StopReason, reason: str) -> AssistantMessage | None:
        """What had been said when the run was ended."""
        return self._asking.left_off(stop, reason)

    def _has_ended(self) -> bool:
        return self._tools.end_turn(self._context.entries)

    def _yielded(self) -> Played:
        return Played(told=self._context.told, load=self._context.load(), yielded=True)

    async def _take(self, *, at_once: bool) -> Call | None:
        """Take what was said, and begin the call about it with the same commit unless something has to come first."""
        call: Call | None = None
        at_once = at_once and self._context.is_small()

        def begin(context: Context) -> LedgerRow | None:
            nonlocal call
            call = self._next_call(context) if at_once else None
            return None if call is None else call.row

        await self._context.take_inputs(begin)
        return call

    def _next_call(self, context: Context) -> Call | None:
        try:
            if self._asking.is_free and not self._is_emptied(context) and context.is_settled():
                return self._asking.next_call(self._messages(context))
        except Exception:  # noqa: BLE001 — what was said must be taken even so: else the next run breaks by it too
            _log.debug("the call of run %s is begun by itself", self._work.run.id, exc_info=True)
        return None

    async def _answer(self, call: Call | None) -> AssistantMessage:
        """The next answer. A context that its provider refuses as too large is made smaller, once."""
        if call is None:
            await self._context.settle()
        try:
            return await (self._ask() if call is None else self._asking.hear(call))
        except ModelFailed as error:
            if error.kind is not FailureKind.OVERFLOW:
                raise
        await self._context.shrink()
        try:
            return await self._ask()
        except ModelFailed as error:
            if error.kind is not FailureKind.OVERFLOW:
                raise
            raise ModelFailed(error.message, kind=error.kind, hint=TOO_LARGE) from error

    async def _ask(self) -> AssistantMessage:
        return await self._asking.ask(self._messages(self._context))

    def _messages(self, context: Context) -> Sequence[Message]:
        messages, prompt = context.messages(), self._prompt
        if prompt is None and isinstance(messages[-1], AssistantMessage):
            prompt = UNANSWERED
        # Neither is a part of the transcript.
        if self._note is not None:
            messages = with_note(messages, self._note)
        if prompt is not None:
            messages = with_request(messages, gateway_message(prompt, self._work.clock.now()))
        return messages

    def _is_emptied(self, context: Context) -> bool:
        """A stop may empty the queue between the claim of a run and its begin. Words that no run said, such as a letter,
        answer nothing."""
        said = [entry for entry in context.entries if isinstance(entry.body, Message)]
        by_runs = (
            one.body for one in reversed(said) if one.run_id or not isinstance(one.body, AssistantMessage)
        )
        last = next(by_runs, None)
        return self._prompt is None and (last is None or isinstance(last, AssistantMessage))

    async def _keep(self, *bodies: AssistantMessage | ToolResult) -> None:
        await self._context.keep(*bodies)
        self._asking.forget()
