"""An OpenClaw folder into a store and out again, through both embedded stores."""

import asyncio
import json
import shutil
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from roost.core.identities import IdentityLink
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import Compaction, UserMessage, text_of
from roost.core.principals import OWNER, Principal, PrincipalKind, person
from roost.core.queries import HistoryQuery, SearchQuery, SessionQuery
from roost.core.search import parse_query
from roost.core.sessions import Counters, Lineage, Overrides
from roost.ports import Store
from roost.stores.memory import MemoryStore
from roost.stores.sqlite import SqliteStore
from roost.testing import builders
from roost.testing.clock import FakeClock
from roost.transfer.export import export_session
from roost.transfer.lines import Limits
from roost.transfer.openclaw import import_openclaw
from roost.transfer.options import ImportOptions
from roost.transfer.report import ImportReport, Item, Result
from tests.opening import Opened, in_own_process
from tests.scale import count

FIXTURE = Path(__file__).parents[1] / "fixtures" / "openclaw"
NOW = 1_770_000_000_000
OPTIONS = ImportOptions(now=NOW)
MAIN = SessionKey.named("main", "main")
CHILD = SessionKey.parse("agent:main:subagent:5d0c7f0e-53a1-4a53-8f54-0a2e0a9d6f11")
STEM = "0195a1c2-7d10-4a51-9c3e-2f4b6d8e0a"


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    clock = FakeClock(NOW)
    store: Store = MemoryStore(clock)
    if request.param == "sqlite":
        store = SqliteStore.open(tmp_path / "home" / "roost.db", clock)
    await store.acquire_lease(Gateway(name="importer", holder="test"))
    yield store
    assert await store.check() == ()
    await store.close()


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURE, tmp_path / "openclaw"))


async def files_of(store: Store, key: SessionKey) -> dict[str, bytes]:
    files: dict[str, bytes] = {}

    async def sink(name: str, line: bytes) -> None:
        files[name] = files.get(name, b"") + line

    await export_session(store, key, sink)
    return files


async def everything(store: Store) -> dict[SessionKey, dict[str, bytes]]:
    page = await store.list_sessions(SessionQuery(archived=None, limit=1000))
    return {session.key: await files_of(store, session.key) for session in page.rows}


@pytest.mark.requirement("D36", "D57")
async def test_every_file_of_a_folder_comes_out_as_it_went_in(store: Store, folder: Path) -> None:
    report = await import_openclaw(store, folder, OPTIONS)
    assert (report.count(Result.IMPORTED), report.count(Result.FAILED)) == (9, 0)
    written = {name: text for files in (await everything(store)).values() for name, text in files.items()}
    expected = {
        f"{name.partition('.jsonl')[0]}.jsonl": content
        for name, (content, _) in contents(folder).items()
        if name not in ("sessions.json", f"{STEM}09.jsonl")  # the latter is under a malformed key
    }
    assert written == expected


@pytest.mark.requirement("D41")
async def test_conversations_are_found_under_their_keys(store: Store, folder: Path) -> None:
    await import_openclaw(store, folder, OPTIONS)
    assert {str(key) for key in await everything(store)} == {
        "agent:main:main",
        "agent:main:telegram:group:-1001:topic:42",
        "agent:main:telegram:direct:123",
        str(CHILD),
        "agent:main:cron:daily-report",
        "agent:main:whatsapp:group:120363@g.us",
        f"agent:main:explicit:imported-{STEM}06",
        f"agent:main:explicit:imported-{STEM}07",
        "agent:ops:main",
    }


async def test_what_was_said_can_be_read_and_found(store: Store, folder: Path) -> None:
    await import_openclaw(store, folder, OPTIONS)
    page = await store.history(HistoryQuery(key=MAIN))
    texts = [text_of(entry.body) for entry in page.entries if isinstance(entry.body, UserMessage)]
    assert texts == ["Remember: the blue shed.", "When do I sow tomatoes in Lyon?", "Et les courgettes ?"]
    assert any(isinstance(entry.body, Compaction) for entry in page.entries)
    for words, key in (("blue shed", MAIN), ("予定", "agent:main:whatsapp:group:120363@g.us")):
        (hit, *_) = await store.search(SearchQuery(query=parse_query(words)))
        assert str(hit.key) == str(key)
    (left,) = await store.search(SearchQuery(query=parse_query("given up")))
    generations = {generation.session_id: generation for generation in await store.generations(MAIN)}
    assert generations[left.entry.session_id].archived


