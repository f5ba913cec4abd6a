"""What bubblewrap is told, by a stand-in that writes it down; the real one is tried in tests/e2e."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.core.errors import Forbidden
from roost.core.tools import Place, WorkspaceAccess
from roost.ports import Ended
from roost.sandboxes.bubblewrap import Bubblewrap
from tests.unit.sandboxes.programs import shell

STAND_IN = """#!{python}
import json, os, sys
words = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps([words, sorted(os.environ)]) + "\\n")
if any(word in {refused!r} for word in words):
    sys.exit("bwrap: no permission")
command = words[words.index("--") + 1:]
os.execv(command[0], command)
"""

Calls = Callable[[], list[tuple[list[str], list[str]]]]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def stand_in(folder: Path, *refused: str) -> tuple[Bubblewrap, Calls]:
    """A bubblewrap that fails when it is given a refused word, and what it was called with."""
    log, program = folder / "log", folder / "bwrap"
    program.write_text(STAND_IN.format(python=sys.executable, log=str(log), refused=refused))
    program.chmod(0o755)
    return Bubblewrap(str(program)), lambda: [json.loads(line) for line in log.read_text().splitlines()]


def confined(
    workspace: Path, access: WorkspaceAccess = WorkspaceAccess.WRITE, *, network: bool = False
) -> Place:
    return Place(workspace=str(workspace), access=access, sandboxed=True, network=network)


def follow(words: list[str], *wanted: str) -> bool:
    """Whether these words stand one behind the other."""
    return any(tuple(words[at : at + len(wanted)]) == wanted for at in range(len(words)))


async def test_an_unsandboxed_place_is_run_as_it_is(tmp_path: Path, workspace: Path) -> None:
    sandbox = Bubblewrap(str(tmp_path / "missing"))
    assert await shell(sandbox, Place(workspace=str(workspace)), "echo hi") == (Ended(status=0), "hi\n")


async def test_without_bubblewrap_it_refuses_and_says_what_to_install(
    tmp_path: Path, workspace: Path
) -> None:
    with pytest.raises(Forbidden, match="not installed") as refusal:
        await shell(Bubblewrap(str(tmp_path / "missing")), confined(workspace), "touch ran")
    assert "apt install bubblewrap" in refusal.value.hint
    assert os.listdir(workspace) == []


async def test_where_no_confinement_works_it_refuses_with_bubblewraps_own_words(
    tmp_path: Path, workspace: Path
) -> None:
    sandbox, calls = stand_in(tmp_path, "--unshare-pid")
    with pytest.raises(Forbidden, match="does not work on this machine: bwrap: no permission"):
        await shell(sandbox, confined(workspace), "touch ran")
    assert len(calls()) == 3
    assert os.listdir(workspace) == []


async def test_the_strictest_confinement_that_works_is_found_once(tmp_path: Path, workspace: Path) -> None:
    sandbox, calls = stand_in(tmp_path, "--disable-userns")
    for _ in range(2):
        assert await shell(sandbox, confined(workspace), "echo in; exit 3") == (Ended(status=3), "in\n")
    assert [words[:2] for words, _ in calls()] == [
        ["--unshare-user", "--disable-userns"],
        ["--unshare-user", "--unshare-pid"],
        ["--unshare-user", "--unshare-pid"],
        ["--unshare-user", "--unshare-pid"],
    ]


async def test_bubblewrap_itself_gets_no_environment(tmp_path: Path, workspace: Path) -> None:
    sandbox, calls = stand_in(tmp_path)
    await shell(sandbox, confined(workspace), "true")
    assert {name for _, names in calls() for name in names} <= {"LC_CTYPE"}


@pytest.mark.parametrize(
    ("access", "word"),
    [
        (WorkspaceAccess.NONE, "--tmpfs"),
        (WorkspaceAccess.READ, "--ro-bind"),
        (WorkspaceAccess.WRITE, "--bind"),
    ],
)
async def test_the_workspace_is_bound_as_the_place_says(
    tmp_path: Path, workspace: Path, access: WorkspaceAccess, word: str
) -> None:
    sandbox, calls = stand_in(tmp_path)
    await shell(sandbox, confined(workspace, access), "true")
    words, _ = calls()[-1]
    assert follow(words, word, str(workspace))
    assert follow(words, "--setenv", "PATH", "/usr/bin:/bin", "--chdir", str(workspace), "--", "/bin/sh")


async def test_the_network_is_shared_only_where_the_place_says_so(tmp_path: Path, workspace: Path) -> None:
    sandbox, calls = stand_in(tmp_path)
    await shell(sandbox, confined(workspace), "true")
    await shell(sandbox, confined(workspace, network=True), "true")
    (closed, _), (open_, _) = calls()[-2:]
    assert "--unshare-net" in closed
    assert "/etc/resolv.conf" not in closed
    assert "--unshare-net" not in open_
    assert follow(open_, "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf")


@pytest.mark.parametrize(
    "folder", ["/", "/usr/share", "/etc", "/proc/1", "relative", "/tmp/../etc", "//", "~"]
)
async def test_a_workspace_that_is_the_system_is_refused(tmp_path: Path, folder: str) -> None:
    sandbox, _ = stand_in(tmp_path)
    with pytest.raises(Forbidden, match="workspace"):
        await shell(sandbox, Place(workspace=folder, sandboxed=True), "true")
    assert not (tmp_path / "log").exists()


async def test_a_workspace_that_is_the_home_or_links_to_the_system_is_refused(tmp_path: Path) -> None:
    sandbox, _ = stand_in(tmp_path)
    (tmp_path / "link").symlink_to("/etc")
    for folder in (str(Path.home()), str(tmp_path / "link")):
        with pytest.raises(Forbidden, match="workspace"):
            await shell(sandbox, Place(workspace=folder, sandboxed=True), "true")
