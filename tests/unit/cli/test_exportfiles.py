from pathlib import Path

import pytest

from roost.cli.exportfiles import Written, export_files
from roost.core.errors import Conflict, InvalidInput


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def export(root: Path, *pieces: tuple[str, bytes]) -> Written:
    with export_files(root, "main") as files:
        for name, data in pieces:
            files.add(name, data)
        return files.publish()


def test_files_are_for_their_owner_alone_and_hold_what_came(tmp_path: Path) -> None:
    written = export(
        tmp_path / "to", ("a.jsonl", b"1"), ("b.jsonl", b"2"), ("a.jsonl", b"3"), ("c.jsonl", b"")
    )
    folder = tmp_path / "to" / "main"
    assert written == Written(files=(str(folder / "a.jsonl"), str(folder / "b.jsonl")), replaced=())
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {"a.jsonl": b"13", "b.jsonl": b"2"}
    assert (mode(folder), mode(folder / "a.jsonl")) == (0o700, 0o600)


def test_what_is_replaced_is_said(tmp_path: Path) -> None:
    export(tmp_path, ("a.jsonl", b"1"))
    written = export(tmp_path, ("a.jsonl", b"2"), ("b.jsonl", b"3"))
    assert written.replaced == (str(tmp_path / "main" / "a.jsonl"),)
    assert (tmp_path / "main" / "a.jsonl").read_bytes() == b"2"


@pytest.mark.requirement("S8")
@pytest.mark.parametrize(
    "name",
    ["../a.jsonl", "/etc/a.jsonl", "a/b.jsonl", ".a.jsonl", "a", "", "a\n.jsonl", "é.jsonl", "a.jsonl\n"],
)
def test_a_name_that_is_more_than_a_name_is_not_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="calls a file"):
        export(tmp_path / "to", ("first.jsonl", b"1"), (name, b"2"))
    assert list(tmp_path.rglob("*.jsonl*")) == []


def break_off(root: Path) -> None:
    with export_files(root, "main") as files:
        files.add("a.jsonl", b"2")
        raise KeyboardInterrupt


def test_of_an_export_that_breaks_off_nothing_stays(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        break_off(tmp_path / "to")
    assert list((tmp_path / "to").iterdir()) == []


def test_an_export_that_breaks_off_leaves_the_one_before_it(tmp_path: Path) -> None:
    export(tmp_path, ("a.jsonl", b"1"))
    with pytest.raises(KeyboardInterrupt):
        break_off(tmp_path)
    assert [file.read_bytes() for file in (tmp_path / "main").iterdir()] == [b"1"]


@pytest.mark.requirement("S8")
def test_no_link_leads_out_of_the_folder(tmp_path: Path) -> None:
    there, to = tmp_path / "there", tmp_path / "to"
    there.mkdir()
    to.mkdir()
    (to / "main").symlink_to(there)
    with pytest.raises(Conflict, match="could not be written"):
        export(to, ("a.jsonl", b"1"))
    (to / "main").unlink()
    (to / "main").mkdir()
    (there / "theirs").write_bytes(b"theirs")
    (to / "main" / "a.jsonl").symlink_to(there / "theirs")
    assert len(export(to, ("a.jsonl", b"1")).replaced) == 1
    assert [file.read_bytes() for file in there.iterdir()] == [b"theirs"]
    assert not (to / "main" / "a.jsonl").is_symlink()
