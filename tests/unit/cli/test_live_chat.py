"""A chat on a terminal, in this process: what is typed is sent at once, and what comes is shown above the prompt."""

import io
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest
from anyio.from_thread import start_blocking_portal

from roost.cli.absence import Watch
from roost.cli.chat import BROKEN_OFF, UNFINISHED, Chat, Left, is_alone
from roost.cli.prompts import Prompts
from roost.cli.where import HERE, anywhere
from roost.testing.scripts import Hang, Say, Until
from tests.unit.cli.conftest import Screen, Told, serving
from tests.unit.cli.grids import Grid
from tests.unit.cli.terminals import pseudo_terminal
from tests.unit.cli.test_chat import answering

Line: TypeAlias = tuple[str, str | Callable[[], None]]


class Console(Screen):
    """The output of a terminal."""

    def isatty(self) -> bool:
        return True

    def rows(self) -> list[str]:
        """What is left on it; the driver of a terminal goes back to the first column with every line."""
        return Grid().rows(self.getvalue().replace("\n", "\r\n"))


class Person(io.StringIO):
    """Types what comes next when it is asked for: each is what to wait for on the screen, and the line, or what to do."""

    def __init__(self, screen: Console, prompts: Prompts, terminal: int, *lines: Line) -> None:
        super().__init__()
        self._screen, self._prompts, self._terminal, self._lines = screen, prompts, terminal, [*lines]
        self.done: Callable[[], None] = lambda: None
        """At the end of a line, before who reads it knows."""

    def fileno(self) -> int:
        return self._terminal

    def isatty(self) -> bool:
        return True

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        # As the terminal's editor does, once the prompt stands.
        before = termios.tcgetattr(self._terminal)
        tty.setcbreak(self._terminal, termios.TCSANOW)
        self._prompts._opened()
        try:
            return self._typed()
        finally:
            termios.tcsetattr(self._terminal, termios.TCSANOW, before)
            self.done()

    def _typed(self) -> str:
        while self._lines:
            wanted, line = self._lines.pop(0)
            self._screen.shows(wanted)
            if isinstance(line, str):
                self._screen.write(f"{line}\n")
                return f"{line}\n"
            line()
        return ""


@contextmanager
def console(monkeypatch: pytest.MonkeyPatch, *lines: Line) -> Iterator[tuple[Console, Prompts]]:
    screen, prompts = Console(), Prompts()
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    with monkeypatch.context() as within, pseudo_terminal() as (_, terminal):
        within.setattr("sys.stdout", screen)
        within.setattr("sys.stdin", Person(screen, prompts, terminal, *lines))
        yield screen, prompts


def is_echoed() -> bool:
    return bool(termios.tcgetattr(sys.stdin)[3] & termios.ECHO)


def talked(prompts: Prompts) -> None:
    with (
        suppress(Left),
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(anywhere(HERE, Watch().absence(60))) as client,
    ):
        Chat(portal, client, "main", Watch(prompts.show_again), prompts).talk(portal.call(is_alone, client))


def test_what_is_written_stands_above_what_is_typed_and_goes_on_where_it_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = ["Once ", "upon a time\nthere ", "was " * 30]

    def tell() -> None:
        prompts.write(told.pop(0))

    def note() -> None:
        prompts.line("a note")

    shown: list[Line] = [*[("main> ", tell)] * 3, ("was was", note), ("a note", tell), ("own", "and then?")]
    told.append("a line\nof its own ")
    with console(monkeypatch, *shown) as (screen, prompts):
        prompts.write("before\n")
        assert prompts.read_line("main> ") == "and then?"
        prompts.finish()
    rows = screen.rows()
    assert rows[:2] == ["before", "Once upon a time"]
    assert "".join(rows[2:4]).startswith("there was was")
    assert rows[4:] == ["a note", "a line", "main> and then?", "of its own", ""]


def test_what_comes_while_a_line_ends_waits_for_the_next_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Line] = [("main> ", lambda: prompts.write("One")), ("One", "second"), ("a note", "third")]
    with console(monkeypatch, *said) as (screen, prompts):
        assert isinstance(sys.stdin, Person)
        notes = ["a note"]
        sys.stdin.done = lambda: prompts.line(notes.pop()) if notes else None
        assert [prompts.read_line("main> ") for _ in said[1:]] == ["second", "third"]
        prompts.finish()
    assert screen.rows() == ["main> second", "One", "a note", "main> third", ""]


