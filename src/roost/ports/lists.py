"""The part of a store that lists sessions."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from roost.core.listing import Glance, Overview
from roost.core.queries import Page, SessionQuery
from roost.core.sessions import Session

Shown = TypeVar("Shown")


class Lists(Protocol):
    async def list_sessions(self, query: SessionQuery) -> Page[Session]:
        """Newest activity first; ties by key. Scope and filters are applied before the limit."""
        ...

    async def glances(self, query: SessionQuery) -> Page[Glance]:
        """The same, only what is shown of each."""
        ...

    async def overview(
        self, query: SessionQuery, *, children: int, show: Callable[[Overview], Shown]
    ) -> Shown:
        """As `glances`, with the newest of their children that are in scope, at most so many in
        all; archived ones are left out. `show` makes of it what is needed: a pure function, because it runs where rows
        are read, which may be another thread."""
        ...
