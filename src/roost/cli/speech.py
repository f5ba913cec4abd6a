"""What an agent says, as it stands on the output: what is thought, what is said, and what it took."""

import sys
from collections.abc import Callable
from typing import TypeAlias, assert_never

from roost.cli.show import console, plain
from roost.client import Answer, Delta, Figures, Piece, Thought, ToolStep
from roost.core.endings import visible
from roost.core.figures import MICROS
from roost.core.footers import figures
from roost.core.jsonvalue import JsonObject
from roost.core.ledger import Counted
from roost.core.messages import Usage
from roost.core.sessions import Verbosity

REASONING = "Reasoning:\n"

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"

Write: TypeAlias = Callable[[str], None]


def to_output(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


class Speech:
    """Of one turn after another. A line that is put between stands on a line of its own, and the speech goes on below."""

    def __init__(self, write: Write = to_output) -> None:
        self._put = write
        self.verbose = False
        self._head = self._shown = ""
        self._within = False

    def show(self, piece: Piece) -> None:
        match piece:
            case Thought():
                self._go_on(REASONING, piece.text)
            case Delta():
                self._go_on("", piece.text, anew=piece.replaces)
            case Answer():
                self._go_on("", self._with_leaks((piece.text or "").strip()))
                self._end(piece.figures)
            case ToolStep():
                self._step(piece)
            case _:
                assert_never(piece)

    def break_off(self) -> None:
        """Nothing more comes of what is shown."""
        self.pause()
        self._head = self._shown = ""

    def pause(self) -> None:
        """What comes next begins on a line of its own."""
        if self._within:
            self._write("\n")

    def line(self, text: str) -> None:
        self.pause()
        self._write(f"{text}\n")

    def _step(self, step: ToolStep) -> None:
        """One line for a tool that begins, and one for what failed."""
        if self.verbose and (step.running or step.failed):
            self.pause()
            words = plain(f"· {step.name}" if step.running else f"· {step.name} failed")
            self._put(f"{_DIM}{words}{_PLAIN}\n" if _is_styled() else f"{words}\n")

    def _end(self, took: Figures | None) -> None:
        if self._within or not self._shown:
            self._write("\n")
        if took is not None:
            self._write(f"\n{_told(took)}\n")
        self._head = self._shown = ""

    def _with_leaks(self, answer: str) -> str:
        """What was shown of an answer stands, also what only leaked into it; behind that the rest of the answer."""
        said = None if self._head else visible(self._shown)
        return self._shown + answer[len(said) :] if said and answer.startswith(said) else answer

    def _go_on(self, head: str, text: str, *, anew: bool = False) -> None:
        """More of what is shown; if it is something else, below that. Space around it is not shown: in the end it comes
        without."""
        text = text.strip()
        if not text and not anew:
            return
        if head != self._head:
            self.pause()
            self._write(f"\n{head}" if self._shown else head)
            self._shown = ""
        elif anew or not text.startswith(self._shown):
            self.pause()
            self._shown = ""
        more = text[len(self._shown) :]
        self._write(more if self._within else more.lstrip())
        self._head, self._shown = head, text

    def _write(self, text: str) -> None:
        if text:
            self._put(plain(text))
            self._within = not text.endswith("\n")


def shows_steps(session: JsonObject) -> bool:
    """Whether the tools of a session are shown, by its row."""
    return session.get("verboseLevel") in (Verbosity.ON, Verbosity.FULL)


def _is_styled() -> bool:
    out = console()
    return out.is_terminal and not out.no_color


def _told(found: Figures) -> str:
    usage = Usage(input=found.tokens_in, output=found.tokens_out, cost_micros=round(found.cost * MICROS))
    return figures(Counted(usage, found.estimated), found.model)
