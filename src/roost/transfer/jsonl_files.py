"""One transcript file as generations: the active path, and each branch that was left as an archived one.

Nothing of a file is lost. A line that is no entry goes with the line before it, as a notice that holds it.
"""

import base64
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from roost.core.branches import Branches, branches
from roost.core.entries import EntryDraft
from roost.core.imports import ImportedGeneration
from roost.core.jsonl import (
    MAX_ID_CHARS,
    Header,
    Importer,
    Malformed,
    header_from_json,
    line_of,
    read_entry,
    read_line,
)
from roost.core.jsonvalue import JsonValue
from roost.core.messages import Notice
from roost.core.notices import derived_id
from roost.core.principals import Principal
from roost.core.sessions import Base
from roost.transfer.layout import Layout, stretches
from roost.transfer.lines import AnyLine, Line, LongLine
from roost.transfer.report import Remarks

UNPARSED = "unparsed"
UNNAMED = "unnamed-line-"
MAX_BRANCHES = 256

_BOM = "\ufeff"
_FOLDED_BYTES = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What a file does not say of itself: its id here, on whose behalf it is read, and when that is."""

    session_id: str
    principal: Principal
    now: int


def read_transcript(
    lines: Iterable[AnyLine], transcript: Transcript, remarks: Remarks
) -> tuple[ImportedGeneration, ...]:
    """The generations of one file, the current one first."""
    reader = _Reader(transcript.principal, remarks)
    for line in lines:
        reader.take(line)
    pieces = reader.finish()
    layout = Layout(first=reader.first, open_end=None if reader.ended else len(pieces))
    opened_at = min(reader.opened_at(pieces), transcript.now)
    groups = _grouped(pieces, transcript.session_id, remarks)
    generations = [
        ImportedGeneration(
            session_id=group.session_id,
            opened_at=opened_at,
            drafts=_drafts(pieces, group.places),
            header=str(Layout(branch_of=transcript.session_id, places=stretches(group.places))),
            archived=True,
            base=_base(group, groups),
        )
        for group in groups
    ]
    generations[0] = replace(generations[0], header=str(layout), archived=False)
    return tuple(generations)


# -- from lines to pieces ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """An entry and the number of its line; `named` says that it is part of the tree by an id of its own."""

    number: int
    draft: EntryDraft
    named: bool


class _Reader:
    """Takes lines in order; unreadable ones that follow each other become one piece."""

    def __init__(self, principal: Principal, remarks: Remarks) -> None:
        self._principal = principal
        self._remarks = remarks
        self._pieces: list[_Piece] = []
        self._unreadable: list[Line] = []
        self._unreadable_bytes = 0
        self._previous: str | None = None
        self._header: Header | None = None
        self.first: str | None = None
        self.ended = True

    def take(self, line: AnyLine) -> None:
        if isinstance(line, LongLine):
            self._flush_unreadable()
            self._add_notice(line.number, {"reason": "the line is too long", "bytes": line.size})
            self._remarks.add(f"line {line.number}: left out, it has {line.size} bytes")
            self.ended = True
            return
        self.ended = line.ended
        found = self._read(line)
        if found is None:
            return
        if isinstance(found, Malformed):
            self._hold_unreadable(line, found)
        else:
            self._flush_unreadable()
            self._add(line.number, found)

    def finish(self) -> tuple[_Piece, ...]:
        self._flush_unreadable()
        return tuple(self._pieces)

    def opened_at(self, pieces: Sequence[_Piece]) -> int:
        """When the transcript began, as far as it says."""
        said = self._header.at if self._header else 0
        return said or next((piece.draft.body.at for piece in pieces if piece.draft.body.at), 0)

    def _read(self, line: Line) -> EntryDraft | Malformed | None:
        """The entry of a line; None for the header."""
        try:
            text = line.content.decode()
        except UnicodeDecodeError:
            return Malformed("not valid UTF-8")
        bare = text.removeprefix(_BOM) if line.number == 1 else text
        if line.number == 1 and self._is_header(bare):
            self.first = text
            return None
        importer = Importer(
            principal=self._principal,
            fallback_id=f"{UNNAMED}{line.number}",
            previous_id=self._previous,
        )
        found = read_entry(bare, importer)
        return found if isinstance(found, Malformed) else _storable(found, importer, text)

    def _is_header(self, text: str) -> bool:
        line = read_line(text)
        self._header = None if isinstance(line, Malformed) else header_from_json(line)
        return self._header is not None

    def _add(self, number: int, draft: EntryDraft) -> None:
        named = not draft.id.startswith(UNNAMED)
        self._pieces.append(_Piece(number=number, draft=draft, named=named))
        if named:
            self._previous = draft.id

    def _hold_unreadable(self, line: Line, malformed: Malformed) -> None:
        if line.content.strip():
            self._remarks.add(f"line {line.number}: {malformed.reason}, kept as it is")
        self._unreadable.append(line)
        self._unreadable_bytes += len(line.content) + 1
        if self._unreadable_bytes > _FOLDED_BYTES:
            self._flush_unreadable()

    def _flush_unreadable(self) -> None:
        if not self._unreadable:
            return
        content = b"\n".join(line.content for line in self._unreadable)
        number, lines = self._unreadable[0].number, len(self._unreadable)
        self._unreadable, self._unreadable_bytes = [], 0
        said: dict[str, JsonValue] = {"reason": "not readable as transcript lines", "lines": lines}
        try:
            text = content.decode()
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            self._add_notice(number, {**said, "base64": base64.b64encode(content).decode()})
        else:
            self._add_notice(number, said, source=text)

    def _add_notice(self, number: int, data: dict[str, JsonValue], source: str | None = None) -> None:
        at = self._pieces[-1].draft.body.at if self._pieces else 0
        body = Notice(kind=UNPARSED, at=at, data=data)
        self._add(
            number,
            EntryDraft(id=f"{UNNAMED}{number}", body=body, parent_id=self._previous, source=source),
        )


def _storable(draft: EntryDraft, importer: Importer, text: str) -> EntryDraft:
    """The draft with ids that every store can hold, and its text wherever the value alone would not give it."""
    entry_id = importer.fallback_id if "\0" in draft.id else draft.id
    parent_id = draft.parent_id
    if parent_id is not None and ("\0" in parent_id or len(parent_id) > MAX_ID_CHARS):
        parent_id = None
    same = (entry_id, parent_id, line_of(draft)) == (draft.id, draft.parent_id, text)
    # Without its text, a line that calls itself unparsed would pass for one that this module made.
    if same and not _is_unparsed(draft):
        return draft
    return replace(draft, id=entry_id, parent_id=parent_id, source=text)


# -- from pieces to generations ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Places of the pieces of one generation, ascending, and the group and the place it went off from."""

    session_id: str
    places: tuple[int, ...]
    base: tuple[int, int] | None


