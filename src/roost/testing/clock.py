"""A clock that moves only when a test says so."""

import anyio
import anyio.lowlevel

NOON = 1_750_000_000_000


class FakeClock:
    """Time that stands still until it is advanced; sleepers wake in order of their time."""

    def __init__(self, now: int = NOON) -> None:
        self._now = now
        self._sleepers: list[tuple[int, anyio.Event]] = []

    def now(self) -> int:
        return self._now

    async def sleep(self, milliseconds: int) -> None:
        if milliseconds <= 0:
            await anyio.lowlevel.checkpoint()
            return
        sleeper = (self._now + milliseconds, anyio.Event())
        self._sleepers.append(sleeper)
        try:
            await sleeper[1].wait()
        finally:
            self._sleepers = [other for other in self._sleepers if other is not sleeper]

    def advance(self, milliseconds: int) -> None:
        self._now += milliseconds
        due = sorted((at, index) for index, (at, _) in enumerate(self._sleepers) if at <= self._now)
        for _, index in due:
            self._sleepers[index][1].set()
        self._sleepers = [sleeper for sleeper in self._sleepers if sleeper[0] > self._now]
