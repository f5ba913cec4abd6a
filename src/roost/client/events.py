"""What a client is told without asking, and those in its process who hear it."""

import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from roost.client.memory import next_in
from roost.core.jsonvalue import JsonObject

MOST_WAITING = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """`seq` counts the events of one connection."""

    name: str
    payload: JsonObject
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """Events were missed here: what they were about has to be read again."""


Heard: TypeAlias = Event | Gap
Wanted: TypeAlias = Callable[[Event], bool]


def everything(event: Event) -> bool:
    return True


class Listener:
    """One who hears what it wants; what waits for it is bounded, and what does not fit becomes a gap."""

    def __init__(self, most: int = MOST_WAITING, wanted: Wanted = everything) -> None:
        streams = anyio.create_memory_object_stream[Heard](math.inf)
        self._to: MemoryObjectSendStream[Heard] = streams[0]
        self._from: MemoryObjectReceiveStream[Heard] = streams[1]
        self._most = most
        self._wanted = wanted
        self._cut = False

    def tell(self, heard: Heard) -> None:
        if isinstance(heard, Event) and not self._wanted(heard):
            return
        waiting = self._to.statistics().current_buffer_used
        if waiting < self._most:
            self._cut = isinstance(heard, Gap)
            self._to.send_nowait(heard)
        elif not self._cut:
            self._cut = True
            self._to.send_nowait(Gap())

    def close(self) -> None:
        """What waits is still heard; then the end."""
        self._to.close()

    def drop(self) -> None:
        self._to.close()
        self._from.close()

    def __aiter__(self) -> AsyncIterator[Heard]:
        return self

    async def __anext__(self) -> Heard:
        try:
            return await next_in(self._from)
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Feed:
    """Everybody who hears what one client is told."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()
        self._over = False

    @contextmanager
    def listening(self, most: int = MOST_WAITING, wanted: Wanted = everything) -> Iterator[Listener]:
        listener = Listener(most, wanted)
        self._listeners.add(listener)
        if self._over:
            listener.close()
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            listener.drop()

    def tell(self, heard: Heard) -> None:
        for listener in self._listeners:
            listener.tell(heard)

    def end(self) -> None:
        """Nothing more will be heard."""
        self._over = True
        for listener in self._listeners:
            listener.close()
