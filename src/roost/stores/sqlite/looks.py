"""Short reads, on the thread that asks for them: waking another one costs more than most of them do.

Nobody knows beforehand that a read is short. What is not done in time, finds many rows, has to wait for a lock or fails is
given up here, and a reader's thread does it from the beginning.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import apsw

from roost.stores.sql.rows import TENANT, Values
from roost.stores.sqlite.connection import ENGINE_ERRORS, in_one_view, open_reader
from roost.stores.sqlite.tables import SqliteTables

# Shorter than Python lets a thread that computes keep the others waiting.
PATIENCE_S = 0.002
# Of the engine's own machine: a dozen rows of a transcript.
STEPS = 200
MOST_ROWS = 256
Answer = TypeVar("Answer")


class NotALook(Exception):
    """This read is for a thread of its own."""


class Looks:
    """One connection for whoever is at it. A loop that looks stands still for `PATIENCE_S` and what it makes of `MOST_ROWS`
    rows, and where the disk is slow for what is read of it within `STEPS`, at the most."""

    def __init__(
        self,
        path: Path,
        vfs: str | None,
        database_now: Callable[[], int],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._vfs = vfs
        self._database_now = database_now
        self._now = now
        self._until = math.inf
        self._tables: _FewRows | None = None
        self._closed = False
        self._one_at_a_time = threading.Lock()

    def read(self, ask: Callable[[SqliteTables], Answer]) -> Answer:
        """What `ask` makes of one consistent view, or `NotALook`."""
        if not self._one_at_a_time.acquire(blocking=False):
            raise NotALook
        try:
            if self._closed:
                raise NotALook
            return self._looked(ask)
        except ENGINE_ERRORS as error:
            raise NotALook from error
        finally:
            self._one_at_a_time.release()

    def close(self) -> None:
        with self._one_at_a_time:
            self._closed = True
            if self._tables is not None:
                self._tables.connection.close()

    def _looked(self, ask: Callable[[SqliteTables], Answer]) -> Answer:
        tables = self._tables
        if tables is None:
            tables = self._tables = self._opened()

        def patiently() -> Answer:
            self._until = self._now() + PATIENCE_S
            try:
                return ask(tables)
            finally:
                # Else the end of the view would be given up as well.
                self._until = math.inf

        return in_one_view(tables.connection, patiently)

    def _opened(self) -> "_FewRows":
        connection = open_reader(self._path, self._vfs)
        connection.set_busy_timeout(0)
        connection.set_progress_handler(self._is_late, STEPS)
        return _FewRows(connection, self._database_now, self._is_late)

    def _is_late(self) -> bool:
        return self._now() > self._until


class _FewRows(SqliteTables):
    """Gives up where so many rows are found, or such large ones, that making something of them takes long."""

    def __init__(
        self, connection: apsw.Connection, database_now: Callable[[], int], is_late: Callable[[], bool]
    ) -> None:
        super().__init__(connection, TENANT, database_now)
        self.connection = connection
        self._is_late = is_late

    async def _rows(self, sql: str, values: Values) -> Sequence[Any]:
        found = self._execute(sql, values)
        rows = [*islice(found, MOST_ROWS + 1)]
        if len(rows) > MOST_ROWS or self._is_late():
            found.close()
            raise NotALook
        return rows
