"""Jobs, asked for by clients."""

from hashlib import sha256
from typing import cast

from roost.core.errors import InvalidInput, NotFound
from roost.core.jobs import Job, JobPlace, SystemEvent, usual_place
from roost.core.jsonvalue import JsonObject
from roost.core.visibility import Operation
from roost.engine.reaching import reach
from roost.engine.sysevents import From
from roost.protocol.convert.jobs import SESSION, Aim, firing_row, job_row, patched, planned, preview
from roost.protocol.families import cron
from roost.protocol.families.cron import History, JobRow, Listed, Ran, Removed, Standing, Woken
from roost.protocol.params import NoParams
from roost.server.calls import Call
from roost.server.firings import tell_owner

NEVER = 2**62


async def list_jobs(call: Call, params: cron.ListParams) -> Listed:
    """One page of the jobs that fit. Its revision names the state all pages must come from."""
    jobs = [job for job in await call.house.engine.jobs.every(call.caller.principal) if _matches(job, params)]
    jobs.sort(key=lambda job: _order(job, params), reverse=params.sort_dir == "desc")
    page = jobs[params.offset : params.offset + params.limit]
    more = params.offset + len(page) < len(jobs)
    revision = sha256("\n".join(f"{job.id} {job.revision} {job.next_at}" for job in jobs).encode())
    rows = [await _row(call, job) for job in page]
    return Listed(
        jobs=rows,
        snapshotRevision=revision.hexdigest()[:16],
        total=len(jobs),
        offset=params.offset,
        limit=params.limit,
        hasMore=more,
        nextOffset=params.offset + len(page) if more else None,
        deliveryPreviews={job.id: preview(job, call.house.engine.jobs.venue(job)) for job in page},
    )


def _matches(job: Job, params: cron.ListParams) -> bool:
    shown = params.enabled or ("all" if params.include_disabled else "enabled")
    kind = type(job.plan.schedule).__name__.lower()
    return (
        shown in ("all", "enabled" if job.plan.enabled else "disabled")
        and params.schedule_kind in ("all", kind)
        and params.agent_id in (None, job.plan.agent)
        and params.query.strip().lower() in f"{job.plan.name} {job.plan.description}".lower()
    )


def _order(job: Job, params: cron.ListParams) -> tuple[int | str, str]:
    match params.sort_by:
        case "name":
            return job.plan.name.lower(), job.id
        case "updatedAtMs":
            return job.updated_at, job.id
        case _:
            return NEVER if job.next_at is None else job.next_at, job.id


async def status(call: Call, params: NoParams) -> Standing:
    jobs = await call.house.engine.jobs.every(call.caller.principal)
    return Standing(
        enabled=call.house.engine.jobs.enabled,
        storePath=call.house.about.store_path,
        jobs=len(jobs),
        nextWakeAtMs=min((job.next_at for job in jobs if job.next_at is not None), default=None),
    )


async def get(call: Call, params: cron.JobParams) -> JobRow:
    return await _row(call, await call.house.engine.jobs.one(call.caller.principal, _job_id(params)))


async def add(call: Call, params: cron.AddParams) -> JobRow:
    aim = await _aim(call, params, None)
    plan = planned(params, aim, call.house.clock.now())
    job = await call.house.engine.jobs.add(call.caller.principal, plan)
    return await _told(call, job, "added")


async def update(call: Call, params: cron.UpdateParams) -> JobRow:
    jobs, now = call.house.engine.jobs, call.house.clock.now()
    known = await jobs.one(call.caller.principal, _job_id(params))
    aim = await _aim(call, params.patch, known)
    job = await jobs.change(
        call.caller.principal, known.id, lambda plan: patched(plan, params.patch, aim, now)
    )
    return await _told(call, job, "updated")


async def remove(call: Call, params: cron.JobParams) -> Removed:
    jobs = call.house.engine.jobs
    job = await jobs.one(call.caller.principal, _job_id(params))
    await jobs.remove(call.caller.principal, job.id)
    tell_owner(call.house, {"jobId": job.id, "action": "removed"})
    return Removed(ok=True, removed=True)


async def run(call: Call, params: cron.RunParams) -> Ran:
    jobs = call.house.engine.jobs
    job = await jobs.one(call.caller.principal, _job_id(params))
    if params.mode == "if-enabled" and not job.plan.enabled:
        name = None
    else:
        name = await jobs.run(call.caller.principal, job.id, force=params.mode != "due")
    return Ran(ok=True, enqueued=name is not None, runId=name, processInstanceId=call.house.about.boot_id)


async def runs(call: Call, params: cron.RunsParams) -> History:
    principal, jobs = call.caller.principal, call.house.engine.jobs
    wanted = None if params.scope == "all" else _job_id(params)
    page, total = await jobs.history(principal, wanted, limit=params.limit, offset=params.offset)
    known = {job.id: job for job in await jobs.every(principal)}
    return History(
        entries=[firing_row(one, known.get(one.job_id), call.house.scanner) for one in page.rows],
        total=total,
        offset=params.offset,
        limit=params.limit,
        hasMore=page.more,
        nextOffset=params.offset + len(page.rows) if page.more else None,
    )


async def wake(call: Call, params: cron.WakeParams) -> Woken:
    """An event for a session's next turn, from who may write to it."""
    house = call.house
    key = await house.meant(Operation.SEND, call.caller, params.session_key or "main", params.agent_id)
    await reach(house.store, Operation.SEND, call.caller, key, house.clock.now())
    event = SystemEvent(text=params.text, wake=params.mode)
    await house.engine.system_events.tell(key, event, call.caller.principal, From(trace=call.trace))
    return Woken(ok=True, mode=str(params.mode))


async def _aim(call: Call, params: cron.PatchParams, known: Job | None) -> Aim:
    """Which session is meant, past the guard. What is not named stays as it was."""
    house = call.house
    before = None if known is None else known.plan
    agent = params.agent_id or (before.agent if before else house.engine.rules.routing.default_agent)
    target = params.session_target
    if target is None:
        if before is not None and agent == before.agent:
            return Aim(agent=agent, place=before.place, key=before.key)
        event = isinstance(params.payload, cron.EventParams)
        target = before.place if before and before.key is None else usual_place(event=event)
    if target in (JobPlace.MAIN, JobPlace.ISOLATED):
        return Aim(agent=agent, place=JobPlace(target))
    text = params.session_key if target == "current" else target.removeprefix(SESSION)
    if text is None:
        raise InvalidInput("`current` is the session that asks", hint="give `sessionKey`, or session:<key>")
    key = await house.meant(Operation.SEND, call.caller, text, params.agent_id, usual=agent)
    await reach(house.store, Operation.SEND, call.caller, key, house.clock.now())
    return Aim(agent=key.agent or agent, place=JobPlace.SESSION, key=key)


def _job_id(params: cron.JobParams) -> str:
    if params.named is None:
        raise NotFound("which job?", hint="give its `id`")
    return params.named


async def _row(call: Call, job: Job) -> JobRow:
    page = await call.house.store.firings(job.id, limit=1)
    return job_row(job, page.rows[0] if page.rows else None)


async def _told(call: Call, job: Job, action: str) -> JobRow:
    row = await _row(call, job)
    tell_owner(call.house, {"jobId": job.id, "action": action, "job": cast("JsonObject", row)})
    return row