@pytest.mark.requirement("S25", "D35")
async def test_a_row_takes_content_from_the_folder_and_rights_from_the_configuration(
    store: Store, folder: Path
) -> None:
    links = (IdentityLink(name="Alice", members=("telegram:123",)),)
    await import_openclaw(store, folder, replace(OPTIONS, links=links))
    main, child = await store.session(MAIN), await store.session(CHILD)
    direct = await store.session(SessionKey.parse("agent:main:telegram:direct:123"))
    cron = await store.session(SessionKey.parse("agent:main:cron:daily-report"))
    assert main and child and direct and cron  # noqa: PT018 — one fact: all are there
    assert (main.owner, child.owner) == (OWNER, OWNER)
    assert direct.owner == Principal(PrincipalKind.PERSON, "alice")
    assert main.overrides == Overrides(model="anthropic/claude-sonnet", thinking="high")
    assert (direct.overrides, main.route, direct.route) == (Overrides(), None, None)
    assert (main.labels.label, main.origin.label) == ("Garden", "Alice")
    assert child.lineage == Lineage(parent=MAIN, depth=1)
    assert main.times.updated == 1_760_000_400_000
    assert main.session_id == f"{STEM}01"
    assert main.counters.context_window == 200_000
    assert (main.counters.total, main.counters.compactions) == (1900, 1)
    assert cron.counters == Counters(input=11, output=7, total=18)


async def test_a_second_import_changes_nothing(store: Store, folder: Path) -> None:
    await import_openclaw(store, folder, OPTIONS)
    before = await everything(store)
    rows = await store.list_sessions(SessionQuery(archived=None, limit=100))
    report = await import_openclaw(store, folder, replace(OPTIONS, now=NOW + 1))
    assert (report.count(Result.PRESENT), report.count(Result.SKIPPED)) == (9, 2)
    assert len(report.items) == 11
    assert await everything(store) == before
    assert await store.list_sessions(SessionQuery(archived=None, limit=100)) == rows


class Killed(Exception):
    """The process ended here."""


@pytest.mark.requirement("P5")
async def test_an_import_that_was_killed_anywhere_goes_on_to_the_same_end(store: Store, folder: Path) -> None:
    def die(item: Item) -> None:
        if item.result is Result.IMPORTED:
            raise Killed

    complete = MemoryStore(FakeClock(NOW))
    conversations = (await import_openclaw(complete, folder, OPTIONS)).count(Result.IMPORTED)
    for _ in range(conversations):
        with pytest.raises(Killed):
            await import_openclaw(store, folder, OPTIONS, die)
    report = await import_openclaw(store, folder, OPTIONS, die)
    assert report.count(Result.PRESENT) == conversations
    assert await everything(store) == await everything(complete)


async def test_a_folder_that_grew_is_taken_up_where_it_was_left(store: Store, folder: Path) -> None:
    await import_openclaw(store, folder, OPTIONS)
    path = folder / "agents" / "ops" / "sessions" / "0195a1c2-7d10-4a51-9c3e-2f4b6d8e0b01.jsonl"
    line = {"type": "custom", "id": "p3", "parentId": "p2", "timestamp": "2026-01-01T00:00:00.000Z"}
    path.write_bytes(path.read_bytes() + json.dumps(line).encode() + b"\n")
    report = await import_openclaw(store, folder, OPTIONS)
    assert (report.count(Result.RESUMED), report.count(Result.PRESENT)) == (1, 8)
    assert (await files_of(store, SessionKey.named("ops", "main")))[path.name] == path.read_bytes()


async def test_the_folder_is_read_and_never_changed(store: Store, folder: Path) -> None:
    before = contents(folder)
    await import_openclaw(store, folder, OPTIONS)
    assert contents(folder) == before


async def test_what_one_host_exports_another_imports(store: Store, folder: Path, tmp_path: Path) -> None:
    await import_openclaw(store, folder, OPTIONS)
    await store.append(MAIN, (builders.said("n1", "And beans?"), builders.answered("n2", "In May too.")))
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    for name, content in (await files_of(store, MAIN)).items():
        (bundle / name).write_bytes(content)
    (bundle / "sessions.json").write_text(
        json.dumps({"agent:main:main": {"sessionId": f"{STEM}01", "previousSessionId": f"{STEM}00"}})
    )
    other = MemoryStore(FakeClock(NOW))
    await import_openclaw(other, bundle, replace(OPTIONS, agent="main"))
    here, there = await store.history(HistoryQuery(key=MAIN)), await other.history(HistoryQuery(key=MAIN))
    assert [entry.body for entry in here.entries] == [entry.body for entry in there.entries]
    assert await files_of(other, MAIN) == await files_of(store, MAIN)


