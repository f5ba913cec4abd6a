"""The part of a store that takes in conversations from outside."""

from typing import Protocol

from roost.core.imports import ImportedSession, ImportOutcome


class Imports(Protocol):
    async def import_session(self, imported: ImportedSession) -> ImportOutcome:
        """Add a conversation from outside. Done again, it changes nothing; cut short, it goes on."""
        ...

    async def import_new(self, sessions: tuple[ImportedSession, ...]) -> None:
        """Add conversations of which nothing is there yet, parents before their children, all or none: `Conflict` names
        what is there. A call of theirs that the ledger knows is not counted again, and no budget pays for them."""
        ...
