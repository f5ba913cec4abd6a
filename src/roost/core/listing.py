"""A session as a list shows it: one JSON object, from its row alone, and of that only what is shown.

Which sessions are listed, and which links between them a reader may know of, is decided before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple, NewType, cast

from roost.core.addresses import Address, ChatType
from roost.core.jsonvalue import JsonValue
from roost.core.keys import SessionKey
from roost.core.oneline import PREVIEW_CHARS, TITLE_CHARS, one_line, shortened
from roost.core.queries import Page
from roost.core.redaction import SecretScanner, redact_all
from roost.core.sessions import (
    Counters,
    Labels,
    Lineage,
    Overrides,
    Session,
    SessionKind,
    SessionStatus,
    Times,
    task_of,
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


class Given(NamedTuple):
    """What few sessions were given: names, settings, a parent."""

    labels: Labels = Labels()
    overrides: Overrides = Overrides()
    lineage: Lineage = Lineage()


NOTHING_GIVEN = Given()
_NO_LABELS, _NO_OVERRIDES, _NO_LINEAGE = NOTHING_GIVEN


class Glance(NamedTuple):
    """What of a session a list shows; the names are those of its parts. A flat tuple, because a store makes one of every
    row it reads. `channel` is its own, else the one where it was first met."""

    key: SessionKey
    session_id: str
    kind: SessionKind
    channel: str | None
    chat_type: ChatType | None
    given: Given
    route: Address | None
    times: Times
    title: str | None
    preview: str | None
    model: str | None
    status: SessionStatus
    counters: Counters


Readable = NewType("Readable", Glance)
"""A glance whose words have no secrets in them: only such a one is shown."""


def glance_at(session: Session) -> Glance:
    facts, summary = session.facts, session.summary
    labels, overrides, lineage = session.labels, session.overrides, session.lineage
    nothing = labels is _NO_LABELS and overrides is _NO_OVERRIDES and lineage is _NO_LINEAGE
    # By place: names cost as much again, and a list has many rows.
    return Glance(
        session.key,
        session.session_id,
        facts.kind,
        facts.channel or session.origin.provider,
        facts.chat_type,
        NOTHING_GIVEN if nothing else Given(labels, overrides, lineage),
        session.route,
        session.times,
        summary.title,
        summary.preview,
        summary.model,
        session.status,
        session.counters,
    )


class Overview(NamedTuple):
    """A page of sessions, and those below the sessions on it, newest activity first, by their parent; whether there are
    `more_children` than were asked for."""

    page: Page[Glance]
    children: Mapping[SessionKey, Sequence[SessionKey]]
    more_children: bool = False


_NAMES = attrgetter("label", "display_name", "subject")
_WORDED = attrgetter("given", "title", "preview")


def readable(sessions: Sequence[Glance], scanner: SecretScanner) -> Sequence[Readable]:
    """The same sessions without secrets in their words; looking through all of them at once costs little more than
    through one."""
    words: list[str | None] = []
    for given, title, preview in map(_WORDED, sessions):
        words.append(title)
        words.append(preview)
        if given is not NOTHING_GIVEN:
            words += (*_NAMES(given.labels), _task(given))
    texts = [*filter(None, words)]
    masked = redact_all(texts, scanner)
    if masked is texts:
        return cast(Sequence[Readable], sessions)
    shown = dict(zip(texts, masked, strict=True))
    return [_masked(session, shown) for session in sessions]


def _masked(session: Glance, shown: Mapping[str, str]) -> Readable:
    """A session with each of its words as it is shown."""
    given, *said = _WORDED(session)
    title, preview, label, name, subject = (text and shown[text] for text in (*said, *_NAMES(given.labels)))
    if task := _task(given):
        terms = replace(given.lineage.terms, task=shown[task])
        given = given._replace(lineage=replace(given.lineage, terms=terms))
    labels = replace(given.labels, label=label, display_name=name, subject=subject)
    return Readable(session._replace(given=given._replace(labels=labels), title=title, preview=preview))


def called(labels: Labels, task: str | None, first: str | None) -> tuple[str | None, ...]:
    """What a session may be called: by the names people gave it, else by the task it was spawned for, else by what was
    said first in it. How its task was put to a child is nobody's name for it."""
    return (*_NAMES(labels), task or first)


