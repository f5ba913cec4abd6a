"""Transcripts as files beside the store."""

import json
import stat
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from roost.core.effects import DeleteSession
from roost.core.imports import ImportedGeneration, ImportedSession
from roost.core.keys import SessionKey
from roost.core.redaction import ExactValues
from roost.core.sessions import Labels
from roost.ports import Store
from roost.scanners.stdlib import StdlibScanner
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import NOON, FakeClock
from roost.transfer.mirror import INDEX, JOURNAL, PAGE, STAMP, Mirror, Places, forget_mirrored
from roost.transfer.options import ImportOptions
from roost.transfer.transcripts import import_transcripts
from tests.unit.transfer.test_transcripts import OLDER, transcript

TOPIC = SessionKey.parse("agent:main:telegram:group:-1:topic:42")
SECRET = "plain words of the owner"


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(FakeClock())


def mirror(store: Store, home: Path) -> Mirror:
    return Mirror(
        store,
        FakeClock(),
        Places(of=lambda key: home / key.agent if key.agent else None, all=(home / "main",)),
        ExactValues([SECRET], StdlibScanner()),
        home,
    )


async def followed(store: Store, home: Path) -> None:
    """One who begins, and writes everything."""
    one = mirror(store, home)
    await one.remember()
    await one.catch_up()


async def begun(store: Store, key: SessionKey, session_id: str) -> None:
    generation = ImportedGeneration(session_id=session_id, opened_at=NOON, drafts=())
    row = builders.session(key)._replace(session_id=session_id)
    await store.import_session(ImportedSession(session=row, generations=(generation,)))


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.requirement("D36")
async def test_what_is_said_is_appended_to_the_file_of_its_session(
    store: MemoryStore, tmp_path: Path
) -> None:
    one = mirror(store, tmp_path)
    await begun(store, MAIN, "s1")
    await begun(store, TOPIC, "s2")
    with store.watch(None, one.note):
        await store.append(MAIN, (builders.said("e1", "hello"), builders.answered("e2", "hi")))
        await store.append(TOPIC, (builders.said("t1", "in a topic"),))
        await one.catch_up()
        await store.append(MAIN, (builders.said("e3", "again"),))
        await one.catch_up()
    folder = tmp_path / "main"
    header, *entries = lines(folder / "s1.jsonl")
    assert (header["type"], header["id"]) == ("session", "s1")
    assert [(entry["id"], entry["parentId"]) for entry in entries] == [
        ("e1", None),
        ("e2", "e1"),
        ("e3", "e2"),
    ]
    assert lines(folder / "s2-topic-42.jsonl")[1]["id"] == "t1"
    index = json.loads((folder / INDEX).read_text())
    assert index[str(MAIN)]["sessionId"] == "s1"
    assert index[str(TOPIC)]["sessionFile"] == "s2-topic-42.jsonl"
    assert {stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()} == {0o600}


@pytest.mark.requirement("D36")
async def test_what_was_not_written_is_written_at_the_next_start_and_nothing_twice(
    store: MemoryStore, tmp_path: Path
) -> None:
    await begun(store, MAIN, "s1")
    await store.append(MAIN, (builders.said("e1", "hello"),))
    await followed(store, tmp_path)
    file = tmp_path / "main" / "s1.jsonl"
    assert [line.get("id") for line in lines(file)] == ["s1", "e1"]
    assert (tmp_path / STAMP).exists()
    with file.open("a") as out:
        out.write('{"half": ')
    await store.append(MAIN, (builders.said("e2", "more", at=NOON + 1),))
    await followed(store, tmp_path)
    await followed(store, tmp_path)
    assert [line.get("id") for line in lines(file)] == ["s1", "e1", "e2"]


@pytest.mark.requirement("P24")
async def test_no_secret_is_in_a_file(store: MemoryStore, tmp_path: Path) -> None:
    await begun(store, MAIN, "s1")
    await store.append(MAIN, (builders.said("e1", f"it is {SECRET}"),))
    await followed(store, tmp_path)
    assert all(SECRET not in one.read_text() for one in (tmp_path / "main").iterdir())


