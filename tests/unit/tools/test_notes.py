from functools import partial
from pathlib import Path

import anyio

from roost.core.tools import WorkspaceAccess
from roost.tools.notes import Notes
from tests.unit.tools.calls import call, error_of, place, text_of

NOTES = Notes("memory/day.md")


async def test_lines_are_added_and_nothing_is_replaced(tmp_path: Path) -> None:
    await call(NOTES, tmp_path, content="- tea\n")
    file = tmp_path / "memory" / "day.md"
    file.write_text(file.read_text() + "- typed by hand")
    await call(NOTES, tmp_path, content="- coffee")
    assert file.read_text() == "- tea\n- typed by hand\n- coffee\n"


async def test_what_stands_there_is_not_added_again(tmp_path: Path) -> None:
    await call(NOTES, tmp_path, content="- tea")
    again = await call(NOTES, tmp_path, content="- tea")
    assert "already" in text_of(again)
    assert (tmp_path / "memory" / "day.md").read_text() == "- tea\n"


async def test_sessions_that_save_notes_at_once_lose_none(tmp_path: Path) -> None:
    names = [f"- session {number:02}" for number in range(40)]
    async with anyio.create_task_group() as sessions:
        for name in names:
            sessions.start_soon(partial(call, NOTES, tmp_path, content=name))
    lines = (tmp_path / "memory" / "day.md").read_text().splitlines()
    assert sorted(lines) == names


async def test_no_other_file_can_be_named(tmp_path: Path) -> None:
    refused = await call(NOTES, tmp_path, path="MEMORY.md", content="x")
    assert "takes no `path`" in error_of(refused)
    assert not (tmp_path / "MEMORY.md").exists()


async def test_nothing_is_no_note(tmp_path: Path) -> None:
    assert "nothing to add" in error_of(await call(NOTES, tmp_path, content=" \n"))


async def test_a_file_that_is_no_text_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "day.md").write_bytes(b"\xff")
    assert "not UTF-8" in error_of(await call(NOTES, tmp_path, content="- tea"))
    assert (tmp_path / "memory" / "day.md").read_bytes() == b"\xff"


async def test_a_workspace_that_cannot_be_written_takes_no_notes(tmp_path: Path) -> None:
    readable = place(tmp_path, WorkspaceAccess.READ)
    assert "read-only" in error_of(await call(NOTES, readable, content="- tea"))
