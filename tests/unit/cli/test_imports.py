"""Conversations from elsewhere, on the command line."""

import json
import shutil
from pathlib import Path

import pytest

from roost.cli.main import main
from tests.unit.cli.conftest import Told

FIXTURE = Path(__file__).parents[2] / "fixtures" / "openclaw"


def test_conversations_come_from_elsewhere(tmp_path: Path, told: Told) -> None:
    folder = shutil.copytree(FIXTURE, tmp_path / "elsewhere")
    tried = told("import", "openclaw", str(folder), "--dry-run")
    assert "would import agent:main" in tried
    assert "nothing was kept" in tried
    assert "imported" not in tried.replace("imported-", "")
    assert "imported" in told("import", "openclaw", str(folder))
    assert json.loads(told("import", "openclaw", str(folder), "--json"))["complete"] is True
    assert "telegram" in told("sessions")
    (folder / "agents" / "main" / "sessions" / "sessions.json").write_text("nonsense")
    told("import", "openclaw", str(folder), code=1)


def test_an_export_that_is_here_already_is_named_with_its_key(
    home: Path, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    told("agent", "-m", "hello")
    told("sessions", "export", "main", "--to", str(home / "exports"))
    (file,) = (home / "exports").rglob("*.jsonl")
    assert told("sessions", "import", str(file)) == (
        f"already there {file.name}: its transcripts are under agent:main:main\n1 already there\n"
    )
    assert main(["sessions", "import", "/nowhere"]) == 1
    assert capsys.readouterr().err == "roost: there is no /nowhere (see that the path is right)\n"
