"""How long a test may take: one thread watches over all of a process. A timer for each takes longer than most do."""

import threading
from collections.abc import Callable
from time import monotonic

import pytest
from pytest_timeout import Settings, timeout_timer


class Watch:
    """A plugin that ends the process when a test is over its limit, telling what every thread was at."""

    def __init__(
        self, end: Callable[[pytest.Item, Settings], None] = timeout_timer, every_s: float = 1
    ) -> None:
        self._end = end
        self._every_s = every_s
        self._under_way: tuple[float, pytest.Item, Settings] | None = None
        self._unconfigured = threading.Event()
        self._thread = threading.Thread(target=self._stay, name="watch", daemon=True)

    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Settings) -> bool:
        self._under_way = (monotonic() + settings.timeout, item, settings)
        if not self._thread.is_alive():
            self._thread.start()
        return True

    def pytest_timeout_cancel_timer(self) -> bool:
        self._under_way = None
        return True

    def pytest_unconfigure(self) -> None:
        self._unconfigured.set()

    def look(self) -> None:
        under_way = self._under_way
        if under_way is not None and monotonic() >= under_way[0]:
            self._end(*under_way[1:])

    def _stay(self) -> None:
        while not self._unconfigured.wait(self._every_s):
            self.look()
