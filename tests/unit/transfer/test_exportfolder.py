import json
from pathlib import Path

import pytest

from roost.core.errors import Conflict, NotFound
from roost.core.keys import SessionKey
from roost.scanners.stdlib import StdlibScanner
from roost.stores.memory import MemoryStore
from roost.testing import builders
from roost.testing.builders import MAIN
from roost.testing.clock import FakeClock
from roost.transfer.exportfolder import export_to

SECRET = "sk-abcdefghijklmnopqrstuvwxyz0123456789"
SCANNER = StdlibScanner()


def content(path: str) -> str:
    return Path(path).read_text()


def modes(path: str) -> tuple[int, int]:
    return Path(path).stat().st_mode & 0o777, Path(path).parent.stat().st_mode & 0o777


def beside(path: str) -> list[str]:
    return [str(one) for one in Path(path).parent.iterdir()]


@pytest.fixture
async def store() -> MemoryStore:
    store = MemoryStore(FakeClock())
    await store.change_session(MAIN, lambda snapshot: (builders.opening(builders.session(), "gen-1"),))
    await store.append(MAIN, (builders.said("e1", f"my key is {SECRET}"), builders.answered("e2", "noted")))
    return store


@pytest.mark.requirement("P24", "D57")
async def test_an_export_masks_secrets_unless_the_bytes_are_asked_for(
    store: MemoryStore, tmp_path: Path
) -> None:
    (path,) = await export_to(tmp_path, store, MAIN, SCANNER)
    text = content(path)
    assert SECRET not in text
    assert [json.loads(line).get("id") for line in text.splitlines()] == ["gen-1", "e1", "e2"]
    (again,) = await export_to(tmp_path, store, MAIN, None)
    assert again == path
    assert SECRET in content(path)


async def test_only_the_owner_of_the_machine_can_read_an_export(store: MemoryStore, tmp_path: Path) -> None:
    (path,) = await export_to(tmp_path / "exports", store, MAIN, SCANNER)
    assert modes(path) == (0o600, 0o700)
    assert beside(path) == [path]


async def test_a_session_that_is_not_there_is_not_exported(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await export_to(tmp_path, store, SessionKey.named("main", "other"), SCANNER)


async def test_a_folder_that_cannot_be_written_is_said(store: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "exports").write_text("in the way")
    with pytest.raises(Conflict, match="could not be written"):
        await export_to(tmp_path / "exports", store, MAIN, SCANNER)
