import os
from pathlib import Path

import pytest

from roost.config.plainfiles import Unfit, read_plain


def test_a_file_is_read_whole_with_what_it_is(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 9)
    file.chmod(0o640)
    content, status = read_plain(file, 9, "a note")
    assert (content, status.st_mode & 0o777) == (b"x" * 9, 0o640)


def test_a_file_is_found_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    assert read_plain(tmp_path / "link", 9, "a note")[0] == b"x"


def test_what_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    os.truncate(file, 1 << 40)
    with pytest.raises(Unfit, match="is too large for a note"):
        read_plain(file, 9, "a note")


def test_what_nobody_may_ever_write_into_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(Unfit, match="is not a file"):
            read_plain(path, 9, "a note")


def test_what_is_not_there_is_told_as_the_system_does(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_plain(tmp_path / "file", 9, "a note")
