"""Verbs in transactions on connections of a pool.

One that another stood in the way of, or whose connection was lost before its end, is done again: decisions may be asked
again. Each leaves a mark, by which is seen what became of it when the connection is lost while it ends: a server that
crashed gives the transaction's number to another.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import uuid4

import anyio
import asyncpg

from roost.core.errors import Conflict, StoreUnavailable, WriteUnknown
from roost.stores.codec import to_text
from roost.stores.postgres.connection import (
    DRIVER_ERRORS,
    IN_THE_WAY,
    LOST,
    Pool,
    PostgresOptions,
    translated,
)
from roost.stores.postgres.dialect import SQL, numbered
from roost.stores.postgres.rows import Connection

Answer = TypeVar("Answer")
Body = Callable[[Connection], Awaitable[Answer]]

ACQUIRE_SECONDS = 20
ROLLBACK_SECONDS = 2
# Seconds between attempts: long enough together for a server that restarts.
PAUSES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0)
MAKE_PLACE, MARK, LAST_MARK = (numbered(SQL[name]).text for name in ("make_place", "mark", "last_mark"))
READING = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
# Two messages with one identity that came to different sessions at once: the second look finds the first.
_MET_AT_ONCE = frozenset({"inbound_external", "inbound_idempotency"})


class Again(Exception):
    """Nothing of the transaction was written, and it may come to an end when it is done once more."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(repr(cause))
        self.cause = cause


@dataclass(slots=True)
class MarkPlace:
    """Where one transaction at a time leaves its mark: the number it is there."""

    name: str = field(default_factory=lambda: uuid4().hex)
    number: int = 0
    made: bool = False


