"""Attempts from where wrong ones came: each waits a while before it is looked at, a few at a time. Where there is no place
it gets one by chance, so that who guesses faster keeps nobody out for good."""

import secrets
from collections import Counter
from dataclasses import dataclass, field

import anyio

from roost.ports import Clock
from roost.ports.limits import OutOfTime, within

SLOWED_MS = 1_000
AT_ONCE, OF_ONE = 16, 4
"""How many are looked at in that time, of all and of one source."""
MOST, MOST_OF_ONE, MOST_ALIKE = 4_096, 256, 64
"""How many may wait, of all and of one source, and how often the same."""
LONGEST_MS = 10_000


@dataclass(eq=False, slots=True, kw_only=True)
class _Guess:
    """A credential that is shown somewhere, be it often: whoever shows it is looked at with the others."""

    source: str
    shown: str
    members: int = 0
    until: int = 0
    chosen: anyio.Event = field(default_factory=anyio.Event)


class Guesses:
    def __init__(self) -> None:
        self._open: dict[tuple[str, str], _Guess] = {}
        self._waiting: Counter[str] = Counter()
        self._places: Counter[str] = Counter()

    async def wait(self, clock: Clock, source: str, shown: str) -> bool:
        """Whether an attempt may be looked at now, after a while."""
        guess = self._joined(clock, source, shown)
        if guess is None:
            return False
        guess.members += 1
        left = True
        try:
            await within(clock, LONGEST_MS, guess.chosen.wait)
            await clock.sleep(guess.until - clock.now())
            left = False
        except OutOfTime:
            return False
        finally:
            guess.members -= 1
            if not (left and guess.members):
                self._end(clock, guess)
        return True

    def _joined(self, clock: Clock, source: str, shown: str) -> _Guess | None:
        guess = self._open.get((source, shown))
        if guess is not None:
            return guess if guess.members < MOST_ALIKE else None
        if len(self._open) >= MOST or self._waiting[source] >= MOST_OF_ONE:
            return None
        guess = self._open[source, shown] = _Guess(source=source, shown=shown)
        self._waiting[source] += 1
        if self._has_place(source):
            self._choose(clock, guess)
        return guess

    def _has_place(self, source: str) -> bool:
        return self._places.total() < AT_ONCE and self._places[source] < OF_ONE

    def _choose(self, clock: Clock, guess: _Guess) -> None:
        self._places[guess.source] += 1
        guess.until = clock.now() + SLOWED_MS
        guess.chosen.set()

    def _end(self, clock: Clock, guess: _Guess) -> None:
        """It was looked at, or nobody shows it any more: its place is another's."""
        if self._open.get((guess.source, guess.shown)) is not guess:
            return
        del self._open[guess.source, guess.shown]
        _take(self._waiting, guess.source)
        if guess.chosen.is_set():
            _take(self._places, guess.source)
            free = [
                one for one in self._open.values() if not one.chosen.is_set() and self._has_place(one.source)
            ]
            if free:
                self._choose(clock, secrets.choice(free))


def _take(counted: Counter[str], source: str) -> None:
    counted[source] -= 1
    if not counted[source]:
        del counted[source]
