"""A few connections for reading, each on its own thread: no read waits for a writer, and no loop for a long read."""

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import apsw

from roost.core.errors import StoreUnavailable
from roost.stores.sqlite.connection import ENGINE_ERRORS, in_one_view, open_reader, translated

WAITING = 1_024
Rows = TypeVar("Rows")
Answer = TypeVar("Answer")


class ReaderOptions(Protocol):
    @property
    def readers(self) -> int: ...
    @property
    def vfs(self) -> str | None: ...


@dataclass(slots=True)
class _Read:
    """One read on its way: what to ask, and who waits for the answer."""

    ask: Callable[[Any, apsw.Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"


_Inbox: TypeAlias = "queue.SimpleQueue[_Read | None]"


class Readers(Generic[Rows]):
    """Runs reads in one consistent view each.

    Threads and queues of its own: an executor's futures cost more than most reads. Of those that rest, the one that
    read last reads next: what it has at hand is what is asked for most.
    """

    def __init__(self, path: Path, options: ReaderOptions, rows: Callable[[apsw.Connection], Rows]) -> None:
        self._path = path
        self._vfs = options.vfs
        self._rows = rows
        self._room = asyncio.Semaphore(WAITING)
        self._closed = False
        self._lock = threading.Lock()
        self._unread: deque[_Read] = deque()
        self._inboxes: list[_Inbox] = [queue.SimpleQueue() for _ in range(options.readers)]
        self._resting = [*self._inboxes]
        self._threads = [
            threading.Thread(target=self._serve, args=(inbox,), name=f"roost-reader-{number}", daemon=True)
            for number, inbox in enumerate(self._inboxes)
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, read: Callable[[Rows, apsw.Connection], Answer]) -> Answer:
        await self._room.acquire()
        if self._closed:
            self._room.release()
            raise StoreUnavailable("the store is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        job = _Read(read, loop, future)
        with self._lock:
            inbox = self._resting.pop() if self._resting else None
            if inbox is None:
                self._unread.append(job)
        if inbox is not None:
            inbox.put(job)
        return await future

    async def close(self) -> None:
        """Finish the reads that were begun, then end the threads."""
        if not self._closed:
            self._closed = True
            for inbox in self._inboxes:
                inbox.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)

    def _serve(self, inbox: _Inbox) -> None:
        connection: apsw.Connection | None = None
        rows: Rows | None = None
        job = inbox.get()
        while job is not None:
            answer: object = None
            error: BaseException | None = None
            try:
                if connection is None or rows is None:
                    connection = open_reader(self._path, self._vfs)
                    rows = self._rows(connection)
                answer = in_one_view(connection, partial(job.ask, rows, connection))
            except ENGINE_ERRORS as failure:
                error = translated(failure, self._path)
                error.__cause__ = failure
            except BaseException as failure:  # noqa: BLE001 — the thread's root: the caller gets what was raised
                error = failure
            following = self._following(inbox)
            # A loop that was closed has nobody left to tell.
            with suppress(RuntimeError):
                job.loop.call_soon_threadsafe(self._tell, job.future, answer, error)
            job = following or inbox.get()
        if connection is not None:
            connection.close()

    def _following(self, inbox: _Inbox) -> _Read | None:
        """What waits for a reader; while nothing does, this one rests. Before its caller is told, who may ask again."""
        with self._lock:
            if self._unread:
                return self._unread.popleft()
            self._resting.append(inbox)
        return None

    def _tell(self, future: "asyncio.Future[Any]", answer: object, error: BaseException | None) -> None:
        # Only now: a read whose caller stopped waiting takes its place in the queue all the same.
        self._room.release()
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(answer)
