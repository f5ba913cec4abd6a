"""Reads what a session is reminded of about its children."""

from dataclasses import replace

from roost.core import toolnames
from roost.core.childnotes import MOST_ACTIVE, MOST_RECENT, NOTE_CHARS, Children, note
from roost.core.childviews import RECENT_MS
from roost.core.messages import UserMessage
from roost.core.queries import SessionQuery
from roost.core.runs import RunKind
from roost.core.spawning import run_of
from roost.core.transcript import gateway_message
from roost.engine.work import Work

WINDOW_SHARE = 4


def is_reminded(work: Work) -> bool:
    """Whether a run can do something about its children, if there are any."""
    can = any(tool.spec.name == toolnames.SUBAGENTS for tool in work.part.tools)
    return can and work.conversation.delegates and work.run.request.kind is not RunKind.ANNOUNCE


async def children_note(work: Work) -> UserMessage | None:
    """The reminder; it takes little of a small window."""
    if not is_reminded(work):
        return None
    now, key = work.clock.now(), work.run.key
    owed = await work.store.completions(key)
    query = SessionQuery(
        parents=frozenset({key}),
        archived=None,
        active_since=now - RECENT_MS,
        limit=MOST_ACTIVE + MOST_RECENT,
    )
    rows = (await work.store.list_sessions(query)).rows
    longest = min(NOTE_CHARS, work.part.spec.context_window // WINDOW_SHARE)
    family = Children(owed=owed, rows=rows)
    tasks = [await work.store.completion(run_of(row.key)) for row in family.recent]
    family = replace(family, ended=tuple(filter(None, tasks)))
    text = note(family, now, longest)
    return None if text is None else gateway_message(text, now)
