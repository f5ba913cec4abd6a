"""Conversations from outside: added once however often they are offered, and never over another."""

from contextlib import suppress
from dataclasses import replace

import pytest

from roost.core.effects import DeleteSession, Effects
from roost.core.entries import EntryDraft
from roost.core.errors import Conflict, Fenced, InvalidInput
from roost.core.imports import ImportedGeneration, ImportedSession, ImportOutcome
from roost.core.jsonl import Importer, line_of, read_entry
from roost.core.keys import SessionKey
from roost.core.leases import LEASE_MS
from roost.core.ledger import LedgerRow
from roost.core.messages import Usage
from roost.core.principals import OWNER, person
from roost.core.queries import HistoryQuery, LedgerQuery, SearchQuery
from roost.core.resets import Reset, open_generation
from roost.core.runs import RunKind
from roost.core.search import parse_query
from roost.core.sessions import Base, Labels, Lineage, OpenedBy, Session, SessionStatus, Summary, Times
from roost.core.snapshots import Snapshot
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract.homes import Home, Reopen
from tests.contract.scenes import change, known, opened, reset, whole_history

SIDE = SessionKey.named("main", "side")
LONG_AGO = NOON - 86_400_000
TIMES = Times(created=LONG_AGO, updated=LONG_AGO + 9, started=LONG_AGO + 5, interacted=LONG_AGO + 8)


def row(key: SessionKey = MAIN) -> Session:
    return builders.session(key)._replace(
        owner=person("telegram", "1"),
        times=TIMES,
        labels=Labels(label="from outside"),
    )


def transcript(
    session_id: str, count: int, *, archived: bool = False, prefix: str = ""
) -> ImportedGeneration:
    name = prefix or session_id
    drafts = tuple(builders.said(f"{name}-{number}", f"zebra {number}") for number in range(1, count + 1))
    return ImportedGeneration(
        session_id=session_id,
        opened_at=LONG_AGO,
        drafts=drafts,
        header=f'{{"type":"session","id":"{session_id}"}}',
        archived=archived,
    )


WHOLE = ImportedSession(
    session=row(),
    generations=(transcript("s-1", 2), transcript("left", 1, archived=True), transcript("s-2", 3)),
)


async def everything_of(store: Store, key: SessionKey = MAIN) -> object:
    """All that a repeated import could have changed."""
    generations = await store.generations(key)
    return (
        await store.session(key),
        generations,
        [await store.entries(generation.session_id) for generation in generations],
        await store.events(key, after=0, limit=1_000),
    )


async def test_a_conversation_is_added_with_all_its_transcripts(
    store: Store, reopen: Reopen, clock: FakeClock
) -> None:
    assert await store.import_session(WHOLE) is ImportOutcome.IMPORTED
    store = await reopen()
    session = await known(store)
    assert (session.session_id, session.owner, session.labels) == ("s-2", row().owner, row().labels)
    assert session.times == TIMES
    assert session.summary == Summary(title="zebra 1", preview="zebra 3", entries=3)
    ids = [entry_id for _, entry_id in await whole_history(store)]
    assert ids == ["s-1-1", "s-1-2", "s-2-1", "s-2-2", "s-2-3"]


async def test_the_transcripts_keep_their_order_their_headers_and_their_times(store: Store) -> None:
    await store.import_session(WHOLE)
    generations = {one.session_id: one for one in await store.generations(MAIN)}
    assert sorted(one.number for one in generations.values()) == [1, 2, 3]
    assert generations["s-1"].number < generations["s-2"].number
    assert generations["s-2"].previous == "s-1"
    for one, imported in zip(("s-1", "left", "s-2"), WHOLE.generations, strict=True):
        found = generations[one]
        assert (found.opened_at, found.opened_by) == (LONG_AGO, OpenedBy.IMPORT)
        assert (found.header, found.archived) == (imported.header, imported.archived)
        assert found.entries == len(imported.drafts)


async def test_a_branch_that_was_left_is_read_by_its_id_only(store: Store) -> None:
    await store.import_session(WHOLE)
    page = await store.history(HistoryQuery(key=MAIN, session_id="left"))
    assert [entry.id for entry in page.entries] == ["left-1"]
    hits = await store.search(SearchQuery(query=parse_query("zebra"), limit=50))
    assert {hit.entry.id for hit in hits} >= {"left-1", "s-1-1", "s-2-3"}


