"""The writer thread. Verbs that arrive while a commit is under way share the next one.

A verb runs inside a savepoint: its failure undoes it alone. Its caller hears only after COMMIT, and before
the log is moved into the file: trouble with that is no caller's, and it is tried again after the next batch.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import apsw

from roost.core.errors import RoostError, StoreUnavailable
from roost.ports import Topic
from roost.stores.sqlite.connection import EngineError

BATCH = 256
LONG_LOG_PAGES = 1_000


@dataclass(slots=True)
class Job:
    """One verb on its way through the writer; `work` answers its result and whom to wake."""

    work: Callable[[], tuple[Any, Iterable[Topic]]]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    result: Any = None
    topics: Iterable[Topic] = ()
    error: BaseException | None = field(default=None)


class Writer:
    """Owns the writing connection and the thread it lives on."""

    def __init__(
        self,
        connection: apsw.Connection,
        began: Callable[[], None],
        undone: Callable[[], None],
        translate: Callable[[EngineError], Exception],
        wake: Callable[[Iterable[Topic]], None],
    ) -> None:
        self._connection = connection
        self._began = began
        self._undone = undone
        self._translate = translate
        self._wake = wake
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._closed = False
        self._log_pages = 0
        connection.set_wal_hook(self._note_log)
        self._thread = threading.Thread(target=self._serve, name="roost-writer", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[], tuple[Any, Iterable[Topic]]]) -> Any:
        """Queue a verb and wait for its commit. A caller that stops waiting does not undo it."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._queue.put(Job(work, loop, future))
        return await future

    async def close(self) -> None:
        """Finish what was queued, then end the thread."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        while True:
            job = self._queue.get()
            if job is None:
                return
            batch, last = self._gather(job)
            self._commit(batch)
            _resolve(batch, self._wake)
            self._shorten_log()
            if last:
                return

    def _gather(self, first: Job) -> tuple[list[Job], bool]:
        batch = [first]
        while len(batch) < BATCH:
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                break
            if job is None:
                return batch, True
            batch.append(job)
        return batch, False

    def _commit(self, batch: list[Job]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._began()
            for job in batch:
                self._attempt(job)
            self._connection.execute("COMMIT")
        except apsw.Error as error:
            self._fail(batch, self._translate(error))
        except RoostError as error:
            self._fail(batch, error)

    def _note_log(self, connection: apsw.Connection, name: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK

    def _shorten_log(self) -> None:
        if self._log_pages >= LONG_LOG_PAGES:
            with suppress(apsw.Error):
                self._connection.wal_checkpoint()

    def _attempt(self, job: Job) -> None:
        self._connection.execute("SAVEPOINT verb")
        try:
            job.result, job.topics = job.work()
        except BaseException as error:
            self._undone()
            if not self._connection.in_transaction:
                # SQLite itself ended the transaction: nothing of this batch can be committed.
                if isinstance(error, apsw.Error):
                    raise
                raise StoreUnavailable(
                    "the transaction was lost", hint="try again; nothing of this request was written"
                ) from error
            self._connection.execute("ROLLBACK TO verb")
            job.error = (
                self._translate(error) if isinstance(error, apsw.Error | UnicodeDecodeError) else error
            )
        self._connection.execute("RELEASE verb")

    def _fail(self, batch: list[Job], error: Exception) -> None:
        self._undone()
        if self._connection.in_transaction:
            # If even this fails, the next batch fails at its BEGIN and comes here again.
            with suppress(apsw.Error):
                self._connection.execute("ROLLBACK")
        for job in batch:
            job.error = error


def _resolve(batch: list[Job], wake: Callable[[Iterable[Topic]], None]) -> None:
    """Tell each caller on its own loop, one call a loop."""
    loops: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in batch:
        loops.setdefault(job.loop, []).append(job)
    for loop, jobs in loops.items():
        # A loop that was closed has nobody left to tell.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_tell, jobs, wake)


def _tell(jobs: list[Job], wake: Callable[[Iterable[Topic]], None]) -> None:
    for job in jobs:
        if job.error is None:
            wake(job.topics)
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
