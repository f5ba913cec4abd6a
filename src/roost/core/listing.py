"""A session as a list shows it: one JSON object, from its row alone.

Which sessions are listed, and which links between them a reader may know of, is decided before.
"""

from dataclasses import dataclass

from roost.core.addresses import Address
from roost.core.jsonvalue import JsonValue
from roost.core.recall import derived_title, preview
from roost.core.redaction import SecretScanner, redact
from roost.core.sessions import Session, SessionKind, SessionStatus

INTERNAL, UNKNOWN = "internal", "unknown"
NAME_CHARS = 512

_WITHOUT_CHANNEL = frozenset({SessionKind.CRON, SessionKind.HOOK, SessionKind.NODE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Where a row leads, as its reader may know it; keys in the form the reader is shown."""

    key: str
    parent: str | None = None
    children: tuple[str, ...] = ()
    transcript_path: str | None = None


def session_row(session: Session, links: Links, scanner: SecretScanner) -> dict[str, JsonValue]:
    """The fields that every row has; None is what is not known or not set."""
    labels, overrides, times, counters = session.labels, session.overrides, session.times, session.counters
    return {
        "key": links.key,
        "agentId": session.key.agent or None,
        "kind": str(session.facts.kind),
        "channel": channel_of(session),
        "label": _name(labels.label, scanner),
        "displayName": _name(labels.display_name or labels.subject, scanner),
        "status": str(session.status),
        "updatedAt": times.updated,
        "sessionStartedAt": times.started,
        "lastInteractionAt": times.interacted,
        "sessionId": session.session_id,
        "model": session.summary.model or overrides.model,
        "contextTokens": counters.context_window or None,
        "totalTokens": counters.total or None,
        "thinkingLevel": overrides.thinking,
        "verboseLevel": overrides.verbose,
        "systemSent": session.summary.model is not None,
        "abortedLastRun": session.status is SessionStatus.KILLED,
        "sendPolicy": None if overrides.send_policy is None else str(overrides.send_policy),
        "lastChannel": session.route.channel if session.route else None,
        "lastTo": session.route.to if session.route else None,
        "deliveryContext": None if session.route is None else delivery_context(session.route),
        "transcriptPath": links.transcript_path,
        "parentSessionKey": links.parent,
        "childSessions": list(links.children),
        "spawnDepth": session.lineage.depth,
    }


def channel_of(session: Session) -> str:
    """The channel a row names: a group's own, the last one of a person's session, none for what runs by itself."""
    facts, last = session.facts, session.route.channel if session.route else None
    if facts.kind in _WITHOUT_CHANNEL:
        return INTERNAL
    own = facts.channel or session.origin.provider
    nearest = (own, last) if facts.kind is SessionKind.GROUP else (last, own)
    return next(filter(None, (*nearest, session.key.channel)), UNKNOWN)


def title_of(session: Session, scanner: SecretScanner) -> str | None:
    """What people call a session, else the task it was spawned for, else what was said first in it."""
    labels, terms = session.labels, session.lineage.terms
    task = terms.task if terms else None
    named = labels.label or labels.display_name or labels.subject or task or session.summary.title
    return derived_title(named, scanner) if named else None


def is_found_by(session: Session, search: str, scanner: SecretScanner) -> bool:
    """Whether a text occurs in what a reader may see of key, names and title: nothing is found by guessing a secret."""
    labels = session.labels
    names = (labels.label, labels.display_name, labels.subject, session.summary.title)
    shown = (redact(name, scanner)[0] for name in names if name)
    return any(search.casefold() in text.casefold() for text in (str(session.key), *shown))


def last_message_of(session: Session, scanner: SecretScanner) -> str | None:
    """What was said last in a session, on one line."""
    return preview(session.summary.preview, scanner) if session.summary.preview else None


def delivery_context(address: Address) -> dict[str, JsonValue]:
    thread = {} if address.thread is None else {"threadId": address.thread}
    return {"channel": address.channel, "to": address.to, "accountId": address.account, **thread}


def _name(given: str | None, scanner: SecretScanner) -> str | None:
    return None if given is None else redact(given, scanner)[0][:NAME_CHARS]
