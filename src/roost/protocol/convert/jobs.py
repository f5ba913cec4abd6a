"""Jobs as clients write and see them."""

from dataclasses import dataclass, replace
from typing import assert_never

from roost.core.addresses import DEFAULT_ACCOUNT, Address
from roost.core.errors import InvalidInput
from roost.core.figures import in_millis
from roost.core.firings import Firing, FiringState
from roost.core.jobs import (
    SILENT,
    AgentTurn,
    Announce,
    Job,
    JobPlace,
    Missed,
    Overlap,
    Plan,
    Silent,
    SystemEvent,
    Telling,
    Venue,
    Wake,
    Webhook,
    Work,
)
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import SessionKey
from roost.core.redaction import SecretScanner, redact
from roost.core.schedules import LONGEST_MS, At, Cron, Every, Schedule, read_moment, written
from roost.protocol.families import cron
from roost.protocol.families.cron import JobRow

LAST = "last"
SESSION = "session:"
MILLIS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """Which agent and session a job is for, after all names were resolved."""

    agent: str
    place: JobPlace
    key: SessionKey | None = None


def planned(params: cron.AddParams, aim: Aim, now: int) -> Plan:
    work = read_work(params.payload, params.wake_mode or Wake.NOW)
    return Plan(
        name=params.name,
        agent=aim.agent,
        schedule=read_schedule(params.schedule, now),
        work=work,
        place=aim.place,
        key=aim.key,
        telling=SILENT if params.delivery is None else read_telling(params.delivery),
        missed=params.missed or Missed.ONCE,
        overlap=params.overlap or Overlap.SKIP,
        enabled=params.enabled is not False,
        forget=bool(params.delete_after_run),
        description=params.description or "",
    )


def patched(plan: Plan, patch: cron.PatchParams, aim: Aim, now: int) -> Plan:
    work = plan.work if patch.payload is None else read_work(patch.payload, patch.wake_mode or Wake.NOW)
    if isinstance(work, SystemEvent) and patch.wake_mode is not None:
        work = replace(work, wake=patch.wake_mode)
    return replace(
        plan,
        name=patch.name or plan.name,
        agent=aim.agent,
        place=aim.place,
        key=aim.key,
        schedule=plan.schedule if patch.schedule is None else read_schedule(patch.schedule, now),
        work=work,
        telling=plan.telling if patch.delivery is None else read_telling(patch.delivery),
        missed=patch.missed or plan.missed,
        overlap=patch.overlap or plan.overlap,
        enabled=plan.enabled if patch.enabled is None else patch.enabled,
        forget=plan.forget if patch.delete_after_run is None else patch.delete_after_run,
        description=plan.description if patch.description is None else patch.description,
    )


def read_schedule(params: cron.ScheduleParams, now: int) -> Schedule:
    match params:
        case cron.AtParams():
            return At(at=read_moment(params.at, now))
        case cron.EveryParams():
            return Every(
                every_ms=params.every_ms, anchor=now if params.anchor_ms is None else params.anchor_ms
            )
        case cron.CronParams():
            return Cron(expression=params.expr, zone=params.tz)
        case _:
            assert_never(params)


def read_work(params: cron.PayloadParams, wake: Wake) -> Work:
    match params:
        case cron.EventParams():
            return SystemEvent(text=params.text, wake=wake)
        case cron.TurnParams():
            limit = params.timeout_seconds
            return AgentTurn(
                message=params.message,
                model=params.model,
                thinking=params.thinking,
                timeout_ms=in_millis(limit, LONGEST_MS) if limit else None,
            )
        case _:
            assert_never(params)


def read_telling(params: cron.DeliveryParams) -> Telling:
    match params.mode:
        case "none":
            return SILENT
        case "webhook":
            if params.to is None:
                raise InvalidInput("a webhook needs an address", hint="give `to`, an https URL")
            return Webhook(url=params.to)
        case "announce":
            if params.channel in (None, LAST) and params.to is None:
                return Announce()
            if params.channel in (None, LAST) or params.to is None:
                raise InvalidInput("a chat has a channel and a place on it", hint="give `channel` and `to`")
            return Announce(
                to=Address(
                    channel=params.channel,
                    to=params.to,
                    account=params.account_id or DEFAULT_ACCOUNT,
                    thread=None if params.thread_id is None else str(params.thread_id),
                )
            )
        case _:
            assert_never(params.mode)


