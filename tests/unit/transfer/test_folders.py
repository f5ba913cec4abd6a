"""A folder gives nothing but what lies in it."""

import os
from pathlib import Path

import pytest

from roost.core.errors import InvalidInput, NotFound
from roost.transfer.folders import Folder, Listing


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    return secret


@pytest.fixture
def inside(tmp_path: Path, outside: Path) -> Path:
    folder = tmp_path / "inside"
    (folder / "sub").mkdir(parents=True)
    (folder / "b.jsonl").write_bytes(b"b")
    (folder / "a.jsonl").write_bytes(b"a")
    (folder / "link.jsonl").symlink_to(outside)
    (folder / "away").symlink_to(outside.parent)
    os.mkfifo(folder / "pipe.jsonl")
    return folder


def test_a_listing_tells_files_from_folders_and_from_what_is_neither(inside: Path) -> None:
    with Folder.open(inside) as folder:
        assert folder.listing() == Listing(
            files=("a.jsonl", "b.jsonl"), folders=("sub",), others=("away", "link.jsonl", "pipe.jsonl")
        )


def test_a_plain_file_is_read(inside: Path) -> None:
    with Folder.open(inside) as folder, folder.file("a.jsonl") as stream:
        assert stream.read() == b"a"


@pytest.mark.requirement("S8", "S25")
@pytest.mark.parametrize("name", ["../secret.txt", "/etc/passwd", "..", ".", "", "sub/../a.jsonl", "a\0b"])
def test_a_path_is_not_a_name(inside: Path, name: str) -> None:
    with Folder.open(inside) as folder:
        with pytest.raises(InvalidInput):
            folder.file(name)
        with pytest.raises(InvalidInput):
            folder.folder(name)


@pytest.mark.requirement("S8", "S25")
def test_a_link_is_not_followed(inside: Path) -> None:
    with Folder.open(inside) as folder:
        with pytest.raises(OSError, match="link"):
            folder.file("link.jsonl")
        with pytest.raises(OSError, match="away"):
            folder.folder("away")


def test_a_pipe_is_refused_without_waiting_for_a_writer(inside: Path) -> None:
    with Folder.open(inside) as folder, pytest.raises(InvalidInput, match="plain file"):
        folder.file("pipe.jsonl")


def test_names_are_resolved_in_the_folder_that_was_opened(inside: Path, tmp_path: Path) -> None:
    with Folder.open(inside) as folder:
        inside.rename(tmp_path / "moved")
        inside.mkdir()
        with folder.file("a.jsonl") as stream:
            assert stream.read() == b"a"


def test_a_folder_in_a_folder_is_opened(inside: Path) -> None:
    with Folder.open(inside) as folder, folder.folder("sub") as sub:
        assert sub.listing().files == ()


@pytest.mark.parametrize("name", ["inside/a.jsonl", "a\0b"])
def test_what_is_no_folder_is_not_found(inside: Path, name: str) -> None:
    with pytest.raises(NotFound, match="no folder"):
        Folder.open(inside.parent / name)


def test_a_folder_that_is_not_there_is_told_from_what_is_none(inside: Path) -> None:
    with pytest.raises(NotFound, match=r"there is no .*/nowhere"):
        Folder.open(inside / "nowhere")
