"""A session as a list shows it: one JSON object, from its row alone, and of that only what is shown.

Which sessions are listed, and which links between them a reader may know of, is decided before.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple

from roost.core.addresses import Address
from roost.core.jsonvalue import JsonValue
from roost.core.keys import SessionKey
from roost.core.oneline import PREVIEW_CHARS, TITLE_CHARS, one_line, shortened
from roost.core.queries import Page
from roost.core.redaction import SecretScanner, redact, redact_all
from roost.core.sessions import (
    AS_CONFIGURED,
    Labels,
    Lineage,
    Overrides,
    Session,
    SessionKind,
    SessionStatus,
)

INTERNAL, UNKNOWN = "internal", "unknown"
NAME_CHARS = 512

# An enumeration looks its members up at every mention.
_GROUP, _KILLED = SessionKind.GROUP, SessionStatus.KILLED
_WITHOUT_CHANNEL = frozenset({SessionKind.CRON, SessionKind.HOOK, SessionKind.NODE})
_UNKNOWN: MappingProxyType[str, JsonValue] = MappingProxyType(
    {
        "key": None,
        "agentId": None,
        "kind": None,
        "channel": None,
        "label": None,
        "displayName": None,
        "status": None,
        "updatedAt": None,
        "sessionStartedAt": None,
        "lastInteractionAt": None,
        "sessionId": None,
        "model": None,
        "contextTokens": None,
        "totalTokens": None,
        "thinkingLevel": None,
        "verboseLevel": None,
        "systemSent": False,
        "abortedLastRun": False,
        "sendPolicy": None,
        "lastChannel": None,
        "lastTo": None,
        "deliveryContext": None,
        "transcriptPath": None,
        "parentSessionKey": None,
        "childSessions": (),
        "spawnDepth": 0,
    }
)
"""A row of which nothing is known yet, in the order of its fields."""


class Sayings(NamedTuple):
    """What was said first and last in a session, and the model that answered."""

    title: str | None
    preview: str | None
    model: str | None


class Glance(NamedTuple):
    """What of a session a list shows; the names are those of its parts. A tuple, because a store makes one of every row
    it reads. `channel` is its own, else the one where it was first met."""

    key: SessionKey
    session_id: str
    kind: SessionKind
    channel: str | None
    labels: Labels
    route: Address | None
    overrides: Overrides
    lineage: Lineage
    started: int
    updated: int
    interacted: int
    sayings: Sayings
    status: SessionStatus
    total: int
    context_window: int


def glance_at(session: Session) -> Glance:
    times, summary = session.times, session.summary
    return Glance(
        key=session.key,
        session_id=session.session_id,
        kind=session.facts.kind,
        channel=session.facts.channel or session.origin.provider,
        labels=session.labels,
        route=session.route,
        overrides=session.overrides,
        lineage=session.lineage,
        started=times.started,
        updated=times.updated,
        interacted=times.interacted,
        sayings=Sayings(summary.title, summary.preview, summary.model),
        status=session.status,
        total=session.counters.total,
        context_window=session.counters.context_window,
    )


class Overview(NamedTuple):
    """A page of sessions, and those below the sessions on it, newest activity first, by their parent."""

    page: Page[Glance]
    children: Mapping[SessionKey, Sequence[SessionKey]]


_WORDED = attrgetter("labels", "lineage", "sayings")


class Words(NamedTuple):
    """What people call a session, its task or what was said first, and what was said last in it, the latter two on one
    line, without secrets; empty where there is none."""

    label: str
    name: str
    first: str
    last: str


def words_of(sessions: Sequence[Glance], scanner: SecretScanner) -> list[Words]:
    """The words of many sessions; looking through all of them at once costs little more than through one."""
    # In one go and without a constructor's call, as a list has many rows.
    said: list[Words] = [
        tuple.__new__(
            Words,
            (
                labels.label or "",
                labels.display_name or labels.subject or "",
                (terms.task if (terms := lineage.terms) else "") or title or "",
                preview or "",
            ),
        )
        for labels, lineage, (title, preview, _) in map(_WORDED, sessions)
    ]
    texts = [*chain.from_iterable(said)]
    readable = redact_all(texts, scanner)
    if readable is texts:
        return said
    each = iter(readable)
    return [Words(*four) for four in zip(each, each, each, each, strict=True)]


def session_row(session: Glance, shown: str, words: Words) -> dict[str, JsonValue]:
    """The fields that every row has, under the key as its reader is shown it; None is what is not known or not set.
    Where it leads is added for those who may know."""
    # Taken apart at once and filled in: a list has many rows, and most of what they could have is not set.
    (key, session_id, kind, own, _, route, overrides, lineage, started, updated, interacted) = session[:11]
    (sayings, status, total, window) = session[11:]
    model = sayings.model
    label, name, _, _ = words
    row = _UNKNOWN.copy()
    row["key"] = shown
    row["agentId"] = key.agent or None
    row["kind"] = kind
    row["channel"] = _channel(kind, own, route) or key.channel or UNKNOWN
    if label:
        row["label"] = label[:NAME_CHARS]
    if name:
        row["displayName"] = name[:NAME_CHARS]
    row["status"] = status
    row["updatedAt"] = updated
    row["sessionStartedAt"] = started
    row["lastInteractionAt"] = interacted
    row["sessionId"] = session_id
    row["model"] = model or overrides.model
    row["systemSent"] = model is not None
    if window:
        row["contextTokens"] = window
    if total:
        row["totalTokens"] = total
    if status is _KILLED:
        row["abortedLastRun"] = True
    if overrides is not AS_CONFIGURED:
        row["thinkingLevel"] = overrides.thinking
        row["verboseLevel"] = overrides.verbose
        row["sendPolicy"] = overrides.send_policy
    if route is not None:
        row["lastChannel"] = route.channel
        row["lastTo"] = route.to
        row["deliveryContext"] = delivery_context(route)
    if lineage.depth:
        row["spawnDepth"] = lineage.depth
    return row


def _channel(kind: SessionKind, own: str | None, route: Address | None) -> str | None:
    """The channel a row names: a group's own, the last one of a person's session, none for what runs by itself."""
    if kind in _WITHOUT_CHANNEL:
        return INTERNAL
    last = route.channel if route else None
    return own or last if kind is _GROUP else last or own


def title_of(words: Words) -> str | None:
    """What people call a session, else the task it was spawned for, else what was said first in it."""
    label, name, first, _ = words
    called = label or name
    return (one_line(called, TITLE_CHARS) if called else shortened(first, TITLE_CHARS)) or None


def is_found_by(session: Glance, search: str, scanner: SecretScanner) -> bool:
    """Whether a text occurs in what a reader may see of key, names and title: nothing is found by guessing a secret."""
    labels = session.labels
    names = (labels.label, labels.display_name, labels.subject, session.sayings.title)
    shown = (redact(name, scanner)[0] for name in names if name)
    return any(search.casefold() in text.casefold() for text in (str(session.key), *shown))


def last_message_of(words: Words) -> str | None:
    """What was said last in a session, on one line."""
    return shortened(words.last, PREVIEW_CHARS) or None


def delivery_context(address: Address) -> dict[str, JsonValue]:
    thread = {} if address.thread is None else {"threadId": address.thread}
    return {"channel": address.channel, "to": address.to, "accountId": address.account, **thread}
