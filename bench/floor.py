"""The floor: Roost's own statements through bare apsw, with everything else prepared beforehand."""

import asyncio
import queue
import threading
from collections.abc import Callable
from pathlib import Path

import apsw

from roost.stores.sql.rows import Binding
from roost.stores.sqlite.connection import open_writer
from roost.stores.sqlite.rows import SQL

BATCH = 256
Work = Callable[[], object]
Prepared = list[tuple[tuple[Binding, ...], str]]


class BareWriter:
    """A thread with group commit, and nothing else."""

    def __init__(self, path: Path) -> None:
        self.connection = open_writer(path)
        self._queue: queue.SimpleQueue[
            tuple[Work, asyncio.AbstractEventLoop, asyncio.Future[None]] | None
        ] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    async def run(self, work: Work) -> None:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._queue.put((work, loop, future))
        await future

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()
        self.connection.close()

    def _serve(self) -> None:
        execute = self.connection.execute
        while (job := self._queue.get()) is not None:
            batch = [job]
            while len(batch) < BATCH:
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    self._queue.put(None)
                    break
                batch.append(more)
            execute("BEGIN IMMEDIATE")
            for work, _, _ in batch:
                work()
            execute("COMMIT")
            batch[0][1].call_soon_threadsafe(_tell, [future for _, _, future in batch])


def _tell(futures: list["asyncio.Future[None]"]) -> None:
    for future in futures:
        future.set_result(None)


class BareSession:
    """What an append of Roost executes for one session, with ready-made bindings."""

    def __init__(self, connection: apsw.Connection, key: str, session_id: str) -> None:
        self._connection = connection
        self._execute = connection.execute
        row = self._execute(SQL["session"], ("default", key)).fetchone()
        assert row is not None
        self._number = row[0]
        generation = self._execute(SQL["generation_row"], (session_id,)).fetchone()
        assert generation is not None
        self._generation = generation[0]
        self._hot = list(row[-(SQL["touch_session"].count("?") - 1) :])
        self._entries, self._version, self._events = 0, self._hot[4], self._hot[5]

    def commit(self, entries: Prepared, at: int) -> None:
        """An append in a transaction of its own, where it is called: without a thread or a loop in between."""
        self._execute("BEGIN IMMEDIATE")
        self.append(entries, at)
        self._execute("COMMIT")

    def append(self, entries: Prepared, at: int) -> None:
        execute = self._execute
        events = []
        for values, words in entries:
            self._entries += 1
            execute(SQL["insert_entry"], (None, self._generation, self._entries, *values))
            execute(SQL["insert_search"], (self._connection.last_insert_rowid(), f"{words} #{self._number}"))
            self._events += 1
            events.append((self._number, self._events, at, "entry", values[0]))
        self._version += 1
        self._hot[1], self._hot[4], self._hot[5], self._hot[6] = (
            at,
            self._version,
            self._events,
            self._entries,
        )
        execute(SQL["touch_session"], (*self._hot, self._number))
        self._connection.executemany(SQL["insert_event"], events)
