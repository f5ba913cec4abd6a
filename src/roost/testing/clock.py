"""A clock that moves only when a test says so."""

from collections.abc import Callable

import anyio
import anyio.lowlevel

NOON = 1_750_000_000_000


class FakeClock:
    """Time that stands still until it is advanced; what waits for a moment is done in order of its time."""

    def __init__(self, now: int = NOON) -> None:
        self._now = now
        self._alarms: dict[object, tuple[int, Callable[[], None]]] = {}

    def now(self) -> int:
        return self._now

    async def sleep(self, milliseconds: int) -> None:
        if milliseconds <= 0:
            await anyio.lowlevel.checkpoint()
            return
        over = anyio.Event()
        disarm = self.later(milliseconds, over.set)
        try:
            await over.wait()
        finally:
            disarm()

    def later(self, milliseconds: int, act: Callable[[], None]) -> Callable[[], None]:
        name = object()
        self._alarms[name] = (self._now + milliseconds, act)

        def disarm() -> None:
            self._alarms.pop(name, None)

        return disarm

    def advance(self, milliseconds: int) -> None:
        self._now += milliseconds
        due = [(at, name) for name, (at, _) in self._alarms.items() if at <= self._now]
        for _, name in sorted(due, key=lambda one: one[0]):
            if name in self._alarms:
                self._alarms.pop(name)[1]()
