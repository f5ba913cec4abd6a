"""The write-ahead log, and how it is kept short.

What is in it is moved into the file on a thread and a connection of its own, while the writer goes on: moving costs as
much as some batches, whose callers would wait for it. SQLite begins the log anew only where all of it was moved before
the next batch, so the writer itself moves the rest of one that became long. Trouble with moving is no caller's: it is
tried again after a later batch.
"""

import queue
import threading
from collections.abc import Callable
from contextlib import closing, suppress

import apsw

from roost.core.errors import RoostError

MUCH = 1_000
LONG = 4_000
"""Pages."""


class Log:
    """`look_after` and `shorten` are for the thread that writes."""

    def __init__(self, writer: apsw.Connection, open_another: Callable[[], apsw.Connection]) -> None:
        self._writer = writer
        self._open_another = open_another
        self._pages = 0
        self._moved = 0
        self._moving = threading.Lock()
        self._wanted: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        writer.set_wal_hook(self._note)

    def look_after(self) -> None:
        """After a commit: have it moved if there is much to move."""
        if self._pages >= LONG:
            self.shorten()
        elif self._pages - self._moved >= MUCH and not self._moving.locked():
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="roost-log", daemon=True)
                self._thread.start()
            self._wanted.put(True)

    def shorten(self) -> None:
        """Move all of it, as far as readers let it."""
        with self._moving:
            self._move(self._writer)

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._wanted.put(False)
            self._thread.join()

    def _note(self, connection: apsw.Connection, name: str, pages: int) -> int:
        if pages < self._pages:
            self._moved = 0
        self._pages = pages
        return apsw.SQLITE_OK

    def _serve(self) -> None:
        # Where no second connection is to be had, the writer moves all of it.
        with suppress(apsw.Error, RoostError), closing(self._open_another()) as connection:
            while self._wanted.get():
                with self._moving:
                    self._move(connection)

    def _move(self, connection: apsw.Connection) -> None:
        with suppress(apsw.Error):
            _, self._moved = connection.wal_checkpoint()
