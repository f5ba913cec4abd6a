"""Those who are connected, and what each is sent. Nobody waits for a slow one: it is disconnected."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

import anyio

from roost.core.grants import Role
from roost.core.keys import SessionKey
from roost.core.nodes import Declared
from roost.core.visibility import PersonCaller
from roost.protocol import frames
from roost.protocol.connection import Connection
from roost.protocol.events import CHAT, Audience, WireEvent
from roost.protocol.handshake import MAX_BUFFERED, Client
from roost.protocol.scopes import Scope, holds
from roost.server.auth import Admitted

SLOW = 1008
SLOW_REASON = "slow consumer"
TOOL_EVENTS, SCOPED_EVENTS = "tool-events", "session-scoped-events"

Take: TypeAlias = Callable[[Sequence[bytes]], bool]
Cover: TypeAlias = Callable[[bytes], bytes]


class Outgoing:
    """Frames on their way to one client, in order, bounded in bytes. What `take` takes has gone; the rest waits for
    `next`. Nothing goes that `cover` has not seen."""

    def __init__(self, take: Take, cover: Cover, most: int = MAX_BUFFERED) -> None:
        self._frames: deque[bytes] = deque()
        self._most = most
        self._take = take
        self._cover = cover
        self._size = 0
        self._given = False
        self._news = anyio.Event()
        self.closing: tuple[int, str] | None = None
        self.overrun = anyio.Event()

    def put(self, frame: bytes) -> None:
        self.put_covered((self._cover(frame),))

    def put_covered(self, frames: Sequence[bytes]) -> None:
        """Frames that go together, of those that many get: what they share was covered once."""
        if self.closing is not None:
            return
        first, size = not (self._frames or self._given), sum(map(len, frames))
        if first and size <= self._most and self._take(frames):
            return
        if size > self._most and len(frames) > 1:
            # Together they are more than may wait; one who reads fast gets them one by one.
            for frame in frames:
                self.put_covered((frame,))
            return
        self._frames += frames
        self._size += size
        if self._size > self._most:
            self.cut(SLOW, SLOW_REASON)
        self._news.set()

    def close(self, code: int, reason: str) -> None:
        """Send what waits, then end the connection."""
        self.closing = self.closing or (code, reason)
        self._news.set()

    def cut(self, code: int, reason: str) -> None:
        """End the connection now. What waits is for nobody: only the end is told."""
        self._frames.clear()
        self.close(code, reason)
        self.overrun.set()

    async def next(self) -> bytes | None:
        """The next frame, once the one before has been sent; None when there will be no more."""
        self._given = False
        while not self._frames:
            if self.closing is not None:
                return None
            self._news = anyio.Event()
            await self._news.wait()
        frame = self._frames.popleft()
        self._size -= len(frame)
        self._given = True
        return frame


@dataclass(eq=False, slots=True, kw_only=True)
class Connected:
    """One client that is in."""

    id: str
    connection: Connection
    client: Client
    admitted: Admitted
    caps: frozenset[str]
    since: int
    outgoing: Outgoing
    device: str | None = None
    """The device that proved its key when this client came."""
    declared: Declared = field(default_factory=Declared)
    watches: bool = False
    listens: set[SessionKey] = field(default_factory=set)
    began: set[tuple[SessionKey, str]] = field(default_factory=set)
    """Runs that this client began, by their sessions and the names it gave them: others may use the same."""

    caller: PersonCaller = field(init=False)
    is_node: bool = field(init=False)
    _reads: bool = field(init=False)

    def __post_init__(self) -> None:
        # Asked of every client for every event; what it was admitted as does not change.
        self.caller = PersonCaller(principal=self.admitted.principal)
        self.is_node = self.admitted.principal.is_node
        self._reads = self.may(Scope.READ)

    @property
    def role(self) -> Role:
        return Role.NODE if self.is_node else Role.OPERATOR

    def may(self, scope: Scope) -> bool:
        return holds(self.admitted.scopes, scope)

    def hears(self, event: WireEvent) -> bool:
        return self._hears_as_node(event) if self.is_node else self._hears_as_operator(event)

    def _hears_as_node(self, event: WireEvent) -> bool:
        return event.audience in (Audience.EVERYONE, Audience.NODE) or _is_told_in_a_session(event)

    def _hears_as_operator(self, event: WireEvent) -> bool:
        match event.audience:
            case Audience.EVERYONE:
                return True
            case Audience.NODE:
                return False
            case Audience.PAIRERS:
                return self.caller.rules_all and self.may(Scope.PAIRING)
            case _ if not self._reads:
                return False
            case Audience.READERS:
                return SCOPED_EVENTS not in self.caps or event.key in self.listens
            case Audience.STARTER:
                return TOOL_EVENTS in self.caps and (event.key, event.run) in self.began
            case Audience.LISTENERS:
                return event.key in self.listens
            case Audience.WATCHERS:
                return self.watches
            case other:
                assert_never(other)


def _is_told_in_a_session(event: WireEvent) -> bool:
    """What of a chat a node hears; whether the session is its own is asked of everybody alike."""
    return event.audience is Audience.READERS and event.name == CHAT and event.key is not None


class Clients:
    """All who are in."""

    def __init__(self, cover: Cover) -> None:
        self._cover = cover
        self._all: dict[str, Connected] = {}
        self._watching: set[str] = set()
        self._left = anyio.Event()
        self._moved = anyio.Event()

    def __iter__(self) -> Iterator[Connected]:
        return iter(tuple(self._all.values()))

    def __len__(self) -> int:
        return len(self._all)

    def add(self, client: Connected) -> None:
        self._all[client.id] = client
        self._move(client)

    def remove(self, client: Connected) -> None:
        self._all.pop(client.id, None)
        self._watching.discard(client.id)
        self._left.set()
        self._left = anyio.Event()
        self._move(client)

    def _move(self, client: Connected) -> None:
        if client.device is not None:
            self._moved.set()

    async def moved(self) -> None:
        """Return once a device came or went since this was asked last."""
        await self._moved.wait()
        self._moved = anyio.Event()

    async def all_gone(self) -> None:
        while self._all:
            await self._left.wait()

    def seen_by(self, caller: PersonCaller) -> Iterator[Connected]:
        """Everybody for who may see every session, else the caller's own connections."""
        for client in self:
            if caller.rules_all or client.caller == caller:
                yield client

    def by_caller(self) -> dict[PersonCaller, list[Connected]]:
        """Those of each who is connected."""
        found: dict[PersonCaller, list[Connected]] = {}
        for client in self._all.values():
            found.setdefault(client.caller, []).append(client)
        return found

    def watch(self, client: Connected) -> None:
        """A client that is in wants to hear of every session."""
        client.watches = True
        if client.id in self._all:
            self._watching.add(client.id)

    @property
    def watched(self) -> bool:
        """Whether anybody does. Asked with every commit, however many are connected."""
        return bool(self._watching)

    def listeners(self, key: SessionKey) -> bool:
        return any(key in client.listens for client in self._all.values())

    def tell(self, *events: WireEvent, among: Iterable[Connected] | None = None) -> None:
        """Write each event once and give it to all who hear it. Sending costs more than writing: what one client hears of
        them goes out together."""
        written: dict[int, bytes] = {}
        for client in self._all.values() if among is None else among:
            told = []
            for place, event in enumerate(events):
                if client.hears(event):
                    head = written.get(place)
                    if head is None:
                        head = written[place] = self._cover(frames.event_head(event.name, event.payload))
                    told.append(client.connection.number(head))
            if told:
                client.outgoing.put_covered(told)

    def over(self, key: SessionKey, name: str) -> None:
        """Nothing more will be told of a run of this name."""
        for client in self._all.values():
            client.began.discard((key, name))

    def close(self, code: int, reason: str) -> None:
        for client in self._all.values():
            client.outgoing.close(code, reason)