def _grouped(pieces: Sequence[_Piece], session_id: str, remarks: Remarks) -> list[_Group]:
    """The pieces of the active path, then those of each other branch."""
    named = [place for place, piece in enumerate(pieces) if piece.named]
    tree = branches([pieces[place].draft for place in named], [pieces[place].number for place in named])
    for problem in tree.problems:
        remarks.add(problem)
    owner = [0] * len(pieces)
    bases: list[int | None] = [None]
    ids = [session_id]
    for number, (base, lines) in enumerate(_others(tree, remarks), start=1):
        bases.append(None if base is None else named[base])
        ids.append(derived_id("branch", session_id, str(pieces[named[lines[0]]].number)))
        for line in lines:
            owner[named[line]] = number
    _follow(pieces, owner)
    members: list[list[int]] = [[] for _ in ids]
    for place, number in enumerate(owner):
        members[number].append(place)
    return [
        _Group(
            session_id=session_id, places=tuple(places), base=None if base is None else (owner[base], base)
        )
        for session_id, places, base in zip(ids, members, bases, strict=True)
    ]


def _others(tree: Branches, remarks: Remarks) -> Iterator[tuple[int | None, tuple[int, ...]]]:
    if len(tree.others) <= MAX_BRANCHES:
        yield from ((branch.base, branch.lines) for branch in tree.others)
        return
    remarks.add(f"{len(tree.others)} branches were left; they are kept together")
    yield None, tuple(sorted(line for branch in tree.others for line in branch.lines))


def _follow(pieces: Sequence[_Piece], owner: list[int]) -> None:
    """Let every piece without an id go with the one before it, the leading ones with the first that has one."""
    current = next((owner[place] for place, piece in enumerate(pieces) if piece.named), 0)
    for place, piece in enumerate(pieces):
        if piece.named:
            current = owner[place]
        owner[place] = current


def _base(group: _Group, groups: Sequence[_Group]) -> Base | None:
    if group.base is None:
        return None
    number, place = group.base
    other = groups[number]
    return Base(session_id=other.session_id, seq=bisect_left(other.places, place) + 1)


def _drafts(pieces: Sequence[_Piece], places: Sequence[int]) -> tuple[EntryDraft, ...]:
    """The entries at these places. Only the first may leave it open that it has no parent: an entry added
    later leaves it open too, and is written with the one before it as its parent."""
    drafts = [pieces[place].draft for place in places]
    return tuple(
        replace(draft, source=line_of(draft))
        if index and draft.parent_id is None and draft.source is None and not _is_unparsed(draft)
        else draft
        for index, draft in enumerate(drafts)
    )


def _is_unparsed(draft: EntryDraft) -> bool:
    return isinstance(draft.body, Notice) and draft.body.kind == UNPARSED