class Transactions:
    def __init__(self, pool: Pool, options: PostgresOptions, where: str) -> None:
        self._pool = pool
        self._options = options
        self._where = where
        self._places: list[MarkPlace] = []
        self._underway = 0
        self._closed = False
        self._idle = anyio.Event()

    async def write(self, body: Body[Answer]) -> Answer:
        return await self._repeated(lambda: self._once(body))

    async def read(self, body: Body[Answer]) -> Answer:
        return await self._repeated(lambda: self._view(body))

    async def look(self, body: Body[Answer]) -> Answer:
        """One statement that writes nothing, without a transaction around it. Behind a pooler it needs one: what is
        prepared and what is asked could go to two connections."""
        return (
            await self.read(body) if self._options.pooler else await self._repeated(lambda: self._bare(body))
        )

    async def notify(self, channel: str, notices: Sequence[str]) -> None:
        async with self._connection() as connection:
            await connection.execute(numbered(SQL["notify"]).text, channel, to_text(notices))

    async def close(self) -> None:
        """Finish what was asked for; a server that is gone is not waited for."""
        self._closed = True
        with anyio.move_on_after(ACQUIRE_SECONDS) as waiting:
            if self._underway:
                await self._idle.wait()
            await self._pool.close()
        if waiting.cancelled_caught:
            self._pool.terminate()

    async def _repeated(self, attempt: Callable[[], Awaitable[Answer]]) -> Answer:
        with self._door():
            try:
                return await self._tried(attempt)
            except DRIVER_ERRORS as error:
                raise translated(error, self._where) from error

    @contextmanager
    def _door(self) -> Iterator[None]:
        """Nobody comes in after it is shut; who came in before is waited for."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        self._underway += 1
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        self._underway -= 1
        if self._closed and not self._underway:
            self._idle.set()

    async def _tried(self, attempt: Callable[[], Awaitable[Answer]]) -> Answer:
        """What an attempt comes to at last; the error of the last one, if none came to an end."""
        for pause in PAUSES:
            await anyio.sleep(pause)
            try:
                return await attempt()
            except Again as undone:
                cause = undone.cause
            # Who met another at the same moment finds it when it looks again.
            if pause and isinstance(cause, Conflict):
                break
        raise cause

    async def _bare(self, body: Body[Answer]) -> Answer:
        # The driver begins to ask before it looks at what it is given; the server then waits for the rest.
        async with self._connection() as connection, _undone_by_errors(connection):
            return await body(connection)

    async def _view(self, body: Body[Answer]) -> Answer:
        async with self._connection() as connection:
            async with _undone_by_errors(connection):
                await connection.execute(self._options.begin(READING))
                answer = await body(connection)
            # There is nothing of which the end could matter.
            await _end(connection)
        return answer

    async def _once(self, body: Body[Answer]) -> Answer:
        with ExitStack() as until_known:
            async with self._connection() as connection:
                place = until_known.enter_context(self._place())
                await self._make(place, connection)
                async with _undone_by_errors(connection):
                    await connection.execute(self._options.begin())
                    answer = await body(connection)
                    place.number += 1
                    marked = await connection.fetchval(MARK, place.number, place.name)
                unheard = await _end(connection)
            if unheard is not None and await self._last_mark(place) != place.number and marked:
                raise Again(unheard) from unheard
            return answer

    @contextmanager
    def _place(self) -> Iterator[MarkPlace]:
        place = self._places.pop() if self._places else MarkPlace()
        try:
            yield place
        finally:
            self._places.append(place)

    async def _make(self, place: MarkPlace, connection: Connection) -> None:
        """There before it is used: a row that is being made cannot be waited for."""
        if place.made:
            return
        async with _undone_by_errors(connection):
            await connection.execute(self._options.begin())
            await connection.execute(SQL["forget_places"])
            await connection.execute(MAKE_PLACE, place.name)
        if (unheard := await _end(connection)) is not None:
            raise Again(unheard) from unheard
        place.made = True

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        try:
            connection = await self._pool.acquire(timeout=ACQUIRE_SECONDS)
        except TimeoutError as error:
            raise StoreUnavailable(
                f"all {self._pool.get_max_size()} connections to {self._where} are busy",
                hint="try again, or allow more of them in its address: ?connections=20",
            ) from error
        except LOST as error:
            raise Again(error) from error
        try:
            yield connection
        finally:
            await self._pool.release(connection)

    async def _last_mark(self, place: MarkPlace) -> int:
        """Which transaction was written last at a place, once all that were begun there have ended."""
        for pause in PAUSES:
            await anyio.sleep(pause)
            try:
                async with self._connection() as connection:
                    async with _undone_by_errors(connection):
                        await connection.execute(self._options.begin())
                        found: int | None = await connection.fetchval(LAST_MARK, place.name)
                    await _end(connection)
            except (Again, asyncpg.LockNotAvailableError):
                continue
            if found is not None:
                return found
        raise WriteUnknown(
            f"{self._where} was lost while it was writing, and cannot say what was written",
            hint="look before trying again",
        )


@contextmanager
def _told_if_undone(connection: Connection) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if _undone(error, connection):
            raise Again(error) from error
        raise


@asynccontextmanager
async def _undone_by_errors(connection: Connection) -> AsyncIterator[None]:
    with _told_if_undone(connection):
        try:
            yield
        except BaseException:
            await _undo(connection)
            raise


async def _undo(connection: Connection) -> None:
    with anyio.move_on_after(ROLLBACK_SECONDS, shield=True):
        try:
            await connection.execute("ROLLBACK")
        except DRIVER_ERRORS:
            _drop(connection)
        return
    _drop(connection)


async def _end(connection: Connection) -> BaseException | None:
    """Whoever stops waiting now does not undo it. What kept its end from being heard of, if anything did."""
    with anyio.CancelScope(shield=True):
        try:
            await connection.execute("COMMIT")
        except DRIVER_ERRORS as error:
            _drop(connection)
            return error
    return None


def _drop(connection: Connection) -> None:
    # One that is lost already has left the pool, and is not there to be ended.
    with suppress(asyncpg.InterfaceError):
        connection.terminate()


def _is_gone(connection: Connection) -> bool:
    try:
        return bool(connection.is_closed())
    except asyncpg.InterfaceError:
        return True


def _undone(error: BaseException, connection: Connection) -> bool:
    """Whether an error left nothing behind and may not happen again."""
    if isinstance(error, Conflict):
        cause = error.__context__
        return isinstance(cause, asyncpg.UniqueViolationError) and cause.constraint_name in _MET_AT_ONCE
    if isinstance(error, asyncpg.InterfaceError):
        return _is_gone(connection)
    return isinstance(error, (*LOST, *IN_THE_WAY))
