"""Pages of a transcript as they may be read back, newest first: filtered before they are counted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from roost.core.entries import Entry
from roost.core.queries import HistoryQuery, Position
from roost.core.recall import Recalled, Recalling, RecallOptions, RecallPage, is_readable
from roost.core.sessions import Generation
from roost.ports import Store

FIRST_STEP, SPARE, MOST_AT_ONCE = 128, 16, 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBack:
    """A page, the generations of its timeline, and before which place there is more; None: there is none."""

    page: RecallPage
    generations: tuple[Generation, ...]
    more_before: Position | None


async def read_back(store: Store, query: HistoryQuery, options: RecallOptions) -> ReadBack:
    """The newest messages before the query's place that are left when everything else is filtered out.

    Read in steps: a page is usually full by its bytes long before it is by its number.
    """
    first = FIRST_STEP if options.newest is None else min(options.newest + 1, FIRST_STEP)
    query = replace(query, tools=options.include_tools, limit=first)
    entries: tuple[Entry, ...] = ()
    recalling = Recalling(options)
    while True:
        batch = await store.history(query)
        entries = (*batch.entries, *entries)
        recalling.add(batch.entries)
        if recalling.full or batch.before is None:
            break
        step = min(recalling.missing(len(entries)) + SPARE, MOST_AT_ONCE)
        query = replace(query, before=batch.before, limit=step)
    page, place = recalling.page(), None
    if recalling.full:
        oldest = page.messages[0]
        query = replace(query, before=batch.before)
        if await _is_more(store, query, options, _before(entries, oldest)):
            numbers = {generation.session_id: generation.number for generation in batch.generations}
            place = Position(numbers[oldest.session_id], oldest.seq)
    return ReadBack(page=page, generations=batch.generations, more_before=place)


def _before(entries: Sequence[Entry], oldest: Recalled) -> Sequence[Entry]:
    place = (oldest.session_id, oldest.seq)
    return entries[: next(at for at, entry in enumerate(entries) if (entry.session_id, entry.seq) == place)]


async def _is_more(store: Store, query: HistoryQuery, options: RecallOptions, older: Sequence[Entry]) -> bool:
    """Whether a next page would hold a message; entries that nobody is shown do not make one."""
    while not any(is_readable(entry, options) for entry in older):
        if query.before is None:
            return False
        batch = await store.history(query)
        older, query = batch.entries, replace(query, before=batch.before)
    return True
