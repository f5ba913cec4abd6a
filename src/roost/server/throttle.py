"""Wrong credentials, counted by where they come from. Who tries too often waits before he is looked at; where nothing
wrong came from, nobody is made to wait by others."""

from collections import OrderedDict, deque
from dataclasses import dataclass, field

from roost.core.entrance import Attempts, throttled_by

MOST_SOURCES = 10_000
ALL_TIMES = 10
"""How many sources it takes, each at its limit, before all that were wrong once are slowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """When one source was wrong, and when that counted against everybody."""

    wrong: deque[int] = field(default_factory=deque)
    shared: deque[int] = field(default_factory=deque)


class Throttle:
    def __init__(self) -> None:
        self._wrong: OrderedDict[str, _Source] = OrderedDict()
        self._all: deque[int] = deque()

    def count(self, address: str, now: int, limit: Attempts) -> None:
        """Somebody was wrong."""
        name = throttled_by(address)
        source = self._wrong.setdefault(name, _Source())
        _add(source.wrong, now, limit.most)
        if not _wait_ms(source.shared, limit.most, now, limit.window_ms):
            # Beyond its own limit one source slows itself, not everybody.
            _add(source.shared, now, limit.most)
            _add(self._all, now, limit.most * ALL_TIMES)
        self._wrong.move_to_end(name)
        if len(self._wrong) > MOST_SOURCES:
            self._wrong.popitem(last=False)

    def retry_ms(self, address: str, now: int, limit: Attempts) -> int:
        """How long until this source is not slowed any more; 0 where it is not."""
        own = self._wrong.get(throttled_by(address), _Source()).wrong
        if not own or own[-1] + limit.window_ms <= now:
            return 0
        return max(
            _wait_ms(own, limit.most, now, limit.window_ms),
            _wait_ms(self._all, limit.most * ALL_TIMES, now, limit.window_ms),
        )


def _add(times: deque[int], now: int, most: int) -> None:
    times.append(now)
    while len(times) > most:
        times.popleft()


def _wait_ms(times: deque[int], most: int, now: int, window_ms: int) -> int:
    if len(times) < most:
        return 0
    return max(0, times[-most] + window_ms - now)
