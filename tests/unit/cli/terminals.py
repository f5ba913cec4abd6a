"""The command on a terminal of its own: a process behind a pseudo-terminal, as a person would use it."""

import os
import pty
import select
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from roost.config import from_environment
from tests import forks

KEPT = ("PATH", "PYTHONPATH", "HOME", "COVERAGE_PROCESS_START")
LIMIT_S = 60.0


@contextmanager
def pseudo_terminal() -> Iterator[tuple[int, int]]:
    """The end of a person, and that of a program."""
    ours, theirs = pty.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(theirs)
        os.close(ours)


class Terminal:
    def __init__(self, arguments: Sequence[str], environ: Mapping[str, str]) -> None:
        self._arguments = arguments
        self._environ = environ
        self.text = ""

    def __enter__(self) -> Self:
        self._end, theirs = pty.openpty()
        around = from_environment().environ
        kept = {name: around[name] for name in KEPT if name in around}
        self._process = forks.started(
            "roost",
            *self._arguments,
            streams=(theirs, theirs, theirs),
            # The second as Python sets it by itself where nothing says which characters there are.
            environ={**kept, "TERM": "xterm", "LC_CTYPE": "C.UTF-8", **self._environ},
        )
        os.close(theirs)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.join()
        os.close(self._end)

    def types(self, text: str) -> None:
        os.write(self._end, text.encode())

    def shows(self, words: str) -> None:
        """Wait until these words appear after all that was waited for before."""
        while words not in self.text[self._seen :]:
            assert self._more(), f"{words!r} is not in {self.text!r}"
        self._seen = self.text.index(words, self._seen) + len(words)

    def ends(self) -> int | None:
        """Wait for the end; its code."""
        while self._more():
            pass
        self._process.join(LIMIT_S)
        return self._process.exitcode

    _seen = 0

    def _more(self) -> bool:
        ready, _, _ = select.select([self._end], [], [], LIMIT_S)
        assert ready, f"nothing for {LIMIT_S} s after {self.text!r}"
        try:
            read = os.read(self._end, 65_536)
        except OSError:
            # How Linux says that the other end is closed.
            return False
        self.text += read.decode(errors="replace")
        return bool(read)
