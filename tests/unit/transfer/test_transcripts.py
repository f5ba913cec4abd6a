"""One conversation out of a store and into another."""

from pathlib import Path

import pytest

from roost.core.errors import InvalidInput
from roost.core.jsonvalue import JsonObject, compact
from roost.core.keys import SessionKey
from roost.stores.memory import MemoryStore
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from roost.transfer.options import ImportOptions
from roost.transfer.report import ImportReport, Result
from roost.transfer.transcripts import import_transcripts

OLDER, NEWER = "ffff0000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"


def transcript(folder: Path, session_id: str, day: int, *texts: str) -> Path:
    head: JsonObject = {
        "type": "session",
        "version": 3,
        "id": session_id,
        "timestamp": f"2026-01-0{day}T00:00:00.000Z",
    }
    lines: list[JsonObject] = [
        {
            "type": "message",
            "id": f"{day}{n:07x}",
            "timestamp": f"2026-01-0{day}T00:00:0{n}.000Z",
            "message": {"role": "user", "content": [{"type": "text", "text": text}]},
        }
        for n, text in enumerate(texts)
    ]
    file = folder / f"{session_id}.jsonl"
    file.write_text("".join(f"{compact(line)}\n" for line in (head, *lines)))
    return file


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(FakeClock())


async def taken(store: MemoryStore, path: Path, key: SessionKey | None = None) -> ImportReport:
    return await import_transcripts(store, path, ImportOptions(now=1_800_000_000_000), key)


async def test_a_folder_is_one_conversation_in_the_order_of_its_transcripts(
    store: MemoryStore, tmp_path: Path
) -> None:
    transcript(tmp_path, OLDER, 1, "first")
    transcript(tmp_path, NEWER, 2, "second")
    (tmp_path / "notes.txt").write_text("no transcript")
    report = await taken(store, tmp_path, MAIN)
    assert report.complete
    assert [one.session_id for one in await store.generations(MAIN)] == [OLDER, NEWER]
    session = await store.session(MAIN)
    assert session is not None
    assert session.session_id == NEWER
    assert (await taken(store, tmp_path, MAIN)).items[0].result is Result.PRESENT


@pytest.mark.requirement("S25")
async def test_one_file_gets_a_key_of_its_own_and_nothing_decides_where_it_lies(
    store: MemoryStore, tmp_path: Path
) -> None:
    file = transcript(tmp_path, NEWER, 1, "alone")
    transcript(tmp_path, OLDER, 2, "not asked for")
    (item,) = (await taken(store, file)).items
    assert str(item.key) == f"agent:main:explicit:imported-{NEWER}"
    assert len(await store.generations(item.key or MAIN)) == 1


async def test_a_key_that_is_in_use_keeps_its_conversation(store: MemoryStore, tmp_path: Path) -> None:
    await taken(store, transcript(tmp_path, OLDER, 1, "here first"), MAIN)
    (item,) = (await taken(store, transcript(tmp_path, NEWER, 2, "second"), MAIN)).items
    assert item.result is Result.FORKED


async def test_where_there_is_no_transcript_that_is_said(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no transcript"):
        await taken(store, tmp_path)
    file = tmp_path / f"{OLDER}.jsonl"
    for nothing in ("", "milk\nbread\n", '{"milk": 2}\n{"bread": 1}\n'):
        file.write_text(nothing)
        with pytest.raises(InvalidInput, match="no transcript"):
            await taken(store, file)
    file.write_text("no header\n")
    (tmp_path / f"{NEWER}.jsonl").write_text('{"type": "message"}\n')
    assert (await taken(store, tmp_path)).complete
