"""The law of import and export: whatever bytes a transcript file holds, it is written again as it was."""

import asyncio
import json
from collections.abc import Iterator
from io import BytesIO
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.core.entries import EntryDraft
from roost.core.imports import ImportedGeneration, ImportedSession, ImportOutcome
from roost.core.jsonvalue import JsonValue
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import Body
from roost.core.principals import OWNER
from roost.core.queries import HistoryQuery
from roost.core.resets import Reset, open_generation
from roost.core.sessions import OpenedBy
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.testing import builders
from roost.testing.clock import NOON, FakeClock
from roost.transfer.cleaning import masked
from roost.transfer.export import export_session
from roost.transfer.jsonl_files import Transcript, read_transcript
from roost.transfer.lines import Limits, read_lines
from roost.transfer.options import ImportOptions
from roost.transfer.packing import pack
from roost.transfer.pieces import piece_after
from roost.transfer.report import Remarks
from roost.transfer.unpacking import unpack
from tests.property.histories import bodies
from tests.scale import examples

ids = st.sampled_from(["a", "b", "c", "d", "unnamed-line-2", "", "\0", "é", "x" * 300])
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.just("\ud800")
)
values: st.SearchStrategy[JsonValue] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
)
kinds = ["message", "compaction", "reset", "leaf", "session", "unparsed", "custom", "odd"]
objects = st.fixed_dictionaries(
    {"type": st.sampled_from(kinds) | values},
    optional={
        "id": ids | values,
        "parentId": st.none() | ids | values,
        "timestamp": st.sampled_from(["2026-01-31T23:59:59.999Z", "soon", 7]),
        "message": st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "toolResult", "bash"])},
            optional={"content": values, "timestamp": values, "usage": values},
        ),
        "summary": values,
        "targetId": st.none() | ids,
        "base64": st.sampled_from(["aGVsbG8=", "!"]),
        "reason": st.just("mine"),
    },
)
spelled = st.builds(
    lambda line, ascii_only, separators: json.dumps(line, ensure_ascii=ascii_only, separators=separators),
    objects,
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,", "\t:")]),
).map(lambda text: text.encode(errors="surrogatepass"))
chained = st.builds(
    lambda entry, parent: json.dumps(
        {
            "type": "message",
            "id": entry,
            "parentId": parent,
            "timestamp": "2026-01-31T23:59:59.999Z",
            "message": {
                "role": "user",
                "content": "hi",
                "timestamp": 1769903999999,
                "provenance": {"kind": "external_user"},
            },
        },
        separators=(",", ":"),
    ).encode(),
    st.sampled_from("abcdef"),
    st.none() | st.sampled_from("abcdef"),
)
exact = st.builds(
    lambda kind, entry, parent, more: json.dumps(
        {"type": kind, "id": entry, "parentId": parent, "timestamp": "1970-01-01T00:00:00.000Z", **more},
        separators=(",", ":"),
    ).encode(),
    st.sampled_from(["custom", "unparsed", "leaf"]),
    st.sampled_from("abcdef"),
    st.none() | st.sampled_from("abcdef"),
    st.sampled_from([{}, {"base64": "aGVsbG8="}, {"reason": "mine", "lines": 1}, {"targetId": "a"}]),
)
headers = st.sampled_from(
    [
        b'{"type":"session","version":4,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/etc"}',
        b'\xef\xbb\xbf{"type": "session", "id": "s"}',
        b'{"type":"session"}',
    ]
)
odd = st.sampled_from(
    [
        b"",
        b"  ",
        b"{",
        b"null",
        b"[1]",
        b'"text"',
        b'{"type":1}',
        b"\xff\xfe",
        b"nul \0 in",
        b'{"type":"a","n":1E400,"m":1.0,"k":-0,"l":123456789012345678901234567890}',
        b'{"type":"a","n":NaN}',
        b'{"type":"a","type":"b","id":"a"}',
        b'{"type":"a"}\r',
        b'{"type":"\\ud83d\\ude00 \\ud83d","id":"e"}',
        b"[" * 10_000,
        "\u2028{}\u2028".encode(),
        b"x" * 70_000,
    ]
)
line = st.one_of(
    spelled, exact, chained, headers, odd, st.binary(max_size=12).map(lambda raw: raw.replace(b"\n", b""))
)
files = st.builds(
    lambda lines, breaks, end: breaks.join(lines) + (end if lines else b""),
    st.lists(line, max_size=12) | st.lists(chained | exact | st.just(b"{"), max_size=12),
    st.sampled_from([b"\n", b"\r\n"]),
    st.sampled_from([b"", b"\n", b"\n\n", b"\r\n"]),
)


async def round_trip(store: Store, key: SessionKey, session_id: str, content: bytes) -> bytes:
    transcript = Transcript(session_id=session_id, principal=OWNER, now=NOON)
    generations = read_transcript(read_lines(BytesIO(content), Limits()), transcript, Remarks())
    imported = ImportedSession(session=builders.session(key), generations=generations)
    assert await store.import_session(imported) is ImportOutcome.IMPORTED
    assert await store.import_session(imported) is ImportOutcome.PRESENT
    written = bytearray()

    async def sink(name: str, line: bytes) -> None:
        assert name == f"{session_id}.jsonl"
        written.extend(line)

    await export_session(store, key, sink)
    return bytes(written)


