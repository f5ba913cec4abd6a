"""What a context needs after a turn: notes saved, older parts condensed. Each is a run of its own kind.

Notes are saved at most once between two compactions. How that went is a line of the transcript that no model sees.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo

from roost.core import toolnames
from roost.core.addresses import Address
from roost.core.compaction import CompactionSettings, IdentifierPolicy, thresholds
from roost.core.cutnotes import STATE_KIND
from roost.core.effects import ChangeSession, Effects, QueueRun, RequestStop
from roost.core.entries import Entry
from roost.core.errors import Conflict, InvalidInput
from roost.core.messages import Compaction, Notice, ProvenanceKind
from roost.core.notices import derived_id
from roost.core.pruning import PruningSettings
from roost.core.runs import Request, Run, RunKind, RunState, StopRequest
from roost.core.sentinels import Sentinel
from roost.core.sessions import Session
from roost.core.snapshots import RunSnapshot, Snapshot
from roost.core.tools import Place, WorkspaceAccess
from roost.core.transcript import active
from roost.core.turntaking import in_line
from roost.core.workspacefiles import notes_file

FLUSH = "memory-flush"
FLUSH_TRIES = 3
CONDENSED = "stopped to condense the conversation"

_LOUD = frozenset({"on", "full"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSettings:
    """How a context is kept inside its window. `ahead`: before a provider refuses it; `notifies`: tell the chat.

    Sizes of the transcript are characters; a `compact_from_chars` of None sets no limit.
    """

    pruning: PruningSettings = field(default_factory=PruningSettings)
    compaction: CompactionSettings = field(default_factory=CompactionSettings)
    identifiers: IdentifierPolicy = IdentifierPolicy.STRICT
    ahead: bool = True
    compact_from_chars: int | None = None
    summary_timeout_ms: int = 180_000
    notifies: bool = False
    flushes: bool = True
    flush_from_chars: int = 2 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A context at the end of a turn. `counted`: whether its tokens are the provider's count; `gains`: whether
    condensing it would make it smaller; `unflushed`: whether notes are still to be saved since it was last
    condensed."""

    window: int
    tokens: int
    counted: bool
    chars: int
    gains: bool
    unflushed: bool


