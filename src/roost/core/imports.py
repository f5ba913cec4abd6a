"""A conversation that comes from outside: content only. Its owner and its rights are the importer's to give."""

from dataclasses import dataclass
from enum import StrEnum

from roost.core.entries import EntryDraft
from roost.core.ledger import LedgerRow
from roost.core.sessions import Base, OpenedBy, Session


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedGeneration:
    """One transcript. `archived` marks a branch that was left, and `base` where it went off.

    `header` is what its file held beside its entries: the first line as it was, and how the lines lay.
    """

    session_id: str
    opened_at: int
    drafts: tuple[EntryDraft, ...]
    header: str | None = None
    archived: bool = False
    base: Base | None = None
    opened_by: OpenedBy = OpenedBy.IMPORT
    rule: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSession:
    """A row and its transcripts, oldest first; the last one that is not archived is current. `usage` is what it cost."""

    session: Session
    generations: tuple[ImportedGeneration, ...]
    usage: tuple[LedgerRow, ...] = ()


class ImportOutcome(StrEnum):
    """`RESUMED`: some of it was there already; `PRESENT`: all of it was; `TAKEN`: the key is another's."""

    IMPORTED = "imported"
    RESUMED = "resumed"
    PRESENT = "present"
    TAKEN = "taken"