# -- hostile folders ---------------------------------------------------------------------------------


def hostile_index() -> dict[str, object]:
    evil = {
        "sendPolicy": "allow",
        "elevatedLevel": "full",
        "execHost": "gateway",
        "execSecurity": "full",
        "spawnedWorkspaceDir": "/",
        "spawnedCwd": "/etc",
        "inheritedToolAllow": ["*"],
        "sandbox": "off",
        "owner": "person:telegram:666",
        "createdActor": {"type": "owner", "id": ""},
        "lastChannel": "telegram",
        "lastTo": "666",
        "updatedAt": 9e15,
        "lastInteractionAt": 2**62,
        "label": "a\x1b[2J" + "x" * 100_000,
    }
    paths = [
        "../../secret",
        "/etc/passwd",
        "..\\secret",
        "secret\0",
        "%2e%2e%2fsecret",
        "~/.ssh/id_rsa",
        "//h/s",
    ]
    index: dict[str, object] = {
        f"agent:main:explicit:{number}": {
            **evil,
            "sessionId": path,
            "sessionFile": path,
            "previousSessionId": path,
        }
        for number, path in enumerate(paths)
    }
    index |= {
        "agent:main:main": {**evil, "sessionId": "s", "sessionFile": "../secret.jsonl"},
        "agent:main:telegram:direct:666": {**evil, "sessionId": "d"},
        "agent:main:subagent:a": {**evil, "sessionId": "a", "spawnedBy": "agent:main:subagent:b"},
        "agent:main:subagent:b": {**evil, "sessionId": "b", "spawnedBy": "agent:main:subagent:a"},
        "agent:": {**evil, "sessionId": "s"},
        "agent:../..:main": evil,
        "\ud800": evil,
        "x" * 100_000: evil,
        "agent:main:nothing": None,
        "agent:main:list": ["sessionId"],
        "agent:ops:main": {**evil, "sessionId": "o"},
        "AGENT:Ops:telegram:direct:666": {**evil, "sessionId": "d"},
        "agent:ops:subagent:c": {**evil, "sessionId": "c", "spawnedBy": "agent:ops:main"},
    }
    return index


def hostile_lines() -> list[bytes]:
    return [
        b'{"type":"session","version":1e999,"id":"s","timestamp":"9999-12-31T23:59:59Z","cwd":"/etc","owner":"me"}',
        b'{"type":"message","id":"a","parentId":"b","message":{"role":"user","content":"hi","principal":"owner"}}',
        b'{"type":"message","id":"b","parentId":"a","timestamp":"2999-01-01T00:00:00Z","message":{"role":"system"}}',
        b'{"type":"message","id":"b","parentId":"b","message":{"role":"assistant","content":[{"type":"toolCall"}]}}',
        b'{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":"x","timestamp":1e400}}',
        b'{"type":"compaction","id":"d","parentId":"c","firstKeptEntryId":"d","tokensBefore":-1,"summary":null}',
        b'{"type":"custom","id":"e","parentId":"d","n":NaN}',
        b'{"type":"custom","id":"f","parentId":"d","n":' + b"[" * 10_000,
        b'{"type":"custom","id":"g","parentId":"d","s":"\\ud800 \\u0000"}',
        b'{"type":"custom","id":"h","parentId":"nowhere","n":' + b"9" * 10_000 + b"}",
        b"\0" * 100,
        b"\xff\xfe\xfd",
        b'{"type":"leaf","id":"i","parentId":"h","targetId":"i"}',
    ]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    folder = tmp_path / "hostile" / "main" / "sessions"
    folder.mkdir(parents=True)
    (tmp_path / "hostile" / "secret.jsonl").write_text('{"type":"custom","id":"secret","parentId":null}\n')
    (folder / "sessions.json").write_text(json.dumps(hostile_index()))
    (folder / "s.jsonl").write_bytes(b"\n".join(hostile_lines()))
    (folder / "o.jsonl").write_bytes(b"\n".join(hostile_lines()))
    (folder / "link.jsonl").symlink_to("../../secret.jsonl")
    return folder


READING = ("open", "os.listdir", "os.scandir")


def read_hostile(hostile: Path) -> None:
    async def read() -> ImportReport:
        return await import_openclaw(MemoryStore(FakeClock(NOW)), hostile, OPTIONS)

    asyncio.run(read())  # What is imported on the way is read here.
    with Opened().during() as seen:
        report = asyncio.run(read())
    named = {name for what, name in seen if what in READING and not name.isdigit()}
    assert named == {str(hostile), "sessions.json", "s.jsonl"}
    assert report.count(Result.FAILED) == 0


