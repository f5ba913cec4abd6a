"""A page of sessions as a tool tells it. It is made where its rows are read: to hand over many small values from one thread
to another costs more than to make one text of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from roost.core.jsonvalue import JsonValue
from roost.core.keys import SessionKey
from roost.core.listing import (
    Glance,
    Overview,
    Readable,
    is_found_by,
    last_message_of,
    readable,
    session_row,
    title_of,
)
from roost.core.redaction import SecretScanner
from roost.core.references import Viewpoint, display_all
from roost.tools.outcomes import written

RESULT_BYTES = 160 << 10
ROOM = RESULT_BYTES - (4 << 10)
"""What rows may take beside what is told of the list as a whole."""

TranscriptPath: TypeAlias = Callable[[Glance], str | None]
Row: TypeAlias = dict[str, JsonValue]
Children: TypeAlias = Mapping[SessionKey, Sequence[SessionKey]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """Sessions as they are told, and the offset behind each; whether some are told without all of their children (`childless`). A page of which no more is to be said, and which has room, is
    its `text` alone: JSON, without what stands around it. Any other is rows, of each the key and of some the parent."""

    offset: int
    offsets: Sequence[int]
    more: bool
    childless: bool = False
    text: bytes | None = None
    rows: Sequence[Row] = ()
    keys: Sequence[SessionKey] = ()
    parents: Mapping[int, SessionKey] = field(default_factory=dict)

    def offset_behind(self, count: int) -> int:
        """Where to go on after so many of them."""
        return self.offsets[count - 1] if count else self.offset

    def joined(self, following: "SessionPage") -> "SessionPage":
        behind = len(self.rows)
        return SessionPage(
            offset=self.offset,
            rows=[*self.rows, *following.rows],
            keys=[*self.keys, *following.keys],
            offsets=[*self.offsets, *following.offsets],
            more=following.more,
            childless=self.childless or following.childless,
            parents={**self.parents, **{behind + place: key for place, key in following.parents.items()}},
        )

    def first(self, count: int) -> "SessionPage":
        return SessionPage(
            offset=self.offset,
            rows=self.rows[:count],
            keys=self.keys[:count],
            offsets=self.offsets[:count],
            more=self.more or len(self.rows) > count,
            childless=self.childless,
            parents={place: key for place, key in self.parents.items() if place < count},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PageShape:
    """What a page looks like to somebody. `alone`: no messages will be added to its rows."""

    scanner: SecretScanner
    transcript_path: TranscriptPath
    viewpoint: Viewpoint
    search: str | None
    titled: bool
    last: bool
    alone: bool

    def page(self, offset: int, overview: Overview) -> SessionPage:
        sessions = readable(overview.page.rows, self.scanner)
        offsets: Sequence[int] = range(offset + 1, offset + 1 + len(sessions))
        if self.search is not None:
            found = [place for place, row in enumerate(sessions) if is_found_by(row, self.search)]
            sessions, offsets = [sessions[place] for place in found], [offsets[place] for place in found]
        more, rows = overview.page.more, self._rows(sessions, overview.children)
        childless = overview.more_children
        parents = {
            place: parent
            for place, session in enumerate(sessions)
            if (parent := session.given.lineage.parent) is not None
        }
        if self.alone and self.search is None and not parents and len(text := written(rows)) <= ROOM:
            # Without the rows: what is not handed over is let go of where it is at hand.
            return SessionPage(
                offset=offset, offsets=offsets, more=more, childless=childless, text=text[1:-1]
            )
        return SessionPage(
            offset=offset,
            offsets=offsets,
            more=more,
            childless=childless,
            rows=rows,
            keys=[session.key for session in sessions],
            parents=parents,
        )

    def _rows(self, sessions: Sequence[Readable], children: Children) -> list[Row]:
        names = display_all([session.key for session in sessions], self.viewpoint)
        rows: list[Row] = []
        for session, name in zip(sessions, names, strict=True):
            row = session_row(session, name)
            row["transcriptPath"] = self.transcript_path(session)
            if self.titled:
                row["derivedTitle"] = title_of(session)
            if self.last:
                row["lastMessagePreview"] = last_message_of(session)
            rows.append(row)
        if children:
            for row, session in zip(rows, sessions, strict=True):
                row["childSessions"] = display_all(children.get(session.key, ()), self.viewpoint)
        return rows
