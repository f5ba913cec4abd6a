"""`/subagents`: what this session has spawned, what it said, and its end."""

from collections.abc import Mapping

from roost.core import stopping, visibility
from roost.core.childviews import ENDED, RECENT_MS, begins, left_out, newest_of, numbered
from roost.core.entries import Entry
from roost.core.errors import Forbidden, InvalidInput, NotFound
from roost.core.exchanges import CompletionStatus
from roost.core.figures import age, counted, moment, thousands
from roost.core.keys import SessionKey
from roost.core.listing import glance_at, readable, title_of
from roost.core.messages import AssistantMessage, ToolResult, UserMessage, text_of
from roost.core.oneline import preview
from roost.core.prose import clean
from roost.core.queries import HistoryQuery, LedgerQuery
from roost.core.redaction import SecretScanner
from roost.core.runs import StopRequest
from roost.core.sessions import Session, SessionStatus
from roost.core.trees import Tree
from roost.core.visibility import Denied, Operation, Target
from roost.engine.commands.asked import Answer, Asked, Means, Said, saying
from roost.engine.stops import STOPPED

LOG_LINES, MOST_LINES = 20, 200
_AT_WORK = frozenset({SessionStatus.QUEUED, SessionStatus.RUNNING, SessionStatus.PARKED})


async def subagents(means: Means, asked: Asked) -> Answer:
    action, _, rest = asked.argument.strip().partition(" ")
    children = await _children(means, asked)
    match action.lower():
        case "" | "list":
            return saying(_listed(means, asked, children, await _tasks(means, asked)))
        case "info":
            return saying(await _info(means, asked, _chosen(rest, children)))
        case "log":
            return saying(await _log(means, asked, rest, children))
        case "kill" | "stop":
            return _kill(asked, rest.strip(), children)
        case other:
            raise InvalidInput(f"/subagents knows no {other!r}", hint="say list, info, log or kill")


async def _children(means: Means, asked: Asked) -> Mapping[int, Session]:
    """Those the speaker may see that were active last, and every one at work, by their numbers."""
    spawned = await means.store.spawned(asked.key)
    query = newest_of(asked.key, visibility.scope(Operation.LIST, asked.speaker.caller))
    rows = [*(await means.store.list_sessions(query)).rows]
    if more := left_out(query, spawned, rows):
        rows += (await means.store.list_sessions(more)).rows
    return numbered(spawned, rows)


async def _tasks(means: Means, asked: Asked) -> Mapping[SessionKey, CompletionStatus]:
    """How far the tasks are that this session gave; of one whose end is still to come others may be at a part."""
    return {one.child: one.status for one in await means.store.spawned(asked.key)}


def _status(row: Session, tasks: Mapping[SessionKey, CompletionStatus]) -> str:
    task = tasks.get(row.key)
    if task is None or row.status in _AT_WORK:
        return str(row.status)
    return "waiting" if task is CompletionStatus.PENDING else ENDED[task]


def _listed(
    means: Means, asked: Asked, children: Mapping[int, Session], tasks: Mapping[SessionKey, CompletionStatus]
) -> str:
    awaited = {key for key, task in tasks.items() if task is CompletionStatus.PENDING}
    at_work = {row.key for row in children.values() if row.status in _AT_WORK} | awaited
    shown = [
        f"#{number} {_title(means, row)}: {_status(row, tasks)}, {age(asked.at - row.times.updated)}, "
        f"{thousands(row.counters.input + row.counters.output)} tokens"
        for number, row in children.items()
        if row.key in at_work or asked.at - row.times.updated <= RECENT_MS
    ]
    if not shown:
        return f"No sub-agents at work or in the last 30 minutes ({len(children)} before)."
    return "\n".join((f"Sub-agents ({len(shown)}):", *shown))


def _title(means: Means, row: Session) -> str:
    scanner = means.rules.commands.scanner
    return (title_of(readable([glance_at(row)], scanner)[0]) if scanner else row.labels.label) or str(row.key)


def _chosen(text: str, children: Mapping[int, Session]) -> Session:
    handle = text.strip().removeprefix("#")
    fitting = [row for number, row in children.items() if handle == str(number)] or [
        row
        for row in children.values()
        if handle and (handle in (str(row.key), row.labels.label) or begins(row.session_id, handle))
    ]
    if len(fitting) != 1:
        raise NotFound(f"there is no sub-agent {handle or '(none named)'}", hint="/subagents list shows them")
    return fitting[0]


def _guard(operation: Operation, asked: Asked, child: Session) -> None:
    target = Target(key=child.key, agent=child.key.agent, owner=child.owner, ancestors=(asked.key,))
    decision = visibility.decide(operation, asked.speaker.caller, target)
    if isinstance(decision, Denied):
        raise decision.error()


async def _info(means: Means, asked: Asked, child: Session) -> str:
    _guard(Operation.STATUS, asked, child)
    spent = (await means.store.usage(LedgerQuery(tree_of=child.key))).usage
    lines = (
        _title(means, child),
        f"Session: {child.key}, id {child.session_id}",
        f"Status: {_status(child, await _tasks(means, asked))}, spawned {moment(child.times.created, means.rules.zone)}",
        f"Model: {child.summary.model or 'none yet'}",
        f"Tokens: {thousands(spent.input)} in, {thousands(spent.output)} out",
    )
    return "\n".join(lines)


async def _log(means: Means, asked: Asked, rest: str, children: Mapping[int, Session]) -> str:
    scanner = means.rules.commands.scanner
    if scanner is None:
        raise Forbidden("transcripts cannot be shown here: nothing masks their secrets")
    handle, *options = rest.split() or [""]
    child = _chosen(handle, children)
    _guard(Operation.HISTORY, asked, child)
    numbers = [int(one) for one in options if one.isascii() and one.isdigit()]
    query = HistoryQuery(
        key=child.key,
        limit=max(1, min(MOST_LINES, *numbers or [LOG_LINES])),
        tools="tools" in options,
    )
    page = await means.store.history(query)
    lines = [line for entry in page.entries if (line := _line(entry, scanner))]
    return "\n".join((f"{_title(means, child)}:", *lines)) if lines else "It has said nothing yet."


def _line(entry: Entry, scanner: SecretScanner) -> str | None:
    match entry.body:
        case UserMessage() as body:
            who, said = "to it", text_of(body)
        case AssistantMessage() as body:
            who, said = "it", clean(text_of(body))
        case ToolResult() as body:
            who, said = f"tool {body.tool}", text_of(body)
        case _:
            return None
    words = preview(said, scanner)
    return f"{who}: {words}" if words else None


def _kill(asked: Asked, handle: str, children: Mapping[int, Session]) -> Answer:
    chosen = (*children.values(),) if handle.lower() in ("all", "*") else (_chosen(handle, children),)
    for child in chosen:
        _guard(Operation.STOP, asked, child)
    request = StopRequest(reason=STOPPED, by=asked.speaker.principal, at=asked.at)

    def answer(tree: Tree) -> Said:
        killed = stopping.kill(tree, [child.key for child in chosen], request)
        count = counted(killed.children, "sub-agent")
        return Said(
            text=f"Stopped {count}." if killed.children else "Nothing of it was running.",
            effects=killed.effects,
            ends=killed.runs,
        )

    return answer
