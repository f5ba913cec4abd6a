"""Mending a store from the command line."""

from pathlib import Path

import apsw
import pytest
from anyio import to_thread

from roost.app.opening import open_held_store
from roost.cli.main import main
from roost.cli.repair import repair
from roost.clock import SystemClock
from roost.config import load
from roost.core.errors import LeaseHeld
from roost.core.leases import Gateway
from roost.stores.sqlite import SqliteStore
from tests import postgres
from tests.unit.cli.conftest import Typed


def damage(home: Path, statement: str) -> None:
    connection = apsw.Connection(str(home / "roost.db"))
    connection.execute(statement)
    connection.close()


def test_a_sound_store_is_left_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repair"]) == 0
    assert "Nothing is wrong" in capsys.readouterr().out


def test_what_can_be_made_anew_is_mended_and_named(
    home: Path, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    typed("what is a session?\n")
    assert main(["chat"]) == 0
    damage(home, "UPDATE sessions SET entries = 77")
    assert main(["repair"]) == 0
    assert "mended  miscounted_sessions: agent:main:main" in capsys.readouterr().out
    assert main(["repair"]) == 0
    assert "Nothing is wrong" in capsys.readouterr().out


def test_a_store_with_a_part_missing_is_told_to_be_damaged_copied_and_mended(
    home: Path, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    typed("what is a session?\n")
    assert main(["chat"]) == 0
    damage(home, "DROP INDEX runs_active")
    typed("what is a session?\n")
    assert main(["chat"]) == 1
    told = capsys.readouterr().err
    assert "is damaged: it lacks runs_active" in told
    assert "roost repair" in told
    assert main(["db", "check"]) == 1
    assert "missing: runs_active" in capsys.readouterr().out
    assert main(["db", "backup", str(home / "copy.db")]) == 0
    assert main(["db", "restore", str(home / "copy.db")]) == 0
    assert main(["repair"]) == 0
    assert "mended  missing: runs_active" in capsys.readouterr().out
    assert main(["db", "check"]) == 0


def test_a_store_of_another_build_is_refused_by_every_command_in_a_line(
    home: Path, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    typed("what is a session?\n")
    assert main(["chat"]) == 0
    damage(home, "ALTER TABLE runs ADD COLUMN mood TEXT NOT NULL DEFAULT ''")
    for command in (["chat"], ["db", "check"], ["db", "backup"], ["repair"]):
        capsys.readouterr()
        assert main(command) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert "is of another build of Roost" in line
        assert "let the build that made it export" in line


def test_what_is_lost_for_good_is_named_and_nothing_else_goes(
    home: Path, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    typed("what is a session?\n")
    assert main(["chat"]) == 0
    damage(home, "DELETE FROM entries WHERE seq = 1")
    assert main(["repair"]) == 1
    assert "left    gapped_generations" in capsys.readouterr().out


async def _held(home: Path) -> SqliteStore:
    store = SqliteStore.open(home / "roost.db", SystemClock())
    await store.acquire_lease(Gateway(name="serving", holder="process 1"))
    return store


async def test_a_store_that_is_served_is_not_touched(home: Path) -> None:
    store = await _held(home)
    try:
        with pytest.raises(LeaseHeld, match="process 1"):
            await repair()
    finally:
        await store.close()


async def test_a_store_on_a_server_is_not_touched_while_a_gateway_works_on_it(
    home: Path, postgres_server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await postgres.empty(postgres_server)
    (home / "roost.json").write_text(f'{{ database: "{postgres_server}" }}')
    async with open_held_store(load({"ROOST_HOME": str(home)}), Gateway(name="alpha", holder="process 1")):
        assert await to_thread.run_sync(main, ["repair"]) == 1
        said = capsys.readouterr()
        assert "the store is in use by alpha (process 1)" in said.err
        assert not said.out
    assert await to_thread.run_sync(main, ["repair"]) == 0
    assert "Nothing is wrong" in capsys.readouterr().out
