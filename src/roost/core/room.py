"""How much room there is: for sessions, and for what is said in one before it starts afresh."""

from dataclasses import dataclass
from typing import ClassVar

from roost.core.errors import RoostError
from roost.core.sessions import Session


class Full(RoostError):
    """There is no more room; nothing was written."""

    code: ClassVar[str] = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """`sessions` are all there may be, archived ones too; `entries` those of one session since it last started afresh."""

    sessions: int = 250_000
    entries: int = 100_000

    def refuse_crowd(self, sessions: int) -> None:
        """Raises where one more session would be too many."""
        if sessions >= self.sessions:
            raise Full(
                f"there are {sessions:,} sessions, which is all there may be",
                hint="delete some, or raise `session.maintenance.maxSessions`",
            )

    def refuse_long(self, session: Session) -> None:
        """Raises where no more may be said in a session."""
        if session.summary.entries >= self.entries:
            raise Full(
                f"session {session.key} holds {session.summary.entries:,} entries, which is all it may",
                hint="start it afresh with /new, or raise `session.maintenance.maxSessionEntries`",
            )
