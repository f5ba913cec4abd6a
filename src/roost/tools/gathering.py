"""What is asked for at once is done in one go, in the order it was asked for."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import anyio

Item = TypeVar("Item")


class Gathering(Generic[Item]):
    """`act` notes on each item what came of it. Items are told apart by what they are, not by what they hold."""

    def __init__(self, act: Callable[[Sequence[Item]], Awaitable[None]]) -> None:
        self._act = act
        self._waiting: list[Item] = []
        self._turn = anyio.Lock()

    async def join(self, item: Item) -> None:
        """Have this done, with all that others asked for by then; they do not lose it when this caller is gone."""
        self._waiting.append(item)
        try:
            async with self._turn:
                if item in self._waiting:
                    items, self._waiting = self._waiting, []
                    with anyio.CancelScope(shield=True):
                        await self._act(items)
        finally:
            if item in self._waiting:
                self._waiting.remove(item)
