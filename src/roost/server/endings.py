"""What became of a message, as its sender is told: the one place where how a run ended becomes an answer."""

from dataclasses import dataclass
from enum import StrEnum

from roost.core.inbound import InboundState
from roost.core.messages import StopReason
from roost.core.runs import RunState
from roost.engine.waits import Waited

NOT_TAKEN = "the message was not taken"
NOT_YET = "there is no answer yet"
GONE = "the message was taken, and its session is gone"


class Fate(StrEnum):
    """`TIMEOUT` is also what was stopped: it did not fail, and there is no answer."""

    OK = "ok"
    TIMEOUT = "timeout"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """`said` is the answer, if something was said, and `stop` why it ends where it does; `reason` is why there is none,
    unless all went well."""

    fate: Fate
    said: str | None = None
    reason: str | None = None
    stop: StopReason | None = None


def ending(waited: Waited) -> Ending:
    outcome = waited.run.outcome if waited.run else None
    if not waited.over:
        return Ending(fate=Fate.TIMEOUT, reason=NOT_YET)
    if outcome is None:
        if waited.record.state is InboundState.ANSWERED:
            return Ending(fate=Fate.OK, said=waited.record.answer)
        gone = waited.record.state is InboundState.TAKEN
        return Ending(fate=Fate.ERROR, reason=GONE if gone else waited.record.reason or NOT_TAKEN)
    if outcome.succeeded:
        return Ending(fate=Fate.OK, said=waited.reply, stop=waited.words.stop if waited.words else None)
    stopped = outcome.state in (RunState.KILLED, RunState.TIMEOUT)
    return Ending(
        fate=Fate.TIMEOUT if stopped else Fate.ERROR,
        reason=outcome.error or waited.record.reason or f"the run ended as {outcome.state}",
    )
