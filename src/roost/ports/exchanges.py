"""The part of a store that knows what sessions asked of each other, and how children ended."""

from collections.abc import Collection
from typing import Protocol

from roost.core.exchanges import Completion, Exchange, Spawned
from roost.core.keys import SessionKey
from roost.core.snapshots import DecideExchange


class Exchanges(Protocol):
    async def exchange(self, exchange_id: str) -> Exchange | None: ...

    async def exchanges(self, requester: SessionKey, target: SessionKey) -> tuple[Exchange, ...]:
        """What one session sent to another, as far as it is kept."""
        ...

    async def exchanges_of(self, key: SessionKey, limit: int) -> tuple[Exchange, ...]:
        """What a session sent and was sent, newest first."""
        ...

    async def remote_exchanges(self, limit: int, but_to: Collection[str] = ()) -> tuple[Exchange, ...]:
        """What was sent to sessions of other gateways, but those named, and is not over, oldest first."""
        ...

    async def change_exchange(self, exchange_id: str, decide: DecideExchange) -> Exchange | None:
        """Decide about an exchange, seen with its target under that session's lock; the exchange as it is then. Where the
        target is gone nothing is decided."""
        ...

    async def completion(self, child_run: str) -> Completion | None:
        """How far the task is that a child was spawned with, whoever was told of it."""
        ...

    async def completions(self, requester: SessionKey) -> tuple[Completion, ...]:
        """What a session is owed or was told and has not acknowledged, oldest first."""
        ...

    async def spawned(self, requester: SessionKey) -> tuple[Spawned, ...]:
        """What a session ever spawned, as far as it is kept, in its order; there may be very many."""
        ...