@pytest.mark.requirement("S8", "S25")
def test_a_hostile_folder_opens_no_file_but_its_own(hostile: Path) -> None:
    in_own_process(read_hostile, hostile)


@pytest.mark.requirement("S25")
async def test_a_hostile_folder_gains_nothing_and_breaks_nothing(store: Store, hostile: Path) -> None:
    report = await import_openclaw(store, hostile, OPTIONS)
    page = await store.list_sessions(SessionQuery(archived=None, limit=1000))
    for session in page.rows:
        expected = person("telegram", "666") if session.facts.peer == "666" else OWNER
        assert (session.owner, session.key.agent) == (expected, "main")
        assert (session.overrides, session.route, session.lineage) == (Overrides(), None, Lineage())
        assert max(session.times.updated, session.times.interacted, session.times.created) <= NOW
        assert session.labels.label is None or session.labels.label.isprintable()
    assert (await files_of(store, MAIN))["s.jsonl"] == (hostile / "s.jsonl").read_bytes()
    assert (await import_openclaw(store, hostile, OPTIONS)).count(Result.PRESENT) == len(page.rows)
    assert all(text.isprintable() for line in report.lines() for text in line.split("\n"))


@pytest.mark.requirement("S25")
async def test_what_one_agents_folder_says_of_anothers_sessions_is_left_out_and_named(
    store: Store, folder: Path
) -> None:
    ops, honest = SessionKey.named("ops", "main"), folder / "agents" / "ops" / "sessions"
    index = folder / "agents" / "main" / "sessions" / "sessions.json"
    said = json.loads(index.read_text())
    forged = {"agent:ops:main": {"sessionId": "forged"}, "agent:ops:explicit:more": {"sessionId": "forged"}}
    index.write_text(json.dumps(said | forged))
    (index.parent / "forged.jsonl").write_text('{"type":"custom","id":"x","parentId":null}\n')
    report = await import_openclaw(store, folder, OPTIONS)
    lines = [line for line in report.lines() if "a key of ops, and these are the sessions of main" in line]
    assert [line.split(": ")[0] for line in lines] == [
        "skipped agent:ops:main",
        "skipped agent:ops:explicit:more",
        "skipped forged.jsonl",
    ]
    assert (report.count(Result.IMPORTED), report.count(Result.FAILED)) == (9, 0)
    (name,) = await files_of(store, ops)
    assert (await files_of(store, ops))[name] == (honest / name).read_bytes()
    assert [str(key) for key in await everything(store) if key.agent == "ops"] == [str(ops)]


@pytest.mark.requirement("S25")
async def test_a_line_of_any_length_costs_bounded_memory_and_only_itself(
    store: Store, tmp_path: Path
) -> None:
    mebibyte = 2**20
    limits = Limits(line_bytes=count(1, 16) * mebibyte)
    folder = tmp_path / "main" / "sessions"
    folder.mkdir(parents=True)
    before = b'{"type":"custom","id":"a","parentId":null}\n'
    after = b'{"type":"custom","id":"b","parentId":"a"}\n'
    with (folder / "s.jsonl").open("wb") as file:
        file.write(before)
        for _ in range(count(24, 100)):
            file.write(b"[" * mebibyte)
        file.write(b"\n" + after)
    tracemalloc.start()
    try:
        report = await import_openclaw(store, folder, replace(OPTIONS, limits=limits))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * (limits.line_bytes + mebibyte)
    assert report.items[0].result is Result.IMPORTED
    assert [remark for remark in report.items[0].remarks if remark.startswith("line 2: left out")]
    key = SessionKey.parse("agent:main:explicit:imported-s")
    written = (await files_of(store, key))["s.jsonl"].splitlines(keepends=True)
    assert (written[0], written[2], len(written)) == (before, after, 3)


@pytest.mark.requirement("S25")
async def test_the_longest_line_that_is_taken_is_taken_whole(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "main" / "sessions"
    folder.mkdir(parents=True)
    size = count(1, 15) * 2**20
    content = (
        b'{"type":"custom","id":"a","parentId":null,"s":"'
        + b"x" * size
        + b'"}\n'
        + b'["' * (size // 2)
        + b"\n"
    )
    (folder / "s.jsonl").write_bytes(content)
    await import_openclaw(store, folder, OPTIONS)
    key = SessionKey.parse("agent:main:explicit:imported-s")
    assert (await files_of(store, key))["s.jsonl"] == content
