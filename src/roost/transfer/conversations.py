"""Planned conversations into the store, one by one: read, given a place, imported, and told about."""

from collections.abc import AsyncIterator
from dataclasses import replace

from anyio import to_thread

from roost.core.errors import Conflict, InvalidInput
from roost.core.imports import ImportedGeneration, ImportedSession, ImportOutcome
from roost.core.keys import SessionKey
from roost.core.principals import Principal
from roost.core.queries import SessionQuery
from roost.core.sessions import Generation, Lineage, Session
from roost.ports import Store
from roost.transfer.folders import Folder
from roost.transfer.jsonl_files import Transcript, read_transcript
from roost.transfer.lines import read_lines
from roost.transfer.options import ImportOptions
from roost.transfer.plans import Part, Plan, orphan_key
from roost.transfer.report import Item, Remarks, Result
from roost.transfer.rows import ImportPlace, owner_of, session_row


class Conversations:
    """Imports the conversations of one folder. Parents must be taken before their children."""

    def __init__(self, store: Store, folder: Folder, agent: str, options: ImportOptions) -> None:
        self._store = store
        self._folder = folder
        self._agent = agent
        self._options = options
        self._rows: dict[SessionKey, Session] = {}

    async def take(self, plan: Plan) -> Item:
        """Import one conversation; what is wrong with it is told, and costs no other."""
        remarks = Remarks(plan.remarks)
        place = self._place(plan)
        try:
            generations = await to_thread.run_sync(self._read, plan, place.owner, remarks)
            item = await self._import(plan, place, generations, remarks)
        except OSError as error:
            item = Item(source=plan.source, result=Result.FAILED, reason=error.strerror or str(error))
        except (InvalidInput, Conflict) as error:
            item = Item(source=plan.source, result=Result.FAILED, reason=str(error))
        row = None if item.key is None else await self._store.session(item.key)
        if row is not None:
            self._rows[plan.key] = row
        return replace(item, remarks=remarks.all())

    def _place(self, plan: Plan) -> ImportPlace:
        parent = self._rows.get(plan.parent) if plan.parent is not None else None
        owner = owner_of(plan.key, self._options, parent.owner if parent else None)
        if parent is None:
            return ImportPlace(key=plan.key, owner=owner)
        lineage = Lineage(parent=parent.key, depth=parent.lineage.depth + 1)
        return ImportPlace(key=plan.key, owner=owner, lineage=lineage)

    # -- reading -------------------------------------------------------------------------------------

    def _read(self, plan: Plan, owner: Principal, remarks: Remarks) -> tuple[ImportedGeneration, ...]:
        return tuple(
            generation for part in plan.parts for generation in self._transcript(part, owner, remarks)
        )

    def _transcript(self, part: Part, owner: Principal, remarks: Remarks) -> tuple[ImportedGeneration, ...]:
        now = self._options.now
        if part.file is None:
            return (ImportedGeneration(session_id=part.session_id, opened_at=now, drafts=()),)
        transcript = Transcript(session_id=part.session_id, principal=owner, now=now)
        with self._folder.file(part.file.text) as stream:
            return read_transcript(read_lines(stream, self._options.limits), transcript, remarks)

    # -- importing -----------------------------------------------------------------------------------

    async def _import(
        self, plan: Plan, place: ImportPlace, generations: tuple[ImportedGeneration, ...], remarks: Remarks
    ) -> Item:
        outcome = await self._offer(plan, place, generations, remarks)
        result = Result.of(outcome)
        if outcome is ImportOutcome.TAKEN:
            # The key has a conversation of its own here: this one is kept beside it, not lost.
            name = plan.parts[-1].session_id
            place = ImportPlace(key=orphan_key(self._agent, name), owner=place.owner)
            outcome = await self._offer(plan, place, generations, remarks)
            result = Result.FORKED if outcome is ImportOutcome.IMPORTED else Result.of(outcome)
        if outcome is ImportOutcome.TAKEN:
            return await self._elsewhere(plan, generations)
        if outcome is not ImportOutcome.IMPORTED:
            async for generation in self._unlike(generations):
                remarks.add(
                    f"{generation.session_id} has gone another way here; its file was not taken again"
                )
        entries = sum(len(generation.drafts) for generation in generations)
        return Item(source=plan.source, result=result, key=place.key, entries=entries)

    async def _elsewhere(self, plan: Plan, generations: tuple[ImportedGeneration, ...]) -> Item:
        """What is in the store under other keys, all of it or a part."""
        found = [await self._store.session_by_id(one.session_id) for one in generations]
        keys = ", ".join(dict.fromkeys(str(one.key) for one in found if one is not None))
        if None in found:
            reason = f"some of its transcripts are in the store already, under {keys}"
            return Item(source=plan.source, result=Result.TAKEN, reason=reason)
        return Item(source=plan.source, result=Result.PRESENT, reason=f"its transcripts are under {keys}")

    async def _offer(
        self, plan: Plan, place: ImportPlace, generations: tuple[ImportedGeneration, ...], remarks: Remarks
    ) -> ImportOutcome:
        row = session_row(place, self._options, generations, plan.entry, archived=plan.archived)
        if row.labels.label is not None and await is_label_used(self._store, row.labels.label, row.key):
            remarks.add("its label is in use and was not taken over")
            row = row._replace(labels=replace(row.labels, label=None))
        known = await self._store.generations(row.key)
        there = await self._store.session(row.key)
        if there is not None:
            generations = fitted(generations, known, there.session_id)
        return await self._store.import_session(ImportedSession(session=row, generations=generations))

    async def _unlike(self, generations: tuple[ImportedGeneration, ...]) -> AsyncIterator[ImportedGeneration]:
        """Transcripts that are not the beginning of what is stored under their id."""
        for generation in generations:
            offered = [draft.id for draft in generation.drafts]
            stored = await self._store.entries(generation.session_id, through=len(offered))
            if [entry.id for entry in stored] != offered:
                yield generation


async def is_label_used(store: Store, label: str, key: SessionKey) -> bool:
    """Whether a label is that of another session."""
    page = await store.list_sessions(SessionQuery(label=label, archived=None, limit=2))
    return any(session.key != key for session in page.rows)


def fitted(
    generations: tuple[ImportedGeneration, ...], known: tuple[Generation, ...], current: str
) -> tuple[ImportedGeneration, ...]:
    """Transcripts for a key that has some of them. What is not newer than all of those, or would end a
    conversation that went on here, is archived."""
    ids = {generation.session_id for generation in known}
    line = [generation.session_id for generation in generations if not generation.archived]
    newest = max((place for place, session_id in enumerate(line) if session_id in ids), default=None)
    if newest is None:
        return generations
    may_follow = set(line[newest + 1 :]) if line[newest] == current else set()
    return tuple(
        generation
        if generation.archived or generation.session_id in ids | may_follow
        else replace(generation, archived=True)
        for generation in generations
    )
