"""One row of a transcript. Entries are linear: (generation, seq) is their place and their order."""

from dataclasses import dataclass
from typing import NamedTuple

from roost.core.messages import Body


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDraft:
    """An entry before the store gave it a place.

    `id` and `parent_id` are kept for export. `source` is the imported line, kept only where writing the
    body again would not give the same text.
    """

    id: str
    body: Body
    parent_id: str | None = None
    run_id: str | None = None
    source: str | None = None


class Entry(NamedTuple):
    """An entry in its place. A tuple, because a store makes one of every row it reads."""

    session_id: str
    seq: int
    id: str
    body: Body
    parent_id: str | None = None
    run_id: str | None = None
    source: str | None = None
