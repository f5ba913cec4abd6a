"""A bundle into a store: verified whole, read whole, then written in one transaction. Whose it is and what may be done in
it is for the importer to say."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from anyio import to_thread

from roost.core.errors import Conflict, InvalidInput
from roost.core.imports import ImportedGeneration, ImportedSession
from roost.core.jsonl import Malformed, read_object
from roost.core.jsonvalue import JsonObject, as_object, as_optional, as_text
from roost.core.keys import CHILD_KINDS, SessionKey
from roost.core.ledger import LedgerRow
from roost.core.principals import UNKNOWN, Principal
from roost.core.sessions import Base, Lineage, Session
from roost.ports import Store
from roost.transfer.archives import Archive, opened_archive
from roost.transfer.bundlerows import (
    BundledGeneration,
    call_from_json,
    generations_from_json,
    status_from_json,
    terms_from_json,
)
from roost.transfer.conversations import is_label_used
from roost.transfer.index import IndexEntry, read_index
from roost.transfer.jsonl_files import Transcript, read_transcript
from roost.transfer.lines import Limits, Line, read_lines, read_whole
from roost.transfer.options import ImportOptions
from roost.transfer.packing import INDEX, USAGE
from roost.transfer.plans import MAX_DEPTH, orphan_key
from roost.transfer.report import ImportReport, Item, Remarks, Result, shown
from roost.transfer.rows import ImportPlace, owner_of, session_row
from roost.transfer.transcripts import DEFAULT_AGENT

NewId: TypeAlias = Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundled:
    """One session of a bundle, under the key it had."""

    key: SessionKey
    parent: SessionKey | None
    entry: IndexEntry
    said: JsonObject
    generations: tuple[BundledGeneration, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """What things are called here, by what they were called there."""

    key: Callable[[SessionKey], SessionKey]
    session_id: Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A session as it will be, and what is to be said of it."""

    imported: ImportedSession
    remarks: Remarks


async def unpack(
    store: Store, path: Path, options: ImportOptions, agents: frozenset[str], fork: NewId | None = None
) -> ImportReport:
    """Import a bundle, all of it or nothing. Where something of it is there already it is refused, unless it shall be
    kept beside that, under keys and ids that `fork` makes. Nobody could read a session whose agent is none of `agents`."""
    read = await to_thread.run_sync(_read, path, options, agents, fork)
    sessions = tuple([await _labelled(store, one) for one in read])
    try:
        await store.import_new(sessions)
    except Conflict as error:
        raise Conflict(
            f"the bundle cannot be imported: {error.message}",
            hint="--fork imports it beside what is there, under a key of its own",
        ) from None
    return ImportReport(
        tuple(
            Item(
                source=shown(path.name),
                result=Result.IMPORTED if fork is None else Result.FORKED,
                key=one.imported.session.key,
                entries=sum(len(generation.drafts) for generation in one.imported.generations),
                remarks=one.remarks.all(),
            )
            for one in read
        )
    )


def keys_in(path: Path, limits: Limits) -> frozenset[SessionKey]:
    """The sessions that a bundle holds."""
    with opened_archive(path, limits) as archive:
        return frozenset(one.key for one in _sessions(archive, limits))


async def _labelled(store: Store, one: _Read) -> ImportedSession:
    session = one.imported.session
    label = session.labels.label
    if label is None or not await is_label_used(store, label, session.key):
        return one.imported
    one.remarks.add("its label is in use and was not taken over")
    return replace(one.imported, session=session._replace(labels=replace(session.labels, label=None)))


def _read(
    path: Path, options: ImportOptions, agents: frozenset[str], fork: NewId | None
) -> tuple[_Read, ...]:
    with opened_archive(path, options.limits) as archive:
        sessions = _in_order(_sessions(archive, options.limits), archive)
        if fork is None:
            _refuse_lone_child(sessions[0].key)
        naming = _naming(sessions, options.agent, fork)
        _refuse_unknown({naming.key(one.key).agent for one in sessions} - {""}, agents)
        return tuple(_Reading(archive, options, sessions, naming).all())


# -- what there is -----------------------------------------------------------------------------------


