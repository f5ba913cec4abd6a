"""The children of a session as it is shown them: under which number, how each stands, and which one a name means."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NewType

from roost.core.errors import InvalidInput, NotFound
from roost.core.exchanges import Completion, CompletionStatus, Spawned
from roost.core.figures import duration
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import SessionKey
from roost.core.queries import SessionQuery
from roost.core.redaction import SecretScanner, redact
from roost.core.runs import Run, RunState
from roost.core.sessions import Session
from roost.core.terms import Terms
from roost.core.visibility import VisibleScope

RECENT_MS = 30 * 60_000
MOST_CHILDREN = 200
LABEL_CHARS = 48
LAST, EVERY = "last", frozenset({"all", "*"})

_STATUS = {
    RunState.QUEUED: "queued",
    RunState.RUNNING: "running",
    RunState.DONE: "done",
    RunState.FAILED: "failed",
    RunState.TIMEOUT: "timeout",
    RunState.KILLED: "killed",
    RunState.INTERRUPTED: "failed",
}

ENDED = {
    CompletionStatus.OK: "done",
    CompletionStatus.ERROR: "failed",
    CompletionStatus.TIMEOUT: "timeout",
    CompletionStatus.KILLED: "killed",
    CompletionStatus.INTERRUPTED: "failed",
}


def newest_of(parent: SessionKey, scope: VisibleScope) -> SessionQuery:
    """The children of a session that were active last, as far as they may be seen."""
    return SessionQuery(scope=scope, parents=frozenset({parent}), archived=None, limit=MOST_CHILDREN)


def left_out(query: SessionQuery, spawned: Iterable[Spawned], rows: Iterable[Session]) -> SessionQuery | None:
    """Those whose task has not ended and that so many others were active after that they are not among them."""
    pending = {one.child for one in spawned if one.status is CompletionStatus.PENDING}
    missing = pending.difference(row.key for row in rows)
    return replace(query, keys=frozenset(missing)) if missing else None


def numbered(spawned: Sequence[Spawned], rows: Iterable[Session]) -> dict[int, Session]:
    """Children by the number that each keeps: its place among all that were ever spawned. One whose session is gone keeps
    its own: what was listed under another is meant by that still."""
    numbers = {one.child: number for number, one in enumerate(spawned, start=1)}
    known = {row.key: row for row in rows}
    forgotten = sorted(known.keys() - numbers.keys(), key=lambda key: (known[key].times.created, key.text))
    numbers |= {key: number for number, key in enumerate(forgotten, start=len(numbers) + 1)}
    return {number: known[key] for key, number in numbers.items() if key in known}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildView:
    """`run` is the one it was spawned with, which its task goes by, `active` one that has not ended; `task` is how far the
    task is, in whichever run, unless that was removed; `below` how many of its own children are at work."""

    number: int
    session: Session
    run: Run
    active: Run | None = None
    task: Completion | None = None
    below: int = 0
    tokens: int = 0

    @property
    def at_work(self) -> bool:
        return self.active is not None or self.awaited

    @property
    def awaited(self) -> bool:
        """Whether its task has not ended, be it that it waits for others."""
        return self.task is not None and self.task.status is CompletionStatus.PENDING

    @property
    def told(self) -> bool:
        """Whether its requester knows how it ended."""
        return self.task is None or self.task.acknowledged_at is not None

    @property
    def error(self) -> str | None:
        """What went wrong, once it has ended."""
        if self.at_work:
            return None
        outcome = self.run.outcome
        return self.task.error if self.task else outcome.error if outcome else None

    @property
    def current(self) -> str | None:
        """The run that goes on where the first one ended."""
        return self.active.id if self.active and self.active.id != self.run.id else None

    @property
    def runs(self) -> tuple[str, ...]:
        return tuple(one for one in (self.run.id, self.current) if one is not None)

    @property
    def terms(self) -> Terms:
        return self.session.lineage.terms or Terms()

    @property
    def label(self) -> str:
        return (self.session.labels.label or self.terms.task_name or self.terms.task)[:LABEL_CHARS]

    @property
    def status(self) -> str:
        if self.awaited and self.below:
            waiting = f"waiting on {self.below} {'child' if self.below == 1 else 'children'}"
            return f"active ({waiting})" if self.active else waiting
        if self.active is not None:
            return _STATUS[self.active.state]
        if self.awaited:
            return "waiting for external continuation"
        return _STATUS[self.run.state] if self.task is None else ENDED[self.task.status]

    def ended_at(self, now: int) -> int | None:
        if self.at_work:
            return None
        if self.task is not None:
            return self.task.settled_at
        return self.run.outcome.at if self.run.outcome else now

    def recent(self, now: int, within_ms: int) -> bool:
        ended = self.ended_at(now)
        return ended is None or now - ended <= within_ms


ReadableChild = NewType("ReadableChild", ChildView)
"""A view whose words have no secrets in them: only such a one is shown."""


def readable(view: ChildView, scanner: SecretScanner) -> ReadableChild:
    """The same child without secrets in its names, its task and what went wrong with it."""

    def masked(text: str | None) -> str | None:
        return text and redact(text, scanner)[0]

    session, run, task, terms = view.session, view.run, view.task, view.terms
    terms = replace(terms, task=masked(terms.task) or "", task_name=masked(terms.task_name))
    session = session._replace(
        labels=replace(session.labels, label=masked(session.labels.label)),
        lineage=replace(session.lineage, terms=terms),
    )
    if run.outcome is not None:
        run = replace(run, outcome=replace(run.outcome, error=masked(run.outcome.error)))
    if task is not None:
        task = replace(task, error=masked(task.error))
    return ReadableChild(replace(view, session=session, run=run, task=task))


def shown(view: ReadableChild, key: str, now: int) -> JsonObject:
    """One child as a list has it."""
    ended = view.ended_at(now)
    started = view.run.started_at
    runtime = 0 if started is None else max(0, (ended or now) - started)
    fields: dict[str, JsonValue] = {
        "index": view.number,
        "runId": view.run.id,
        "sessionKey": key,
        "label": view.label,
        "task": view.terms.task,
        "status": view.status,
        "pendingDescendants": view.below,
        "runtime": duration(runtime),
        "runtimeMs": runtime,
        "model": view.session.summary.model or view.terms.model,
        "totalTokens": view.tokens,
        "startedAt": started,
    }
    if view.current is not None:
        fields["currentRunId"] = view.current
    if view.terms.task_name is not None:
        fields["taskName"] = view.terms.task_name
    if ended is not None:
        fields["endedAt"] = ended
        fields["deliveryStatus"] = "delivered" if view.told else "pending"
    return fields


def chosen(target: str, views: Sequence[ReadableChild], now: int) -> tuple[ReadableChild, ...]:
    """Those a name means: a number, a run id or the beginning of one, a key, a label, a task name, `last` or `all`."""
    name = " ".join(target.split())
    if not name:
        raise InvalidInput("`target` is missing", hint="name a sub-agent as `subagents` lists them, or `all`")
    within = [view for view in views if view.recent(now, RECENT_MS)]
    if name.lower() in EVERY:
        return tuple(view for view in within if view.at_work)
    if name.lower() == LAST:
        return tuple(within[-1:]) or _nobody(name)
    numbered = [view for view in within if name.removeprefix("#") == str(view.number)]
    exact = [view for view in within if name in (*view.runs, str(view.session.key), view.session.session_id)]
    named = [view for view in within if name in (view.session.labels.label, view.terms.task_name, view.label)]
    begun = [view for view in within if any(begins(one, name) for one in view.runs)]
    fitting = numbered or exact or named or begun
    if len(fitting) > 1:
        numbers = ", ".join(f"#{view.number}" for view in fitting)
        raise NotFound(f"{name!r} means several sub-agents: {numbers}", hint="give the number or the run id")
    return tuple(fitting) or _nobody(name)


def begins(name: str, handle: str) -> bool:
    """Whether an id is meant by its beginning. A number is none: it means a child, or one that is gone."""
    digits = handle.removeprefix("#")
    number = digits.isdecimal() and (digits == "0" or not digits.startswith("0"))
    return not number and name.startswith(handle)


def _nobody(name: str) -> tuple[ReadableChild, ...]:
    raise NotFound(
        f"there is no sub-agent {name!r} of this session", hint="`subagents` with `list` shows them"
    )
