"""One conversation into the store, whatever is there already."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from roost.core.effects import Effects, OpenGeneration
from roost.core.imports import ImportedGeneration
from roost.core.keys import SessionKey
from roost.core.principals import OWNER, person
from roost.core.sessions import Generation, Labels, Lineage, OpenedBy
from roost.core.snapshots import Snapshot
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from roost.transfer.conversations import Conversations, fitted
from roost.transfer.folders import Folder
from roost.transfer.index import IndexEntry
from roost.transfer.lines import Limits
from roost.transfer.options import ImportOptions
from roost.transfer.paths import TranscriptName
from roost.transfer.plans import Part, Plan
from roost.transfer.report import Result

CHILD = SessionKey.parse("agent:main:subagent:u")
OPTIONS = ImportOptions(now=NOON, limits=Limits(file_bytes=4096))


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(FakeClock())


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with Folder.open(tmp_path) as folder:
        yield folder


@pytest.fixture
def conversations(store: MemoryStore, folder: Folder) -> Conversations:
    return Conversations(store, folder, "main", OPTIONS)


def write(path: Path, *names: str) -> None:
    lines = [
        {"type": "custom", "id": name, "parentId": parent}
        for name, parent in zip(names, (None, *names), strict=False)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def part(text: str) -> Part:
    name = TranscriptName.parse(text)
    assert name is not None
    return Part(session_id=name.session_id, file=name)


def plan(key: SessionKey = MAIN, *files: str, parent: SessionKey | None = None) -> Plan:
    return Plan(source=str(key), key=key, parts=tuple(map(part, files)), parent=parent)


def opening(name: str, number: int) -> Generation:
    return Generation(session_id=name, key=MAIN, number=number, opened_at=NOON, opened_by=OpenedBy.RESET)


async def reset(store: MemoryStore, name: str, number: int) -> None:
    def decide(snapshot: Snapshot) -> Effects:
        return (OpenGeneration(generation=opening(name, number)),)

    await store.change_session(MAIN, decide)


async def names(store: MemoryStore, session_id: str) -> list[str]:
    return [entry.id for entry in await store.entries(session_id)]


async def test_a_conversation_is_imported_once(
    store: MemoryStore, conversations: Conversations, tmp_path: Path
) -> None:
    write(tmp_path / "s.jsonl", "a", "b")
    first = await conversations.take(plan(MAIN, "s.jsonl"))
    again = await conversations.take(plan(MAIN, "s.jsonl"))
    assert (first.result, first.key, first.entries) == (Result.IMPORTED, MAIN, 2)
    assert (again.result, again.remarks) == (Result.PRESENT, ())
    assert await names(store, "s") == ["a", "b"]


async def test_what_was_added_to_a_file_is_added_to_the_conversation(
    store: MemoryStore, conversations: Conversations, tmp_path: Path
) -> None:
    write(tmp_path / "s.jsonl", "a")
    await conversations.take(plan(MAIN, "s.jsonl"))
    write(tmp_path / "s.jsonl", "a", "b", "c")
    again = await conversations.take(plan(MAIN, "s.jsonl"))
    assert (again.result, again.remarks) == (Result.RESUMED, ())
    assert await names(store, "s") == ["a", "b", "c"]


async def test_a_conversation_that_went_on_here_is_present(
    store: MemoryStore, conversations: Conversations, tmp_path: Path
) -> None:
    write(tmp_path / "s.jsonl", "a")
    await conversations.take(plan(MAIN, "s.jsonl"))
    await store.append(MAIN, (builders.said("here", "hello"),))
    again = await conversations.take(plan(MAIN, "s.jsonl"))
    assert (again.result, again.remarks) == (Result.PRESENT, ())


async def test_a_conversation_that_went_on_in_both_places_is_left_alone_and_told(
    store: MemoryStore, conversations: Conversations, tmp_path: Path
) -> None:
    write(tmp_path / "s.jsonl", "a")
    await conversations.take(plan(MAIN, "s.jsonl"))
    await store.append(MAIN, (builders.said("here", "hello"),))
    write(tmp_path / "s.jsonl", "a", "there")
    again = await conversations.take(plan(MAIN, "s.jsonl"))
    assert again.result is Result.PRESENT
    assert again.remarks == ("s has gone another way here; its file was not taken again",)
    assert await names(store, "s") == ["a", "here"]


async def test_a_key_that_is_in_use_keeps_its_conversation_and_the_import_gets_one_beside_it(
    store: MemoryStore, conversations: Conversations, tmp_path: Path
) -> None:
    await store.accept_inbound(builders.inbound("i"), builders.accept(builders.inbound("i"), "r", "native"))
    write(tmp_path / "s.jsonl", "a")
    first = await conversations.take(plan(MAIN, "s.jsonl"))
    again = await conversations.take(plan(MAIN, "s.jsonl"))
    beside = SessionKey.parse("agent:main:explicit:imported-s")
    assert (first.result, first.key) == (Result.FORKED, beside)
    assert (again.result, again.key) == (Result.PRESENT, beside)
    main = await store.session(MAIN)
    assert main is not None
    assert main.session_id == "native"


async def test_transcripts_that_are_here_under_another_key_are_not_taken_twice(
    conversations: Conversations, tmp_path: Path
) -> None:
    write(tmp_path / "s.jsonl", "a")
    await conversations.take(plan(SessionKey.named("main", "other"), "s.jsonl"))
    item = await conversations.take(plan(MAIN, "s.jsonl"))
    assert (item.result, item.key) == (Result.PRESENT, None)
    assert item.reason == "its transcripts are under agent:main:other"


async def test_a_conversation_of_which_a_part_is_another_sessions_is_not_imported(
    store: MemoryStore, conversations: Conversations, tmp_path: Path
) -> None:
    write(tmp_path / "s.jsonl", "a")
    write(tmp_path / "t.jsonl", "b")
    await conversations.take(plan(SessionKey.named("main", "other"), "s.jsonl"))
    item = await conversations.take(plan(MAIN, "s.jsonl", "t.jsonl"))
    assert item.result is Result.TAKEN
    assert item.reason.endswith("some of its transcripts are in the store already, under agent:main:other")
    assert await store.session(MAIN) is None


async def test_a_file_that_is_too_large_or_gone_is_told_and_nothing_of_it_is_written(
    store: MemoryStore, conversations: Conversations, tmp_path: Path
) -> None:
    (tmp_path / "s.jsonl").write_bytes(b"x" * 5000)
    large = await conversations.take(plan(MAIN, "s.jsonl"))
    gone = await conversations.take(plan(MAIN, "t.jsonl"))
    assert (large.result, gone.result) == (Result.FAILED, Result.FAILED)
    assert "more than 4096 bytes" in large.reason
    assert "No such file" in gone.reason
    assert await store.session(MAIN) is None


async def test_a_conversation_without_a_file_has_no_entries(
    store: MemoryStore, conversations: Conversations
) -> None:
    empty = Plan(source="main", key=MAIN, parts=(Part(session_id="s", file=None),))
    assert (await conversations.take(empty)).result is Result.IMPORTED
    assert await names(store, "s") == []


async def test_a_label_that_is_in_use_stays_with_its_session(
    store: MemoryStore, conversations: Conversations, tmp_path: Path
) -> None:
    entry = IndexEntry(name="x", labels=Labels(label="Garden", display_name="The garden"))
    for name, key in (("a", MAIN), ("b", SessionKey.named("main", "other"))):
        write(tmp_path / f"{name}.jsonl", name)
        item = await conversations.take(replace(plan(key, f"{name}.jsonl"), entry=entry))
    assert item.remarks == ("its label is in use and was not taken over",)
    other = await store.session(SessionKey.named("main", "other"))
    assert other is not None
    assert other.labels == Labels(display_name="The garden")
    again = await conversations.take(replace(plan(MAIN, "a.jsonl"), entry=entry))
    assert again.remarks == ()


async def test_a_child_hangs_under_its_parent_and_is_its_owners(
    store: MemoryStore, conversations: Conversations, tmp_path: Path
) -> None:
    direct = SessionKey.parse("agent:main:telegram:direct:9")
    for name in "abc":
        write(tmp_path / f"{name}.jsonl", name)
    grandchild = SessionKey.parse("agent:main:subagent:v")
    await conversations.take(plan(direct, "a.jsonl"))
    await conversations.take(plan(CHILD, "b.jsonl", parent=direct))
    await conversations.take(plan(grandchild, "c.jsonl", parent=CHILD))
    row = await store.session(grandchild)
    assert row is not None
    assert (row.owner, row.lineage) == (person("telegram", "9"), Lineage(parent=CHILD, depth=2))
    assert await store.ancestors(grandchild) == (CHILD, direct)


async def test_a_child_whose_parent_could_not_be_imported_stands_alone(
    store: MemoryStore, conversations: Conversations, tmp_path: Path
) -> None:
    write(tmp_path / "b.jsonl", "b")
    await conversations.take(plan(MAIN, "gone.jsonl"))
    await conversations.take(plan(CHILD, "b.jsonl", parent=MAIN))
    row = await store.session(CHILD)
    assert row is not None
    assert (row.owner, row.lineage) == (OWNER, Lineage())


async def test_a_newer_transcript_goes_on_where_the_last_import_ended(
    store: MemoryStore, conversations: Conversations, tmp_path: Path
) -> None:
    write(tmp_path / "a.jsonl", "a")
    write(tmp_path / "b.jsonl", "b")
    await conversations.take(plan(MAIN, "a.jsonl"))
    item = await conversations.take(plan(MAIN, "a.jsonl", "b.jsonl"))
    row = await store.session(MAIN)
    assert row is not None
    assert (item.result, row.session_id) == (Result.RESUMED, "b")


async def test_an_import_does_not_end_a_conversation_that_went_on_here(
    store: MemoryStore, conversations: Conversations, tmp_path: Path
) -> None:
    for name in "abc":
        write(tmp_path / f"{name}.jsonl", name)
    await conversations.take(plan(MAIN, "b.jsonl"))
    await reset(store, "native", 2)
    item = await conversations.take(plan(MAIN, "a.jsonl", "b.jsonl", "c.jsonl"))
    row = await store.session(MAIN)
    assert row is not None
    assert (item.result, row.session_id) == (Result.RESUMED, "native")
    assert {name: await names(store, name) for name in "abc"} == {"a": ["a"], "b": ["b"], "c": ["c"]}


def offered(*names: str) -> tuple[ImportedGeneration, ...]:
    return tuple(ImportedGeneration(session_id=name, opened_at=0, drafts=()) for name in names)


@pytest.mark.parametrize(
    ("known", "current", "archived"),
    [
        ("x", "x", ""),
        ("b", "b", "a"),
        ("c", "c", "ab"),
        ("a", "a", ""),
        ("bx", "x", "ac"),
        ("abc", "c", ""),
    ],
)
def test_only_what_follows_the_present_conversation_is_put_after_it(
    known: str, current: str, archived: str
) -> None:
    there = tuple(opening(name, number) for number, name in enumerate(known, start=1))
    found = fitted(offered("a", "b", "c"), there, current)
    assert "".join(generation.session_id for generation in found if generation.archived) == archived
