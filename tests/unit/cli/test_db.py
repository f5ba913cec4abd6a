"""A store as a whole, from the command line."""

import json
from pathlib import Path

import apsw
import asyncpg
import pytest
from anyio import to_thread

from roost.app.moving import Checked
from roost.cli.db import _advice
from roost.cli.main import main
from tests.unit.cli.conftest import Typed

Said = pytest.CaptureFixture[str]


@pytest.fixture
def talked(home: Path, typed: Typed, capsys: Said) -> Path:
    typed("what is a session?\n")
    assert main(["chat"]) == 0
    capsys.readouterr()
    return home


def test_a_store_is_made_and_then_up_to_date(home: Path, capsys: Said) -> None:
    assert main(["db", "migrate"]) == 0
    assert "it had none" in capsys.readouterr().out
    assert main(["db", "migrate"]) == 0
    assert "up to date" in capsys.readouterr().out
    assert main(["db", "migrate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["before"] == 1


def test_a_sound_store_is_described(talked: Path, capsys: Said) -> None:
    assert main(["db", "check"]) == 0
    told = capsys.readouterr().out
    for words in (str(talked / "roost.db"), "schema", "entries", "Nothing is wrong"):
        assert words in told
    assert main(["db", "check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["sessions"] == 1


def test_what_is_wrong_is_named_with_what_to_do(talked: Path, capsys: Said) -> None:
    connection = apsw.Connection(str(talked / "roost.db"))
    connection.execute("UPDATE sessions SET entries = 77")
    connection.close()
    assert main(["db", "check"]) == 1
    told = capsys.readouterr().out
    assert "wrong   miscounted_sessions: agent:main:main" in told
    assert "roost repair" in told


def test_a_store_is_copied_to_a_new_file_only(talked: Path, tmp_path: Path, capsys: Said) -> None:
    new = tmp_path / "new.db"
    assert main(["db", "copy", "--to", str(new)]) == 0
    assert "rows were copied and are as they were" in capsys.readouterr().out
    assert main(["db", "copy", "--from", str(talked), "--to", str(new)]) == 1
    assert "is not empty" in capsys.readouterr().err
    assert main(["db", "copy", "--from", str(new), "--to", str(tmp_path / "third.db"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sessions"] == 1


def test_what_holds_no_store_is_told_as_such(tmp_path: Path, postgres_server: str, capsys: Said) -> None:
    (empty := tmp_path / "empty.db").touch()
    schema = (
        f"{postgres_server}&schema=nothing" if "?" in postgres_server else f"{postgres_server}?schema=nothing"
    )
    for place in (str(empty), schema):
        assert main(["db", "copy", "--from", place, "--to", str(tmp_path / "new.db")]) == 1
        assert "there is no store of Roost in " in capsys.readouterr().err
        assert main(["db", "check", place]) == 1
        assert "There is no store of Roost in it" in capsys.readouterr().out
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize(
    ("user", "schema", "told"),
    [
        ("roost", "not_there", "There is no store of Roost in it"),
        ("roost", "of_others", "the schema of_others belongs to another program"),
        ("visitor", "of_roost", "the schema of_roost does not let this user work"),
    ],
)
async def test_no_store_and_one_that_may_not_be_used_and_what_is_another_programs_are_told_apart(
    postgres_server: str, capsys: Said, user: str, schema: str, told: str
) -> None:
    connection = await asyncpg.connect(postgres_server)
    await connection.execute(
        "DROP SCHEMA IF EXISTS of_roost, of_others CASCADE; DROP ROLE IF EXISTS visitor; CREATE ROLE visitor LOGIN;"
        "CREATE SCHEMA of_roost; CREATE TABLE of_roost.roost_schema AS SELECT 1::bigint AS version;"
        "CREATE SCHEMA of_others; CREATE TABLE of_others.theirs (x bigint)"
    )
    await connection.close()
    address = f"{postgres_server.replace('roost@', f'{user}@')}&schema={schema}"
    assert await to_thread.run_sync(main, ["db", "check", address]) == 1
    said = capsys.readouterr()
    assert told in said.out + said.err


@pytest.mark.parametrize("command", [["db", "check"], ["gateway", "run"]])
def test_an_address_that_cannot_be_read_is_told_in_a_line_without_its_password(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.setenv("ROOST_DATABASE_URL", "postgresql://roost:hun#ter2@127.0.0.1:1/roost")
    assert main(command) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("roost: the database's address cannot be read (")
    assert "hun" not in line
    assert "ter2" not in line


def test_a_port_that_is_none_is_told_to_programs_in_a_line(capsys: Said) -> None:
    assert main(["db", "check", "postgresql://roost:hunter2@127.0.0.1:99999/roost", "--json"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    error = json.loads(line)["error"]
    assert (error["code"], error["message"]) == (
        "invalid_input",
        "the port in the database's address is no number from 1 to 65535",
    )


def test_a_backup_is_restored_and_what_it_replaces_is_named(talked: Path, typed: Typed, capsys: Said) -> None:
    backup = talked / "backup.db"
    assert main(["db", "backup", str(backup)]) == 0
    typed("and what is a run?\n")
    assert main(["chat"]) == 0
    capsys.readouterr()
    assert main(["db", "restore", str(backup)]) == 0
    told = capsys.readouterr().out
    [kept] = talked.glob("roost-replaced-*.db")
    assert f"The store is what {backup} holds. The one that was there is kept as {kept}." in told
    assert main(["sessions", "history", "main"]) == 0
    assert "and what is a run?" not in capsys.readouterr().out
    for file in (*talked.glob("roost*.db"),):
        file.unlink()
    assert main(["db", "restore", str(backup), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"store": str(talked / "roost.db"), "kept": None}


@pytest.mark.usefixtures("served")
def test_nothing_is_restored_under_a_gateway_that_runs(home: Path, capsys: Said) -> None:
    assert main(["db", "backup", str(home / "backup.db")]) == 0
    assert main(["db", "restore", str(home / "backup.db")]) == 1
    assert "roost gateway drain" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("version", "faults", "told"),
    [
        (0, (), "no store of Roost in it"),
        (1, (), "run roost db migrate"),
        (3, (), "upgrade Roost"),
        (2, ("x",), "roost repair"),
    ],
)
def test_each_fault_comes_with_advice(version: int, faults: tuple[str, ...], told: str) -> None:
    advice = _advice(Checked(where="there", version=version, known=2, faults=faults))
    assert advice is not None
    assert told in advice


@pytest.mark.parametrize(
    "command", ["db migrate", "db check", "db backup", "db restore x", "db copy --to x", "hooks test wake"]
)
def test_what_works_on_the_store_here_takes_no_gateway_elsewhere(
    command: str, home: Path, capsys: Said
) -> None:
    assert main([*command.split(), "--url", "wss://elsewhere.example"]) == 2
    assert "--url" in capsys.readouterr().err
    assert not (home / "roost.db").exists()
