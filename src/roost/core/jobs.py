"""A job: something an agent does without being asked, by a schedule. A firing is one time it was due, and what came of it.

Who configured a job owns it: its runs are theirs, and are never their own word.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, assert_never

from roost.core.addresses import Address
from roost.core.effects import Effects
from roost.core.egress import target
from roost.core.errors import InvalidInput
from roost.core.firings import Firing
from roost.core.keys import SessionKey
from roost.core.principals import Principal
from roost.core.runs import Run
from roost.core.schedules import Schedule
from roost.core.snapshots import Snapshot
from roost.core.sources import cron_key

LONGEST_TEXT = 32_000
LONGEST_NAME = 200


class JobPlace(StrEnum):
    """Where a job works: in its agent's main session, in one of its own that begins anew each time, in the session it
    names, or beside that one, looking around."""

    MAIN = "main"
    ISOLATED = "isolated"
    SESSION = "session"
    BESIDE = "beside"


class Missed(StrEnum):
    """What becomes of times that nobody served: all of them are made up for by one, or they are left out."""

    ONCE = "once"
    SKIP = "skip"


class Overlap(StrEnum):
    """What becomes of a time at which the last one has not ended: it is left out, or waits for that end."""

    SKIP = "skip"
    WAIT = "wait"


class Wake(StrEnum):
    """Whether an event is looked at as soon as it comes, or when the agent next looks around."""

    NOW = "now"
    NEXT = "next-heartbeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemEvent:
    """Words that wait for the session's next turn."""

    text: str
    wake: Wake = Wake.NOW


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTurn:
    """A turn of its own, within `timeout_ms`."""

    message: str
    model: str | None = None
    thinking: str | None = None
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """What was said stays in the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Announce:
    """What was said is told in a chat: at an address, or where the agent's main session was last met, if that was on the
    `channel` that is asked for."""

    to: Address | None = None
    channel: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """What was said is posted to a web address."""

    url: str

    def __post_init__(self) -> None:
        target(self.url)


Work: TypeAlias = SystemEvent | AgentTurn
Telling: TypeAlias = Silent | Announce | Webhook
SILENT = Silent()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a person sets of a job. `key` is the session that a job works in or looks after; with `forget` the job is gone
    after a time that went well."""

    name: str
    agent: str
    schedule: Schedule
    work: Work
    place: JobPlace = JobPlace.ISOLATED
    key: SessionKey | None = None
    telling: Telling = SILENT
    missed: Missed = Missed.ONCE
    overlap: Overlap = Overlap.SKIP
    enabled: bool = True
    forget: bool = False
    description: str = ""

    def __post_init__(self) -> None:
        if (self.key is not None) != (self.place in (JobPlace.SESSION, JobPlace.BESIDE)):
            raise InvalidInput(f"a job of place {self.place} cannot be given the session {self.key}")
        if not self.name.strip() or len(self.name) > LONGEST_NAME:
            raise InvalidInput("a job needs a name", hint=f"give at most {LONGEST_NAME} characters")
        text = self.work.text if isinstance(self.work, SystemEvent) else self.work.message
        if not text.strip() or len(text) > LONGEST_TEXT:
            raise InvalidInput("a job needs something to say", hint=f"give at most {LONGEST_TEXT} characters")
        if isinstance(self.work, SystemEvent) and self.place is JobPlace.ISOLATED:
            raise InvalidInput(
                "an event waits for a session's next turn, and an isolated session has none",
                hint="target the main session or a named one, or give the job a turn of its own",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """`next_at` is when it is due next; None while it is paused or will never be again. `revision` is raised by every
    change of the plan. `asked` names the newest asking that it be done at once."""

    id: str
    owner: Principal
    plan: Plan
    created_at: int
    updated_at: int
    revision: int = 1
    next_at: int | None = None
    asked: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Venue:
    """The session a job works in, and the one whose people it works for."""

    work: SessionKey
    home: SessionKey


def venue(job: Job, main_name: str) -> Venue:
    plan = job.plan
    home = plan.key or SessionKey.named(plan.agent, main_name)
    match plan.place:
        case JobPlace.ISOLATED:
            return Venue(work=cron_key(plan.agent, job.id), home=home)
        case JobPlace.BESIDE:
            return Venue(work=home.beat, home=home)
        case JobPlace.MAIN | JobPlace.SESSION:
            return Venue(work=home, home=home)
        case _:
            assert_never(plan.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """A job whose time has come, under its lock, with its sessions under theirs. `unsettled` are the firings whose end is
    not written down, each with its run, if that is still there."""

    job: Job
    work: Snapshot
    home: Snapshot
    unsettled: tuple[tuple[Firing, Run | None], ...] = ()

    @property
    def busy(self) -> bool:
        """Whether an earlier time has not ended."""
        return any(run is not None and not run.state.ended for _, run in self.unsettled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """What follows: the job as it is then, and what is written for it."""

    job: Job
    effects: Effects = ()


DecideFiring: TypeAlias = Callable[[Occasion], Fired]
DecideJob: TypeAlias = Callable[[Job | None], Job | None]
"""A job as it shall be; None: it shall be gone."""
