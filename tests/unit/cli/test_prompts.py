"""A prompt that stays at the bottom while others write."""

import os
import select
from pathlib import Path

import anyio
import pytest

from roost.cli.prompts import Prompts, rows_of
from roost.testing.scripts import Hang, Say, Until
from tests.unit.cli.conftest import Typed
from tests.unit.cli.grids import Grid
from tests.unit.cli.terminals import LIMIT_S, Terminal, pseudo_terminal
from tests.unit.cli.test_chat import answering
from tests.unit.cli.test_typing import Keyboard


def test_a_prompt_is_shown_again_while_it_is_open(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: Typed
) -> None:
    prompts = Prompts()
    typed("one\n")
    assert (prompts.read_line("> "), capsys.readouterr().out) == ("one", "")
    keyboard = Keyboard("hello\n")

    def interrupted() -> str:
        """Something else is written while a line is typed."""
        prompts.show_again()
        return keyboard.read()

    monkeypatch.setattr(keyboard, "readline", interrupted)
    monkeypatch.setattr("sys.stdin", keyboard)
    assert prompts.read_line("main> ") == "hello"
    prompts.show_again()
    assert capsys.readouterr().out == "main> main> "


def test_a_text_is_broken_where_a_terminal_breaks_it() -> None:
    assert rows_of("", 4) == [""]
    assert rows_of("abcd", 4) == ["abcd"]
    assert rows_of("abcde\nf", 4) == ["abcd", "e\n", "f"]
    assert rows_of("ab\n", 4) == ["ab\n", ""]
    assert rows_of("abc漢", 4) == ["abc", "漢"]
    assert rows_of("a\tb", 10) == ["a       b"]
    assert rows_of("\x1b[2mabcd\x1b[0m", 4) == ["\x1b[2mabcd\x1b[0m"]


def test_where_nobody_types_what_is_written_is_just_written(capsys: pytest.CaptureFixture[str]) -> None:
    prompts = Prompts()
    prompts.write("half ")
    prompts.line("a line")
    assert capsys.readouterr().out == "half a line\n"


def test_what_is_typed_while_no_line_is_read_is_not_written_where_it_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prompts = Prompts()
    with (
        pseudo_terminal() as (person, program),
        open(program, encoding="utf-8", closefd=False) as keys,
        open(program, "w", encoding="utf-8", closefd=False) as screen,
        monkeypatch.context() as within,
    ):
        within.setattr("sys.stdin", keys)
        within.setattr("sys.stdout", screen)

        def types(line: bytes) -> None:
            """Until the terminal has dealt with it."""
            os.write(person, line)
            assert select.select([program], [], [], LIMIT_S)[0]

        types(b"one\n")
        with prompts.silent():
            assert prompts.read_line("main> ") == "one"
            types(b"two\n")
            assert prompts.read_line("main> ") == "two"
        types(b"three\n")
        assert prompts.read_line("main> ") == "three"
        seen = b""
        while seen.count(b"main> ") < 3:
            seen += os.read(person, 1_000)
    assert seen == b"one\r\nmain> main> three\r\nmain> "


LONG = "word " * 200


def test_what_is_typed_stays_whole_under_what_is_written_meanwhile(home: Path) -> None:
    more, rest = anyio.Event(), anyio.Event()
    script = (Say(f"Once {LONG}"), Until(more), Say("upon a "), Until(rest), Say("time"), Hang())
    with (
        answering(home, script) as portal,
        Terminal(["chat"], {"ROOST_HOME": str(home)}) as terminal,
    ):
        terminal.shows("main> ")
        terminal.types("tell me a story\n")
        terminal.shows("Once word")
        terminal.types("/switch ogre\x1b[D\x1b[D")
        terminal.shows("\b\b")
        portal.call(more.set)
        terminal.shows("upon a")
        # The cursor is where it was: behind the o and the g.
        terminal.types("X")
        terminal.shows("Xre\b\b")
        terminal.types("\x7f")
        terminal.shows("re\b\b")
        portal.call(rest.set)
        terminal.shows("upon a time")
        terminal.shows("main> /switch ogre")
        terminal.types("\x05x\n")
        terminal.shows("ogrex> ")
        terminal.types("/switch main\n")
        terminal.shows("main> ")
        terminal.types("/stop\n")
        terminal.shows("no answer: ")
        terminal.shows("main> ")
        terminal.types("/quit\n")
        assert terminal.ends() == 0
    rows = Grid().rows(terminal.text)
    asked = rows.index("main> tell me a story")
    # What is typed under a line that is not at its end goes above it.
    assert rows[asked + 1] == "main> /switch ogrex"
    story = "".join(f"{row:<80}" for row in rows[asked + 2 :])
    told = f"Once {LONG}upon a time".ljust(80 * 13)
    assert story.startswith(told)
    assert story[len(told) :].startswith("main goes on with its answer; /switch main shows it ")
