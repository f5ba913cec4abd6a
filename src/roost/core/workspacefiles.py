"""Files of the workspace that stand in the system text: which a session is shown, and how much of each.

What an agent knows of its owner is shown only where nobody else speaks or listens: when the owner speaks in a session
of his that is no group, that no outside service feeds, and whose context holds nobody else's words. Reading the files is
an adapter's work.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from enum import StrEnum

from roost.core.entries import Entry
from roost.core.localtime import local
from roost.core.messages import UserMessage
from roost.core.runs import Run
from roost.core.sessions import Session, SessionKind
from roost.core.whereabouts import Doors, is_with

RULES = "AGENTS.md"
PERSONA = "SOUL.md"
PERSONAL = ("USER.md", "MEMORY.md")
NOTES_FOLDER = "memory"

_LISTENED_TO = frozenset({SessionKind.GROUP, SessionKind.HOOK})
_NOTE = "\n[... {left_out} characters of this file are left out; read it with a tool if you need them ...]\n"


class FileState(StrEnum):
    OK = "OK"
    TRUNCATED = "TRUNCATED"
    MISSING = "MISSING"
    UNREADABLE = "UNREADABLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file as it was found; `text` is None where there is none, `problem` says why one cannot be read."""

    name: str
    text: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFile:
    """A file as it is shown; `raw` is its whole size in characters."""

    name: str
    state: FileState
    text: str = ""
    raw: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCaps:
    """Characters, of one file and of all."""

    each: int = 20_000
    total: int = 150_000

    def within(self, window: int) -> "FileCaps":
        """The caps for a model's window of so many tokens: no text is so dense that files would fill half of it."""
        return FileCaps(each=self.each, total=min(self.total, window // 2))


def notes_file(at: int, zone: tzinfo) -> str:
    """Where the notes of this moment's day are kept."""
    return _notes_of(_day(at, zone))


def _notes_of(day: date) -> str:
    return f"{NOTES_FOLDER}/{day.isoformat()}.md"


def _day(at: int, zone: tzinfo) -> date:
    return local(at, zone).date()


def is_private(session: Session, run: Run, entries: Iterable[Entry], doors: Doors) -> bool:
    """Whether nobody but the owner speaks here and hears the answer, or has spoken in what the model is shown."""
    own = session.owner.is_owner and run.cause.principal.is_owner
    return own and not _is_overheard(session, run, doors) and not any(map(_is_anothers, entries))


def _is_overheard(session: Session, run: Run, doors: Doors) -> bool:
    """An answer that goes to no chat is read on the owner's page; whoever asked, any chat that is not his is another's."""
    chat = run.request.reply_to
    elsewhere = chat is not None and not is_with(session.owner, chat, doors)
    return elsewhere or session.facts.kind in _LISTENED_TO


def _is_anothers(entry: Entry) -> bool:
    return isinstance(entry.body, UserMessage) and not entry.body.provenance.principal.is_owner


def file_names(session: Session) -> tuple[str, ...]:
    """What a session is shown, whoever speaks in it. A child gets the rules alone."""
    return (RULES,) if session.lineage.parent is not None else (RULES, PERSONA)


def personal_names(session: Session, at: int, zone: tzinfo) -> tuple[str, ...]:
    """What it is shown besides where it is private."""
    if session.lineage.parent is not None:
        return ()
    today = _day(at, zone)
    return (*PERSONAL, *(_notes_of(day) for day in (today - timedelta(days=1), today)))


def shown_files(found: Sequence[FoundFile], caps: FileCaps) -> tuple[WorkspaceFile, ...]:
    """The files within their caps; what comes first is cut last, and shown the same whatever comes after it."""
    left = caps.total
    shown = []
    for file in found:
        one = _fitted(file, min(caps.each, left))
        left -= len(one.text)
        shown.append(one)
    return tuple(shown)


def _fitted(file: FoundFile, room: int) -> WorkspaceFile:
    if file.problem is not None:
        return WorkspaceFile(name=file.name, state=FileState.UNREADABLE)
    if file.text is None:
        return WorkspaceFile(name=file.name, state=FileState.MISSING)
    raw = len(file.text)
    text = _cut(file.text, room)
    state = FileState.OK if text == file.text else FileState.TRUNCATED
    return WorkspaceFile(name=file.name, state=state, text=text, raw=raw)


def _cut(text: str, room: int) -> str:
    """The beginning and the end of a text, three to one, around a note; nothing where not even that fits."""
    if len(text) <= room:
        return text
    kept = room - len(_NOTE.format(left_out=len(text)))
    if kept <= 0:
        return ""
    tail = kept // 4
    head = kept - tail
    note = _NOTE.format(left_out=len(text) - kept)
    return text[:head] + note + (text[-tail:] if tail else "")
