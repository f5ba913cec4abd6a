"""Why a session is as it is, in sentences. A rule is named as it was stored: a setting, or what a person would call it."""

from types import MappingProxyType

from roost.core.deliveries import Delivery, DeliveryState
from roost.core.errors import RoostError
from roost.core.exchanges import Exchange
from roost.core.figures import age
from roost.core.keys import SessionKey
from roost.core.ledger import Denial
from roost.core.messages import ProvenanceKind
from roost.core.principals import Principal
from roost.core.runs import Cause, Outcome, RunState
from roost.core.sessions import OpenedBy, Session

UNKNOWN = "no reason is known"

_OPENED = MappingProxyType(
    {
        OpenedBy.FIRST: "with its first message",
        OpenedBy.NEW: "because a new one was asked for",
        OpenedBy.RESET: "because the one before was reset",
        OpenedBy.DAILY: "because each day begins a new one",
        OpenedBy.IDLE: "because nobody had written for a while",
        OpenedBy.CRON: "because a job was due",
        OpenedBy.FORK: "as a fork of another",
        OpenedBy.BRANCH: "as a branch of an earlier one",
        OpenedBy.BACK: "because an earlier one was gone back to",
        OpenedBy.IMPORT: "because it was imported",
    }
)
_ENDED = MappingProxyType(
    {
        RunState.FAILED: "failed",
        RunState.KILLED: "was stopped",
        RunState.TIMEOUT: "ran out of time",
        RunState.INTERRUPTED: "was interrupted",
    }
)
_BEGUN = MappingProxyType(
    {
        ProvenanceKind.HUMAN: "by a message of",
        ProvenanceKind.INTER_SESSION: "by a message of another session, for",
        ProvenanceKind.SUBAGENT: "by the end of a sub-agent, for",
        ProvenanceKind.SCHEDULE: "by a job of",
        ProvenanceKind.HOOK: "by a webhook of",
        ProvenanceKind.SYSTEM: "by an event for",
    }
)

_TOGETHER = "by messages of several people, for none of whom it acts"


def routed(session: Session) -> str:
    key, parent, rule = session.key, session.lineage.parent, session.facts.rule
    if rule is not None:
        return f"Session: {key}, because of {rule}."
    if parent is not None:
        return f"Session: {key}, because {parent} spawned it."
    return f"Session: {key}; {UNKNOWN}."


def bound(key: SessionKey, by: Principal) -> str:
    return f"Session: {key}, because {by} bound this thread to it."


def answered(model: str, reason: str | None) -> str:
    return f"Model: the last answer came from {model} ({reason or UNKNOWN})."


def answering(model: str, reason: str) -> str:
    return f"Model: the next answer comes from {model} ({reason})."


def unanswerable(error: RoostError) -> str:
    return f"Model: none can answer: {error}."


def began(opened_by: OpenedBy, at: str, rule: str | None) -> str:
    named = f" ({rule})" if rule else ""
    return f"Reset: this conversation began {at}, {_OPENED[opened_by]}{named}."


def ends(boundary: str | None, rule: str) -> str:
    if boundary is None:
        return f"It goes on until somebody resets it ({rule})."
    return f"A message that comes after {boundary} begins a new one ({rule})."


def failed(outcome: Outcome, now: int) -> str:
    why = outcome.error or outcome.code or UNKNOWN
    return f"Silence: the last run {_ENDED.get(outcome.state, 'ended')} {_ago(outcome.at, now)}: {why}."


def held_back(denial: Denial) -> str:
    return f"Silence: the last answer was not sent, because of {denial.rule}."


def chosen(token: str, at: int, now: int) -> str:
    return f"Silence: the model answered {token} {_ago(at, now)}, which means that nothing is sent."


def only_leaks(at: int, now: int) -> str:
    return f"Silence: what the model answered {_ago(at, now)} was only reasoning or tool calls, which are not sent."


def unsent(delivery: Delivery) -> str:
    uncertain = delivery.state is DeliveryState.UNCERTAIN
    what = "nobody knows whether a message arrived" if uncertain else "a message could not be sent"
    return f"Silence: {what}: {delivery.error or UNKNOWN}."


def no_silence(at: int, now: int) -> str:
    return f"Silence: none; the last answer was given {_ago(at, now)}."


def unheard(denial: Denial, now: int) -> str:
    return f"A message without a mention got no answer {_ago(denial.at, now)} ({denial.rule})."


def denied(denial: Denial, now: int) -> str:
    return (
        f"- {_ago(denial.at, now)}: {denial.operation} by {denial.principal}: {denial.reason} ({denial.rule})"
    )


def traced(cause: Cause, run_id: str) -> str:
    begun = _TOGETHER if cause.joint else f"{_BEGUN[cause.kind]} {cause.principal}"
    return f"Trace: {cause.trace}, begun {begun}; the last run was {run_id}."


def carried(exchange: Exchange) -> str:
    """How far a message to another gateway came, and what that gateway said of it."""
    remote = exchange.sent.remote
    there = f", run {exchange.sent.run_id} of {remote.key} there" if remote and remote.key else ""
    trouble = f": {exchange.error}" if exchange.error else ""
    return f"It sent {exchange.id} to {exchange.addressee}: {exchange.state}{there}{trouble}."


def _ago(at: int, now: int) -> str:
    told = age(now - at)
    return "just now" if told == "now" else told
