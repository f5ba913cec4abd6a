"""Lines that a person types."""

import io
import os
import pty
import readline
import termios
import tty
from pathlib import Path

import pytest

from roost.cli.typing import FILE, complete, history, is_edited, read_line, set_echo
from tests.unit.cli.conftest import Typed


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_come_until_the_input_ends(typed: Typed) -> None:
    typed("one\ntwo\n")
    assert [read_line("> "), read_line("> "), read_line("> ")] == ["one", "two", None]


def test_a_terminal_shows_what_is_typed_if_it_is_told_to_and_nothing_once_it_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = pty.openpty()
    with open(theirs, encoding="utf-8") as keys, monkeypatch.context() as within:
        within.setattr("sys.stdin", keys)
        assert (set_echo(on=False), set_echo(on=True), set_echo(on=True)) == (True, False, True)
        assert not is_edited()
        tty.setcbreak(keys, termios.TCSANOW)
        assert is_edited()
        os.close(ours)
        assert (set_echo(on=True), is_edited()) == (False, False)


def test_what_begins_like_a_command_is_completed() -> None:
    complete(("/status", "/stop", "/new"), list)
    offer = readline.get_completer()
    assert offer is not None
    assert [offer("/st", number) for number in range(3)] == ["/status", "/stop", None]
    assert offer("", 0) is None


def test_what_was_typed_on_a_terminal_is_remembered_for_its_owner_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    with history(home):
        pass
    assert not home.exists()
    monkeypatch.setattr("sys.stdin", Keyboard())
    for _ in range(2):
        with history(home):
            pass
    assert (home / FILE).stat().st_mode & 0o077 == 0
