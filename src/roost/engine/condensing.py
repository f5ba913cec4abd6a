"""One compaction as it happens: at most two model calls, and excerpts where they give no usable summary."""

import logging
from dataclasses import replace

from roost.core.compaction import (
    MAX_SUMMARY_CALLS,
    CompactionPlan,
    SummaryAccepted,
    SummaryRetry,
    conversation_text,
    excerpts,
    settle,
    summary_instructions,
    thresholds,
)
from roost.core.messages import Compaction, text_of
from roost.core.models import ModelFailed
from roost.core.tokens import estimate
from roost.core.transcript import gateway_message
from roost.engine.asking import Asking
from roost.engine.tracing import traced
from roost.engine.work import Work
from roost.ports.limits import OutOfTime, within

_log = logging.getLogger(__name__)


class Condensing:
    """Writes nothing but the ledger: where the result goes is the caller's."""

    def __init__(self, work: Work) -> None:
        self._work = work

    async def condense(self, plan: CompactionPlan, focus: str | None = None) -> Compaction:
        work, settings = self._work, self._work.part.context
        summariser = work.part.summariser
        part = replace(
            work.part, tools=(), fallbacks=(), system=summary_instructions(focus, settings.identifiers)
        )
        if summariser is not None:
            part = replace(part, model=summariser.model, spec=summariser.spec, thinking=summariser.thinking)
        room = thresholds(part.spec.context_window, settings.compaction).compact_from - estimate(part.system)
        asking = Asking(work.aside(part), f"summary of {plan.first_kept_id}")
        text = conversation_text(plan, max(room, 0))
        for attempt in range(1, MAX_SUMMARY_CALLS + 1):
            verdict = settle(plan, await self._summary(asking, text), attempt=attempt, at=work.clock.now())
            work.move()
            match verdict:
                case SummaryAccepted(compaction):
                    return compaction
                case SummaryRetry(complaint):
                    text = f"{text}\n\nA summary of this was refused: {complaint}. Write it again."
                case refused:
                    _log.warning(
                        "run %s condenses without a model: %s",
                        work.run.id,
                        refused.reason,
                        extra=traced(work.run),
                    )
        return excerpts(plan, work.clock.now())

    async def _summary(self, asking: Asking, text: str) -> str | None:
        clock = self._work.clock

        async def ask() -> str:
            return text_of(await asking.ask((gateway_message(text, clock.now()),)))

        try:
            return await within(clock, self._work.part.context.summary_timeout_ms, ask)
        except (ModelFailed, OutOfTime) as error:
            _log.warning("no summary in run %s: %s", self._work.run.id, error, extra=traced(self._work.run))
            return None
