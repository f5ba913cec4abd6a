"""A job: something an agent does without being asked, by a schedule; how one comes to be and is changed.

Who configured a job owns it: its runs are theirs, and are never their own word.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias, assert_never

from roost.core.addresses import Address
from roost.core.effects import Effects
from roost.core.egress import target
from roost.core.errors import Conflict, InvalidInput
from roost.core.firings import Firing
from roost.core.keys import SessionKey
from roost.core.principals import Principal
from roost.core.references import refuse_unknown
from roost.core.runs import Run
from roost.core.schedules import At, Schedule, Zones, next_due
from roost.core.snapshots import Snapshot
from roost.core.sources import cron_key

LONGEST_TEXT = 32_000
LONGEST_NAME = 200
MOST_JOBS = 1_000


class JobPlace(StrEnum):
    """Where a job works: in its agent's main session, in one of its own that begins anew each time, in the session it
    names, or beside that one, looking around."""

    MAIN = "main"
    ISOLATED = "isolated"
    SESSION = "session"
    BESIDE = "beside"


def usual_place(*, event: bool) -> JobPlace:
    """Where a job works that does not say: an event where people are, a turn by itself."""
    return JobPlace.MAIN if event else JobPlace.ISOLATED


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

    @property
    def of_people(self) -> bool:
        """Look-arounds are the configuration's."""
        return self.plan.place is not JobPlace.BESIDE


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """When, by which clocks, and for which agents."""

    now: int
    zones: Zones
    agents: tuple[str, ...]


def refuse_crowd(known: Collection[Job], job_id: str) -> None:
    """One that is there already makes no crowd."""
    if sum(job.of_people for job in known) >= MOST_JOBS and all(job.id != job_id for job in known):
        raise Conflict(f"there are {MOST_JOBS} jobs already", hint="remove some first")


def made(job_id: str, owner: Principal, plan: Plan, setting: Setting) -> Job:
    now = setting.now
    return Job(
        id=job_id, owner=owner, plan=plan, created_at=now, updated_at=now, next_at=first_due(plan, setting)
    )


def replanned(job: Job, plan: Plan, setting: Setting) -> Job:
    """A job whose time stays unless its schedule changes, or it rested."""
    if plan == job.plan:
        return job
    same = plan.schedule == job.plan.schedule and plan.enabled == job.plan.enabled
    return replace(
        job,
        plan=plan,
        updated_at=setting.now,
        revision=job.revision + 1,
        next_at=job.next_at if same else first_due(plan, setting),
    )


def hastened(job: Job, asked: str, now: int) -> Job:
    """A job that is due now, once for each asking."""
    if job.asked == asked:
        return job
    return replace(job, asked=asked, next_at=min(job.next_at or now, now))


def first_due(plan: Plan, setting: Setting) -> int | None:
    """When it is due first; None while it rests. One that never is was meant otherwise."""
    refuse_unknown(plan.agent, setting.agents)
    following = next_due(plan.schedule, setting.now, setting.zones)
    if not plan.enabled:
        return None
    if following is None:
        why = "that moment is over" if isinstance(plan.schedule, At) else "no day fits that expression"
        raise InvalidInput(f"the job would never be due: {why}", hint="give a schedule that comes")
    return following


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
