"""How a job comes to be and is changed, through whichever door."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from roost.core.errors import Conflict, InvalidInput
from roost.core.jobs import Job, JobPlace, Plan
from roost.core.principals import Principal
from roost.core.references import refuse_unknown
from roost.core.schedules import At, Zones, next_due

MOST_JOBS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """When, by which clocks, and for which agents."""

    now: int
    zones: Zones
    agents: tuple[str, ...]


def of_people(job: Job) -> bool:
    """Look-arounds are the configuration's."""
    return job.plan.place is not JobPlace.BESIDE


def refuse_crowd(jobs: Iterable[Job]) -> None:
    if sum(map(of_people, jobs)) >= MOST_JOBS:
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
