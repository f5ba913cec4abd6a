"""News between gateways. What one commits it tells the others by names only, once for all that was committed meanwhile.

Truth is in the tables: whoever hears nothing looks again by itself after a while.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from secrets import token_hex
from typing import Any

import anyio
import asyncpg
import orjson

from roost.core.errors import StoreUnavailable
from roost.core.topics import Topic, TopicKind
from roost.ports import Clock
from roost.stores.codec import to_text
from roost.stores.postgres.connection import DRIVER_ERRORS, PostgresOptions, driver_settings
from roost.stores.postgres.dialect import SQL, numbered
from roost.stores.postgres.transactions import Again, Transactions
from roost.stores.topics import WATCHED, Topics

LOOK_SECONDS = 2.0
RECONNECT_SECONDS = 0.5
LONGEST_NOTICE = 7_500
# Clocks of gateways may differ by so much without a change being missed.
RECENT_MS = 30_000
KINDS = frozenset(kind.value for kind in TopicKind)

_log = logging.getLogger(__name__)


class Notices:
    """Tells and hears, from `start` to `close`."""

    def __init__(
        self,
        address: str,
        options: PostgresOptions,
        transactions: Transactions,
        topics: Topics,
        clock: Clock,
    ) -> None:
        self._address = address
        self._options = options
        self._transactions = transactions
        self._topics = topics
        self._clock = clock
        self._recent: set[tuple[str, int]] = set()
        self._sender = token_hex(8)
        self._untold: set[Topic] = set()
        self._something = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._serve())  # noqa: TID251 — the store is its owner, and `close` its end

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def tell(self, topics: Iterable[Topic]) -> None:
        self._untold.update(topics)
        self._something.set()

    async def _serve(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._send)
            group.start_soon(self._look_again)
            if not self._options.pooler:
                group.start_soon(self._listen)

    async def _send(self) -> None:
        while True:
            await self._something.wait()
            self._something.clear()
            untold, self._untold = self._untold, set()
            with suppress(*DRIVER_ERRORS, StoreUnavailable, Again):
                await self._transactions.notify(self._options.schema, list(self._notices(untold)))

    def _notices(self, topics: Iterable[Topic]) -> Iterator[str]:
        """As few as hold them all."""
        names: list[tuple[str, str]] = []
        room = LONGEST_NOTICE
        for topic in topics:
            room -= 2 * len(topic.ref.encode()) + len(topic.kind) + 8
            if room < 0 and names:
                yield to_text([self._sender, names])
                names, room = [], LONGEST_NOTICE
            names.append((topic.kind, topic.ref))
        yield to_text([self._sender, names])

    async def _look_again(self) -> None:
        while True:
            await anyio.sleep(LOOK_SECONDS)
            self._topics.wake_all()
            if self._topics.all_watched:
                with suppress(*DRIVER_ERRORS, StoreUnavailable):
                    await self._look_for_changes()

    async def _look_for_changes(self) -> None:
        """Who watches all sessions must be told which have changed: those whose feed is longer than it was, or that are
        gone."""
        statement = numbered(SQL["recently_changed"]).text
        since = self._clock.now() - RECENT_MS
        rows = await self._transactions.look(lambda connection: connection.fetch(statement, since, RECENT_MS))
        recent = {(key, number) for key, number in rows}
        changed = {key for key, _ in recent - self._recent}
        self._recent = recent
        self._topics.wake(Topic(kind, key) for key in changed for kind in WATCHED)

    async def _listen(self) -> None:
        while True:
            try:
                await self._hear()
            except DRIVER_ERRORS as error:
                _log.debug("news of other gateways cannot be heard: %r", error)
            await anyio.sleep(RECONNECT_SECONDS)

    async def _hear(self) -> None:
        """Until the connection is lost."""
        lost = asyncio.Event()
        connection = await asyncpg.connect(self._address, **driver_settings(self._options))
        try:
            connection.add_termination_listener(lambda _: lost.set())
            await connection.add_listener(self._options.schema, self._heard)
            # What was told before this moment was told to nobody here.
            self._topics.wake_all()
            await lost.wait()
        finally:
            connection.terminate()

    def _heard(self, *news: Any) -> None:
        sender, names = orjson.loads(news[-1])
        if sender != self._sender:
            # A gateway of another version may tell of what nobody here waits for.
            self._topics.wake(Topic(TopicKind(kind), ref) for kind, ref in names if kind in KINDS)