def _sessions(archive: Archive, limits: Limits) -> tuple[Bundled, ...]:
    if not {INDEX, USAGE} <= archive.parts:
        raise _damaged("it has no index")
    with archive.part(INDEX) as stream:
        content = read_whole(stream, limits.index_bytes)
    entries, index = read_index(content), read_object(content.decode("utf-8", "replace"))
    if isinstance(entries, Malformed) or isinstance(index, Malformed):
        raise _damaged("its index cannot be read")
    return tuple(_bundled(entry, as_object(index.get(entry.name))) for entry in entries)


def _bundled(entry: IndexEntry, said: JsonObject) -> Bundled:
    parent = as_optional(said.get("spawnedBy"))
    return Bundled(
        key=SessionKey.parse(entry.name),
        parent=None if parent is None else SessionKey.parse(parent),
        entry=entry,
        said=said,
        generations=tuple(generations_from_json(said)),
    )


def _in_order(sessions: tuple[Bundled, ...], archive: Archive) -> tuple[Bundled, ...]:
    """The root first, parents before their children; what hangs together otherwise is refused."""
    by_key = {one.key: one for one in sessions}
    root = by_key.get(SessionKey.parse(as_text(archive.manifest.get("root"))))
    if root is None or len(by_key) != len(sessions):
        raise _damaged("it has no session to begin with")
    # What it hung under is elsewhere.
    placed, wanting = [replace(root, parent=None)], [one for one in sessions if one is not root]
    for _ in range(MAX_DEPTH):
        known = {one.key for one in placed}
        placed += [one for one in wanting if one.parent in known]
        wanting = [one for one in wanting if one.parent not in known]
    # No other session is seen by whoever sees the one above it.
    strange = next((one for one in (*wanting, *placed[1:]) if one.key.kind not in CHILD_KINDS), None)
    if wanting or strange:
        raise _damaged("a session in it is no child of another")
    ids = [one.session_id for session in placed for one in session.generations]
    files = [one.file for session in placed for one in session.generations]
    if len(set(ids)) != len(ids) or sorted(filter(None, files)) != sorted(archive.parts - {INDEX, USAGE}):
        raise _damaged("its transcripts are not those of its sessions")
    return tuple(placed)


def _refuse_lone_child(root: SessionKey) -> None:
    """Under its own key it would be a child whose rights nobody bounds."""
    if root.kind in CHILD_KINDS:
        raise InvalidInput(
            f"{shown(str(root))} is a child, and the session it belongs to is not in the bundle",
            hint="--fork imports it as a session of its own; or bundle the session it belongs to",
        )


def _refuse_unknown(wanted: set[str], agents: frozenset[str]) -> None:
    if not wanted <= agents:
        raise InvalidInput(
            f"there is no agent {', '.join(sorted(wanted - agents))}",
            hint=f"--agent gives the sessions to one that there is: {', '.join(sorted(agents))}",
        )


def _naming(sessions: tuple[Bundled, ...], agent: str | None, new_id: NewId | None) -> Naming:
    ids = {one.session_id for session in sessions for one in session.generations}
    names = {old: old if new_id is None else new_id() for old in sorted(ids)}
    keys: dict[SessionKey, SessionKey] = {}
    for one in sessions:
        own = replace(one.key, agent=agent) if agent is not None and one.key.agent else one.key
        if new_id is not None:
            own = (
                replace(own, name=new_id())
                if one.parent
                else orphan_key(own.agent or DEFAULT_AGENT, new_id())
            )
        keys[one.key] = own
    return Naming(key=keys.__getitem__, session_id=names.__getitem__)


def _damaged(why: str) -> InvalidInput:
    return InvalidInput(
        f"the bundle does not hold together: {why}", hint="nothing was imported; bundle the session again"
    )


# -- reading it --------------------------------------------------------------------------------------


