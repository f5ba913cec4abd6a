"""Where a message stands in the one timeline of a session."""

from dataclasses import dataclass

from roost.core.entries import Entry
from roost.core.errors import NotFound
from roost.core.queries import HistoryQuery
from roost.core.sessions import Session
from roost.server.calls import Call

PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePlace:
    """`newer` entries stand behind it; the newest of all is of the generation `newest`."""

    entry: Entry
    newer: int
    newest: str


async def place_of(
    call: Call, session: Session, entry_id: str, session_id: str | None = None
) -> MessagePlace:
    """In all its generations, or in one. Raises `NotFound`."""
    query, newer, newest = HistoryQuery(key=session.key, session_id=session_id, limit=PAGE), 0, ""
    while True:
        page = await call.house.store.history(query)
        entries = page.entries
        newest = newest or (entries[-1].session_id if entries else "")
        for index in range(len(entries) - 1, -1, -1):
            if entries[index].id == entry_id:
                return MessagePlace(
                    entry=entries[index], newer=newer + len(entries) - 1 - index, newest=newest
                )
        if page.before is None:
            raise NotFound(f"No message found: {entry_id}", hint="read the conversation again")
        newer += len(entries)
        query = HistoryQuery(key=session.key, session_id=session_id, before=page.before, limit=PAGE)
