"""Forgetting a person, from the command line."""

import json
from pathlib import Path

import apsw
import pytest

from roost.app.places import export_folder
from roost.cli.main import main
from roost.core.exports import folder_name
from roost.core.keys import SessionKey
from tests.unit.cli.conftest import Typed

Said = pytest.CaptureFixture[str]


@pytest.fixture
def store(home: Path, capsys: Said) -> Path:
    assert main(["db", "migrate"]) == 0
    assert main(["db", "backup", str(home / "copy.db")]) == 0
    assert f"copied to {home / 'copy.db'}" in capsys.readouterr().out
    return home


@pytest.mark.requirement("F11")
def test_the_person_has_to_be_typed_again(store: Path, typed: Typed, capsys: Said) -> None:
    typed("no\n")
    assert main(["erase", "telegram:7"]) == 1
    said = capsys.readouterr()
    assert "person:telegram:7 will be erased from" in said.out
    assert str(store / "copy.db") in said.out
    assert "nothing was erased" in said.err
    typed("telegram:7\n")
    assert main(["erase", "telegram:7"]) == 0
    assert f"erased  {store / 'roost.db'}: 0 rows" in capsys.readouterr().out


def test_it_can_be_said_at_once_and_told_as_json(store: Path, capsys: Said) -> None:
    assert main(["db", "backup", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)["file"]
    (store / "copy.db").unlink()
    assert main(["erase", "telegram:7", "--yes", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [one["file"] for one in told["erased"]] == [str(store / "roost.db"), second]
    assert [one["file"] for one in told["left"]] == [str(store / "copy.db")]
    assert told["removed"] == []
    assert main(["erase", "telegram:7", "--yes"]) == 1
    assert f"left    {store / 'copy.db'}" in capsys.readouterr().out


def test_a_backup_that_could_not_be_made_does_not_keep_a_person_from_being_erased(
    store: Path, capsys: Said
) -> None:
    assert main(["db", "backup", str(store / "nowhere" / "x.db")]) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert main(["erase", "telegram:7", "--yes"]) == 0
    assert "nowhere" not in capsys.readouterr().out


@pytest.mark.requirement("F11")
def test_exports_that_went_are_named(store: Path, capsys: Said) -> None:
    key = SessionKey.parse("agent:main:telegram:direct:7")
    connection = apsw.Connection(str(store / "roost.db"))
    connection.execute("INSERT INTO ended_feeds (key, last) VALUES (?, 1)", (str(key),))
    connection.close()
    export = export_folder(store) / folder_name(key)
    export.mkdir(parents=True)
    assert main(["erase", "telegram:7", "--yes"]) == 0
    assert f"removed {export}\n" in capsys.readouterr().out
    assert not export.exists()


def test_who_is_nobody_is_not_erased(store: Path, capsys: Said) -> None:
    assert main(["erase", "somebody", "--yes"]) == 1
    assert "names nobody" in capsys.readouterr().err
