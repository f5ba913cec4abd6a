"""Conversations from outside, added once however often they are offered."""

from dataclasses import replace

from roost.core.effects import AppendEntries, OpenGeneration, OpenSession
from roost.core.entries import Entry, EntryDraft
from roost.core.errors import Conflict, InvalidInput
from roost.core.imports import ImportedGeneration, ImportedSession, ImportOutcome
from roost.core.leases import LEASE_MS
from roost.core.sessions import Generation, Session
from roost.stores.applying import apply
from roost.stores.unit import Unit
from roost.stores.verbs.base import Answer, Verbs, WriteVerb


class ImportVerbs(Verbs):
    async def import_session(self, imported: ImportedSession) -> ImportOutcome:
        async def verb(unit: Unit) -> ImportOutcome:
            kept = unit.sealed(imported)
            _refuse_only_branches(imported)
            if await unit.session(imported.session.key) is None:
                return await _import_new(unit, kept)
            return await _import_more(unit, kept)

        return await self._write_long(verb)

    async def import_new(self, sessions: tuple[ImportedSession, ...]) -> None:
        async def verb(unit: Unit) -> None:
            for imported in sessions:
                _refuse_only_branches(imported)
                await _import_unknown(unit, unit.sealed(imported))

        await self._write_long(verb)

    async def _write_long(self, verb: WriteVerb[Answer]) -> Answer:
        """Run a verb that may take longer than a lease lasts. Where one owns the store nobody writes meanwhile, not even
        who would renew the lease: it lasts from the end of the verb on."""

        async def whole(unit: Unit) -> Answer:
            now = await unit.tables.database_now()
            live = {
                one.gateway.name for one in await unit.tables.leases() if self.exclusive and one.live(now)
            }
            answer = await verb(unit)
            # Only when they have been read is all before them written.
            for lease in await unit.tables.leases():
                if lease.gateway.name in live:
                    until = await unit.tables.database_now() + LEASE_MS
                    await unit.tables.put_lease(replace(lease, expires_at=until))
            return answer

        return await self._write(whole)


def _refuse_only_branches(imported: ImportedSession) -> None:
    if all(generation.archived for generation in imported.generations):
        raise InvalidInput(
            f"an import of {imported.session.key} needs a current transcript",
            hint="give one that is not archived",
        )


async def _import_unknown(unit: Unit, imported: ImportedSession) -> None:
    key = imported.session.key
    if await unit.session(key) is not None:
        raise Conflict(f"there is a session {key} already")
    if await _import_new(unit, imported) is ImportOutcome.TAKEN:
        raise Conflict(f"transcripts of {key} are in the store already, under another key")
    for row in imported.usage:
        if not await unit.tables.is_known_call(row.id):
            await unit.tables.put_usage(row)


async def _import_new(unit: Unit, imported: ImportedSession) -> ImportOutcome:
    for generation in imported.generations:
        if await unit.tables.generation(generation.session_id) is not None:
            return ImportOutcome.TAKEN
    await _add(unit, imported.session, imported.generations, number=0)
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
    session = await unit.existing(imported.session.key)
    tail = await _tail(unit, session, imported)
    if tail:
        await apply(unit, (AppendEntries(key=session.key, drafts=tail),))
    if missing:
        # What does not come after the conversation here stands beside it, never in its place.
        order = [generation.session_id for generation in imported.generations]
        beside = set(order if tail is None else order[: order.index(session.session_id)])
        missing = tuple(replace(g, archived=True) if g.session_id in beside else g for g in missing)
        await _add(unit, session, missing, number=len(known))
    return ImportOutcome.RESUMED if tail or missing else ImportOutcome.PRESENT


async def _tail(unit: Unit, session: Session, imported: ImportedSession) -> tuple[EntryDraft, ...] | None:
    """The newer entries of the current transcript; None if the conversation has gone on here without it."""
    current = next((g for g in imported.generations if g.session_id == session.session_id), None)
    if current is None:
        return None
    stored = [entry.id for entry in await unit.tables.entries(current.session_id, 0, None)]
    if [draft.id for draft in current.drafts[: len(stored)]] != stored:
        return None
    return current.drafts[len(stored) :]


async def _add(
    unit: Unit, session: Session, generations: tuple[ImportedGeneration, ...], *, number: int
) -> None:
    previous = session.session_id if number else None
    # A session is opened by a current transcript; the branches that were left come after.
    in_order = sorted(generations, key=lambda generation: generation.archived)
    for place, imported in enumerate(in_order, start=number + 1):
        generation = Generation(
            session_id=imported.session_id,
            key=session.key,
            number=place,
            opened_at=imported.opened_at,
            opened_by=imported.opened_by,
            rule=imported.rule,
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
        await apply(unit, (opening if previous else OpenSession(session=session, generation=generation),))
        previous = imported.session_id
        await apply(unit, (AppendEntries(key=session.key, drafts=imported.drafts),))
    after = await unit.existing(session.key)
    unit.put(after._replace(times=session.times))


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
