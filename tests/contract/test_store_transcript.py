"""Transcripts: append-only, in order, read across generations as one timeline."""

from dataclasses import replace

import anyio
import pytest

from roost.core.effects import OpenGeneration
from roost.core.entries import Entry, EntryDraft
from roost.core.errors import InvalidInput, NotFound
from roost.core.jsonl import line_of
from roost.core.jsonvalue import JsonValue
from roost.core.keys import SessionKey
from roost.core.leases import Lease
from roost.core.messages import (
    AssistantMessage,
    Body,
    Compaction,
    Image,
    Notice,
    Provenance,
    ProvenanceKind,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    tool_calls,
)
from roost.core.principals import person
from roost.core.queries import HistoryQuery, Position, SearchQuery
from roost.core.search import parse_query
from roost.core.sessions import Counters, Summary
from roost.ports import Store
from roost.testing import builders
from roost.testing.builders import HUMAN, MAIN
from roost.testing.clock import NOON, FakeClock
from tests.contract.homes import Reopen
from tests.contract.scenes import change, known, opened, reset, started, whole_history
from tests.scale import examples

SIDE = SessionKey.named("main", "side")
NOWHERE = SessionKey.named("main", "nowhere")

BODIES: tuple[Body, ...] = (
    UserMessage(content=(Text("hi"), Image(mime="image/png", data="aGk=")), at=NOON, provenance=HUMAN),
    UserMessage(
        content=(),
        at=NOON + 1,
        provenance=Provenance(
            kind=ProvenanceKind.INTER_SESSION,
            principal=person("telegram", "a:b"),
            source_session="agent:ops:main",
            source_channel="telegram",
            source_tool="sessions_send",
        ),
        sender="Alice 😀",
    ),
    AssistantMessage(
        content=(
            Thinking(thinking="hm", signature="sig"),
            Thinking(thinking=""),
            Text("line\nline\x00\u2028"),
            ToolCall(id="c", name="read", arguments={"path": "/a", "deep": [1, 2.5, None, {"x": True}]}),
        ),
        at=NOON,
        provider="demo",
        model="demo-1",
        api="chat",
        usage=Usage(input=1, output=2, cache_read=3, cache_write=4, total=5, cost_micros=6),
        stop=StopReason.TOOL_USE,
        error="half",
    ),
    ToolResult(
        call_id="c", tool="read", content=(Text("out"),), at=NOON, is_error=True, details={"exit": -1}
    ),
    ToolResult(call_id="d", tool="read", content=(), at=NOON),
    Compaction(summary="so far", first_kept_id="e-3", tokens_before=10, at=NOON, tokens_after=4),
    Compaction(summary="", first_kept_id=None, tokens_before=0, at=NOON),
    Notice(kind="model_change", at=NOON, data={"model": "demo/demo-2", "nested": {"list": []}}),
)


UNSTORABLE: tuple[Body, ...] = (
    UserMessage(content=(Text("half \ud83d"),), at=NOON, provenance=HUMAN),
    Notice(kind="n", at=NOON, data={"number": 2**70}),
)


def drafts(prefix: str, count: int) -> tuple[EntryDraft, ...]:
    return tuple(builders.said(f"{prefix}-{number}", f"words {number}") for number in range(1, count + 1))


def ids(entries: tuple[Entry, ...]) -> list[str]:
    return [entry.id for entry in entries]


async def test_entries_get_their_places_in_order(store: Store) -> None:
    session_id = (await opened(store)).session_id
    first = await store.append(MAIN, drafts("a", 2))
    second = await store.append(MAIN, drafts("b", 1))
    assert [(entry.session_id, entry.seq, entry.id) for entry in first + second] == [
        (session_id, 1, "a-1"),
        (session_id, 2, "a-2"),
        (session_id, 3, "b-1"),
    ]
    assert await store.entries(session_id) == first + second


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
async def test_every_kind_of_entry_reads_back_as_it_was_written(
    store: Store, reopen: Reopen, body: Body
) -> None:
    session_id = (await opened(store)).session_id
    draft = EntryDraft(id="e", body=body, parent_id="p", run_id="r", source='{"as":"it was"}')
    (written,) = await store.append(MAIN, (draft,))
    store = await reopen()
    (found,) = await store.entries(session_id)
    assert found == written
    assert (found.id, found.body, found.parent_id, found.run_id, found.source) == (
        draft.id,
        draft.body,
        draft.parent_id,
        draft.run_id,
        draft.source,
    )


async def test_a_part_of_a_generation_is_cut_by_its_places(store: Store) -> None:
    session_id = (await opened(store)).session_id
    await store.append(MAIN, drafts("e", 5))
    assert ids(await store.entries(session_id, after=1, through=3)) == ["e-2", "e-3"]
    assert ids(await store.entries(session_id, after=3)) == ["e-4", "e-5"]
    assert ids(await store.entries(session_id, through=0)) == []
    assert await store.entries("nowhere") == ()


