"""A job's time has come: whether it works now, what is written for it, and when it is due again."""

from dataclasses import dataclass, replace
from datetime import UTC
from typing import assert_never

from roost.core import queueing, sysevents
from roost.core.addresses import Address
from roost.core.arrivals import Arrival, Opening
from roost.core.effects import Effects
from roost.core.facts import classify
from roost.core.firings import Firing, FiringState, PutFiring, settled
from roost.core.heartbeats import Beat, beat_text, rests
from roost.core.inbound import Inbound, Source
from roost.core.jobs import (
    AgentTurn,
    Announce,
    Fired,
    Job,
    JobPlace,
    Missed,
    Occasion,
    Overlap,
    Silent,
    SystemEvent,
    Webhook,
)
from roost.core.keys import SessionKey
from roost.core.messages import Provenance, ProvenanceKind, Text
from roost.core.notices import derived_id
from roost.core.ownership import Ownership
from roost.core.resets import Reset
from roost.core.runs import Lane, Request
from roost.core.schedules import Zones, next_due
from roost.core.sessions import Facts, OpenedBy
from roost.core.whereabouts import Met, nowhere

CHANNEL = "cron"
WEBHOOK = "webhook"
GRACE_MS = 60_000
RULE = "the job or event that it was opened for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a job is looked at, and by which clocks and rules. `session_id` and `trace` are fresh. With `by_hand` it is not
    due: somebody asked for it, and this names the asking."""

    now: int
    zones: Zones
    ownership: Ownership
    session_id: str
    trace: str
    beat: Beat | None = None
    met: Met = nowhere
    by_hand: str | None = None


def fire(occasion: Occasion, moment: Moment) -> Fired:
    """Everything that follows. Of times that were missed one is made up for, or none."""
    job, now = occasion.job, moment.now
    healed = _healed(occasion, now)
    if _waits(occasion, moment):
        return Fired(job=job, effects=healed)
    due = now if job.next_at is None or moment.by_hand else job.next_at
    following = _next(job, moment) if job.plan.enabled else None
    after = job if moment.by_hand and not _is_due(job, now) else replace(job, next_at=following)
    reason = _left_out(occasion, moment, due)
    if reason is not None:
        return Fired(job=after, effects=(*healed, *_skipped(occasion, moment, due, reason)))
    firing, effects = _started(occasion, moment, due)
    return Fired(job=after, effects=(*healed, *effects, PutFiring(firing=firing)))


def _is_due(job: Job, now: int) -> bool:
    return job.next_at is not None and job.next_at <= now


def _next(job: Job, moment: Moment) -> int | None:
    return next_due(job.plan.schedule, max(moment.now, job.next_at or 0), moment.zones)


def _healed(occasion: Occasion, now: int) -> Effects:
    after = ((firing, settled(firing, run, now)) for firing, run in occasion.unsettled)
    return tuple(PutFiring(firing=one) for before, one in after if one != before)


def _occupied(occasion: Occasion) -> bool:
    """Whether an earlier time has not ended, or somebody talks in a session that would begin anew."""
    own = occasion.job.plan.place in (JobPlace.ISOLATED, JobPlace.BESIDE)
    return occasion.busy or (own and bool(occasion.work.running or occasion.work.queued))


def _waits(occasion: Occasion, moment: Moment) -> bool:
    return occasion.job.plan.overlap is Overlap.WAIT and not moment.by_hand and _occupied(occasion)


def _left_out(occasion: Occasion, moment: Moment, due: int) -> str | None:
    """Why nothing is done this time; None: something is."""
    plan = occasion.job.plan
    if _occupied(occasion):
        return "the last one has not ended"
    if moment.by_hand:
        return None
    if plan.missed is Missed.SKIP and moment.now - due > GRACE_MS:
        return f"missed by {(moment.now - due) // 1000} s"
    if plan.place is JobPlace.BESIDE:
        return rests(occasion.home, moment.beat, moment.now)
    return None


def _skipped(occasion: Occasion, moment: Moment, due: int, reason: str) -> Effects:
    if occasion.job.plan.place is JobPlace.BESIDE:
        return ()
    skipped = replace(
        _firing(occasion, moment, due), state=FiringState.SKIPPED, error=reason, ended_at=moment.now
    )
    return (PutFiring(firing=skipped),)


def _firing(occasion: Occasion, moment: Moment, due: int) -> Firing:
    """Its id follows from when it was due, so that one time cannot be two."""
    job = occasion.job
    return Firing(
        id=derived_id("firing", job.id, moment.by_hand or str(due)),
        job_id=job.id,
        due_at=due,
        at=moment.now,
        state=FiringState.STARTED,
        key=occasion.work.key,
        forgets=job.plan.forget and _next(job, moment) is None,
    )


def _started(occasion: Occasion, moment: Moment, due: int) -> tuple[Firing, Effects]:
    plan, firing = occasion.job.plan, _firing(occasion, moment, due)
    arrival = _arrival(occasion, moment, firing)
    match plan.work:
        case SystemEvent():
            done = replace(firing, state=FiringState.OK, ended_at=moment.now, summary="the event waits")
            return done, sysevents.wait(occasion.work, arrival)
        case AgentTurn():
            effects = queueing.accept(occasion.work, arrival)
            session = occasion.work.session
            current = arrival.reset.session_id if arrival.reset else session and session.session_id
            return replace(firing, run_id=arrival.run_id, session_id=current or moment.session_id), effects
        case _:
            assert_never(plan.work)


def _arrival(occasion: Occasion, moment: Moment, firing: Firing) -> Arrival:
    job, key, now = occasion.job, occasion.work.key, moment.now
    own = job.plan.place in (JobPlace.ISOLATED, JobPlace.BESIDE)
    reset = None
    if own and occasion.work.session is not None:
        rule = f"job {job.plan.name}"
        reset = Reset(reason=OpenedBy.CRON, session_id=moment.session_id, at=now, rule=rule)
    tool = "heartbeat" if job.plan.place is JobPlace.BESIDE else f"{CHANNEL}:{job.id}"
    return Arrival(
        inbound=Inbound(
            id=derived_id("message", firing.id),
            key=key,
            principal=job.owner,
            provenance=Provenance(kind=ProvenanceKind.SCHEDULE, principal=job.owner, source_tool=tool),
            content=(Text(_text(occasion)),),
            source=Source(channel=CHANNEL, external_id=firing.id),
            received_at=now,
            trace=moment.trace,
            reply_to=_told_at(occasion, moment.met),
        ),
        run_id=derived_id("run", firing.id),
        opening=Opening(
            session_id=moment.session_id,
            owner=moment.ownership.named(key, job.owner, job.owner),
            facts=facts_of_job(key, moment.ownership.main_name),
        ),
        zone=UTC,
        reset=reset,
        request=_request(occasion, firing),
    )


def facts_of_job(key: SessionKey, main_name: str) -> Facts:
    """What a session is that a job opened."""
    return Facts(kind=classify(key, main_name), channel=CHANNEL, rule=RULE)


def _text(occasion: Occasion) -> str:
    work = occasion.job.plan.work
    match work:
        case SystemEvent(text=text):
            return text
        case AgentTurn(message=message):
            beside = occasion.job.plan.place is JobPlace.BESIDE
            return beat_text(message, occasion.home) if beside else message
        case _:
            assert_never(work)


def _told_at(occasion: Occasion, met: Met) -> Address | None:
    telling, home = occasion.job.plan.telling, occasion.home.session
    match telling:
        case Silent():
            return None
        case Announce(to=to, channel=channel):
            route = met(home) if home else None
            return to or (route if route and channel in (None, route.channel) else None)
        case Webhook(url=url):
            return Address(channel=WEBHOOK, to=url)
        case _:
            assert_never(telling)


def _request(occasion: Occasion, firing: Firing) -> Request:
    plan = occasion.job.plan
    work = plan.work
    if isinstance(work, SystemEvent):
        return Request()
    posts = isinstance(plan.telling, Announce) and plan.telling.to is None
    apart = occasion.home.key != occasion.work.key and occasion.home.session is not None
    return Request(
        lane=Lane.CRON,
        model=work.model,
        thinking=work.thinking,
        longest_ms=work.timeout_ms,
        firing=firing.id,
        posts_to=occasion.home.key if posts and apart else None,
    )
