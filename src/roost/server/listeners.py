"""What those who listen to a session are told of what is stored in it: each entry once, in its order."""

from collections.abc import Callable
from typing import TypeAlias

from roost.core.entries import Entry
from roost.core.errors import InvalidInput
from roost.core.events import Event, EventKind
from roost.core.feeds import Anchor, News
from roost.core.jsonvalue import JsonObject
from roost.core.keys import SessionKey
from roost.core.sessions import Session
from roost.protocol.convert.messages import fitting, message_row
from roost.protocol.events import MESSAGE, Audience, WireEvent
from roost.server.clients import Connected
from roost.server.house import House
from roost.server.telling import Telling

PAGE = 100
MOST_CHARS = 100_000
MOST_LISTENS = 2_000
"""How many sessions one connection may listen to."""

Cut: TypeAlias = Callable[[tuple[Event, ...]], tuple[Event, ...]]


class Listeners:
    """Knows how far each session that somebody listens to was told."""

    def __init__(self, house: House, telling: Telling) -> None:
        self._house = house
        self._telling = telling
        self._read: dict[SessionKey, int] = {}

    def __contains__(self, key: SessionKey) -> bool:
        return key in self._read

    @property
    def keys(self) -> tuple[SessionKey, ...]:
        return tuple(self._read)

    def begin(self, client: Connected, session: Session | None, key: SessionKey) -> None:
        """A client listens to a session, from how it was read on."""
        if key not in client.listens and len(client.listens) >= MOST_LISTENS:
            raise InvalidInput(
                f"this connection listens to {MOST_LISTENS} sessions already",
                hint="unsubscribe from some of them, or ask for all changes with sessions.subscribe",
            )
        self._read.setdefault(key, session.events if session else 0)
        client.listens.add(key)

    def end(self, client: Connected, key: SessionKey) -> None:
        client.listens.discard(key)
        self.forget_unheard(key)

    def forget_unheard(self, key: SessionKey) -> None:
        if not self._house.clients.listeners(key):
            self._read.pop(key, None)

    async def tell(self, key: SessionKey, cut: Cut, session: Session | None = None) -> None:
        """Tell what was stored in a session since that was told last, as far as its turn has come. A session that was just
        read need not be asked whether there is anything."""
        after = self._read.get(key)
        if after is None or (session is not None and session.events <= after):
            return
        news = await self._house.store.news(key, after=after, limit=PAGE)
        if len(news.events) < PAGE:
            self._tell_stored(key, after, news._replace(events=cut(news.events)))
            return
        events = cut((*news.events, *await self._behind(news.events[-1])))
        for first in range(0, len(events), PAGE):
            told, after = events[first : first + PAGE], self._read.get(key)
            if after is not None and after < told[0].number:
                more = await self._house.store.news(key, after=told[0].number - 1, limit=len(told))
                self._tell_stored(key, after, more)

    async def _behind(self, last: Event) -> tuple[Event, ...]:
        events: list[Event] = []
        page: tuple[Event, ...] = (last,)
        while page:
            page = await self._house.store.events(last.key, after=page[-1].number, limit=PAGE)
            events += page
        return tuple(events)

    def _tell_stored(self, key: SessionKey, after: int, news: News) -> None:
        if not news.events or self._read.get(key) != after:
            # Nobody listens any more, or somebody anew, from a later moment on.
            return
        self._read[key] = news.events[-1].number
        if news.session is not None and news.entries:
            named = {event.ref for event in news.events if event.kind is EventKind.ENTRY}
            shown = self._house.rows.row(news.session)
            told = (self._message(key, shown, entry) for entry in news.entries if entry.id in named)
            self._telling.seen(news.session, *(event for event in told if event))

    def _message(self, key: SessionKey, shown: JsonObject, entry: Entry) -> WireEvent | None:
        """What is told of an entry, if it is one that clients are shown."""
        name = self._house.sends.name(entry.run_id) if entry.run_id else None
        message = message_row(entry, name, MOST_CHARS, self._house.scanner)
        if message is None:
            return None
        payload: JsonObject = {
            "sessionKey": str(key),
            "agentId": key.agent,
            "message": fitting(message)[0],
            "messageId": entry.id,
            "messageSeq": entry.seq,
            "session": shown,
        }
        return WireEvent(name=MESSAGE, payload=payload, audience=Audience.LISTENERS, key=key)


def everything(events: tuple[Event, ...]) -> tuple[Event, ...]:
    return events


def as_of(session: Session) -> Cut:
    """What was stored when a session was read."""
    return lambda events: tuple(event for event in events if event.number <= session.events)


def until(anchor: Anchor) -> Cut:
    """What was stored before something was shown. If that was told already, the rest comes later."""

    def cut(events: tuple[Event, ...]) -> tuple[Event, ...]:
        found = [place for place, event in enumerate(events) if anchor.marks(event)]
        return events[: found[-1] + 1] if found else ()

    return cut
