"""A session as clients are shown it in lists and events."""

from collections.abc import Sequence

from roost.core.addresses import ChatType
from roost.core.figures import MICROS
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.keys import KeyKind
from roost.core.listing import Readable, glance_at, last_message_of, readable, session_row, title_of
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
# What the wire knows by the same name in another sense, and what is left out.
_RENAMED = frozenset({"status", "model", "totalTokens"})
_NOTHING: tuple[JsonValue, ...] = (None, ())


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
        shared = session_row(glance, str(session.key))
        row: dict[str, JsonValue] = {
            **{
                name: value
                for name, value in shared.items()
                if name not in _RENAMED and value not in _NOTHING
            },
            **self._own(session),
        }
        if titles:
            row["derivedTitle"] = title_of(glance) or str(session.key)
        if last and (preview := last_message_of(glance)):
            row["lastMessagePreview"] = preview
        return row

    def _own(self, session: Session) -> JsonObject:
        """What the wire calls by another name, or knows besides."""
        times, counters = session.times, session.counters
        parent = None if session.lineage.parent is None else str(session.lineage.parent)
        provider, _, model = (session.overrides.model or session.summary.model or "").partition("/")
        optional: dict[str, JsonValue] = {
            "status": _STATUS[session.status],
            "archivedAt": times.archived,
            "pinnedAt": times.pinned,
            "modelProvider": provider or None,
            "model": model or provider or None,
            "chatType": None if session.facts.chat_type is None else str(session.facts.chat_type),
            "reasoningLevel": session.overrides.reasoning,
            "responseUsage": session.overrides.usage,
            "parentSessionKey": parent,
            "spawnedBy": parent,
        }
        return {
            "kind": kind_of(session),
            "classification": str(session.facts.kind),
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
            **{name: value for name, value in optional.items() if value is not None},
        }


def kind_of(session: Session) -> str:
    match session.key.kind:
        case KeyKind.GLOBAL | KeyKind.UNKNOWN as kind:
            return str(kind)
        case _ if session.facts.chat_type in (ChatType.GROUP, ChatType.CHANNEL):
            return "group"
        case _:
            return "direct"
