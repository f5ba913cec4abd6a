from pathlib import Path

import pytest

from roost.core.tools import ToolTraits, WorkspaceAccess
from roost.tools.write import Write
from tests.unit.tools.calls import call, error_of, place, text_of


async def test_a_file_is_created_with_its_folders_and_then_replaced(tmp_path: Path) -> None:
    assert (
        text_of(await call(Write(), tmp_path, path="a/b.txt", content="ü")) == "created `a/b.txt` (2 bytes)"
    )
    assert (
        text_of(await call(Write(), tmp_path, path="a/b.txt", content="")) == "replaced `a/b.txt` (0 bytes)"
    )
    assert (tmp_path / "a" / "b.txt").read_text() == ""


@pytest.mark.requirement("P24")
async def test_a_masked_secret_written_back_is_refused_and_the_secret_stays(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=the-real-secret-value\n")
    for masked in ("KEY=sk-abc…wxyz\n", "KEY=***\n"):
        assert "masked secret" in error_of(await call(Write(), tmp_path, path=".env", content=masked))
    assert (tmp_path / ".env").read_text() == "KEY=the-real-secret-value\n"


async def test_a_mask_the_file_already_had_may_stay(tmp_path: Path) -> None:
    (tmp_path / "doc.md").write_text("password: ***\n")
    outcome = await call(Write(), tmp_path, path="doc.md", content="# How\npassword: ***\n")
    assert not outcome.is_error


async def test_half_a_character_is_told(tmp_path: Path) -> None:
    assert "surrogate" in error_of(await call(Write(), tmp_path, path="a", content="\ud800"))


async def test_a_read_only_workspace_is_told(tmp_path: Path) -> None:
    where = place(tmp_path, WorkspaceAccess.READ)
    assert "read-only" in error_of(await call(Write(), where, path="a", content="x"))
    assert not (tmp_path / "a").exists()


def test_a_write_is_not_repeated_after_a_crash() -> None:
    assert Write().traits == ToolTraits()