def test_more_than_a_screen_at_once_is_written_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"line {number}" for number in range(60)]

    def tell() -> None:
        prompts.write("\n".join(lines))

    with console(monkeypatch, ("main> ", tell), ("line 59", "ok")) as (screen, prompts):
        assert prompts.read_line("main> ") == "ok"
        prompts.finish()
    rows = screen.rows()
    assert [row for row in rows if row.startswith("line")] == lines


def test_commands_are_answered_and_messages_sent_while_an_answer_comes(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = anyio.Event()
    script = (Say("Once "), Until(goes_on), Say("upon a time"))
    with answering(home, script, (Say("second answer"),)) as portal:
        lines = (
            ("main> ", "tell me a story"),
            ("Once", "/status"),
            ("Work: a turn", "/queue followup"),
            ("Queue: followup", "and another"),
            ("main> ", lambda: portal.call(goes_on.set)),
            ("second answer", "/switch"),
            ("session", "/switch 99"),
            ("there is no 99", "/switch other"),
            ("a new session other", "/quit"),
        )
        with console(monkeypatch, *lines) as (screen, prompts):
            talked(prompts)
    text = "\n".join(screen.rows())
    assert text.count("upon a time") == text.count("second answer") == 1
    assert text.index("upon a time") < text.index("second answer")


def test_between_lines_the_terminal_shows_nothing_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (("main> ", "/switch 99"), ("there is no 99", "/quit"))
    shown: list[bool] = []
    with console(monkeypatch, *lines) as (screen, prompts):
        put = screen.write

        def write(text: str) -> int:
            if "there is no 99" in text:
                shown.append(is_echoed())
            return put(text)

        monkeypatch.setattr(screen, "write", write)
        talked(prompts)
        assert (shown, is_echoed()) == ([False], True)


def test_an_interrupt_stops_the_answer_and_else_gives_up_the_line(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> None:
        signal.raise_signal(signal.SIGINT)

    with answering(home, (Say("Once "), Hang())):
        lines = (
            ("main> ", "tell me a story"),
            ("Once", interrupt),
            ("no answer: ", interrupt),
            ("no answer: ", "/quit"),
        )
        with console(monkeypatch, *lines) as (screen, prompts):
            talked(prompts)
    assert screen.getvalue().count("no answer: ") == 1
    assert BROKEN_OFF not in screen.getvalue()


def test_who_leaves_waits_for_no_answer_and_the_next_start_takes_it_up(
    home: Path, monkeypatch: pytest.MonkeyPatch, told: Told
) -> None:
    with answering(home, (Say("Once "), Hang()), (Say("Once upon a time"),)):
        with console(monkeypatch, ("main> ", "tell me a story"), ("Once", "/quit")) as (screen, prompts):
            talked(prompts)
        assert screen.rows()[-2:] == [BROKEN_OFF, ""]
        # What is under way is waited for before it ends.
        told("status")
        said = told("sessions", "history", "main")
    assert said.count("tell me a story") == said.count("Once upon a time") == 1


def test_an_answer_in_another_session_is_broken_off_too_and_told_of(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(home, (Say("Once "), Hang())):
        lines = (
            ("main> ", "tell me a story"),
            ("Once", "/switch other"),
            ("main goes on with its answer", "/quit"),
        )
        with console(monkeypatch, *lines) as (screen, prompts):
            talked(prompts)
    assert screen.rows()[-2:] == [BROKEN_OFF, ""]


def test_who_leaves_a_gateway_that_stays_finds_the_answer_in_the_history(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = anyio.Event()
    with answering(home, (Say("Once "), Until(goes_on), Say("upon a time"))) as portal, serving(home):
        lines: tuple[Line, ...] = (
            ("main> ", "/usage tokens"),
            ("Figures below answers", "tell me a story"),
            ("Once", "/quit"),
        )
        with console(monkeypatch, *lines) as (screen, prompts):
            talked(prompts)
        assert screen.rows()[-2:] == [UNFINISHED, ""]
        # The figures come with the end of the answer.
        lines = (("main> ", lambda: portal.call(goes_on.set)), ("tokens in", "/quit"))
        with console(monkeypatch, *lines) as (screen, prompts):
            talked(prompts)
        assert "upon a time" in screen.getvalue()
        assert UNFINISHED not in screen.getvalue()