class _Reading:
    def __init__(
        self, archive: Archive, options: ImportOptions, sessions: tuple[Bundled, ...], naming: Naming
    ) -> None:
        self._archive = archive
        self._options = options
        self._sessions = sessions
        self._naming = naming
        self._ids = {one.session_id for session in sessions for one in session.generations}
        self._rows: dict[SessionKey, Session] = {}

    def all(self) -> Iterator[_Read]:
        calls = self._calls()
        for one in self._sessions:
            remarks = Remarks()
            place = self._place(one, remarks)
            speaker = _speaker(one, place, remarks)
            generations = tuple(
                found
                for generation in one.generations
                for found in self._generation(generation, speaker, remarks)
            )
            if all(generation.archived for generation in generations):
                raise _damaged(f"{shown(str(one.key))} has no transcript")
            row = session_row(
                place, self._options, generations, one.entry, archived=bool(one.entry.times.archived)
            )._replace(status=status_from_json(one.said))
            self._rows[one.key] = row
            usage = tuple(call_from_json(said, row.key, row.owner) for said in calls.get(one.key, ()))
            yield _Read(
                imported=ImportedSession(session=row, generations=generations, usage=self._renamed(usage)),
                remarks=remarks,
            )

    def _place(self, one: Bundled, remarks: Remarks) -> ImportPlace:
        key = self._naming.key(one.key)
        parent = None if one.parent is None else self._rows[one.parent]
        owner = owner_of(key, self._options, None if parent is None else parent.owner)
        if parent is None:
            return ImportPlace(key=key, owner=owner)
        terms = as_object(one.said.get("terms"))
        if not terms:
            remarks.add("what it may do is not in the bundle: here it may read, in a sandbox")
        lineage = Lineage(parent=parent.key, depth=parent.lineage.depth + 1, terms=terms_from_json(terms))
        return ImportPlace(key=key, owner=owner, lineage=lineage)

    def _generation(
        self, one: BundledGeneration, speaker: Principal, remarks: Remarks
    ) -> tuple[ImportedGeneration, ...]:
        """The transcript, and the branches that were in its file."""
        now = self._options.now
        session_id = self._naming.session_id(one.session_id)
        opened_at = min(one.opened_at, now)
        found: tuple[ImportedGeneration, ...] = (
            ImportedGeneration(session_id=session_id, opened_at=opened_at, drafts=()),
        )
        if one.file is not None:
            transcript = Transcript(session_id=session_id, principal=speaker, now=now)
            with self._archive.part(one.file) as stream:
                found = read_transcript(read_lines(stream, self._options.limits), transcript, remarks)
        first = replace(
            found[0],
            opened_at=opened_at,
            opened_by=one.opened_by,
            rule=one.rule,
            base=self._base(one.base, remarks),
            archived=one.archived,
        )
        return (first, *found[1:])

    def _base(self, base: Base | None, remarks: Remarks) -> Base | None:
        """One that is in the bundle; a transcript of somebody here is none."""
        if base is None:
            return None
        if base.session_id not in self._ids:
            remarks.add("it went on from a conversation that is not in the bundle")
            return None
        return replace(base, session_id=self._naming.session_id(base.session_id))

    def _calls(self) -> Mapping[SessionKey, list[JsonObject]]:
        """By session. Those of children that were gone already count for the session at the top."""
        known = {str(one.key): one.key for one in self._sessions}
        root = self._sessions[0].key
        calls: dict[SessionKey, list[JsonObject]] = {}
        with self._archive.part(USAGE) as stream:
            for line in read_lines(stream, self._options.limits):
                said = (
                    read_object(line.content.decode("utf-8", "replace")) if isinstance(line, Line) else None
                )
                if said is None or isinstance(said, Malformed):
                    raise _damaged("what it cost cannot be read")
                calls.setdefault(known.get(as_text(said.get("key")), root), []).append(said)
        return calls

    def _renamed(self, usage: tuple[LedgerRow, ...]) -> tuple[LedgerRow, ...]:
        return tuple(
            replace(row, session_id=self._naming.session_id(row.session_id))
            if row.session_id in self._ids
            else row
            for row in usage
        )


def _speaker(one: Bundled, place: ImportPlace, remarks: Remarks) -> Principal:
    """Who spoke where a line says nothing else: never the owner in what was another's."""
    if not place.owner.is_owner or one.said.get("ofOwner") is not False:
        return place.owner
    remarks.add("it was somebody else's there, and is the owner's here")
    return UNKNOWN
