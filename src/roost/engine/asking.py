"""The model calls of one run: each recorded before it begins, read as it is written, and accounted for."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from roost.core.budgets import unbilled
from roost.core.counting import at_least, usage_of
from roost.core.ledger import LedgerRow
from roost.core.messages import AssistantMessage, Message, StopReason, Text, Usage
from roost.core.models import (
    FailureKind,
    Finished,
    ModelFailed,
    ModelRequest,
    NeverSent,
    TextDelta,
    ThinkingDelta,
)
from roost.core.notices import derived_id
from roost.core.runs import Step, StepKind
from roost.engine.means import CallMeans
from roost.engine.tracing import traced
from roost.engine.work import Work
from roost.ports.limits import OutOfTime, watched

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Call:
    """A model call as it is recorded before it is made; `row` is what the ledger says if nothing more is heard of it."""

    request: ModelRequest
    row: LedgerRow


class Asking:
    """`name` tells the calls of one asking in a run from those of another."""

    def __init__(self, work: Work, name: str = "call") -> None:
        self._work = work
        self._means = CallMeans(work)
        self._name = name
        self._calls = 0
        self._partial: list[str] = []
        self._speaker = work.part.spec.ref

    async def ask(self, messages: Sequence[Message]) -> AssistantMessage:
        """The whole answer to these messages, by the first model that gives one; it plays on."""
        return await self.hear(await self._begin(messages))

    async def hear(self, call: Call) -> AssistantMessage:
        """The same for a call that is recorded already."""
        while True:
            try:
                return await self._call_model(call)
            except ModelFailed as failed:
                part = self._work.part.after(failed)
                if part is None:
                    raise
                _log.warning("run %s: %s", self._work.run.id, part.reason, extra=traced(self._work.run))
                self._work.playing.part = part
            call = await self._begin(call.request.messages)

    @property
    def is_free(self) -> bool:
        """Whether the next call may be recorded by whoever writes next: nothing has to be paid or asked for first."""
        return not (self._work.budgets.limits or self._work.headway.spent)

    def next_call(self, messages: Sequence[Message]) -> Call:
        """The next call, if it is about these messages. Writes nothing."""
        part = self._work.part
        request = ModelRequest(
            spec=part.spec,
            system=part.system,
            messages=tuple(messages),
            tools=tuple(tool.spec for tool in part.tools),
            thinking=part.thinking,
        )
        return Call(request, replace(self._row(), usage=at_least(request), estimated=True))

    async def _begin(self, messages: Sequence[Message]) -> Call:
        work = self._work
        for row in work.bill():
            await work.store.record_usage(row)
        work.billed()
        call = self.next_call(messages)
        await self._means.reserve(call.row, call.request)
        await work.store.begin_step(work.claim, Step(kind=StepKind.MODEL, at=call.row.at), call.row)
        return call

    async def _call_model(self, call: Call) -> AssistantMessage:
        work, request = self._work, call.request
        self._calls += 1
        try:
            answer = await self._read(request)
        except ModelFailed as failed:
            if isinstance(failed, NeverSent) or unbilled(failed.kind, said=bool(self._partial)):
                await work.store.release(call.row.id)
            raise
        spent = usage_of(request, answer)
        work.headway.spent.append(
            replace(
                call.row,
                at=answer.at,
                provider=answer.provider,
                model=answer.model,
                usage=spent.usage,
                estimated=spent.estimated,
            )
        )
        return answer

    def forget(self) -> None:
        """What was said is kept elsewhere now."""
        self._partial.clear()

    def left_off(self, stop: StopReason, reason: str) -> AssistantMessage | None:
        """What had been said when the run was ended."""
        text = "".join(self._partial)
        if not text.strip():
            return None
        ref = self._speaker
        return AssistantMessage(
            content=(Text(text),),
            at=self._work.clock.now(),
            provider=ref.provider,
            model=ref.model,
            stop=stop,
            error=reason,
        )

    async def _read(self, request: ModelRequest) -> AssistantMessage:
        """A model that falls silent has failed: another one may have something to say."""
        work = self._work
        self.forget()
        self._speaker = request.spec.ref
        work.move()
        try:
            return await watched(
                work.clock, lambda: work.silence_ms - work.idle_ms, partial(self._listen, request)
            )
        except OutOfTime:
            raise ModelFailed(
                f"{request.spec.ref} said nothing for {work.silence_ms // 1000} s",
                kind=FailureKind.TRANSIENT,
                hint="try again",
            ) from None

    async def _listen(self, request: ModelRequest) -> AssistantMessage:
        answer = None
        self._work.voice.asked(request.spec.ref)
        async with self._work.part.model.stream(request) as events:
            async for event in events:
                self._work.move()
                match event:
                    case TextDelta():
                        self._partial.append(event.text)
                        self._work.voice.text(event.text)
                    case ThinkingDelta():
                        self._work.voice.thinking(event.text)
                    case Finished():
                        answer = event.message
                        self._work.voice.said()
                    case _:
                        pass
        if answer is None:
            raise ModelFailed("the answer has no end", kind=FailureKind.TRANSIENT)
        return answer

    def _row(self) -> LedgerRow:
        """The next call as the ledger has it. Its id is that of no call of an earlier claim of the run."""
        work, run, ref = self._work, self._work.run, self._work.part.spec.ref
        return LedgerRow(
            id=derived_id(run.id, self._name, str(work.claim.fence), str(self._calls + 1)),
            at=work.clock.now(),
            key=run.key,
            session_id=work.session.session_id,
            principal=run.cause.principal,
            run_id=run.id,
            run_kind=run.request.kind,
            provider=ref.provider,
            model=ref.model,
            usage=Usage(),
        )
