"""Sessions as transcript files."""

import json
from io import BytesIO

import pytest

from roost.core.effects import Effects, OpenGeneration
from roost.core.errors import NotFound
from roost.core.imports import ImportedGeneration, ImportedSession
from roost.core.keys import SessionKey
from roost.core.principals import OWNER
from roost.core.sessions import Base, Generation, OpenedBy
from roost.core.snapshots import Snapshot
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from roost.transfer.export import PAGE, export_session
from roost.transfer.jsonl_files import Transcript, read_transcript
from roost.transfer.lines import Limits, read_lines
from roost.transfer.report import Remarks

ROOT = b'{"type":"custom","id":"r%d","parentId":null,"timestamp":"1970-01-01T00:00:00.000Z"}\n'
TOPIC = SessionKey.parse("agent:main:telegram:group:-1:topic:42")


def generations_of(content: bytes, session_id: str = "s") -> tuple[ImportedGeneration, ...]:
    transcript = Transcript(session_id=session_id, principal=OWNER, now=NOON)
    return read_transcript(read_lines(BytesIO(content), Limits()), transcript, Remarks())


async def imported(store: Store, *generations: ImportedGeneration, key: SessionKey = MAIN) -> None:
    await store.import_session(ImportedSession(session=builders.session(key), generations=generations))


async def exported(store: Store, key: SessionKey = MAIN) -> dict[str, bytes]:
    files: dict[str, bytes] = {}

    async def sink(name: str, line: bytes) -> None:
        files[name] = files.get(name, b"") + line

    names = await export_session(store, key, sink)
    assert files.keys() <= set(names)
    return {name: files.get(name, b"") for name in names}


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(FakeClock())


def line(name: str, parent: str | None, **more: object) -> bytes:
    return json.dumps({"type": "custom", "id": name, "parentId": parent, **more}).encode() + b"\n"


@pytest.mark.requirement("D57")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"{",
        b'{"type":"session","id":"s"}',
        b'{"type":"session","id":"s"}\r\n{"type":"a"}\r\n',
        line("a", None) + line("x", "a") + b"\xff\n" + line("b", "a") + line("y", "x") + line("c", "b"),
        line("a", None) + b'{"type":"unparsed","base64":"aGk="}\n',
        b"".join(ROOT % number for number in range(300)),
    ],
)
async def test_a_file_is_written_as_it_was_read(store: MemoryStore, content: bytes) -> None:
    await imported(store, *generations_of(content))
    assert b"".join((await exported(store)).values()) == content


async def test_a_long_transcript_is_written_page_by_page(store: MemoryStore) -> None:
    content = b"".join(line(f"e{number}", f"e{number - 1}") for number in range(2 * PAGE + 1))
    await imported(store, *generations_of(content))
    assert await exported(store) == {"s.jsonl": content}


async def test_a_line_that_was_left_out_is_written_as_a_note_of_it(store: MemoryStore) -> None:
    transcript = Transcript(session_id="s", principal=OWNER, now=NOON)
    lines = read_lines(BytesIO(b"x" * 99 + b"\n"), Limits(line_bytes=10))
    await imported(store, *read_transcript(lines, transcript, Remarks()))
    written = (await exported(store))["s.jsonl"]
    assert json.loads(written)["bytes"] == 100
    await imported(store, *generations_of(written, "t"), key=SessionKey.named("main", "again"))
    assert (await exported(store, SessionKey.named("main", "again")))["t.jsonl"] == written


@pytest.mark.requirement("D36")
async def test_a_session_that_was_never_a_file_is_written_as_one_that_can_be_imported(
    store: MemoryStore,
) -> None:
    first = ImportedGeneration(session_id="s", opened_at=NOON, drafts=())
    await imported(store, first)
    await store.append(MAIN, (builders.said("e1", "hello"), builders.answered("e2", "hi")))
    written = (await exported(store))["s.jsonl"]
    header, *entries = map(json.loads, written.splitlines())
    assert (header["type"], header["id"], header["timestamp"]) == ("session", "s", "2025-06-15T15:06:40.000Z")
    assert [(entry["id"], entry["parentId"]) for entry in entries] == [("e1", None), ("e2", "e1")]
    (again,) = generations_of(written)
    assert [draft.id for draft in again.drafts] == ["e1", "e2"]


