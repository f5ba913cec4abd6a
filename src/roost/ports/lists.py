"""The part of a store that lists sessions."""

from typing import Protocol

from roost.core.listing import Overview
from roost.core.queries import Page, SessionQuery
from roost.core.sessions import Session


class Lists(Protocol):
    async def list_sessions(self, query: SessionQuery) -> Page[Session]:
        """Newest activity first; ties by key. Scope and filters are applied before the limit."""
        ...

    async def overview(self, query: SessionQuery, *, children: int) -> Overview:
        """The same, only what is shown of each, with the newest of their children that are in scope, at most so many in
        all; archived ones are left out."""
        ...