@pytest.mark.requirement("D36", "D37")
@pytest.mark.requirement("P24")
async def test_no_secret_is_in_the_index(store: MemoryStore, tmp_path: Path) -> None:
    generation = ImportedGeneration(session_id="s1", opened_at=NOON, drafts=())
    named = Labels(label="home", display_name=f"Ann, {SECRET}", subject=SECRET)
    row = builders.session(MAIN)._replace(session_id="s1", labels=named)
    await store.import_session(ImportedSession(session=row, generations=(generation,)))
    await followed(store, tmp_path)
    written = json.loads((tmp_path / "main" / INDEX).read_text())[str(MAIN)]
    assert (written["label"], written["sessionFile"]) == ("home", "s1.jsonl")
    assert SECRET not in str(written)


async def test_the_files_of_a_session_that_is_removed_go_with_it(store: MemoryStore, tmp_path: Path) -> None:
    await begun(store, MAIN, "s1")
    await begun(store, TOPIC, "s2")
    await followed(store, tmp_path)
    folder = tmp_path / "main"
    (folder / "s2-topic-42.jsonl").unlink()
    one = mirror(store, tmp_path)
    with store.watch(None, one.note):
        for key in (MAIN, TOPIC):
            await store.change_session(key, lambda snapshot: (DeleteSession(key=snapshot.key),))
        await one.catch_up()
    assert {file.name for file in folder.iterdir()} == {INDEX}
    assert json.loads((folder / INDEX).read_text()) == {}


@pytest.mark.requirement("D36", "D37")
async def test_the_files_of_a_session_that_was_removed_when_nobody_mirrored_go_at_the_next_start(
    store: MemoryStore, tmp_path: Path
) -> None:
    await begun(store, MAIN, "s1")
    await begun(store, TOPIC, "s2")
    await followed(store, tmp_path)
    await store.change_session(TOPIC, lambda snapshot: (DeleteSession(key=snapshot.key),))
    folder = tmp_path / "main"
    # Rows that somebody else wrote are theirs.
    strange = {
        "agent:main:theirs": {"sessionId": "x", "sessionFile": "x.jsonl"},
        "no key": {"files": ["x.jsonl"]},
    }
    (folder / "x.jsonl").touch(0o600)
    (folder / INDEX).write_text(json.dumps({**json.loads((folder / INDEX).read_text()), **strange}))
    await followed(store, tmp_path)
    assert {file.name for file in folder.iterdir()} == {INDEX, "s1.jsonl", "x.jsonl"}
    assert set(json.loads((folder / INDEX).read_text())) == {str(MAIN), *strange}


async def cut_short(store: Store, home: Path) -> None:
    """One who ends when its files are written and the index is not."""
    obstacle = home / "main" / f"{INDEX}.part"
    obstacle.mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        await followed(store, home)
    obstacle.rmdir()