@pytest.mark.requirement("F12")
async def test_what_is_written_out_again_is_what_came_in(store: Store, reopen: Reopen) -> None:
    lines = [
        '{"type":"message","id":"a","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z",'
        '"message":{"role":"user","content":"hello","timestamp":1735689600000,"extra":{"x":[1.50]}}}',
        '{"type":"custom_thing","id":"b","parentId":"a","deep":{"a":[true,null,1e3]},"timestamp":"x"}',
        '{ "type": "compaction", "id":"c", "summary":"\\u00e9\\ud83d\\ude00" }',
    ]
    importer = Importer(principal=OWNER, fallback_id="none")
    drafts = tuple(read_entry(line, importer) for line in lines)
    imported = replace(transcript("s-1", 0), drafts=tuple(d for d in drafts if isinstance(d, EntryDraft)))
    await store.import_session(ImportedSession(session=row(), generations=(imported,)))
    store = await reopen()
    assert [line_of(entry) for entry in await store.entries("s-1")] == lines


async def test_done_again_it_changes_nothing(store: Store, clock: FakeClock) -> None:
    await store.import_session(WHOLE)
    before = await everything_of(store)
    clock.advance(1_000)
    for _ in range(2):
        assert await store.import_session(WHOLE) is ImportOutcome.PRESENT
        assert await everything_of(store) == before


async def test_what_grew_outside_goes_on_where_it_stood(store: Store) -> None:
    await store.import_session(ImportedSession(session=row(), generations=(transcript("s-1", 2),)))
    grown = ImportedSession(session=row(), generations=(transcript("s-1", 5),))
    assert await store.import_session(grown) is ImportOutcome.RESUMED
    assert [entry.id for entry in await store.entries("s-1")] == [f"s-1-{number}" for number in range(1, 6)]
    assert await store.import_session(grown) is ImportOutcome.PRESENT


async def test_transcripts_that_came_later_are_added_behind(store: Store) -> None:
    await store.import_session(ImportedSession(session=row(), generations=(transcript("s-1", 2),)))
    assert await store.import_session(WHOLE) is ImportOutcome.RESUMED
    assert (await known(store)).session_id == "s-2"
    ids = [entry_id for _, entry_id in await whole_history(store)]
    assert ids == ["s-1-1", "s-1-2", "s-2-1", "s-2-2", "s-2-3"]
    assert await store.import_session(WHOLE) is ImportOutcome.PRESENT


async def test_what_was_said_since_is_never_touched(store: Store) -> None:
    await store.import_session(WHOLE)
    await store.append(MAIN, (builders.said("mine", "said here"),))
    before = await everything_of(store)
    longer = replace(WHOLE, generations=(*WHOLE.generations[:2], transcript("s-2", 9)))
    assert await store.import_session(longer) is ImportOutcome.PRESENT
    assert await everything_of(store) == before
    await reset(store, 4)
    before = await everything_of(store)
    assert await store.import_session(longer) is ImportOutcome.PRESENT
    assert await everything_of(store) == before


async def test_a_transcript_that_does_not_follow_the_conversation_stands_beside_it(store: Store) -> None:
    """What was said here since goes on; what went another way outside is kept as a branch."""
    await store.import_session(ImportedSession(session=row(), generations=(transcript("s-1", 2),)))
    await store.append(MAIN, (builders.said("mine", "said here"),))
    assert await store.import_session(WHOLE) is ImportOutcome.RESUMED
    assert (await known(store)).session_id == "s-1"
    assert [entry_id for _, entry_id in await whole_history(store)] == ["s-1-1", "s-1-2", "mine"]
    page = await store.history(HistoryQuery(key=MAIN, session_id="s-2"))
    assert [entry.id for entry in page.entries] == ["s-2-1", "s-2-2", "s-2-3"]
    before = await everything_of(store)
    assert await store.import_session(WHOLE) is ImportOutcome.PRESENT
    assert await everything_of(store) == before


async def test_an_older_transcript_that_comes_late_stands_beside_too(store: Store) -> None:
    await store.import_session(ImportedSession(session=row(), generations=(transcript("s-2", 3),)))
    assert await store.import_session(WHOLE) is ImportOutcome.RESUMED
    assert (await known(store)).session_id == "s-2"
    assert [entry_id for _, entry_id in await whole_history(store)] == ["s-2-1", "s-2-2", "s-2-3"]
    assert {one.session_id: one.archived for one in await store.generations(MAIN)} == {
        "s-2": False,
        "s-1": True,
        "left": True,
    }


