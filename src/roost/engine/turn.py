"""One run as it happens: model calls and tool calls in turn, each kept when it ends.

The last answer is not written here: it goes into the transaction that ends the run.
"""

from roost.core import timeline
from roost.core.entries import Entry, EntryDraft
from roost.core.errors import RoostError
from roost.core.inputs import entries_of
from roost.core.messages import AssistantMessage, ToolResult, UserMessage, tool_calls
from roost.core.models import FailureKind, ModelFailed
from roost.core.notices import derived_id
from roost.core.transcript import build_prompt, gateway_message
from roost.engine.asking import Asking
from roost.engine.toolcalls import ToolCalls
from roost.engine.work import Work


class NothingToAnswer(RoostError):
    """What the run was to answer was taken from it before it began."""

    code = "nothing_to_answer"


class Turn:
    def __init__(self, work: Work, most_steps: int) -> None:
        self._work = work
        self._most_steps = most_steps
        self._asking = Asking(work)
        self._tools = ToolCalls(work, self._keep)
        self._entries: list[Entry] = []

    async def play(self) -> AssistantMessage:
        """The last answer of the run. What is said to it after that is the next run's."""
        await self._read_context()
        await self._tools.run(await self._tools.resume(self._entries))
        await self._take_inputs()
        self._refuse_emptied()
        for _ in range(self._most_steps):
            answer = await self._asking.ask(
                (*build_prompt(self._entries).messages, *self._asked_by_gateway())
            )
            calls = tool_calls(answer)
            if not calls:
                return answer
            await self._keep(answer)
            await self._tools.run(calls)
            await self._take_inputs()
        raise ModelFailed(
            f"the run took {self._most_steps} steps without an answer",
            kind=FailureKind.PERMANENT,
            hint="ask for less at once",
        )

    def left_off(self, reason: str) -> AssistantMessage | None:
        """What had been said when the run was ended."""
        return self._asking.left_off(reason)

    async def _read_context(self) -> None:
        work = self._work
        generations = await work.store.generations(work.run.key)
        for segment in timeline.context(generations, work.session.session_id):
            self._entries += await work.store.entries(
                segment.session_id, after=segment.after, through=segment.through
            )

    async def _take_inputs(self) -> None:
        self._entries += await self._work.store.take_inputs(self._work.claim, entries_of)

    def _refuse_emptied(self) -> None:
        """A stop may empty the queue between the claim of a run and its begin."""
        last = self._entries[-1].body if self._entries else None
        run = self._work.run
        if run.request.prompt is None and (last is None or isinstance(last, AssistantMessage)):
            raise NothingToAnswer(f"run {run.id} has nothing left to answer")

    def _asked_by_gateway(self) -> tuple[UserMessage, ...]:
        """What the gateway itself asks of this run; it is no part of the transcript."""
        prompt = self._work.run.request.prompt
        return () if prompt is None else (gateway_message(prompt, self._work.clock.now()),)

    async def _keep(self, *bodies: AssistantMessage | ToolResult) -> None:
        work = self._work
        drafts = tuple(
            EntryDraft(
                id=derived_id(work.run.id, "entry", str(len(self._entries) + place)),
                body=body,
                run_id=work.run.id,
            )
            for place, body in enumerate(bodies)
        )
        self._entries += await work.store.append(work.run.key, drafts, claim=work.claim)
        work.move()
        self._asking.forget()
