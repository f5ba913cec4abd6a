"""A conversation on the terminal."""

from pathlib import Path

import pytest

from roost.cli.console import talk
from roost.cli.overview import main
from roost.clock import SystemClock
from roost.config import load
from roost.core.errors import LeaseHeld
from roost.core.leases import Gateway
from roost.stores.sqlite import SqliteStore
from tests.unit.cli.conftest import Typed


def test_what_is_typed_is_answered_before_the_command_ends(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    typed("what is a session?\n\n")
    assert main() == 0
    assert "A session is one conversation" in capsys.readouterr().out


def test_the_same_words_in_a_later_conversation_are_answered_again(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        typed("what is a session?\n")
        assert main() == 0
        assert "A session is one conversation" in capsys.readouterr().out


def test_a_model_that_is_not_there_is_told_before_anything_is_asked(
    home: Path, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "roost.json").write_text('{ agents: { defaults: { model: { primary: "nobody/nothing" } } } }')
    typed("hello\n")
    assert main() == 1
    assert "there is no model nobody/nothing" in capsys.readouterr().err


async def test_a_second_terminal_on_the_same_store_is_told_who_has_it(home: Path) -> None:
    store = SqliteStore.open(home / "roost.db", SystemClock())
    try:
        await store.acquire_lease(Gateway(name="terminal-1", holder="process 1"))
        with pytest.raises(LeaseHeld, match="process 1"):
            await talk(load({"ROOST_HOME": str(home)}))
    finally:
        await store.close()
