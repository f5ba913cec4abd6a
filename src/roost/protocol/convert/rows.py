"""A session as clients are shown it in lists and events."""

from collections.abc import Sequence

from roost.core.addresses import ChatType
from roost.core.figures import MICROS
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import KeyKind
from roost.core.listing import Readable, glance_at, known_row, last_message_of, readable, title_of
from roost.core.redaction import SecretScanner
from roost.core.sessions import Session, SessionStatus

_STATUS = {
    SessionStatus.IDLE: None,
    SessionStatus.QUEUED: "queued",
    SessionStatus.PARKED: "queued",
    SessionStatus.RUNNING: "running",
    SessionStatus.DONE: "done",
    SessionStatus.FAILED: "failed",
    SessionStatus.KILLED: "killed",
    SessionStatus.TIMEOUT: "timeout",
    SessionStatus.INTERRUPTED: "failed",
}
_ROOMS = frozenset({ChatType.GROUP, ChatType.CHANNEL})
_UNSCOPED = frozenset({KeyKind.GLOBAL, KeyKind.UNKNOWN})


class Rows:
    """Writes rows: one scanner masks what people are called, one name tells the main sessions."""

    def __init__(self, scanner: SecretScanner, main_name: str) -> None:
        self._scanner = scanner
        self._main_name = main_name

    def row(self, session: Session, *, titles: bool = False, last: bool = False) -> JsonObject:
        (row,) = self.rows((session,), titles=titles, last=last)
        return row

    def rows(
        self, sessions: Sequence[Session], *, titles: bool = False, last: bool = False
    ) -> list[JsonObject]:
        """What is not known or not set is left out."""
        shown = readable([glance_at(session) for session in sessions], self._scanner)
        return [self._row(*each, titles, last) for each in zip(sessions, shown, strict=True)]

    def _row(self, session: Session, glance: Readable, titles: bool, last: bool) -> JsonObject:
        row = known_row(glance, session.key.text)
        # What the wire knows by the same name in another sense.
        del row["status"]
        row.pop("model", None)
        row |= self._own(session)
        if titles:
            row["derivedTitle"] = title_of(glance) or str(session.key)
        if last and (preview := last_message_of(glance)):
            row["lastMessagePreview"] = preview
        return row

    def _own(self, session: Session) -> JsonObject:
        """What the wire calls by another name, or knows besides."""
        facts, times, counters = session.facts, session.times, session.counters
        row: dict[str, JsonValue] = {
            "kind": kind_of(session),
            "classification": facts.kind,
            "isMain": session.key.is_main(self._main_name),
            "createdAt": times.created,
            "archived": times.archived is not None,
            "pinned": times.pinned is not None,
            "unread": False,
            "hasActiveRun": session.status.active,
            "inputTokens": counters.input,
            "outputTokens": counters.output,
            "totalTokens": counters.total,
            "totalTokensFresh": counters.total > 0,
            "estimatedCostUsd": counters.cost_micros / MICROS,
            "lifecycleRevision": session.session_id,
        }
        # One after another: most sessions have none of them, and a list has many rows.
        if (status := _STATUS[session.status]) is not None:
            row["status"] = status
        if times.archived is not None:
            row["archivedAt"] = times.archived
        if times.pinned is not None:
            row["pinnedAt"] = times.pinned
        if played := session.overrides.model or session.summary.model:
            provider, _, model = played.partition("/")
            row |= {"modelProvider": provider, "model": model or provider}
        if facts.chat_type is not None:
            row["chatType"] = facts.chat_type
        if session.overrides.reasoning is not None:
            row["reasoningLevel"] = session.overrides.reasoning
        if session.overrides.usage is not None:
            row["responseUsage"] = session.overrides.usage
        if (parent := session.lineage.parent) is not None:
            row |= {"parentSessionKey": parent.text, "spawnedBy": parent.text}
        return row


def kind_of(session: Session) -> str:
    if session.key.kind in _UNSCOPED:
        return session.key.kind
    return "group" if session.facts.chat_type in _ROOMS else "direct"
