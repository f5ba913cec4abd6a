"""`roost cron`: what agents do by a schedule."""

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import App, Parameter

from roost.cli.show import answer, answer_table, as_json, due, facts, part, say, table, told
from roost.cli.where import HERE, Where, gateway, now_of
from roost.client import Client
from roost.core.errors import InvalidInput, NotFound
from roost.core.figures import span
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.schedules import read_moment, read_span
from roost.protocol.families.cron import ADD, GET, LIST, REMOVE, RUN, RUNS, UPDATE, JobRow

app = App(name="cron", help="What agents do by a schedule.")

# What an option of its own gives, and is no less there because another is given.
_KEPT = frozenset({"tz", "model", "thinking", "timeoutSeconds"})

Job = Annotated[str, Parameter(help="Its name, its id, or how its id begins.")]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is given of a job."""

    at: Annotated[str | None, Parameter(help="Once: a moment such as 2026-03-01T09:00Z, or a span.")] = None
    every: Annotated[str | None, Parameter(help="Again and again: 30m, 2h, 1d.")] = None
    cron: Annotated[str | None, Parameter(help="By the clock: an expression, or @daily and the like.")] = None
    tz: Annotated[str | None, Parameter(help="The clock's place, such as Europe/Berlin.")] = None
    message: Annotated[str | None, Parameter(name=["--message", "-m"], help="A turn: what is said.")] = None
    event: Annotated[str | None, Parameter(help="An event for the next turn, instead of a turn.")] = None
    session: Annotated[
        str | None,
        Parameter(help="main, isolated or session:<key>. Default: a turn isolated, an event main."),
    ] = None
    agent: Annotated[str | None, Parameter(help="The agent. Default: the default one.")] = None
    tell: Annotated[
        str | None,
        Parameter(
            help="Where what was said goes: `last` (chat), channel:place, channel/account:place, or a URL."
        ),
    ] = None
    model: Annotated[str | None, Parameter(help="The model of the turn.")] = None
    thinking: Annotated[str | None, Parameter(help="How much it thinks.")] = None
    timeout: Annotated[str | None, Parameter(help="How long it may take: 10m.")] = None
    missed: Annotated[Literal["once", "skip"] | None, Parameter(help="Times nobody served.")] = None
    overlap: Annotated[
        Literal["skip", "wait"] | None, Parameter(help="Times at which the last has not ended.")
    ] = None
    once: Annotated[bool, Parameter(help="Remove it when it went well.", negative="")] = False

    def params(self) -> JsonObject:
        """As the gateway is asked."""
        given: dict[str, JsonValue] = {
            "schedule": self._schedule(),
            "payload": self._payload(),
            "delivery": self._delivery(),
            "sessionTarget": self.session,
            "agentId": self.agent,
            "missed": self.missed,
            "overlap": self.overlap,
            "deleteAfterRun": self.once or None,
        }
        return {name: value for name, value in given.items() if value is not None}

    def _schedule(self) -> JsonObject | None:
        if sum(one is not None for one in (self.at, self.every, self.cron)) > 1:
            raise InvalidInput("a job has one schedule", hint="give --at, --every or --cron")
        if self.tz is not None and self.cron is None:
            raise InvalidInput("--tz is the place of --cron", hint="give --cron too")
        if self.at is not None:
            return {"kind": "at", "at": self.at}
        if self.every is not None:
            return {"kind": "every", "everyMs": _some_time(self.every)}
        if self.cron is None:
            return None
        return {"kind": "cron", "expr": self.cron, **({} if self.tz is None else {"tz": self.tz})}

    def _payload(self) -> JsonObject | None:
        if self.message is not None and self.event is not None:
            raise InvalidInput("a job is a turn or an event", hint="give -m or --event")
        if self.message is None and (self.model, self.thinking, self.timeout) != (None, None, None):
            raise InvalidInput("--model, --thinking and --timeout are those of a turn", hint="give -m too")
        if self.event is not None:
            return {"kind": "systemEvent", "text": self.event}
        if self.message is None:
            return None
        limit = None if self.timeout is None else read_span(self.timeout) / 1_000
        given: dict[str, JsonValue] = {
            "model": self.model,
            "thinking": self.thinking,
            "timeoutSeconds": limit,
        }
        own = {name: value for name, value in given.items() if value is not None}
        return {"kind": "agentTurn", "message": self.message, **own}

    def _delivery(self) -> JsonObject | None:
        if self.tell is None:
            return None
        if self.tell.startswith(("http://", "https://")):
            return {"mode": "webhook", "to": self.tell}
        where, _, place = self.tell.partition(":")
        channel, _, account = where.partition("/")
        given = {"channel": channel, "accountId": account, "to": place}
        return {"mode": "announce", **{name: value for name, value in given.items() if value}}


NOTHING = Wish()


@app.command
async def add(
    name: Annotated[str, Parameter(help="What it is called.")],
    *,
    wish: Wish = NOTHING,
    where: Where = HERE,
) -> int:
    """Set a job."""
    params = wish.params()
    if "schedule" not in params:
        raise InvalidInput("a job needs a time", hint="give --at, --every or --cron")
    if "payload" not in params:
        raise InvalidInput("a job needs something to do", hint="give -m or --event")
    async with gateway(where) as client:
        job, now = await client.call(ADD, {"name": name, **params}), await now_of(client)
    answer(where, job, f"{job['id']} is {_when(job, now)}")
    return 0


@app.command(name="list")
@app.default
async def list_jobs(
    *,
    paused: Annotated[bool, Parameter(help="Also those that are paused.", negative="")] = False,
    where: Where = HERE,
) -> int:
    """Those that are due next, first."""
    async with gateway(where) as client:
        jobs, now = await _jobs(client), await now_of(client)
    rows = [job for job in jobs if paused or job["enabled"]]
    heads = ("id", "name", "schedule", "session", "next", "last")
    answer_table(where, rows, heads, (_line(row, now) for row in rows), "no jobs")
    if (resting := len(jobs) - len(rows)) and not where.json:
        say(f"{resting} more {'is' if resting == 1 else 'are'} paused: `roost cron list --paused`")
    return 0


@app.command
async def show(job: Job, *, where: Where = HERE) -> int:
    """Everything that is known of one."""
    async with gateway(where) as client:
        row, now = await client.call(GET, {"id": await _meant(client, job)}), await now_of(client)
    if where.json:
        as_json(row)
    else:
        facts(told({**row, "schedule": _schedule(row["schedule"], now)}, now))
    return 0


@app.command
async def edit(
    job: Job,
    *,
    name: Annotated[str | None, Parameter(help="What it is called.")] = None,
    wish: Wish = NOTHING,
    where: Where = HERE,
) -> int:
    """Change what is given; the rest stays, such as the place of the clock and the model of a turn."""
    patch = {**wish.params(), **({} if name is None else {"name": name})}
    if not patch:
        raise InvalidInput("nothing is to be changed", hint="`roost cron edit --help` lists what can be")
    async with gateway(where) as client:
        old = await client.call(GET, {"id": await _meant(client, job)})
        asked: JsonObject = {"id": old["id"], "patch": _with_kept(patch, old)}
        row, now = await client.call(UPDATE, asked), await now_of(client)
    answer(where, row, f"{job} is {_when(row, now)}")
    return 0


@app.command
async def rm(job: Job, *, where: Where = HERE) -> int:
    """Remove one; what is running runs on."""
    async with gateway(where) as client:
        found = await client.call(REMOVE, {"id": await _meant(client, job)})
    answer(where, found, f"{job} is gone")
    return 0


@app.command
async def pause(
    job: Job,
    *,
    undo: Annotated[bool, Parameter(help="Let it go on.", negative="")] = False,
    where: Where = HERE,
) -> int:
    """Let it rest."""
    async with gateway(where) as client:
        row = await client.call(UPDATE, {"id": await _meant(client, job), "patch": {"enabled": undo}})
    answer(where, row, f"{job} goes on" if undo else f"{job} rests")
    return 0


@app.command
async def run(job: Job, *, where: Where = HERE) -> int:
    """Do it now."""
    async with gateway(where) as client:
        found = await client.call(RUN, {"id": await _meant(client, job)})
    answer(where, found, f"{job} has begun" if found["enqueued"] else f"{job} was not begun")
    return 0 if found["enqueued"] else 1


@app.command
async def runs(
    job: Annotated[
        str | None, Parameter(help="Its name, its id, or how its id begins; of all, if none is given.")
    ] = None,
    *,
    limit: Annotated[int, Parameter(help="At most so many.")] = 20,
    where: Where = HERE,
) -> int:
    """What came of it, newest first."""
    async with gateway(where) as client:
        meant = {"scope": "all"} if job is None else {"id": await _meant(client, job)}
        found, now = await client.call(RUNS, {**meant, "limit": limit}), await now_of(client)
    if where.json:
        as_json(found)
        return 0
    rows = [
        (
            due(one.get("runAtMs"), now),
            one.get("jobName") or one.get("jobId"),
            one.get("status") or "running",
            _took(one.get("durationMs")),
            one.get("summary") or one.get("error"),
        )
        for one in found["entries"]
    ]
    if rows:
        table(("when", "job", "status", "took", "what"), rows)
    else:
        say("nothing was due yet")
    return 0


async def _jobs(client: Client) -> list[JobRow]:
    rows: list[JobRow] = []
    offset: int | None = 0
    while offset is not None:
        page = await client.call(LIST, {"includeDisabled": True, "limit": 200, "offset": offset})
        rows += page["jobs"]
        offset = page["nextOffset"]
    return rows


async def _meant(client: Client, job: str) -> str:
    """The id of the one that is called so: an id goes before a name, and a name before the beginning of an id."""
    rows = await _jobs(client)
    for fitting in (
        [row for row in rows if row["id"] == job],
        [row for row in rows if row["name"] == job],
        [row for row in rows if job and row["id"].startswith(job)],
    ):
        if len(fitting) == 1:
            return fitting[0]["id"]
        if fitting:
            ids = ", ".join(row["id"] for row in fitting)
            raise InvalidInput(f"several jobs are called {job}", hint=f"give the id of one: {ids}")
    raise NotFound(f"there is no job {job}", hint="`roost cron list --paused` shows all")


def _some_time(every: str) -> int:
    found = read_span(every)
    if not found:
        raise InvalidInput(f"a job cannot be due every {every}", hint="write 90s, 30m, 2h or 1d")
    return found


def _with_kept(patch: JsonObject, old: JobRow) -> JsonObject:
    """A schedule and what is done are each set as a whole: with what they had beside what is given of them."""
    had: dict[str, JsonObject] = {"schedule": old["schedule"], "payload": old["payload"]}
    return {name: _beside(value, had.get(name, {})) for name, value in patch.items()}


def _beside(given: JsonValue, had: JsonObject) -> JsonValue:
    if not isinstance(given, dict) or given.get("kind") != had.get("kind"):
        return given
    return {**{name: value for name, value in had.items() if name in _KEPT}, **given}


def _when(row: JobRow, now: int) -> str:
    return f"due {due(part(row['state'], 'nextRunAtMs'), now)}" if row["enabled"] else "paused"


def _line(row: JobRow, now: int) -> tuple[object, ...]:
    state = row["state"]
    return (
        row["id"],
        row["name"],
        _schedule(row["schedule"], now),
        row["sessionTarget"],
        due(state.get("nextRunAtMs"), now) if row["enabled"] else "paused",
        state.get("lastRunStatus"),
    )


def _schedule(schedule: JsonObject, now: int) -> str:
    every, at = part(schedule, "everyMs"), part(schedule, "at")
    if isinstance(every, int):
        return f"every {span(every)}"
    if isinstance(at, str):
        return f"once, {due(read_moment(at, now), now)}"
    zone = part(schedule, "tz")
    return f"{part(schedule, 'expr')}{f' in {zone}' if zone else ''}"


def _took(milliseconds: JsonValue) -> str | None:
    return span(milliseconds) if isinstance(milliseconds, int) else None
