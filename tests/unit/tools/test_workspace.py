import ctypes
import itertools
import os
import resource
import stat
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from roost.core.errors import Forbidden, InvalidInput, NotFound, RoostError
from roost.core.tools import WorkspaceAccess
from roost.tools.workspace import LARGEST, Workspace
from tests.scale import count
from tests.unit.tools.calls import place


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a secret beside it."""
    (tmp_path / "secret.txt").write_text("outside")
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return Workspace(place(root))


@pytest.mark.requirement("S8")
@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "a/../../secret.txt",
        "a/..",
        "..",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/environ",
        "/proc/1/environ",
        "/dev/zero",
        "~/.ssh/id_rsa",
        "a\0b",
        "x" * 5000,
        "\ud800",
        "x" * 300,
    ],
)
def test_a_path_that_could_lead_out_is_refused_for_reading_and_writing(
    workspace: Workspace, path: str
) -> None:
    with pytest.raises(RoostError) as refusal:
        workspace.write(path, b"x")
    assert refusal.value.hint
    with pytest.raises(RoostError):
        workspace.read(path)


@pytest.mark.requirement("S8")
@pytest.mark.parametrize(
    "target", ["../secret.txt", "/etc/passwd", "a/../../secret.txt", "/proc/self/root/etc/passwd"]
)
def test_a_link_out_of_the_workspace_is_not_followed(root: Path, workspace: Workspace, target: str) -> None:
    (root / "a").mkdir()
    (root / "link").symlink_to(target)
    for use in (
        lambda: workspace.read("link"),
        lambda: workspace.write("link", b"x"),
        lambda: workspace.append("link", b"x"),
    ):
        with pytest.raises(Forbidden, match="leads out"):
            use()
    assert (root.parent / "secret.txt").read_text() == "outside"


def test_a_linked_folder_outside_is_not_entered(root: Path, workspace: Workspace) -> None:
    (root / "up").symlink_to("..")
    with pytest.raises(Forbidden):
        workspace.read("up/secret.txt")
    with pytest.raises(Forbidden):
        workspace.write("up/made.txt", b"x")
    with pytest.raises(Forbidden), workspace.folder("up"):
        pass
    assert not (root.parent / "made.txt").exists()


def test_a_link_that_stays_inside_is_followed_and_kept(root: Path, workspace: Workspace) -> None:
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "link").symlink_to("../../real.txt")
    (root / "real.txt").write_text("one")
    assert workspace.read("a/b/link") == b"one"
    assert workspace.write("a/b/link", b"two") is True
    assert (root / "real.txt").read_text() == "two"
    assert (root / "a" / "b" / "link").is_symlink()


def test_links_that_go_in_circles_are_given_up(root: Path, workspace: Workspace) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    with pytest.raises(Forbidden):
        workspace.read("one")


def exchange(one: Path, other: Path) -> None:
    """Let two names change places in one step."""
    here, at_once = -100, 2
    assert ctypes.CDLL(None).renameat2(here, bytes(one), here, bytes(other), at_once) == 0


@pytest.mark.requirement("S8")
def test_a_folder_swapped_for_a_link_in_a_race_never_leads_out(root: Path, workspace: Workspace) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "file").write_text("outside")
    (root / "folder").mkdir()
    (root / "folder" / "file").write_text("inside")
    (root / "bait").symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            exchange(root / "folder", root / "bait")

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen: set[bytes | bool] = set()
    met: set[bytes | bool] = {b"inside", True, False}
    try:
        tries = itertools.count()
        # Until both were met, however seldom the other thread has its turn.
        while next(tries) < count(400, 50_000) or not seen >= met:
            with suppress(RoostError):
                seen.add(workspace.read("folder/file"))
            with suppress(RoostError):
                seen.add(workspace.write("folder/new", b"x"))
    finally:
        stop.set()
        swapping.join()
    assert seen == met
    assert {path.name for path in outside.iterdir()} == {"file"}


@pytest.mark.parametrize("kind", ["fifo", "socket", "device"])
def test_what_is_no_regular_file_is_refused_without_being_opened(
    root: Path, workspace: Workspace, kind: str
) -> None:
    modes = {"fifo": stat.S_IFIFO, "socket": stat.S_IFSOCK, "device": stat.S_IFCHR}
    try:
        os.mknod(root / "odd", modes[kind] | 0o666, os.makedev(1, 5))
    except PermissionError:
        os.mkfifo(root / "odd")
    for use in (
        lambda: workspace.read("odd"),
        lambda: workspace.write("odd", b"x"),
        lambda: workspace.append("odd", b"x"),
    ):
        with pytest.raises(Forbidden, match="device, pipe or socket"):
            use()


def test_a_folder_is_no_file_and_a_file_no_folder(root: Path, workspace: Workspace) -> None:
    (root / "folder").mkdir()
    (root / "file").write_text("x")
    with pytest.raises(InvalidInput, match="is a folder"):
        workspace.read("folder")
    with pytest.raises(InvalidInput, match="is a folder"):
        workspace.write(".", b"x")
    with pytest.raises(InvalidInput, match="no folder"):
        workspace.read("file/x")
    with pytest.raises(NotFound, match="there is no `missing`"):
        workspace.read("missing")


def test_writing_makes_folders_and_says_whether_it_replaced(root: Path, workspace: Workspace) -> None:
    assert workspace.write("a/b/c.txt", b"1") is False
    assert workspace.write("a/b/c.txt", b"2") is True
    assert (root / "a" / "b" / "c.txt").read_bytes() == b"2"
    assert [path.name for path in (root / "a" / "b").iterdir()] == ["c.txt"]


def test_what_is_added_stands_behind_what_was_there(root: Path, workspace: Workspace) -> None:
    workspace.append("a/b/file", b"one\n")
    (root / "link").symlink_to("a/b/file")
    workspace.append("link", b"two\n")
    assert (root / "a" / "b" / "file").read_text() == "one\ntwo\n"
    with pytest.raises(InvalidInput, match="is a folder"):
        workspace.append("a", b"x")


def test_replacing_keeps_the_mode_but_no_special_bits(root: Path, workspace: Workspace) -> None:
    (root / "run.sh").write_text("x")
    (root / "run.sh").chmod(0o4750)
    workspace.write("run.sh", b"y")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o750


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(
    root: Path, workspace: Workspace
) -> None:
    (root / "name").write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(Forbidden, match="no space"):
            workspace.write("name", b"x" * 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in root.iterdir()] == ["name"]
    assert (root / "name").read_text() == "old"


def test_a_folder_that_may_not_be_written_is_told() -> None:
    with pytest.raises(Forbidden, match="may not be used"):
        Workspace(place(Path("/sys/kernel"))).write("new", b"x")


def test_a_file_too_large_is_refused_both_ways(root: Path, workspace: Workspace) -> None:
    with open(root / "large", "wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(InvalidInput, match="larger than"):
        workspace.read("large")
    with pytest.raises(InvalidInput, match="too many"):
        workspace.write("other", b"x" * (LARGEST + 1))
    (root / "full").write_bytes(b"x" * LARGEST)
    with pytest.raises(InvalidInput, match="too many"):
        workspace.append("full", b"x")
    assert (root / "full").stat().st_size == LARGEST


def test_access_decides_what_may_be_done(root: Path) -> None:
    (root / "file").write_text("x")
    reading = Workspace(place(root, WorkspaceAccess.READ))
    assert reading.read("file") == b"x"
    with pytest.raises(Forbidden, match="read-only"):
        reading.write("file", b"y")
    nothing = Workspace(place(root, WorkspaceAccess.NONE))
    for use in (lambda: nothing.read("file"), lambda: nothing.write("file", b"y")):
        with pytest.raises(Forbidden, match="no access"):
            use()
    with pytest.raises(Forbidden), nothing.folder("."):
        pass
    assert (root / "file").read_text() == "x"


def test_a_workspace_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="workspace folder"):
        Workspace(place(tmp_path / "none")).read("x")


def test_no_descriptor_stays_open(root: Path, workspace: Workspace) -> None:
    workspace.write("a/b/c", b"x")
    before = os.listdir("/proc/self/fd")
    workspace.write("a/b/c", b"y")
    workspace.read("a/b/c")
    with pytest.raises(RoostError):
        workspace.read("a/b/c/d")
    with workspace.folder("a/b"):
        pass
    assert len(os.listdir("/proc/self/fd")) == len(before)
