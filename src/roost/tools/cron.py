"""`cron`: an agent sets timers for its owner. Only the owner's own word makes it."""

from dataclasses import replace
from enum import StrEnum

from roost.core import toolnames
from roost.core.errors import InvalidInput, NotFound
from roost.core.firings import Firing
from roost.core.jobs import (
    SILENT,
    AgentTurn,
    Announce,
    Job,
    JobPlace,
    Plan,
    Setting,
    SystemEvent,
    hastened,
    made,
    refuse_crowd,
    replanned,
    usual_place,
)
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.models import ToolSpec
from roost.core.notices import derived_id
from roost.core.schedules import Zones, read_schedule, written
from roost.core.tools import Invocation, ToolOutcome, ToolTraits
from roost.ports import Clock, Report, Store
from roost.tools.arguments import Arguments, object_schema
from roost.tools.outcomes import found, looked_up

MOST_RUNS = 20
MOST_LISTED = 100
HINT = "call with action list to see the ids"


class Action(StrEnum):
    LIST = "list"
    ADD = "add"
    PAUSE = "pause"
    RESUME = "resume"
    REMOVE = "remove"
    RUN = "run"
    RUNS = "runs"


def _text(what: str) -> JsonObject:
    return {"type": "string", "description": what}


class Cron:
    traits = ToolTraits(reenterable=True, privileged=True)
    spec = ToolSpec(
        name=toolnames.CRON,
        description=(
            "Set timers: what you do later or again and again without being asked, as JSON. `add` takes a `name`, one of "
            "`at` (a moment such as 2026-03-01T09:00+01:00, or a span such as 20m), `every` (30m, 2h) or `cron` (five "
            "fields, or @daily) with its `tz`, and a `message`: what you are told then. `target` isolated: a session of "
            "its own each time; current: this conversation. With `announce` what you say is told to the owner. The other "
            "actions take the `jobId` from `list`."
        ),
        parameters=object_schema(
            {
                "action": {
                    "type": "string",
                    "enum": [str(one) for one in Action],
                    "description": "What to do with timers.",
                },
                "jobId": _text("Which job, by its id in the list."),
                "name": _text("What a new job is called."),
                "at": _text("Once: a moment, or a span from now."),
                "every": _text("Again and again, such as 30m or 2h."),
                "cron": _text("By the clock: a cron expression."),
                "tz": _text("The place whose clock counts, such as Europe/Berlin."),
                "message": _text("What you are told when it is due."),
                "event": _text("Instead of a message: words for the session's next turn."),
                "target": {
                    "type": "string",
                    "enum": ["isolated", "main", "current"],
                    "description": "The session in which it happens.",
                },
                "announce": {"type": "boolean", "description": "Whether the owner is told what you say."},
            },
            required=("action",),
        ),
    )

    def __init__(self, store: Store, clock: Clock, zones: Zones, agents: tuple[str, ...]) -> None:
        self._store = store
        self._clock = clock
        self._zones = zones
        self._agents = agents

    async def run(self, invocation: Invocation, report: Report) -> ToolOutcome:
        return await looked_up(self._done(invocation))

    async def _done(self, invocation: Invocation) -> ToolOutcome:
        arguments = Arguments(self.spec, invocation.arguments)
        told = await self._act(_action(arguments), invocation, arguments)
        return found(told, {"status": "ok"})

    async def _act(self, action: Action, invocation: Invocation, arguments: Arguments) -> JsonObject:
        match action:
            case Action.LIST:
                jobs = [job for job in await self._store.jobs() if job.of_people]
                return {"total": len(jobs), "jobs": [_row(job) for job in jobs[:MOST_LISTED]]}
            case Action.ADD:
                return await self._add(invocation, arguments)
            case Action.RUNS:
                job = _known(await self._store.job(arguments.text("jobId")))
                page = await self._store.firings(job.id, limit=MOST_RUNS)
                return {"jobId": job.id, "runs": [_run(one) for one in page.rows]}
            case _:
                return await self._change(action, invocation, arguments.text("jobId"))

    async def _add(self, invocation: Invocation, arguments: Arguments) -> JsonObject:
        # The same call makes the same job.
        name = derived_id("job", invocation.run_id, invocation.call_id)
        job = made(name, invocation.cause.principal, self._plan(invocation, arguments), self._setting())
        refuse_crowd(await self._store.jobs(), name)
        kept = await self._store.change_job(name, lambda known: known or job)
        return {"added": _row(kept or job)}

    async def _change(self, action: Action, invocation: Invocation, job_id: str) -> JsonObject:
        asked = derived_id("asked", invocation.run_id, invocation.call_id)

        def decide(known: Job | None) -> Job | None:
            job = _known(known)
            match action:
                case Action.REMOVE:
                    return None
                case Action.RUN:
                    return hastened(job, asked, self._clock.now())
                case _:
                    plan = replace(job.plan, enabled=action is Action.RESUME)
                    return replanned(job, plan, self._setting())

        after = await self._store.change_job(job_id, decide)
        return {"removed": job_id} if after is None else {"changed": _row(after)}

    def _plan(self, invocation: Invocation, arguments: Arguments) -> Plan:
        event = arguments.text_or("event", "")
        target = arguments.text_or("target", usual_place(event=bool(event)))
        if target not in ("main", "isolated", "current"):
            raise InvalidInput("`target` is no session", hint="give main, isolated or current")
        current = target == "current"
        return Plan(
            name=arguments.text("name"),
            agent=invocation.agent,
            schedule=read_schedule(
                self._clock.now(),
                at=_or_none(arguments, "at"),
                every=_or_none(arguments, "every"),
                cron=_or_none(arguments, "cron"),
                zone=_or_none(arguments, "tz"),
            ),
            work=SystemEvent(text=event) if event else AgentTurn(message=arguments.text("message")),
            place=JobPlace.SESSION if current else JobPlace(target),
            key=invocation.key if current else None,
            telling=Announce() if arguments.flag("announce") else SILENT,
        )

    def _setting(self) -> Setting:
        return Setting(now=self._clock.now(), zones=self._zones, agents=self._agents)


def _action(arguments: Arguments) -> Action:
    word = arguments.text("action")
    if word not in tuple(Action):
        raise InvalidInput(f"`{word[:50]}` is no action", hint=f"give one of: {', '.join(Action)}")
    return Action(word)


def _or_none(arguments: Arguments, name: str) -> str | None:
    return arguments.text(name) if arguments.has(name) else None


def _known(job: Job | None) -> Job:
    if job is None or not job.of_people:
        raise NotFound("there is no such job", hint=HINT)
    return job


def _row(job: Job) -> JsonObject:
    due: JsonValue = None if job.next_at is None else written(job.next_at)
    return {"jobId": job.id, "name": job.plan.name, "enabled": job.plan.enabled, "nextRun": due}


def _run(firing: Firing) -> JsonObject:
    told: JsonValue = firing.summary or firing.error
    return {"at": written(firing.at), "status": str(firing.state), "what": told}