def _task(given: Given) -> str | None:
    return task_of(given.lineage)


def session_row(session: Readable, shown: str) -> dict[str, JsonValue]:
    """The fields that every row has; None is what is not known or not set."""
    row = _UNKNOWN.copy()
    row.update(known_row(session, shown))
    row["kind"] = session.kind
    row["status"] = session.status
    row["model"] = played_by(session)
    return row


def known_row(session: Readable, shown: str) -> dict[str, JsonValue]:
    """What is known and set of a session and everybody calls the same, under the key as its reader is shown it. Where it
    leads is added for those who may know."""
    # Taken apart at once and filled in: a list has many rows, and most of what they could have is not set.
    key, session_id, kind, own, _, given, route, times, _, _, model, status, counters = session
    total, window = counters.total, counters.context_window
    row: dict[str, JsonValue] = {
        "key": shown,
        "channel": _channel(kind, own, route) or key.channel or UNKNOWN,
        "updatedAt": times.updated,
        "sessionStartedAt": times.started,
        "lastInteractionAt": times.interacted,
        "sessionId": session_id,
        "systemSent": model is not None,
        "abortedLastRun": status is _KILLED,
        "spawnDepth": given.lineage.depth,
    }
    if key.agent:
        row["agentId"] = key.agent
    if window:
        row["contextTokens"] = window
    if total:
        row["totalTokens"] = total
    if route is not None:
        row["lastChannel"] = route.channel
        row["lastTo"] = route.to
        row["deliveryContext"] = delivery_context(route)
    if given is not NOTHING_GIVEN:
        labels, overrides, _ = given
        row |= {
            name: value
            for name, value in (
                ("label", _name(labels.label)),
                ("displayName", _name(labels.display_name or labels.subject)),
                ("thinkingLevel", overrides.thinking),
                ("verboseLevel", overrides.verbose),
                ("sendPolicy", overrides.send_policy),
            )
            if value is not None
        }
    return row


def played_by(session: Readable) -> str | None:
    """The model that answered last, else the one that is to."""
    return session.model or session.given.overrides.model


def _name(text: str | None) -> str | None:
    return text[:NAME_CHARS] if text else None


def _channel(kind: SessionKind, own: str | None, route: Address | None) -> str | None:
    """The channel a row names: a group's own, the last one of a person's session, none for what runs by itself."""
    if kind in _WITHOUT_CHANNEL:
        return INTERNAL
    last = route.channel if route else None
    return own or last if kind is _GROUP else last or own


def title_of(session: Readable) -> str | None:
    """The first of what a session may be called."""
    given, first = session.given, session.title
    if given is not NOTHING_GIVEN:
        *names, first = called(given.labels, _task(given), first)
        if name := next(filter(None, names), None):
            return one_line(name, TITLE_CHARS) or None
    return shortened(first, TITLE_CHARS) if first else None


def is_found_by(session: Readable, search: str) -> bool:
    """Whether a text occurs in what a reader may see of key, names and title: nothing is found by guessing a secret."""
    given = session.given
    names = (session.key.text, *called(given.labels, _task(given), session.title))
    return any(search.casefold() in name.casefold() for name in names if name)


def last_message_of(session: Readable) -> str | None:
    """What was said last in a session, on one line."""
    return shortened(session.preview, PREVIEW_CHARS) if session.preview else None


def delivery_context(address: Address) -> dict[str, JsonValue]:
    thread = {} if address.thread is None else {"threadId": address.thread}
    return {"channel": address.channel, "to": address.to, "accountId": address.account, **thread}
