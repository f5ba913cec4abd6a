"""A session as clients are shown it in lists and events."""

from collections.abc import Sequence

from roost.core.addresses import ChatType
from roost.core.figures import MICROS
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.listing import (
    NOTHING_GIVEN,
    Given,
    Glance,
    Readable,
    glance_at,
    known_row,
    last_message_of,
    readable,
    title_of,
)
from roost.core.redaction import SecretScanner
from roost.core.sessions import Session, SessionStatus

_IDLE, _DIRECT = SessionStatus.IDLE, ChatType.DIRECT
_STATUS = {
    SessionStatus.QUEUED: "queued",
    SessionStatus.PARKED: "queued",
    SessionStatus.RUNNING: "running",
    SessionStatus.DONE: "done",
    SessionStatus.FAILED: "failed",
    SessionStatus.KILLED: "killed",
    SessionStatus.TIMEOUT: "timeout",
    SessionStatus.INTERRUPTED: "failed",
}


class Rows:
    """Writes rows: one scanner masks what people are called, one name tells the main sessions."""

    def __init__(self, scanner: SecretScanner, main_name: str) -> None:
        self._scanner = scanner
        self._main_name = main_name

    def row(self, session: Session, *, titles: bool = False, last: bool = False) -> JsonObject:
        (row,) = self.rows((glance_at(session),), titles=titles, last=last)
        return row

    def rows(
        self, sessions: Sequence[Glance], *, titles: bool = False, last: bool = False
    ) -> list[JsonObject]:
        """What is not known or not set is left out."""
        return [self._row(session, titles, last) for session in readable(sessions, self._scanner)]

    def _row(self, session: Readable, titles: bool, last: bool) -> JsonObject:
        row = known_row(session, session.key.text)
        self._add_own(row, session)
        if titles:
            row["derivedTitle"] = title_of(session) or session.key.text
        if last and (preview := last_message_of(session)):
            row["lastMessagePreview"] = preview
        return row

    def _add_own(self, row: dict[str, JsonValue], session: Readable) -> None:
        """What the wire calls by another name, or knows besides."""
        status, times, counters = session.status, session.times, session.counters
        row["kind"] = kind_of(session)
        row["classification"] = session.kind
        row["isMain"] = session.key.is_main(self._main_name)
        row["createdAt"] = times.created
        row["archived"] = times.archived is not None
        row["pinned"] = times.pinned is not None
        row["unread"] = False
        row["hasActiveRun"] = False
        row["inputTokens"] = counters.input
        row["outputTokens"] = counters.output
        row["totalTokens"] = counters.total
        row["totalTokensFresh"] = counters.total > 0
        row["estimatedCostUsd"] = counters.cost_micros / MICROS
        row["lifecycleRevision"] = session.session_id
        # One after another: most sessions have none of them, and a list has many rows.
        if status is not _IDLE:
            row |= {"status": _STATUS[status], "hasActiveRun": status.active}
        if times.archived is not None:
            row["archivedAt"] = times.archived
        if times.pinned is not None:
            row["pinnedAt"] = times.pinned
        if session.chat_type is not None:
            row["chatType"] = session.chat_type
        given = session.given
        if played := given.overrides.model or session.model:
            provider, _, model = played.partition("/")
            row |= {"modelProvider": provider, "model": model or provider}
        if given is not NOTHING_GIVEN:
            row |= _given(given)


def _given(given: Given) -> JsonObject:
    overrides, parent = given.overrides, given.lineage.parent
    row: dict[str, JsonValue] = {}
    if overrides.reasoning is not None:
        row["reasoningLevel"] = overrides.reasoning
    if overrides.usage is not None:
        row["responseUsage"] = overrides.usage
    if parent is not None:
        row |= {"parentSessionKey": parent.text, "spawnedBy": parent.text}
    return row


def kind_of(session: Glance) -> str:
    if not session.key.agent:
        return session.key.kind
    return "direct" if session.chat_type is None or session.chat_type is _DIRECT else "group"
