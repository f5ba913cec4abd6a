from pathlib import Path

import pytest

from roost.core.tools import WorkspaceAccess
from roost.core.workspacefiles import FileCaps, FileState
from roost.tools.bootstrap import workspace_files
from tests.unit.tools.calls import place


def test_files_are_read_and_missing_ones_named(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "day.md").write_bytes(b"caf\xc3\xa9 \xff")
    found = workspace_files(place(tmp_path), ("AGENTS.md", "memory/day.md"), FileCaps())
    assert [(one.state, one.text) for one in found] == [
        (FileState.MISSING, ""),
        (FileState.OK, "café \ufffd"),
    ]


def test_a_link_out_of_the_workspace_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("token")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "AGENTS.md").symlink_to(secret)
    (workspace / "SOUL.md").symlink_to("../secret")
    (workspace / "USER.md").mkdir()
    found = workspace_files(place(workspace), ("AGENTS.md", "SOUL.md", "USER.md"), FileCaps())
    assert {one.state for one in found} == {FileState.UNREADABLE}
    assert {one.text for one in found} == {""}


@pytest.mark.parametrize(
    ("access", "shown"), [(WorkspaceAccess.READ, 1), (WorkspaceAccess.WRITE, 1), (WorkspaceAccess.NONE, 0)]
)
def test_a_session_without_access_to_the_workspace_is_shown_nothing_of_it(
    tmp_path: Path, access: WorkspaceAccess, shown: int
) -> None:
    (tmp_path / "AGENTS.md").write_text("rules")
    assert len(workspace_files(place(tmp_path, access), ("AGENTS.md",), FileCaps())) == shown


def test_what_cannot_be_looked_for_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("a file where a folder should be")
    (found,) = workspace_files(place(tmp_path), ("memory/day.md",), FileCaps())
    assert found.state is FileState.UNREADABLE