async def test_nothing_is_appended_to_a_session_that_is_not_there(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.append(NOWHERE, drafts("e", 1))


async def test_appending_nothing_changes_nothing(store: Store) -> None:
    before = await opened(store)
    assert await store.append(MAIN, ()) == ()
    assert await known(store) == before


@pytest.mark.parametrize("body", UNSTORABLE, ids=["half a character", "a number beyond 64 bits"])
async def test_what_cannot_be_stored_is_refused_and_leaves_nothing(store: Store, body: Body) -> None:
    before = await opened(store)
    with pytest.raises(InvalidInput):
        await store.append(MAIN, (builders.said("e-1", "fine"), EntryDraft(id="e-2", body=body)))
    assert await known(store) == before
    assert await store.entries(before.session_id) == ()


async def test_what_a_run_appends_carries_its_id(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r-1")
    (entry,) = await store.append(MAIN, drafts("e", 1), claim=claim)
    assert entry.run_id == "r-1"
    assert await store.entries(entry.session_id) == (entry,)


async def test_a_run_appends_to_its_own_session_only(store: Store, lease: Lease) -> None:
    claim = await started(store, lease, "r-1")
    side = await opened(store, SIDE)
    with pytest.raises(InvalidInput):
        await store.append(SIDE, drafts("e", 1), claim=claim)
    assert await known(store, SIDE) == side


async def test_the_row_keeps_what_a_list_shows_of_the_transcript(store: Store) -> None:
    await opened(store)
    usage = Usage(input=10, output=4, cache_read=2, cache_write=1, total=17, cost_micros=9)
    await store.append(
        MAIN,
        (
            builders.said("e-1", "Plan the  trip\nplease"),
            builders.answered("e-2", "Where to?", usage=usage),
            builders.returned("e-3", "c-1", "read", "tool output"),
            builders.answered("e-4", "Still there?", usage=usage),
        ),
    )
    row = await known(store)
    assert row.summary == Summary(
        title="Plan the trip please", preview="Still there?", entries=4, model="demo/demo-1"
    )
    assert row.counters == Counters(input=20, output=8, total=17, cache_read=4, cache_write=2, cost_micros=18)


async def test_appending_is_activity_and_no_interaction(store: Store, clock: FakeClock) -> None:
    await opened(store)
    clock.advance(5_000)
    await store.append(MAIN, drafts("a", 1))
    times = (await known(store)).times
    assert (times.updated, times.interacted) == (NOON + 5_000, NOON)
    clock.advance(-9_000)
    await store.append(MAIN, drafts("b", 1))
    assert (await known(store)).times.updated == NOON + 5_000


async def test_entries_of_any_number_raise_the_version_by_one(store: Store) -> None:
    before = await opened(store)
    await store.append(MAIN, drafts("e", 7))
    after = await known(store)
    assert (after.version, after.events) == (before.version + 1, before.events + 7)


@pytest.mark.requirement("P4")
async def test_appends_that_meet_are_each_whole_and_in_one_order(store: Store) -> None:
    session_id = (await opened(store)).session_id

    async def speak(name: str) -> None:
        for turn in range(5):
            await store.append(MAIN, drafts(f"{name}-{turn}", 2))

    async with anyio.create_task_group() as tasks:
        for name in "abcdefghij":
            tasks.start_soon(speak, name)
    found = ids(await store.entries(session_id))
    assert len(found) == 100
    assert [one.removesuffix("-2") for one in found[1::2]] == [one.removesuffix("-1") for one in found[::2]]
    for name in "abcdefghij":
        assert [one for one in found if one.startswith(name)] == [
            f"{name}-{turn}-{part}" for turn in range(5) for part in (1, 2)
        ]


# -- history -----------------------------------------------------------------------------------------


async def test_history_gives_the_newest_entries_oldest_first(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, drafts("e", 5))
    page = await store.history(HistoryQuery(key=MAIN, limit=2))
    assert ids(page.entries) == ["e-4", "e-5"]
    assert page.before == Position(1, 4)
    older = await store.history(HistoryQuery(key=MAIN, limit=3, before=page.before))
    assert ids(older.entries) == ["e-1", "e-2", "e-3"]
    assert older.before is None


async def test_a_key_without_a_session_has_an_empty_history(store: Store) -> None:
    page = await store.history(HistoryQuery(key=NOWHERE))
    assert (page.entries, page.generations, page.before) == ((), (), None)


@pytest.mark.requirement("P26", "F4")
async def test_five_generations_read_by_cursor_are_complete_and_byte_equal(
    store: Store, reopen: Reopen
) -> None:
    written: list[str] = []
    each = examples(60, 2_000)
    await opened(store)
    for number in range(1, 6):
        if number > 1:
            await reset(store, number)
        for start in range(0, each, 20):
            batch = tuple(
                EntryDraft(id=f"g{number}-{seq}", body=replace(BODIES[seq % len(BODIES)], at=NOON + 7 * seq))
                for seq in range(start, start + 20)
            )
            written += [line_of(entry) for entry in await store.append(MAIN, batch)]
    store = await reopen()
    read: list[str] = []
    before: Position | None = None
    while True:
        page = await store.history(HistoryQuery(key=MAIN, before=before, limit=37))
        assert [generation.number for generation in page.generations] == [1, 2, 3, 4, 5]
        read[:0] = [line_of(entry) for entry in page.entries]
        before = page.before
        if before is None:
            break
    assert read == written


@pytest.mark.requirement("P5", "F4")
async def test_after_fifty_resets_all_generations_are_read_by_the_ordinary_call(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, drafts("g1", 1))
    for number in range(2, 52):
        await reset(store, number)
        await store.append(MAIN, drafts(f"g{number}", 1))
    assert len(await store.generations(MAIN)) == 51
    expected = [(Position(number, 1), f"g{number}-1") for number in range(1, 52)]
    assert await whole_history(store) == expected
    assert await whole_history(store, page=7) == expected


async def test_an_empty_generation_is_passed_over(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, drafts("old", 2))
    await reset(store, 2)
    await reset(store, 3)
    page = await store.history(HistoryQuery(key=MAIN, limit=1))
    assert (ids(page.entries), page.before) == (["old-2"], Position(1, 2))


async def test_one_generation_can_be_read_alone(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, drafts("old", 3))
    await reset(store, 2)
    await store.append(MAIN, drafts("new", 1))
    page = await store.history(HistoryQuery(key=MAIN, session_id=f"{MAIN}-1", limit=2))
    assert ids(page.entries) == ["old-2", "old-3"]
    assert [generation.number for generation in page.generations] == [1]
    assert page.before == Position(1, 2)
    other = await store.history(HistoryQuery(key=MAIN, session_id="nowhere"))
    assert other.entries == ()


async def test_an_archived_branch_is_read_by_its_id_only(store: Store) -> None:
    await opened(store)
    await store.append(MAIN, drafts("one", 1))
    branch = replace(builders.generation(MAIN, "branch", 2), archived=True)
    await change(store, OpenGeneration(generation=branch))
    await store.append(MAIN, drafts("branch", 1))
    await reset(store, 3)
    await store.append(MAIN, drafts("three", 1))
    page = await store.history(HistoryQuery(key=MAIN))
    assert ids(page.entries) == ["one-1", "three-1"]
    assert [generation.number for generation in page.generations] == [1, 3]
    assert [generation.number for generation in await store.generations(MAIN)] == [1, 2, 3]
    alone = await store.history(HistoryQuery(key=MAIN, session_id="branch"))
    assert ids(alone.entries) == ["branch-1"]


@pytest.mark.requirement("D11")
async def test_without_tools_their_results_are_passed_over_and_pages_stay_full(store: Store) -> None:
    await opened(store)
    for number in range(4):
        await store.append(
            MAIN,
            (
                builders.called(f"call-{number}", f"c{number}", "read"),
                builders.returned(f"result-{number}", f"c{number}", "read", "output"),
            ),
        )
    page = await store.history(HistoryQuery(key=MAIN, tools=False, limit=3))
    assert ids(page.entries) == ["call-1", "call-2", "call-3"]
    older = await store.history(HistoryQuery(key=MAIN, tools=False, limit=3, before=page.before))
    assert (ids(older.entries), older.before) == (["call-0"], None)


# -- values ------------------------------------------------------------------------------------------


def plant(value: JsonValue) -> None:
    """Change a JSON value wherever it lets itself be changed."""
    if isinstance(value, dict):
        value["planted"] = True
        for inner in tuple(value.values()):
            plant(inner)
    if isinstance(value, list):
        value.append("planted")


def plant_in(body: Body) -> None:
    match body:
        case AssistantMessage():
            for call in tool_calls(body):
                plant(call.arguments)
        case ToolResult():
            plant(body.details)
        case Notice():
            plant(body.data)


async def test_nothing_a_caller_holds_can_change_what_is_stored(store: Store) -> None:
    session_id = (await opened(store)).session_id
    given: tuple[Body, ...] = (
        AssistantMessage(content=(ToolCall(id="c", name="t", arguments={"say": ["yes"]}),), at=NOON),
        ToolResult(call_id="c", tool="t", content=(Text("yes"),), at=NOON, details={"code": 1}),
        Notice(kind="n", at=NOON, data={"inner": {}}),
    )
    answered = await store.append(
        MAIN, tuple(EntryDraft(id=f"e-{number}", body=body) for number, body in enumerate(given))
    )
    lines = [line_of(entry) for entry in await store.entries(session_id)]
    hits = await store.search(SearchQuery(query=parse_query("yes")))
    held = [
        *given,
        *(entry.body for entry in answered),
        *(entry.body for entry in await store.entries(session_id)),
        *(entry.body for entry in (await store.history(HistoryQuery(key=MAIN))).entries),
        *(hit.entry.body for hit in hits),
    ]
    assert len(held) == 14
    for body in held:
        plant_in(body)
    assert [line_of(entry) for entry in await store.entries(session_id)] == lines