@pytest.mark.parametrize(
    "end", [b"", b"{\n", b'{"type":"odd"}\n', b'{"type":"unparsed","id":"unnamed-line-9"}\n']
)
async def test_what_is_said_after_an_import_goes_on_from_its_last_entry(
    store: MemoryStore, end: bytes
) -> None:
    content = line("a", None) + line("x", "a") + line("b", "a") + end
    await imported(store, *generations_of(content))
    await store.append(MAIN, (builders.said("e1", "hello"), builders.answered("e2", "hi")))
    written = (await exported(store))["s.jsonl"]
    assert written.startswith(content)
    main, *_ = generations_of(written, "t")
    assert [draft.id for draft in main.drafts if not draft.id.startswith("unnamed")] == ["a", "b", "e1", "e2"]


async def test_a_file_that_stopped_in_a_line_goes_on_in_the_next(store: MemoryStore) -> None:
    await imported(store, *generations_of(line("a", None).rstrip(b"\n")))
    await store.append(MAIN, (builders.said("e1", "hello"),))
    assert (await exported(store))["s.jsonl"].startswith(line("a", None))


async def test_every_generation_is_a_file_and_a_branch_is_in_that_of_its_own(store: MemoryStore) -> None:
    branched = line("a", None) + line("x", None) + line("b", "a")
    await imported(store, *generations_of(line("o", None), "old"), *generations_of(branched, "new"))
    assert await exported(store) == {"old.jsonl": line("o", None), "new.jsonl": branched}


async def test_a_fork_names_the_session_it_went_off_from(store: MemoryStore) -> None:
    await imported(
        store, ImportedGeneration(session_id="s", opened_at=NOON, drafts=(builders.said("a", "x"),))
    )
    fork = Generation(
        session_id="fork",
        key=MAIN,
        number=2,
        opened_at=NOON,
        opened_by=OpenedBy.FORK,
        base=Base(session_id="s", seq=1),
    )

    def decide(snapshot: Snapshot) -> Effects:
        return (OpenGeneration(generation=fork),)

    await store.change_session(MAIN, decide)
    assert json.loads((await exported(store))["fork.jsonl"])["parentSession"] == "s"


@pytest.mark.requirement("D36")
async def test_the_file_of_a_topic_says_so_in_its_name(store: MemoryStore) -> None:
    await imported(store, *generations_of(line("a", None)), key=TOPIC)
    assert list(await exported(store, TOPIC)) == ["s-topic-42.jsonl"]


async def test_a_topic_that_cannot_be_part_of_a_name_is_left_out_of_it(store: MemoryStore) -> None:
    key = SessionKey.parse("agent:main:telegram:group:-1:topic:../x")
    await imported(store, *generations_of(line("a", None)), key=key)
    assert list(await exported(store, key)) == ["s.jsonl"]


async def test_a_branch_whose_places_are_lost_is_written_last(store: MemoryStore) -> None:
    main = ImportedGeneration(
        session_id="s", opened_at=NOON, drafts=(builders.said("a", "x"),), header="\n{}"
    )
    other = ImportedGeneration(
        session_id="t",
        opened_at=NOON,
        drafts=(builders.said("b", "y"), builders.said("c", "z")),
        header='\n{"branchOf":"s","places":[[7,1]]}',
        archived=True,
    )
    await imported(store, main, other)
    written = (await exported(store))["s.jsonl"]
    assert [json.loads(text)["id"] for text in written.splitlines()] == ["a", "b", "c"]


async def test_a_branch_of_what_is_gone_is_a_file_of_its_own(store: MemoryStore) -> None:
    main = ImportedGeneration(session_id="s", opened_at=NOON, drafts=())
    other = ImportedGeneration(
        session_id="t",
        opened_at=NOON,
        drafts=(builders.said("b", "y"),),
        header='\n{"branchOf":"gone","places":[[0,1]]}',
        archived=True,
    )
    await imported(store, main, other)
    assert list(await exported(store)) == ["s.jsonl", "t.jsonl"]


async def test_a_session_that_does_not_exist_is_not_found(store: MemoryStore) -> None:
    with pytest.raises(NotFound):
        await exported(store)
