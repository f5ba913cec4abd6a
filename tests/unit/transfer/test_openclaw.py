"""Where the sessions of an OpenClaw installation are found, and what in them is."""

import json
import os
from pathlib import Path

import pytest

from roost.core.errors import InvalidInput, NotFound
from roost.core.queries import SessionQuery
from roost.stores.memory import MemoryStore
from roost.testing.clock import NOON, FakeClock
from roost.transfer.lines import Limits
from roost.transfer.openclaw import import_openclaw
from roost.transfer.options import ImportOptions
from roost.transfer.report import ImportReport, Item, Result

OPTIONS = ImportOptions(now=NOON)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(FakeClock())


def sessions(folder: Path, session_id: str = "s", index: object = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "sessions.json").write_text(json.dumps(index or {"main": {"sessionId": session_id}}))
    (folder / f"{session_id}.jsonl").write_text('{"type":"custom","id":"a","parentId":null}\n')
    return folder


def results(report: ImportReport) -> list[tuple[str, Result]]:
    return [(item.source, item.result) for item in report.items]


async def keys(store: MemoryStore) -> set[str]:
    page = await store.list_sessions(SessionQuery(archived=None))
    return {str(session.key) for session in page.rows}


@pytest.mark.parametrize("below", ["", "agents", "agents/Ops", "agents/Ops/sessions"])
async def test_the_folder_may_be_named_from_any_level_above(
    store: MemoryStore, tmp_path: Path, below: str
) -> None:
    sessions(tmp_path / "agents" / "Ops" / "sessions")
    (tmp_path / "logs").mkdir()
    report = await import_openclaw(store, tmp_path / below, OPTIONS)
    assert results(report) == [("main", Result.IMPORTED)]
    assert await keys(store) == {"agent:ops:main"}


async def test_every_agent_of_an_installation_is_imported(store: MemoryStore, tmp_path: Path) -> None:
    for number, agent in enumerate(("main", "ops", "no agent")):
        sessions(tmp_path / "agents" / agent / "sessions", f"s{number}")
    (tmp_path / "agents" / "empty").mkdir()
    report = await import_openclaw(store, tmp_path, OPTIONS)
    assert await keys(store) == {"agent:main:main", "agent:ops:main"}
    assert report.count(Result.SKIPPED) == 1
    assert "not the name of an agent" in report.items[1].reason


async def test_a_folder_that_does_not_say_whose_it_is_needs_to_be_told(
    store: MemoryStore, tmp_path: Path
) -> None:
    folder = sessions(tmp_path / "backup")
    with pytest.raises(InvalidInput, match="name the agent"):
        await import_openclaw(store, folder, OPTIONS)
    await import_openclaw(store, folder, ImportOptions(now=NOON, agent="ops"))
    assert await keys(store) == {"agent:ops:main"}