@pytest.mark.requirement("F11")
async def test_a_file_of_which_the_index_has_not_heard_is_forgotten_with_the_others(
    store: MemoryStore, tmp_path: Path
) -> None:
    await begun(store, MAIN, "s1")
    await store.append(MAIN, (builders.said("e1", "hello"),))
    await cut_short(store, tmp_path)
    folder = tmp_path / "main"
    (folder / "s1.jsonl.part").write_text("hello")
    (folder / "mine.jsonl").write_text("of somebody else")
    assert lines(folder / "s1.jsonl")
    forget_mirrored(tmp_path, folder)
    assert {file.name for file in folder.iterdir()} == {INDEX, "mine.jsonl"}
    forget_mirrored(tmp_path, tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


async def test_a_file_of_which_the_index_has_not_heard_goes_with_its_session(
    store: MemoryStore, tmp_path: Path
) -> None:
    for key, name in ((MAIN, "s1"), (TOPIC, "s2")):
        await begun(store, key, name)
        await store.append(key, (builders.said(f"e of {name}", "hello"),))
    await cut_short(store, tmp_path)
    journal = tmp_path / "main" / JOURNAL
    journal.write_text(journal.read_text() + '{"key": "half a li')
    await store.change_session(TOPIC, lambda snapshot: (DeleteSession(key=TOPIC),))
    await followed(store, tmp_path)
    assert {file.name for file in (tmp_path / "main").iterdir()} == {INDEX, "s1.jsonl"}
    assert set(json.loads((tmp_path / "main" / INDEX).read_text())) == {str(MAIN)}


async def test_an_index_in_which_nothing_changed_is_not_written_again(
    store: MemoryStore, tmp_path: Path
) -> None:
    one = mirror(store, tmp_path)
    await begun(store, MAIN, "s1")
    one.note(MAIN)
    await one.catch_up()
    written = (tmp_path / "main" / INDEX).stat()
    one.note(MAIN)
    await one.catch_up()
    # Every time it is written it is another file.
    assert (tmp_path / "main" / INDEX).stat().st_ino == written.st_ino
    await store.change_session(MAIN, lambda snapshot: (DeleteSession(key=snapshot.key),))
    one.note(MAIN)
    await one.catch_up()
    assert json.loads((tmp_path / "main" / INDEX).read_text()) == {}


async def test_what_was_imported_keeps_its_lines_and_damage_to_the_index_is_mended(
    store: MemoryStore, tmp_path: Path
) -> None:
    given = transcript(tmp_path, OLDER, 1, "first", "second")
    await import_transcripts(store, given, ImportOptions(now=NOON * 2), MAIN)
    await followed(store, tmp_path)
    copied = tmp_path / "main" / given.name
    assert copied.read_bytes() == given.read_bytes()
    (tmp_path / "main" / INDEX).write_text("nonsense")
    (tmp_path / STAMP).write_text("nonsense")
    await store.append(MAIN, (builders.said("e1", "more", at=NOON * 2),))
    await followed(store, tmp_path)
    assert len(lines(copied)) == 4
    assert list(json.loads((tmp_path / "main" / INDEX).read_text())) == [str(MAIN)]


async def test_many_sessions_are_caught_up_with_and_those_without_a_place_are_passed_over(
    store: MemoryStore, tmp_path: Path
) -> None:
    for number in range(PAGE + 1):
        await begun(store, SessionKey.named("main", f"n{number}"), f"s{number}")
    await begun(store, SessionKey.parse("global"), "sg")
    await followed(store, tmp_path)
    assert len(list((tmp_path / "main").glob("*.jsonl"))) == PAGE + 1


class Pausing(FakeClock):
    """Every pause is over at once, and can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.paused = anyio.Event()

    async def sleep(self, milliseconds: int) -> None:
        self.paused.set()
        await anyio.lowlevel.checkpoint()


async def test_changes_are_followed_and_the_last_one_is_written_when_it_ends(
    store: MemoryStore, tmp_path: Path
) -> None:
    await begun(store, MAIN, "s1")
    clock = Pausing()
    one = Mirror(store, clock, Places(of=lambda key: tmp_path, all=()), StdlibScanner(), tmp_path)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(one.follow)
            await anyio.wait_all_tasks_blocked()
            for number in range(3):
                clock.paused = anyio.Event()
                await store.append(MAIN, (builders.said(f"e{number}", "more"),))
                if number < 2:
                    await clock.paused.wait()
            group.cancel_scope.cancel()
    assert [line.get("id") for line in lines(tmp_path / "s1.jsonl")] == ["s1", "e0", "e1", "e2"]


async def test_of_two_with_one_home_one_mirrors_and_the_other_goes_on_when_it_ends(
    store: MemoryStore, tmp_path: Path
) -> None:
    await begun(store, MAIN, "s1")
    clocks = Pausing(), Pausing()
    places = Places(of=lambda key: tmp_path, all=(tmp_path,))
    first, second = (Mirror(store, clock, places, StdlibScanner(), tmp_path) for clock in clocks)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as outer:
            async with anyio.create_task_group() as inner:
                inner.start_soon(first.follow)
                await until_written(tmp_path, "s1")
                outer.start_soon(second.follow)
                # It has found the place taken.
                await clocks[1].paused.wait()
                await store.append(MAIN, (builders.said("e1", "hello"),))
                await until_written(tmp_path, "e1")
                inner.cancel_scope.cancel()
            await store.append(MAIN, (builders.said("e2", "more"),))
            await until_written(tmp_path, "e2")
            outer.cancel_scope.cancel()
    assert [line.get("id") for line in lines(tmp_path / "s1.jsonl")] == ["s1", "e1", "e2"]


async def until_written(folder: Path, entry: str) -> None:
    file = anyio.Path(folder / "s1.jsonl")
    while not await file.exists() or f'"id":"{entry}"' not in (await file.read_text()).replace(" ", ""):
        await anyio.lowlevel.checkpoint()
