"""One run as it happens: model calls and tool calls in turn, each kept when it ends.

The last answer is not written here: it goes into the transaction that ends the run.
"""

from roost.core.errors import RoostError
from roost.core.finishing import Played
from roost.core.inputs import overtaken
from roost.core.messages import (
    AssistantMessage,
    StopReason,
    ToolResult,
    UserMessage,
    tool_calls,
    with_new_calls,
)
from roost.core.models import FailureKind, ModelFailed
from roost.core.transcript import gateway_message, with_note, with_request
from roost.engine.asking import Asking
from roost.engine.childnotes import children_note
from roost.engine.context import Context
from roost.engine.toolcalls import ToolCalls
from roost.engine.work import Work

SAID = (UserMessage, AssistantMessage, ToolResult)
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
        self._tools = ToolCalls(work, self._keep)
        self._context = Context(work)
        self._note: UserMessage | None = None
        self._prompt: str | None = None

    async def play(self) -> Played:
        """The last answer of the run. What is said to it after that is the next run's."""
        await self._tools.run(await self._tools.resume(self._context.entries), self._context.entries)
        if self._over():
            return self._yielded()
        await self._context.take_inputs()
        run = self._work.run
        self._prompt = run.request.prompt or overtaken(run, self._context.entries)
        self._refuse_emptied()
        self._note = await children_note(self._work)
        for _ in range(self._most_steps):
            answer = with_new_calls(await self._answer(), (entry.body for entry in self._context.entries))
            calls = tool_calls(answer)
            if not calls:
                return Played(words=answer, told=self._context.told, load=self._context.load(answer))
            await self._keep(answer)
            await self._tools.run(calls, self._context.entries)
            if self._over():
                return self._yielded()
            await self._context.take_inputs()
        raise ModelFailed(
            f"the run took {self._most_steps} steps without an answer",
            kind=FailureKind.PERMANENT,
            hint="ask for less at once",
        )

    def left_off(self, stop: StopReason, reason: str) -> AssistantMessage | None:
        """What had been said when the run was ended."""
        return self._asking.left_off(stop, reason)

    def _over(self) -> bool:
        return self._tools.end_turn(self._context.entries)

    def _yielded(self) -> Played:
        return Played(told=self._context.told, load=self._context.load(), yielded=True)

    async def _answer(self) -> AssistantMessage:
        """The next answer. A context that its provider refuses as too large is made smaller, once."""
        await self._context.settle()
        try:
            return await self._ask()
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
        messages, prompt = self._context.messages(), self._prompt
        if prompt is None and isinstance(messages[-1], AssistantMessage):
            prompt = UNANSWERED
        # Neither is a part of the transcript.
        if self._note is not None:
            messages = with_note(messages, self._note)
        if prompt is not None:
            messages = with_request(messages, gateway_message(prompt, self._work.clock.now()))
        return await self._asking.ask(messages)

    def _refuse_emptied(self) -> None:
        """A stop may empty the queue between the claim of a run and its begin. Words that no run said, such as a letter,
        answer nothing."""
        run = self._work.run
        said = [entry for entry in self._context.entries if isinstance(entry.body, SAID)]
        by_runs = (
            one.body for one in reversed(said) if one.run_id or not isinstance(one.body, AssistantMessage)
        )
        last = next(by_runs, None)
        if self._prompt is None and (last is None or isinstance(last, AssistantMessage)):
            raise NothingToAnswer(f"run {run.id} has nothing left to answer")

    async def _keep(self, *bodies: AssistantMessage | ToolResult) -> None:
        await self._context.keep(*bodies)
        self._asking.forget()