def job_row(job: Job, last: Firing | None) -> JobRow:
    """A job as clients see it; `last` is what came of it last."""
    plan = job.plan
    wake = plan.work.wake if isinstance(plan.work, SystemEvent) else Wake.NOW
    row = JobRow(
        id=job.id,
        name=plan.name,
        enabled=plan.enabled,
        createdAtMs=job.created_at,
        updatedAtMs=job.updated_at,
        agentId=plan.agent,
        schedule=schedule_row(plan.schedule),
        sessionTarget=f"{SESSION}{plan.key}" if plan.key is not None else str(plan.place),
        wakeMode=str(wake),
        payload=_work_row(plan.work),
        delivery=telling_row(plan.telling),
        state=_state_row(job, last),
        configRevision=str(job.revision),
    )
    if plan.description:
        row["description"] = plan.description
    if plan.forget:
        row["deleteAfterRun"] = True
    # Ours alone: left out where they are as everywhere.
    if plan.missed is not Missed.ONCE:
        row["missed"] = str(plan.missed)
    if plan.overlap is not Overlap.SKIP:
        row["overlap"] = str(plan.overlap)
    return row


def schedule_row(schedule: Schedule) -> JsonObject:
    match schedule:
        case At(at=at):
            return {"kind": "at", "at": written(at)}
        case Every(every_ms=every, anchor=anchor):
            return {"kind": "every", "everyMs": every, "anchorMs": anchor}
        case Cron(expression=expression, zone=zone):
            return {"kind": "cron", "expr": expression, **({} if zone is None else {"tz": zone})}
        case _:
            assert_never(schedule)


def _work_row(work: Work) -> JsonObject:
    match work:
        case SystemEvent(text=text):
            return {"kind": "systemEvent", "text": text}
        case AgentTurn():
            limit = work.timeout_ms
            return {
                "kind": "agentTurn",
                "message": work.message,
                **({} if work.model is None else {"model": work.model}),
                **({} if work.thinking is None else {"thinking": work.thinking}),
                **({} if limit is None else {"timeoutSeconds": limit / MILLIS}),
            }
        case _:
            assert_never(work)


def telling_row(telling: Telling) -> JsonObject:
    match telling:
        case Silent():
            return {"mode": "none"}
        case Announce(to=to):
            if to is None:
                return {"mode": "announce", "channel": LAST}
            thread: JsonObject = {} if to.thread is None else {"threadId": to.thread}
            return {
                "mode": "announce",
                "channel": to.channel,
                "to": to.to,
                "accountId": to.account,
                **thread,
            }
        case Webhook(url=url):
            return {"mode": "webhook", "to": url}
        case _:
            assert_never(telling)


def _state_row(job: Job, last: Firing | None) -> JsonObject:
    state: dict[str, JsonValue] = {}
    if job.next_at is not None:
        state["nextRunAtMs"] = job.next_at
    if last is None:
        return state
    state["lastRunAtMs"] = last.at
    if last.state is FiringState.STARTED:
        state["runningAtMs"] = last.at
        return state
    state["lastRunStatus"] = str(last.state)
    state["lastDurationMs"] = max(0, (last.ended_at or last.at) - last.at)
    if last.error is not None:
        state["lastError"] = last.error
    return state


def firing_row(firing: Firing, job: Job | None, scanner: SecretScanner) -> JsonObject:
    """What came of a job, which may be gone, without the secrets in it; one that has not ended has no status yet."""
    over = firing.state is not FiringState.STARTED
    row: dict[str, JsonValue] = {
        "ts": firing.ended_at or firing.at,
        "jobId": firing.job_id,
        "action": "finished" if over else "started",
        "runAtMs": firing.at,
        "dueAtMs": firing.due_at,
        "sessionKey": str(firing.key),
    }
    if over:
        row["status"] = str(firing.state)
        row["durationMs"] = max(0, (firing.ended_at or firing.at) - firing.at)
    optional: dict[str, JsonValue] = {
        "jobName": None if job is None else job.plan.name,
        "summary": firing.summary and redact(firing.summary, scanner)[0],
        "error": firing.error,
        "runId": firing.run_id,
        "sessionId": firing.session_id,
        "nextRunAtMs": None if job is None else job.next_at,
    }
    return {**row, **{name: value for name, value in optional.items() if value is not None}}


def preview(job: Job, where: Venue) -> JsonObject:
    """Where a job's words go, for people."""
    telling = job.plan.telling
    match telling:
        case Silent():
            return {"label": "nowhere", "detail": f"stays in {where.work}"}
        case Announce(to=to):
            if to is None:
                return {"label": "last chat", "detail": f"where {where.home} was last met"}
            return {"label": to.channel, "detail": to.to}
        case Webhook(url=url):
            return {"label": "webhook", "detail": url}
        case _:
            assert_never(telling)
