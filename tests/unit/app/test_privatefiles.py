"""Files that are written whole or not at all."""

import resource
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from roost.app import privatefiles


@contextmanager
def no_room() -> Iterator[None]:
    """Nothing can be written to any file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("write", [privatefiles.create, privatefiles.replace])
def test_only_the_owner_can_read_what_is_written(tmp_path: Path, write: Callable[[Path, str], None]) -> None:
    file = tmp_path / "new" / "name"
    write(file, "größer")
    assert file.read_text(encoding="utf-8") == "größer"
    assert file.stat().st_mode & 0o077 == 0
    assert list(file.parent.iterdir()) == [file]


def test_a_file_that_is_there_is_replaced_and_not_created(tmp_path: Path) -> None:
    file = tmp_path / "name"
    privatefiles.replace(file, "old")
    with pytest.raises(FileExistsError):
        privatefiles.create(file, "new")
    assert file.read_text() == "old"
    privatefiles.replace(file, "new")
    assert file.read_text() == "new"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("write", [privatefiles.create, privatefiles.replace])
def test_where_there_is_no_room_nothing_is_left_behind_and_the_file_is_named(
    tmp_path: Path, write: Callable[[Path, str], None]
) -> None:
    file = tmp_path / "name"
    with no_room(), pytest.raises(OSError, match="name") as raised:
        write(file, "text")
    assert raised.value.filename == str(file)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    folder, said = tmp_path / "new", list[str]()

    def hold() -> None:
        with privatefiles.held(folder):
            said.append("other")

    with ThreadPoolExecutor(1) as pool:
        with privatefiles.held(folder):
            other = pool.submit(hold)
            said.append("first")
        other.result(timeout=60)
    assert said == ["first", "other"]
    assert list(folder.iterdir()) == []