@pytest.mark.requirement("D57")
@settings(max_examples=examples(60, 2000), deadline=None)
@given(content=files, largest=st.integers(1, 400))
def test_any_file_comes_in_pieces_of_any_size_as_it_is(content: bytes, largest: int) -> None:
    store = MemoryStore(FakeClock())
    whole = asyncio.run(round_trip(store, builders.MAIN, "s", content))
    assert asyncio.run(in_pieces(store, largest)) == whole


async def in_pieces(store: Store, largest: int) -> bytes:
    piece = await piece_after(store, builders.MAIN, None, lambda line: line, largest)
    written = piece.data
    while piece.then is not None:
        piece = await piece_after(store, builders.MAIN, piece.then, lambda line: line, largest)
        written += piece.data
    return written


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.mark.requirement("D57")
@settings(max_examples=examples(100, 5000), deadline=None)
@given(content=files)
def test_any_file_is_written_again_as_it_was(content: bytes) -> None:
    store = MemoryStore(FakeClock())
    assert asyncio.run(round_trip(store, builders.MAIN, "s", content)) == content


@pytest.mark.requirement("D57")
def test_any_file_comes_out_of_a_database_as_it_went_in(tmp_path: Path, runner: asyncio.Runner) -> None:
    async def opened() -> SqliteStore:
        store = SqliteStore.open(tmp_path / "roost.db", FakeClock())
        await store.acquire_lease(Gateway(name="importer", holder="law"))
        return store

    store = runner.run(opened())
    numbers = count()

    @settings(max_examples=examples(60, 3000), deadline=None)
    @given(content=files)
    def law(content: bytes) -> None:
        number = next(numbers)
        key = SessionKey.named("main", f"law-{number}")
        assert runner.run(round_trip(store, key, f"s-{number}", content)) == content

    try:
        law()
        assert runner.run(store.check()) == ()
    finally:
        runner.run(store.close())


async def lines_of(store: Store) -> bytes:
    written = bytearray()

    async def sink(name: str, line: bytes) -> None:
        written.extend(line)

    await export_session(store, builders.MAIN, sink)
    return bytes(written)


async def two_hosts(history: list[Body]) -> tuple[bytes, bytes, list[str]]:
    """What one host exports, what a second exports of that, and the ids the second sees as the conversation."""
    here, there = MemoryStore(FakeClock()), MemoryStore(FakeClock())
    first = ImportedGeneration(session_id="s", opened_at=NOON, drafts=())
    await here.import_session(ImportedSession(session=builders.session(), generations=(first,)))
    await here.append(
        builders.MAIN, tuple(EntryDraft(id=f"e{number}", body=body) for number, body in enumerate(history))
    )
    sent = await lines_of(here)
    transcript = Transcript(session_id="s", principal=OWNER, now=NOON)
    generations = read_transcript(read_lines(BytesIO(sent), Limits()), transcript, Remarks())
    await there.import_session(ImportedSession(session=builders.session(), generations=generations))
    page = await there.history(HistoryQuery(key=builders.MAIN, limit=1000))
    return sent, await lines_of(there), [entry.id for entry in page.entries]


@settings(max_examples=examples(50, 2000), deadline=None)
@given(history=st.lists(bodies, max_size=12))
def test_a_session_that_was_never_a_file_travels_whole(history: list[Body]) -> None:
    sent, again, ids = asyncio.run(two_hosts(history))
    assert again == sent
    assert ids == [f"e{number}" for number in range(len(history))]


async def bundled(folder: Path, content: bytes, history: list[Body]) -> tuple[list[bytes], list[bytes]]:
    """The transcripts of a session that was imported, reset and went on, here and where its bundle was taken."""
    here, there = MemoryStore(FakeClock()), MemoryStore(FakeClock())
    await round_trip(here, builders.MAIN, "s", content)
    fresh = Reset(reason=OpenedBy.RESET, session_id="s2", at=NOON, rule="r")
    await here.change_session(builders.MAIN, lambda snapshot: open_generation(snapshot, fresh))
    drafts = tuple(EntryDraft(id=f"e{number}", body=body) for number, body in enumerate(history))
    await here.append(builders.MAIN, drafts)
    file = folder / "bundle"
    with file.open("wb") as out:
        await pack(here, builders.MAIN, out, str, NOON)
    await unpack(there, file, ImportOptions(now=NOON), frozenset({"main"}))
    sent, taken = [await export_lines(store) for store in (here, there)]
    return [masked(line, str) for line in sent], taken


async def export_lines(store: Store) -> list[bytes]:
    written: list[bytes] = []

    async def sink(name: str, line: bytes) -> None:
        written.append(line)

    await export_session(store, builders.MAIN, sink)
    return written


@pytest.mark.requirement("F12")
@settings(max_examples=examples(30, 1000), deadline=None)
@given(content=files, history=st.lists(bodies, max_size=6))
def test_any_session_comes_out_of_a_bundle_as_it_went_in(content: bytes, history: list[Body]) -> None:
    with TemporaryDirectory() as folder:
        sent, taken = asyncio.run(bundled(Path(folder), content, history))
    assert b"".join(taken) == b"".join(sent)