async def test_a_conversation_with_branches_goes_on_and_can_be_reset(store: Store) -> None:
    await store.import_session(WHOLE)
    current = (await known(store)).session_id

    def start_over(snapshot: Snapshot) -> Effects:
        return open_generation(
            snapshot, Reset(reason=OpenedBy.NEW, session_id="fresh", at=NOON, rule="asked")
        )

    await store.change_session(MAIN, start_over)
    await store.append(MAIN, (builders.said("mine", "said here"),))
    fresh = (await store.generations(MAIN))[-1]
    assert (fresh.session_id, fresh.number, fresh.previous) == ("fresh", 4, current)
    assert [entry_id for _, entry_id in await whole_history(store)][-1] == "mine"


async def test_a_transcript_that_came_later_follows_the_current_one_not_a_branch(store: Store) -> None:
    branched = (transcript("s-1", 2), transcript("left", 1, archived=True))
    await store.import_session(ImportedSession(session=row(), generations=branched))
    await store.import_session(WHOLE)
    previous = {one.session_id: one.previous for one in await store.generations(MAIN)}
    assert previous["s-2"] == "s-1"
    assert (await known(store)).session_id == "s-2"


async def test_after_a_reset_here_nothing_from_outside_takes_its_place(store: Store) -> None:
    await store.import_session(ImportedSession(session=row(), generations=(transcript("s-1", 2),)))
    live = await reset(store, 2)
    assert await store.import_session(WHOLE) is ImportOutcome.RESUMED
    assert (await known(store)).session_id == live
    generations = {one.session_id: one for one in await store.generations(MAIN)}
    assert (generations["s-2"].archived, generations["s-2"].previous) == (True, live)
    (entry,) = await store.append(MAIN, (builders.said("mine", "said here"),))
    assert entry.session_id == live


async def test_another_conversation_under_the_key_is_left_alone(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, (builders.said("mine", "said here"),))
    before = await everything_of(store)
    assert await store.import_session(WHOLE) is ImportOutcome.TAKEN
    assert await everything_of(store) == before


async def test_a_transcript_that_belongs_to_another_key_is_left_alone(store: Store) -> None:
    await store.import_session(WHOLE)
    before = await everything_of(store)
    moved = ImportedSession(session=row(SIDE), generations=WHOLE.generations)
    assert await store.import_session(moved) is ImportOutcome.TAKEN
    assert await store.session(SIDE) is None
    await store.import_session(ImportedSession(session=row(SIDE), generations=(transcript("t-1", 1),)))
    side = await everything_of(store, SIDE)
    mixed = ImportedSession(session=row(SIDE), generations=(transcript("t-1", 1), transcript("s-1", 2)))
    assert await store.import_session(mixed) is ImportOutcome.TAKEN
    assert await everything_of(store, SIDE) == side
    assert await everything_of(store) == before


@pytest.mark.parametrize("generations", [(), (transcript("left", 2, archived=True),)])
async def test_an_import_without_a_current_transcript_is_refused(
    store: Store, generations: tuple[ImportedGeneration, ...]
) -> None:
    without = ImportedSession(session=row(), generations=generations)
    beside = ImportedSession(session=row(SIDE), generations=(transcript("t-1", 1),))
    with pytest.raises(InvalidInput, match="needs a current transcript"):
        await store.import_session(without)
    with pytest.raises(InvalidInput, match="needs a current transcript"):
        await store.import_new((beside, without))
    assert await store.session(MAIN) is None
    assert await store.session(SIDE) is None


async def test_an_import_that_fails_half_way_leaves_nothing(store: Store) -> None:
    twice = ImportedSession(session=row(), generations=(transcript("s-1", 2), transcript("s-1", 3)))
    with pytest.raises(Conflict):
        await store.import_session(twice)
    assert await store.session(MAIN) is None
    assert await store.entries("s-1") == ()
    assert await store.import_session(WHOLE) is ImportOutcome.IMPORTED


async def test_a_row_that_claims_entries_it_does_not_have_is_not_believed(store: Store) -> None:
    boasting = row()._replace(summary=Summary(title="old", entries=57), events=99)
    await store.import_session(ImportedSession(session=boasting, generations=(transcript("s-1", 2),)))
    assert [entry.seq for entry in await store.entries("s-1")] == [1, 2]
    assert (await known(store)).summary == Summary(title="zebra 1", preview="zebra 2", entries=2)
    assert [event.number for event in await store.events(MAIN, after=0, limit=9)] == [1, 2, 3]


