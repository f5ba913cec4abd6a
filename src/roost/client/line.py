"""A connection that is made anew when it is lost. What was subscribed is subscribed again, and who listens hears of the
gap."""

import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import anyio
from anyio.abc import TaskStatus

from roost.client.errors import ConnectionLost, Refused, Starting, Unreachable, Untrusted
from roost.client.events import Event, Feed, Gap
from roost.client.handshake import Hello, Introduction, shake_hands
from roost.client.link import Link
from roost.client.resuming import Subscriptions, repeatable
from roost.client.wires import Dial, Wire
from roost.core.errors import RoostError
from roost.core.jsonvalue import JsonObject, JsonValue
from roost.core.restarts import restart_ms

MOST_STARTING = 20
MOST_ATTEMPTS = 5
STEADY_S = 10
"""A connection that lived so long was a good one: the next is tried for at once."""
CLOSED = "this client is closed"

Sleep: TypeAlias = Callable[[float], Awaitable[None]]


def _nobody() -> None:
    """Nobody cares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """Who is told that a connection was lost, and that there is one again; and for how long one is tried for. That there
    was none yet, because the gateway is only starting, is told after `starting_s`."""

    lost: Callable[[], None] = _nobody
    back: Callable[[], None] = _nobody
    longest_s: float = math.inf
    starting_s: float = 5.0


class Line:
    def __init__(
        self,
        dial: Dial,
        who: Introduction,
        feed: Feed,
        sleep: Sleep = anyio.sleep,
        jitter: Callable[[], float] = random.random,
        absence: Absence | None = None,
    ) -> None:
        self._dial = dial
        self._jitter = jitter
        self._who = who
        self._feed = feed
        self._sleep = sleep
        self._subscriptions = Subscriptions()
        self._link: Link | None = None
        self._end: RoostError | None = None
        self._news = anyio.Event()
        self._seq = 0
        self._was_open = False
        self._absence = absence or Absence()
        self._away_since: float | None = None
        self._missed = False
        self.hello: Hello | None = None

    async def keep(self, *, task_status: TaskStatus[None]) -> None:
        """Stay connected until cancelled, or until the gateway lets us in no more. The first attempt has to succeed,
        unless the gateway is only starting."""
        failures = 0
        while True:
            try:
                async with self._dial() as wire:
                    self.hello = await shake_hands(wire, self._who, self._hear)
                    began = anyio.current_time()
                    await self._serve(wire, task_status)
                    if anyio.current_time() - began >= STEADY_S:
                        failures = 0
            except Unreachable as error:
                patient = isinstance(error, Starting) and failures < MOST_STARTING
                if not self._was_open and not patient:
                    raise
            except (Refused, Untrusted) as error:
                if not self._was_open:
                    raise
                if not (isinstance(error, Refused) and error.for_now):
                    self._finish(error)
                    return
            failures += 1
            left = self._patience()
            if left <= 0:
                away = Unreachable(
                    f"the gateway has been away for {self._absence.longest_s:.0f} s",
                    hint="see whether it runs; what it still answers is in the history",
                )
                if not self._was_open:
                    raise away
                self._finish(away)
                return
            await self._sleep(min(restart_ms(failures, self._jitter()) / 1000, left))

    def _patience(self) -> float:
        """How much longer the gateway may be away."""
        now, longest = anyio.current_time(), self._absence.longest_s
        if self._away_since is None:
            self._away_since = now
            # It is tried for once, however short the patience is.
            longest = max(longest, 0.001)
        away = now - self._away_since
        if not self._missed and (self._was_open or away >= self._absence.starting_s):
            self._missed = True
            self._absence.lost()
        return longest - away

    async def call(self, method: str, params: JsonObject, *, begun: bool = False) -> JsonValue:
        """The answer, on whichever connection it comes; of a run that it has `begun` if that is enough. A request that cannot be repeated, or that no connection
        outlives, raises `ConnectionLost`."""
        attempts = 0
        while True:
            link = await self._linked()
            attempts += 1
            try:
                answer = await link.call(method, params, begun=begun)
            except ConnectionLost:
                if attempts == MOST_ATTEMPTS or not repeatable(method, params):
                    raise
            else:
                self._subscriptions.note(method, params, answer)
                return answer

    def close(self) -> None:
        self._finish(ConnectionLost(CLOSED))

    async def _serve(self, wire: Wire, task_status: TaskStatus[None]) -> None:
        self._seq = 0
        link = Link(wire, self._hear)
        async with anyio.create_task_group() as group:

            async def listen() -> None:
                await link.listen()
                # At once: who asks again must not be given this one.
                self._link = None
                group.cancel_scope.cancel()

            group.start_soon(listen)
            try:
                if self._was_open and not await self._resume(link):
                    group.cancel_scope.cancel()
                    return
                self._link = link
                self._wake()
                self._away_since = None
                if self._missed:
                    self._missed = False
                    self._absence.back()
                if not self._was_open:
                    self._was_open = True
                    task_status.started()
                await anyio.sleep_forever()
            finally:
                self._link = None

    async def _resume(self, link: Link) -> bool:
        """Whether everything could be asked for again on this connection. What may no longer be heard is not; what cannot be
        told now is asked for on the next."""
        for method, params in self._subscriptions.requests():
            try:
                await link.call(method, params)
            except ConnectionLost:
                return False
            except Refused as error:
                if error.for_now:
                    return False
        self._feed.tell(Gap())
        return True

    async def _linked(self) -> Link:
        while self._link is None:
            if self._end is not None:
                # Each time it is raised it would keep where it was raised before.
                raise self._end.with_traceback(None)
            await self._news.wait()
        return self._link

    def _hear(self, event: Event) -> None:
        if event.seq is not None:
            if event.seq != self._seq + 1:
                self._feed.tell(Gap())
            self._seq = event.seq
        self._feed.tell(event)

    def _finish(self, error: RoostError) -> None:
        self._end = error
        self._link = None
        self._feed.end()
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = anyio.Event()
