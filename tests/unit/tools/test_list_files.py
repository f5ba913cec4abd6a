import os
from pathlib import Path

from roost.core.tools import ToolTraits
from roost.tools.list_files import ListFiles
from tests.unit.tools.calls import call, error_of, text_of


async def test_a_folder_is_shown_as_a_tree_to_its_depth(tmp_path: Path) -> None:
    (tmp_path / "b" / "c" / "d").mkdir(parents=True)
    (tmp_path / "b" / "c" / "deep.txt").write_text("12345")
    (tmp_path / "a.txt").write_text("123")
    (tmp_path / "link").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    rows = "a.txt (3)\nb/\n  c/\nlink -> /etc\npipe (device, pipe or socket)"
    assert text_of(await call(ListFiles(), tmp_path)) == rows
    assert text_of(await call(ListFiles(), tmp_path, path="b", depth=3)) == "c/\n  d/\n  deep.txt (5)"
    assert text_of(await call(ListFiles(), tmp_path, path="b", depth=1)) == "c/"


async def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    assert text_of(await call(ListFiles(), tmp_path)) == "the folder is empty"


async def test_too_many_entries_are_cut_and_told(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    outcome = await call(ListFiles(), tmp_path, limit=10)
    assert text_of(outcome).splitlines()[9:] == [
        "09/",
        "[more entries were left out: list a folder of it, or raise `limit`]",
    ]
    assert outcome.details == {"path": ".", "truncated": True}
    assert len(os.listdir("/proc/self/fd")) == before


async def test_names_that_are_no_text_are_shown_escaped(tmp_path: Path) -> None:
    (tmp_path / "a\nb").touch()
    (tmp_path / os.fsdecode(b"\xff")).touch()
    assert text_of(await call(ListFiles(), tmp_path)).splitlines() == ["a\\nb (0)", "\\udcff (0)"]


async def test_what_is_no_folder_or_outside_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "no folder" in error_of(await call(ListFiles(), tmp_path, path="file"))
    assert "`..` is refused" in error_of(await call(ListFiles(), tmp_path, path="../.."))


def test_listing_again_after_a_crash_does_no_harm() -> None:
    assert ListFiles().traits == ToolTraits(reenterable=True, parallel=True)
