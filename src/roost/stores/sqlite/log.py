"""The write-ahead log, and how it is kept short.

What is in it is moved into the file on a thread and a connection of its own, while the writer goes on: moving costs as
much as some batches, whose callers would wait for it. SQLite begins the log anew only where all of it was moved before
the next batch, so the writer itself moves the rest of one that became long. Trouble with moving is no caller's: it is
tried again after a later batch.
"""

import logging
import queue
import threading
from collections.abc import Callable
from contextlib import suppress

import apsw

from roost.core.errors import RoostError

MUCH = 1_000
LONG = 4_000
"""Pages."""

_log = logging.getLogger(__name__)


class Log:
    """`look_after` and `shorten` are for the thread that writes."""

    def __init__(self, writer: apsw.Connection, open_another: Callable[[], apsw.Connection]) -> None:
        self._writer = writer
        self._open_another = open_another
        self._pages = 0
        self._moved = 0
        self._stuck = False
        self._moving = threading.Lock()
        self._asked = False
        self._wanted: queue.SimpleQueue[bool] = queue.SimpleQueue()
        writer.set_wal_hook(self._note)
        self._thread = threading.Thread(target=self._serve, name="roost-log", daemon=True)
        self._thread.start()

    def look_after(self) -> None:
        """After a commit: have it moved if there is much to move."""
        if self._pages >= LONG:
            self.shorten()
        elif self._pages - self._moved >= MUCH and not self._asked:
            self._asked = True
            self._wanted.put(True)

    def shorten(self) -> None:
        """Move all of it, as far as readers let it."""
        self._move(lambda: self._writer)

    def close(self) -> None:
        """End the thread, once it has moved what it was asked for."""
        self._wanted.put(False)
        self._thread.join()

    def _note(self, connection: apsw.Connection, name: str, pages: int) -> int:
        if pages < self._pages:
            self._moved = 0
        self._pages = pages
        return apsw.SQLITE_OK

    def _serve(self) -> None:
        opened: list[apsw.Connection] = []

        def connection() -> apsw.Connection:
            if not opened:
                opened.append(self._open_another())
            return opened[0]

        while self._wanted.get():
            self._asked = False
            self._move(connection)
        for one in opened:
            one.close()

    def _move(self, connection: Callable[[], apsw.Connection]) -> None:
        with self._moving:
            try:
                # Where another process is at it, there is nothing left to do.
                with suppress(apsw.BusyError):
                    _, self._moved = connection().wal_checkpoint()
            except (apsw.Error, RoostError) as error:
                self._tell(error)
            else:
                self._stuck = False

    def _tell(self, error: Exception) -> None:
        """Once, as it is tried again after every batch."""
        if not self._stuck:
            self._stuck = True
            _log.warning("what was written stays in the log, as it cannot be moved into the file: %s", error)
