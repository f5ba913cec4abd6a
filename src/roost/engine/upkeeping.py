"""Runs that look after a context and answer nobody: one condenses it, one saves notes before that."""

from roost.core.finishing import Played
from roost.core.messages import AssistantMessage, ProvenanceKind, StopReason, tool_calls
from roost.core.models import FailureKind, ModelFailed
from roost.core.runs import RunKind
from roost.core.transcript import gateway_message
from roost.core.upkeep import condensed_line, due, flush_note
from roost.engine.asking import Asking
from roost.engine.context import Context
from roost.engine.means import GoesWithout
from roost.engine.toolcalls import ToolCalls
from roost.engine.work import Work
from roost.ports.limits import OutOfTime, within

FLUSH_MS = 120_000
FLUSH_STEPS = 8
NOTHING_TO_GAIN = "Not condensed: the conversation is short enough already."


class Compacting:
    """Condenses the context of a session; the result is written by the transaction that ends the run."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def play(self) -> Played:
        context = Context(self._work)
        try:
            compaction = await context.condensed(self._work.run.request.prompt)
        except GoesWithout:
            return Played()
        if compaction is None:
            asked = self._work.run.cause.kind is not ProvenanceKind.SYSTEM
            return Played(told=NOTHING_TO_GAIN if asked else None)
        line = condensed_line(compaction, self._work.part.spec.context_window)
        return Played(bodies=(compaction,), told=line)

    def left_off(self, stop: StopReason, reason: str) -> AssistantMessage | None:
        return None


class Flushing:
    """Lets the agent save notes. What is said and done is seen by nobody and kept nowhere but in the notes."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._context = Context(work)
        unheard = work.aside(work.part)
        self._asking = Asking(unheard)
        self._tools = ToolCalls(unheard, self._remember, self._context.tokens)

    async def play(self) -> Played:
        if RunKind.FLUSH not in due(self._context.load(), self._work.part.context):
            return Played()  # condensed while this run was waiting: there will be more to save later
        problem = None
        try:
            await within(self._work.clock, FLUSH_MS, self._save)
        except GoesWithout:
            return Played()
        except (ModelFailed, OutOfTime) as error:
            problem = str(error)
        return Played(bodies=(flush_note(self._work.clock.now(), problem),))

    def left_off(self, stop: StopReason, reason: str) -> AssistantMessage | None:
        return None

    async def _save(self) -> None:
        context = self._context
        context.remember(gateway_message(self._work.run.request.prompt or "", self._work.clock.now()))
        for _ in range(FLUSH_STEPS):
            answer = await self._asking.ask(context.messages())
            calls = tool_calls(answer)
            if not calls:
                return
            context.remember(answer)
            await self._tools.run(calls, self._context.entries)
        raise ModelFailed(
            f"saving notes took more than {FLUSH_STEPS} steps",
            kind=FailureKind.PERMANENT,
            hint="it is tried again after a later turn",
        )

    async def _remember(self, *bodies: AssistantMessage) -> None:
        for body in bodies:
            self._context.remember(body)