def compaction_request(focus: str | None = None, reply_to: Address | None = None) -> Request:
    """Condense a session now. `focus` is a person's wish; whoever is at `reply_to` is told what came of it."""
    return Request(kind=RunKind.COMPACTION, prompt=focus, reply_to=reply_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condensing:
    """What follows from the wish, the runs that end for it, and what the one who asked is told."""

    effects: Effects
    ends: tuple[str, ...] = ()
    words: str


def condense(snapshot: Snapshot, run: Run) -> Condensing:
    """Queue this run. An answer under way ends for it, unless it has to wait behind one that stands aside; what answers
    nobody here is waited for."""
    if snapshot.session is None or not snapshot.session.summary.entries:
        raise InvalidInput("there is nothing to condense yet")
    running, at = snapshot.running, run.queued_at
    own = (one for one in snapshot.queued if one.cause.principal == run.cause.principal)
    before = (running, *in_line(snapshot.queued, at), *own)
    if any(one and one.request.kind is RunKind.COMPACTION for one in before):
        raise Conflict("this conversation is being condensed already")
    queued = QueueRun(run=run)
    if run not in in_line((*snapshot.queued, run), at):
        words = "Condensing this conversation after your message that is kept for its budget."
        return Condensing(effects=(queued,), words=words)
    if running is None:
        return Condensing(effects=(queued,), words="Condensing this conversation now.")
    if not running.request.kind.answers:
        return Condensing(effects=(queued,), words="Condensing this conversation after the run under way.")
    stop = StopRequest(reason=CONDENSED, by=run.cause.principal, at=at, goes_on=True)
    return Condensing(
        effects=(RequestStop(run_id=running.id, stop=stop), queued),
        ends=(running.id,),
        words="Stopped the run under way. Condensing this conversation now.",
    )


def due(load: Load, settings: ContextSettings) -> tuple[RunKind, ...]:
    """What should run next, in this order."""
    limits = thresholds(load.window, settings.compaction)
    full = load.tokens >= limits.flush_from or load.chars >= settings.flush_from_chars
    long = settings.compact_from_chars is not None and load.chars >= settings.compact_from_chars
    flush = settings.flushes and load.unflushed and (full or long)
    compact = settings.ahead and load.gains and (load.tokens >= limits.compact_from or long)
    return ((RunKind.FLUSH,) if flush else ()) + ((RunKind.COMPACTION,) if compact else ())


def may_flush(session: Session, place: Place, tools: Sequence[str]) -> bool:
    """Whether notes of a private session may be saved: the workspace can be written, by a tool the agent has."""
    writable = place.access is WorkspaceAccess.WRITE and toolnames.WRITE in tools
    return writable and not session.key.heartbeat


def is_loud(session: Session, settings: ContextSettings) -> bool:
    """Whether the chat is told of a compaction that nobody asked for."""
    return settings.notifies or session.overrides.verbose in _LOUD


def condensed_line(compaction: Compaction, window: int) -> str:
    """What the chat is told of a compaction."""
    after = compaction.tokens_after or 0
    share = 100 * after // window
    return f"Condensed: {compaction.tokens_before} → {after} tokens, {share} % of the window of {window}."


def flush_note(at: int, problem: str | None = None) -> Notice:
    """The line that says how saving notes went."""
    return Notice(
        kind=STATE_KIND, at=at, data={"customType": FLUSH, "saved": problem is None, "problem": problem}
    )


def unflushed(entries: Sequence[Entry]) -> bool:
    """Whether notes are still to be saved in this context; after a few failures they are given up."""
    noted = [
        entry.body.data.get("saved") is True
        for entry in entries[active(entries).after :]
        if isinstance(entry.body, Notice)
        and entry.body.kind == STATE_KIND
        and entry.body.data.get("customType") == FLUSH
    ]
    return not any(noted) and len(noted) < FLUSH_TRIES


def flush_prompt(file: str) -> str:
    """What a model is asked in a run that saves notes."""
    return (
        "This conversation will soon be condensed. Save now what should outlast it: decisions, promises, facts about"
        f" people and work in progress. The tool `{toolnames.WRITE}` adds lines to `{file}`; change no other file. Write"
        " only what is not there yet, briefly. Nobody reads your answer: when you are done, or if there is nothing"
        f" to save, answer exactly {Sentinel.NO_REPLY}."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What follows a turn: how full its context is, what the settings say, and whose day it is."""

    load: Load
    settings: ContextSettings
    zone: tzinfo


def follow(snapshot: RunSnapshot, upkeep: Upkeep, at: int) -> Effects:
    """Queue what is due behind everything that waits already; nothing that is in line is queued twice.

    A child has done its work when its turn ends: its context is seen to only if it goes on.
    """
    run, session = snapshot.run, snapshot.session.session
    if session is None or snapshot.reset_away or session.lineage.parent is not None:
        return ()
    waiting = {queued.request.kind for queued in in_line(snapshot.session.queued, at)}
    return tuple(
        QueueRun(run=_upkeep_run(run, _request(kind, run, session, upkeep, at), at))
        for kind in due(upkeep.load, upkeep.settings)
        if kind not in waiting
    )


def sized(snapshot: RunSnapshot, load: Load) -> Effects:
    """The session's row says how large its context is, and of what window; a provider's count comes with its answer."""
    session = snapshot.session.session
    if session is None or snapshot.reset_away:
        return ()
    total = session.counters.total if load.counted else load.tokens
    counters = session.counters._replace(context_window=load.window, total=total)
    return () if counters == session.counters else (ChangeSession(key=session.key, counters=counters),)


def _request(kind: RunKind, run: Run, session: Session, upkeep: Upkeep, at: int) -> Request:
    if kind is RunKind.FLUSH:
        prompt = flush_prompt(notes_file(at, upkeep.zone))
        return Request(kind=kind, lane=run.request.lane, prompt=prompt)
    told = run.request.reply_to if is_loud(session, upkeep.settings) else None
    return replace(compaction_request(reply_to=told), lane=run.request.lane)


def _upkeep_run(run: Run, request: Request, at: int) -> Run:
    return Run(
        id=derived_id(str(request.kind), run.id),
        key=run.key,
        state=RunState.QUEUED,
        cause=replace(run.cause, kind=ProvenanceKind.SYSTEM),
        request=request,
        queued_at=at,
        ready_at=at,
    )
