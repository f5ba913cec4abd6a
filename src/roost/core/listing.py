"""A session as a list shows it: one JSON object, from its row alone, and of that only what is shown.

Which sessions are listed, and which links between them a reader may know of, is decided before.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from roost.core.addresses import Address
from roost.core.jsonvalue import JsonValue
from roost.core.keys import SessionKey
from roost.core.oneline import PREVIEW_CHARS, TITLE_CHARS, one_line, shortened
from roost.core.queries import Page
from roost.core.redaction import SecretScanner, redact, redact_all
from roost.core.sessions import (
    Labels,
    Lineage,
    Overrides,
    Session,
    SessionKind,
    SessionStatus,
    Summary,
    Times,
)

INTERNAL, UNKNOWN = "internal", "unknown"
NAME_CHARS = 512

_WITHOUT_CHANNEL = (SessionKind.CRON, SessionKind.HOOK, SessionKind.NODE)


class Glance(NamedTuple):
    """What of a session a list shows; the names are those of its parts. A tuple, because a store makes one of every row
    it reads. `provider` is where it was first met."""

    key: SessionKey
    session_id: str
    kind: SessionKind
    channel: str | None
    provider: str | None
    labels: Labels
    route: Address | None
    overrides: Overrides
    lineage: Lineage
    times: Times
    summary: Summary
    status: SessionStatus
    total: int
    context_window: int


def glance_at(session: Session) -> Glance:
    return Glance(
        key=session.key,
        session_id=session.session_id,
        kind=session.facts.kind,
        channel=session.facts.channel,
        provider=session.origin.provider,
        labels=session.labels,
        route=session.route,
        overrides=session.overrides,
        lineage=session.lineage,
        times=session.times,
        summary=session.summary,
        status=session.status,
        total=session.counters.total,
        context_window=session.counters.context_window,
    )


class Overview(NamedTuple):
    """A page of sessions, and those below the sessions on it, newest activity first, by their parent."""

    page: Page[Glance]
    children: Mapping[SessionKey, Sequence[SessionKey]]


class Links(NamedTuple):
    """Where a row leads, as its reader may know it; keys in the form the reader is shown."""

    key: str
    parent: str | None = None
    children: tuple[str, ...] = ()
    transcript_path: str | None = None


class Words(NamedTuple):
    """What people call a session, its task or what was said first, and what was said last in it, the latter two on one
    line, without secrets; empty where there is none."""

    label: str
    name: str
    first: str
    last: str


def words_of(sessions: Sequence[Glance], scanner: SecretScanner) -> list[Words]:
    """The words of many sessions; looking through all of them at once costs little more than through one."""
    said: list[str] = []
    for session in sessions:
        labels, terms, summary = session.labels, session.lineage.terms, session.summary
        name = labels.display_name or labels.subject
        first = (terms.task if terms else None) or summary.title
        said += (labels.label or "", name or "", first or "", summary.preview or "")
    readable = iter(redact_all(said, scanner))
    return list(map(Words, readable, readable, readable, readable))


def session_row(session: Glance, links: Links, words: Words) -> dict[str, JsonValue]:
    """The fields that every row has; None is what is not known or not set."""
    times, route, overrides = session.times, session.route, session.overrides
    model, status = session.summary.model, session.status
    return {
        "key": links.key,
        "agentId": session.key.agent or None,
        "kind": str(session.kind),
        "channel": channel_of(session),
        "label": words.label[:NAME_CHARS] or None,
        "displayName": words.name[:NAME_CHARS] or None,
        "status": str(status),
        "updatedAt": times.updated,
        "sessionStartedAt": times.started,
        "lastInteractionAt": times.interacted,
        "sessionId": session.session_id,
        "model": model or overrides.model,
        "contextTokens": session.context_window or None,
        "totalTokens": session.total or None,
        "thinkingLevel": overrides.thinking,
        "verboseLevel": overrides.verbose,
        "systemSent": model is not None,
        "abortedLastRun": status is SessionStatus.KILLED,
        "sendPolicy": None if overrides.send_policy is None else str(overrides.send_policy),
        "lastChannel": route.channel if route else None,
        "lastTo": route.to if route else None,
        "deliveryContext": delivery_context(route) if route else None,
        "transcriptPath": links.transcript_path,
        "parentSessionKey": links.parent,
        "childSessions": list(links.children),
        "spawnDepth": session.lineage.depth,
    }


def channel_of(session: Glance) -> str:
    """The channel a row names: a group's own, the last one of a person's session, none for what runs by itself."""
    kind, last = session.kind, session.route.channel if session.route else None
    if kind in _WITHOUT_CHANNEL:
        return INTERNAL
    own = session.channel or session.provider
    nearest = own or last if kind is SessionKind.GROUP else last or own
    return nearest or session.key.channel or UNKNOWN


def title_of(words: Words) -> str | None:
    """What people call a session, else the task it was spawned for, else what was said first in it."""
    called = words.label or words.name
    return (one_line(called, TITLE_CHARS) if called else shortened(words.first, TITLE_CHARS)) or None


def is_found_by(session: Glance, search: str, scanner: SecretScanner) -> bool:
    """Whether a text occurs in what a reader may see of key, names and title: nothing is found by guessing a secret."""
    labels = session.labels
    names = (labels.label, labels.display_name, labels.subject, session.summary.title)
    shown = (redact(name, scanner)[0] for name in names if name)
    return any(search.casefold() in text.casefold() for text in (str(session.key), *shown))


def last_message_of(words: Words) -> str | None:
    """What was said last in a session, on one line."""
    return shortened(words.last, PREVIEW_CHARS) or None


def delivery_context(address: Address) -> dict[str, JsonValue]:
    thread = {} if address.thread is None else {"threadId": address.thread}
    return {"channel": address.channel, "to": address.to, "accountId": address.account, **thread}