async def test_a_deleted_conversation_can_be_imported_again(store: Store) -> None:
    await store.import_session(WHOLE)
    await change(store, DeleteSession(key=MAIN))
    assert await store.import_session(WHOLE) is ImportOutcome.IMPORTED
    assert len(await whole_history(store)) == 5


CALL = LedgerRow(
    id="call",
    at=LONG_AGO,
    key=MAIN,
    session_id="s-1",
    principal=OWNER,
    run_id="r",
    run_kind=RunKind.TURN,
    provider="p",
    model="m",
    usage=Usage(input=3, total=3),
)


def child_of(key: SessionKey) -> ImportedSession:
    below = row(SIDE)._replace(lineage=Lineage(parent=key, depth=1), status=SessionStatus.DONE)
    back = replace(
        transcript("c-1", 1), base=Base(session_id="s-2", seq=2), opened_by=OpenedBy.FORK, rule="r"
    )
    return ImportedSession(session=below, generations=(back,), usage=(replace(CALL, id="other", key=SIDE),))


async def test_several_conversations_come_in_together_with_what_they_cost(
    store: Store, reopen: Reopen
) -> None:
    await store.import_new((replace(WHOLE, usage=(CALL,)), child_of(MAIN)))
    again = await reopen()
    assert await again.ancestors(SIDE) == (MAIN,)
    assert (await known(again, SIDE)).status is SessionStatus.DONE
    (generation,) = await again.generations(SIDE)
    assert (generation.opened_by, generation.rule) == (OpenedBy.FORK, "r")
    context = await again.conversation("c-1")
    assert context is not None
    assert [entry.id for entry in context.entries] == ["s-2-1", "s-2-2", "c-1-1"]
    assert (await again.usage(LedgerQuery(tree_of=MAIN))).calls == 2
    assert len(await again.search(SearchQuery(query=parse_query("zebra"), limit=50))) == 7


@pytest.mark.parametrize("there", [MAIN, SIDE])
async def test_where_one_of_them_is_there_none_comes_in(store: Store, there: SessionKey) -> None:
    await opened(store, there)
    with pytest.raises(Conflict, match="already"):
        await store.import_new((replace(WHOLE, usage=(CALL,)), child_of(MAIN)))
    assert await store.session(SIDE if there is MAIN else MAIN) is None
    assert (await store.usage(LedgerQuery())).calls == 0


async def test_a_transcript_that_is_there_under_another_key_keeps_them_all_out(store: Store) -> None:
    other = SessionKey.named("main", "third")
    await store.import_session(ImportedSession(session=row(other), generations=(transcript("c-1", 1),)))
    with pytest.raises(Conflict, match="under another key"):
        await store.import_new((WHOLE, child_of(MAIN)))
    assert await store.session(MAIN) is None


async def test_a_call_that_is_known_is_not_counted_again(store: Store) -> None:
    await store.record_usage(replace(CALL, key=SIDE, estimated=True))
    await store.import_new((replace(WHOLE, usage=(CALL,)),))
    assert (await store.usage(LedgerQuery(key=SIDE))).calls == 1
    assert (await store.usage(LedgerQuery(key=MAIN))).calls == 0


class Slow:
    """Nothing is a secret, and it takes long to know."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock

    def sealed(self, text: str) -> str:
        self._clock.advance(LEASE_MS)
        return text


@pytest.mark.parametrize("all_new", [True, False])
async def test_an_import_may_take_longer_than_a_lease_lasts(
    owned: Home, clock: FakeClock, all_new: bool
) -> None:
    owned.store.keep_out(Slow(clock))
    if all_new:
        await owned.store.import_new((WHOLE,))
    else:
        await owned.store.import_session(WHOLE)
    assert (await owned.store.renew_lease(owned.lease)).live(clock.now())


async def test_a_lease_that_had_run_out_is_not_brought_back(owned: Home, clock: FakeClock) -> None:
    clock.advance(LEASE_MS + 1)
    with suppress(Fenced):
        await owned.store.import_new((WHOLE,))
    with pytest.raises(Fenced):
        await owned.store.renew_lease(owned.lease)
