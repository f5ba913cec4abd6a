"""Conversations from outside, added once however often they are offered."""

from dataclasses import replace

from roost.core.effects import AppendEntries, OpenGeneration, OpenSession
from roost.core.entries import Entry, EntryDraft
from roost.core.errors import InvalidInput
from roost.core.sessions import Generation, OpenedBy, Session
from roost.core.transfer import ImportedGeneration, ImportedSession, ImportOutcome
from roost.stores.applying import apply
from roost.stores.unit import Unit
from roost.stores.verbs.base import Verbs


class ImportVerbs(Verbs):
    async def import_session(self, imported: ImportedSession) -> ImportOutcome:
        async def verb(unit: Unit) -> ImportOutcome:
            if not any(not generation.archived for generation in imported.generations):
                raise InvalidInput(f"an import of {imported.session.key} needs a current transcript")
            if await unit.session(imported.session.key) is None:
                return await _import_new(unit, imported)
            return await _import_more(unit, imported)

        return await self._write(verb)


async def _import_new(unit: Unit, imported: ImportedSession) -> ImportOutcome:
    for generation in imported.generations:
        if await unit.tables.generation(generation.session_id) is not None:
            return ImportOutcome.TAKEN
    await _add(unit, imported.session, imported.generations, known=())
    return ImportOutcome.IMPORTED


async def _import_more(unit: Unit, imported: ImportedSession) -> ImportOutcome:
    """Add what is missing behind what is there; a conversation that is not this one is left alone."""
    known = await unit.tables.generations(imported.session.key)
    ids = {generation.session_id for generation in known}
    missing = tuple(g for g in imported.generations if g.session_id not in ids)
    if len(missing) == len(imported.generations):
        return ImportOutcome.TAKEN
    for generation in missing:
        if await unit.tables.generation(generation.session_id) is not None:
            return ImportOutcome.TAKEN
    grown = await _append_tail(unit, imported)
    if not missing:
        return ImportOutcome.RESUMED if grown else ImportOutcome.PRESENT
    await _add(unit, await unit.existing(imported.session.key), missing, known=known)
    return ImportOutcome.RESUMED


async def _append_tail(unit: Unit, imported: ImportedSession) -> bool:
    """The newer entries of the current transcript, if what is stored is its beginning."""
    session = await unit.existing(imported.session.key)
    current = next((g for g in imported.generations if g.session_id == session.session_id), None)
    if current is None:
        return False
    stored = [entry.id for entry in await unit.tables.entries(current.session_id, 0, None)]
    offered = [draft.id for draft in current.drafts]
    if len(stored) >= len(offered) or offered[: len(stored)] != stored:
        return False
    tail = current.drafts[len(stored) :]
    await apply(unit, (AppendEntries(key=session.key, drafts=tail),))
    return True


async def _add(
    unit: Unit,
    session: Session,
    generations: tuple[ImportedGeneration, ...],
    *,
    known: tuple[Generation, ...],
) -> None:
    previous = known[-1].session_id if known else None
    opened = bool(known)
    # A session is opened by a current transcript; the branches that were left come after.
    in_order = sorted(generations, key=lambda generation: generation.archived)
    for number, imported in enumerate(in_order, start=len(known) + 1):
        generation = Generation(
            session_id=imported.session_id,
            key=session.key,
            number=number,
            opened_at=imported.opened_at,
            opened_by=OpenedBy.IMPORT,
            previous=previous,
            base=imported.base,
            archived=imported.archived,
            header=imported.header,
        )
        if imported.archived:
            await unit.tables.insert_generation(generation)
            await unit.tables.insert_entries(session.key, _placed(imported.session_id, imported.drafts))
            continue
        opening = OpenGeneration(generation=generation)
        await apply(unit, (opening if opened else OpenSession(session=session, generation=generation),))
        opened = True
        previous = imported.session_id
        await apply(unit, (AppendEntries(key=session.key, drafts=imported.drafts),))
    after = await unit.existing(session.key)
    unit.put(replace(after, times=session.times))


def _placed(session_id: str, drafts: tuple[EntryDraft, ...]) -> list[Entry]:
    return [
        Entry(
            session_id=session_id,
            seq=seq,
            id=draft.id,
            body=draft.body,
            parent_id=draft.parent_id,
            run_id=draft.run_id,
            source=draft.source,
        )
        for seq, draft in enumerate(drafts, start=1)
    ]
