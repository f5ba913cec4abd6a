"""Lines that a person types: with history and completion on a terminal, as they come from elsewhere."""

import readline
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

FILE = "chat_history"
MOST_LINES = 1_000

_LOCAL = 3
"""Where a terminal's settings have those of this kind."""


def read_line(prompt: str) -> str | None:
    """The next line; None at the end of the input."""
    try:
        return input(prompt if sys.stdin.isatty() else "")
    except EOFError:
        return None


def is_edited() -> bool:
    """Whether a line is open on the terminal: its end is a key for the editor, and nothing for the terminal itself."""
    try:
        return not termios.tcgetattr(sys.stdin)[_LOCAL] & termios.ICANON
    except termios.error:
        # The terminal is gone.
        return False


def set_echo(*, on: bool) -> bool:
    """Whether the terminal itself shows what is typed, without which no editor does; whether it did."""
    try:
        settings = termios.tcgetattr(sys.stdin)
        before = settings[_LOCAL]
        settings[_LOCAL] = before | termios.ECHO if on else before & ~termios.ECHO
        termios.tcsetattr(sys.stdin, termios.TCSANOW, settings)
    except termios.error:
        return False
    return bool(before & termios.ECHO)


def complete(
    commands: Sequence[str],
    others: Callable[[], Sequence[str]],
    show: Callable[[str], None] | None = None,
) -> None:
    """Offer these for what begins like them: commands at the beginning of a line, the others behind. Several that fit are
    shown by `show`, if there is one."""

    def offer(text: str, number: int) -> str | None:
        behind = readline.get_begidx() > 0
        words = others() if behind else commands
        fitting = [word for word in words if word.startswith(text)] if text or behind else []
        return fitting[number] if number < len(fitting) else None

    readline.set_completer(offer)
    readline.set_completer_delims(" \t\n")
    readline.parse_and_bind("tab: complete")
    if show is not None:
        readline.set_completion_display_matches_hook(lambda _, fitting, __: show("  ".join(fitting)))


def keep_pasted_lines_together() -> None:
    """What is pasted on a terminal waits for Enter as one text, however many lines it has."""
    readline.parse_and_bind("set enable-bracketed-paste on")


@contextmanager
def history(home: Path) -> Iterator[None]:
    """Remember what is typed on a terminal, for its owner only."""
    if not sys.stdin.isatty():
        yield
        return
    file = home / FILE
    if file.exists():
        readline.read_history_file(file)
    readline.set_history_length(MOST_LINES)
    try:
        yield
    finally:
        # Whoever speaks to a gateway elsewhere may have nothing here yet.
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch(mode=0o600)
        readline.write_history_file(file)
