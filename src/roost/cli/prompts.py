"""A prompt that stays at the bottom of a terminal, with what is typed behind it, while others write above it."""

import re
import readline
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock

from rich.cells import cell_len

from roost.cli import typing

_SIGNS = re.compile(r"\x1b\[[0-9;]*m|.", re.DOTALL)
_TAB = 8
# As every terminal since the VT100 knows them; a row down keeps the column, and what is restored is the place.
_ROW_DOWN, _SAVE, _RESTORE, _CLEAR_BELOW = "\x1bD", "\x1b7", "\x1b8", "\r\x1b[J"


def rows_of(text: str, width: int) -> list[str]:
    """A text as a terminal breaks it; a row that ends by itself has its line break."""
    rows, used = [""], 0
    for sign in _SIGNS.findall(text):
        if sign == "\n":
            rows[-1] += sign
            rows.append("")
            used = 0
            continue
        shown = " " * (_TAB - used % _TAB) if sign == "\t" else sign
        cells = 0 if shown.startswith("\x1b") else cell_len(shown)
        if used + cells > width:
            rows.append("")
            used = 0
        rows[-1] += shown
        used += cells
    return rows


def _up(rows: int) -> str:
    return f"\x1b[{rows}A" if rows else ""


class Prompts:
    """Written to by one thread while another reads lines. Where nobody types, what is written is just written."""

    def __init__(self) -> None:
        self._open = ""
        self._ready = False
        self._row = ""
        self._before = ""
        """The rows before it, of the same line."""
        self._held = ""
        self._silent = False
        self._lock = RLock()

    @property
    def live(self) -> bool:
        """Whether a person sees what is written while typing."""
        return sys.stdin.isatty() and sys.stdout.isatty()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """What is typed while no line is read is shown with the next one. The terminal itself would write it at once,
        where it stands."""
        self._silent = self.live and typing.set_echo(on=False)
        try:
            yield
        finally:
            self._echo(on=True)
            self._silent = False

    def read_line(self, prompt: str) -> str | None:
        with self._lock:
            self._open = prompt
            self._write_lines()
        if sys.stdin.isatty():
            readline.set_pre_input_hook(self._opened)
        line = None
        try:
            self._echo(on=True)
            line = typing.read_line(prompt)
        finally:
            self._echo(on=False)
            with self._lock:
                self._open, self._ready = "", False
                self._lift(f"{prompt}{line}" if line is not None else None)
        return line

    def write(self, text: str) -> None:
        """Above the prompt, going on where the last text ended; once there is one, if none is open."""
        with self._lock:
            if self.live:
                self._held += text
                # At the end of a line the cursor is below it before this is known here.
                if self._ready and typing.is_edited():
                    self._draw()
            else:
                _put(text)

    def line(self, text: str) -> None:
        """On a line of its own."""
        with self._lock:
            within = f"{self._row}{self._held}"
            self.write(f"\n{text}\n" if within and not within.endswith("\n") else f"{text}\n")

    def cut(self) -> None:
        """Something else is written below the last row: no more can be written in it."""
        with self._lock:
            self._row = ""

    def show_again(self) -> None:
        """The prompt that is open, if one is, and what was typed behind it, on a line where nothing stands."""
        with self._lock:
            self.cut()
            if self._open and sys.stdin.isatty():
                _put(f"{self._open}{readline.get_line_buffer()}")

    def finish(self) -> None:
        """Nothing more is typed: what was not shown yet is."""
        with self._lock:
            _put(self._held)
            self._held = self._row = ""

    def _echo(self, *, on: bool) -> None:
        if self._silent:
            typing.set_echo(on=on)

    def _opened(self) -> None:
        with self._lock:
            self._ready = True
            self._draw()

    def _write_lines(self) -> None:
        """Whole lines need no prompt to stand above."""
        if not self._row:
            lines, end, self._held = self._held.rpartition("\n")
            _put(lines + end)

    def _lift(self, typed: str | None) -> None:
        """What was typed under an unfinished line goes above it: what is written goes on in that line."""
        if not self._row or typed is None:
            self._row = ""
            return
        width, height = shutil.get_terminal_size()
        whole, under = f"{self._before}{self._row}", len(rows_of(typed, width))
        if len(rows_of(whole, width)) + under >= height:
            whole = self._row
        up = _up(len(rows_of(whole, width)) + under)
        _put(f"{up}{_CLEAR_BELOW}{typed}\n{whole}\n")

    def _draw(self) -> None:
        if not self._held:
            return
        self._before = self._before if self._row else ""
        typed = f"{self._open}{readline.get_line_buffer()}"
        width, height = shutil.get_terminal_size()
        # The cursor is taken to be behind what is typed.
        under = len(rows_of(f"{typed} ", width)) - 1
        drawn = ""
        for rows in _portions(rows_of(f"{self._row}{self._held}", width), max(1, height - under - 2)):
            before, after = bool(self._row), len(rows) - (not rows[-1])
            more, self._row = after - before, rows[-1]
            lines = "".join(rows[:-1])
            self._before = lines.rpartition("\n")[2] if "\n" in lines else f"{self._before}{lines}"
            text = "".join(rows).removesuffix("\n") + "\n"
            place = f"{_ROW_DOWN * more}{_SAVE}{_up(after + under)}{_CLEAR_BELOW}"
            drawn += f"{place}{text}{typed}{_RESTORE}"
        self._held = ""
        _put(drawn)


def _portions(rows: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    """Of no more than fit on a screen: a portion begins with the row that the one before it ended with."""
    for first in range(0, max(1, len(rows) - 1), most):
        yield rows[first : first + most + 1]


def _put(text: str) -> None:
    if text:
        sys.stdout.write(text)
        sys.stdout.flush()
