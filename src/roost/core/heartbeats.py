"""The look-around of an agent: when it rests, and what it is told."""

from dataclasses import dataclass
from datetime import tzinfo

from roost.core import sysevents
from roost.core.jobs import Plan
from roost.core.localtime import wall
from roost.core.marking import mark_of
from roost.core.messages import Text
from roost.core.sentinels import Sentinel
from roost.core.snapshots import Snapshot

OK = str(Sentinel.HEARTBEAT_OK)
PROMPT = (
    "Look around: is there anything the person you work for should know or that you promised to do by now? If"
    " HEARTBEAT.md is in your workspace, follow it. What you answer is posted to them; if there is nothing to say, answer"
    " exactly HEARTBEAT_OK."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """From one minute of the day to another, of a place; over midnight if the end comes first."""

    start: int
    end: int
    zone: tzinfo

    def hold(self, now: int) -> bool:
        shown = wall(now, self.zone)
        minute = shown.hour * 60 + shown.minute
        if self.start < self.end:
            return self.start <= minute < self.end
        return minute >= self.start or minute < self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """When an agent looks around: within its hours, and while somebody has spoken within `pause_ms`. Up to `ack_chars`
    beside its word that there is nothing to say are not said either."""

    pause_ms: int
    hours: Hours | None = None
    ack_chars: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Beating:
    """How an agent looks around: the job that is, and when it rests."""

    plan: Plan
    beat: Beat


def rests(home: Snapshot, beat: Beat | None, now: int) -> str | None:
    """Why it does not look around now; None: it does."""
    if beat is None:
        return "it is not configured any more"
    if home.session is None or now - home.session.times.interacted > beat.pause_ms:
        return "nobody uses the session"
    if beat.hours is not None and not beat.hours.hold(now):
        return "outside its hours"
    if home.running or home.queued:
        return "the session is busy"
    return None


def acknowledged(reply: str, beat: Beat | None) -> str:
    """What it answered, without its word that there is nothing to say, and without the little it may say beside that."""
    text = reply.strip()
    if beat is None or not (text.startswith(OK) or text.endswith(OK)):
        return reply
    rest = text.removeprefix(OK).removesuffix(OK).strip()
    return OK if len(rest) <= beat.ack_chars else rest


def beat_text(prompt: str, home: Snapshot) -> str:
    """What it is told: also of events that wait for the session's next turn, which they stay for."""
    lines = [prompt]
    for record in sysevents.waiting(home):
        said = "\n".join(block.text for block in record.inbound.content if isinstance(block, Text))
        lines += [f"\nAn event waits: {mark_of(record.inbound.provenance)}", said]
    return "\n".join(lines)