async def test_a_folder_that_is_not_there_is_not_found(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await import_openclaw(store, tmp_path / "nowhere", OPTIONS)


async def test_each_item_is_told_as_it_is_dealt_with(store: MemoryStore, tmp_path: Path) -> None:
    folder = sessions(tmp_path / "main" / "sessions")
    told: list[Item] = []
    report = await import_openclaw(store, folder, OPTIONS, told.append)
    assert tuple(told) == report.items


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff"])
async def test_an_index_that_cannot_be_read_stops_its_folder_and_no_other(
    store: MemoryStore, tmp_path: Path, content: bytes
) -> None:
    (sessions(tmp_path / "agents" / "main" / "sessions") / "sessions.json").write_bytes(content)
    sessions(tmp_path / "agents" / "ops" / "sessions", "t")
    report = await import_openclaw(store, tmp_path, OPTIONS)
    assert results(report) == [
        ("agents/main/sessions/sessions.json", Result.FAILED),
        ("main", Result.IMPORTED),
    ]
    assert "take it away" in report.items[0].reason
    assert not report.complete


async def test_a_key_that_ends_twice_as_a_heartbeat_does_costs_no_other(
    store: MemoryStore, tmp_path: Path
) -> None:
    index = {"main:heartbeat:heartbeat": {"sessionId": "t"}, "main": {"sessionId": "s"}}
    report = await import_openclaw(store, sessions(tmp_path / "main" / "sessions", index=index), OPTIONS)
    assert report.count(Result.IMPORTED) == 2
    assert await keys(store) == {"agent:main:main", "agent:main:main:heartbeat:heartbeat"}


async def test_an_index_that_is_too_large_stops_its_folder(store: MemoryStore, tmp_path: Path) -> None:
    folder = sessions(tmp_path / "main" / "sessions")
    small = ImportOptions(now=NOON, limits=Limits(index_bytes=4))
    assert results(await import_openclaw(store, folder, small)) == [("sessions.json", Result.FAILED)]


@pytest.mark.requirement("P5")
async def test_without_an_index_every_transcript_is_a_conversation_of_its_own(
    store: MemoryStore, tmp_path: Path
) -> None:
    folder = sessions(tmp_path / "main" / "sessions")
    (folder / "sessions.json").unlink()
    await import_openclaw(store, folder, OPTIONS)
    assert await keys(store) == {"agent:main:explicit:imported-s"}


async def test_other_files_are_left_out_and_told(store: MemoryStore, tmp_path: Path) -> None:
    folder = sessions(tmp_path / "main" / "sessions")
    (folder / "sessions.json.lock").touch()
    (folder / "notes.txt").touch()
    (folder / "sub").mkdir()
    (folder / "s2.jsonl.deleted.1.zst").touch()
    report = await import_openclaw(store, folder, OPTIONS)
    assert results(report) == [
        ("notes.txt", Result.SKIPPED),
        ("sessions.json.lock", Result.SKIPPED),
        ("s2.jsonl.deleted.1.zst", Result.SKIPPED),
        ("main", Result.IMPORTED),
    ]


@pytest.mark.requirement("S8", "S25")
async def test_links_and_pipes_are_left_out_and_told(store: MemoryStore, tmp_path: Path) -> None:
    folder = sessions(tmp_path / "main" / "sessions")
    secret = tmp_path / "secret"
    secret.write_text('{"type":"custom","id":"secret","parentId":null}\n')
    (folder / "t.jsonl").symlink_to(secret)
    (folder / "u.jsonl").hardlink_to(folder / "s.jsonl")
    os.mkfifo(folder / "v.jsonl")
    (tmp_path / "linked").symlink_to(folder)
    report = await import_openclaw(store, folder, OPTIONS)
    assert results(report)[:2] == [("t.jsonl", Result.SKIPPED), ("v.jsonl", Result.SKIPPED)]
    assert await store.session_by_id("t") is None


async def test_an_index_that_is_a_link_is_not_followed_and_stops_its_folder(
    store: MemoryStore, tmp_path: Path
) -> None:
    folder = sessions(tmp_path / "main" / "sessions")
    (folder / "sessions.json").rename(tmp_path / "elsewhere.json")
    (folder / "sessions.json").symlink_to(tmp_path / "elsewhere.json")
    report = await import_openclaw(store, folder, OPTIONS)
    assert results(report) == [("sessions.json", Result.FAILED)]


async def test_sessions_of_an_agent_that_are_a_link_are_not_followed(
    store: MemoryStore, tmp_path: Path
) -> None:
    elsewhere = sessions(tmp_path / "elsewhere")
    agent = tmp_path / "home" / "agents" / "main"
    agent.mkdir(parents=True)
    (agent / "sessions").symlink_to(elsewhere)
    with pytest.raises(InvalidInput):
        await import_openclaw(store, tmp_path / "home", OPTIONS)
    assert await keys(store) == set()


async def test_an_agent_whose_folder_may_not_be_read_costs_no_other(
    store: MemoryStore, tmp_path: Path
) -> None:
    sessions(tmp_path / "agents" / "main" / "sessions")
    locked = sessions(tmp_path / "agents" / "ops" / "sessions", "t").parent
    locked.chmod(0)
    try:
        report = await import_openclaw(store, tmp_path, OPTIONS)
    finally:
        locked.chmod(0o700)
    assert ("main", Result.IMPORTED) in results(report)
