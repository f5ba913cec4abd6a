"""The model calls of one run: each recorded before it begins, read as it is written, and accounted for."""

from collections.abc import Sequence

from roost.core.ledger import LedgerRow
from roost.core.messages import AssistantMessage, Message, StopReason, Text
from roost.core.models import FailureKind, Finished, ModelFailed, ModelRequest, TextDelta
from roost.core.notices import derived_id
from roost.core.runs import Step, StepKind
from roost.engine.work import Work


class Asking:
    """`name` tells the calls of one asking in a run from those of another."""

    def __init__(self, work: Work, name: str = "call") -> None:
        self._work = work
        self._name = name
        self._calls = 0
        self._partial: list[str] = []

    async def ask(self, messages: Sequence[Message]) -> AssistantMessage:
        """The whole answer to these messages."""
        work, part = self._work, self._work.part
        await work.store.begin_step(work.claim, Step(kind=StepKind.MODEL, at=work.clock.now()))
        request = ModelRequest(
            spec=part.spec,
            system=part.system,
            messages=tuple(messages),
            tools=tuple(tool.spec for tool in part.tools),
            thinking=part.thinking,
        )
        answer = await self._read(request)
        await self._account(answer)
        return answer

    def forget(self) -> None:
        """What was said is kept elsewhere now."""
        self._partial.clear()

    def left_off(self, reason: str) -> AssistantMessage | None:
        """What had been said when the run was ended."""
        if not self._partial:
            return None
        ref = self._work.part.spec.ref
        return AssistantMessage(
            content=(Text("".join(self._partial)),),
            at=self._work.clock.now(),
            provider=ref.provider,
            model=ref.model,
            stop=StopReason.ABORTED,
            error=reason,
        )

    async def _read(self, request: ModelRequest) -> AssistantMessage:
        self.forget()
        answer = None
        self._work.asking = True
        self._work.move()
        try:
            async with self._work.part.model.stream(request) as events:
                async for event in events:
                    self._work.move()
                    match event:
                        case TextDelta():
                            self._partial.append(event.text)
                        case Finished():
                            answer = event.message
                        case _:
                            pass
        finally:
            self._work.asking = False
        if answer is None:
            raise ModelFailed("the answer has no end", kind=FailureKind.TRANSIENT)
        return answer

    async def _account(self, answer: AssistantMessage) -> None:
        self._calls += 1
        run = self._work.run
        await self._work.store.record_usage(
            LedgerRow(
                id=derived_id(run.id, self._name, str(run.progress.recoveries), str(self._calls)),
                at=answer.at,
                key=run.key,
                session_id=self._work.session.session_id,
                principal=run.cause.principal,
                run_id=run.id,
                run_kind=run.request.kind,
                provider=answer.provider,
                model=answer.model,
                usage=answer.usage,
            )
        )
