"""How a session stands, in a few lines that a person or a model can read."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from roost.core.figures import dollars
from roost.core.ledger import LedgerTotal
from roost.core.runs import Run
from roost.core.sessions import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweringModel:
    """The model that answers next, why, and how much it can hold; None is not known."""

    name: str
    reason: str
    window: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusCard:
    """`key` and `linked` name sessions as the reader is shown them; `context` is None where nothing counted it."""

    session: Session
    key: str
    now: int
    model: AnsweringModel
    context: int | None
    usage: LedgerTotal
    active: tuple[Run, ...] = ()
    linked: tuple[str, ...] = ()


def status_text(card: StatusCard) -> str:
    return "\n".join(_lines(card))


def _lines(card: StatusCard) -> Iterator[str]:
    session, usage = card.session, card.usage.usage
    times = session.times
    yield f"Session: {card.key} ({session.facts.kind}, id {session.session_id})"
    yield f"Status: {session.status}{_waiting(card.active)}"
    yield f"Model: {card.model.name} ({card.model.reason})"
    yield f"Context: {_context(card)}"
    yield (
        f"Usage: {card.usage.calls} model calls, {usage.input:,} tokens in, {usage.output:,} out, "
        f"{usage.cache_read:,} from cache, {dollars(usage.cost_micros)}"
    )
    yield f"Time: {_moment(card.now)}; began {_moment(times.started)}, last used {_moment(times.updated)}"
    if settings := ", ".join(_settings(session)):
        yield f"Set on this session: {settings}"
    if card.linked:
        yield f"Linked work: {'; '.join(card.linked)}"


def occasion_of(tool: str) -> str | None:
    """What started a run that no person did, by the source its words are marked with; None: something else did."""
    kind, _, name = tool.partition(":")
    return {"cron": f"cron job {name}", "hook": f"hook {name}", "heartbeat": "heartbeat"}.get(kind)


def _waiting(active: tuple[Run, ...]) -> str:
    since = next((run.started_at for run in active if run.started_at is not None), None)
    waiting = sum(run.started_at is None for run in active)
    running = "" if since is None else f" since {_moment(since)}"
    return f"{running}, {waiting} waiting" if waiting else running


def _context(card: StatusCard) -> str:
    held, window = card.context, card.model.window
    if held is None:
        return "not counted yet" if window is None else f"not counted yet, of {window:,} tokens"
    return f"{held:,} tokens" if window is None else f"{held:,} of {window:,} tokens ({held / window:.0%})"


def _settings(session: Session) -> Iterator[str]:
    own = session.overrides
    given = {
        "thinking": own.thinking,
        "verbose": own.verbose,
        "reasoning": own.reasoning,
        "sending": own.send_policy,
        "queue": own.queue_mode,
        "activation": own.activation,
    }
    return (f"{name} {value}" for name, value in given.items() if value)


def _moment(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M} UTC"
