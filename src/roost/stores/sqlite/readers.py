"""A few connections for reading, each on its own thread, so that no read waits for a writer."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import apsw

from roost.core.errors import StoreUnavailable
from roost.stores.sqlite.connection import ENGINE_ERRORS, open_reader, translated

WAITING = 1_024
Rows = TypeVar("Rows")
Answer = TypeVar("Answer")


class ReaderOptions(Protocol):
    @property
    def readers(self) -> int: ...
    @property
    def vfs(self) -> str | None: ...


class Readers(Generic[Rows]):
    """Runs reads in one consistent view each."""

    def __init__(self, path: Path, options: ReaderOptions, rows: Callable[[apsw.Connection], Rows]) -> None:
        self._path = path
        self._vfs = options.vfs
        self._rows = rows
        self._local = threading.local()
        self._opened: list[apsw.Connection] = []
        self._room = asyncio.Semaphore(WAITING)
        self._closed = False
        self._pool = ThreadPoolExecutor(options.readers, thread_name_prefix="roost-reader")

    async def run(self, read: Callable[[Rows, apsw.Connection], Answer]) -> Answer:
        async with self._room:
            if self._closed:
                raise StoreUnavailable("the store is closed")
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._read, read)

    async def close(self) -> None:
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown)
        for connection in self._opened:
            connection.close()

    def _read(self, read: Callable[[Rows, apsw.Connection], Answer]) -> Answer:
        try:
            connection, rows = self._mine()
            connection.execute("BEGIN")
            try:
                return read(rows, connection)
            finally:
                connection.execute("ROLLBACK")
        except ENGINE_ERRORS as error:
            raise translated(error, self._path) from error

    def _mine(self) -> tuple[apsw.Connection, Rows]:
        if not hasattr(self._local, "rows"):
            connection = open_reader(self._path, self._vfs)
            self._opened.append(connection)
            self._local.connection, self._local.rows = connection, self._rows(connection)
        return self._local.connection, self._local.rows
