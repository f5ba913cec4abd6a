"""What `make run` and the `roost` command start."""

import gc
import os
import signal
import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from types import FrameType

SELDOM = 100_000
INTERRUPTED = 130


def main() -> int:
    # Loading makes much that stays and little that goes: the collector would look through it again and again.
    gc.set_threshold(SELDOM)
    _on_interrupt(_leave)
    _open_streams()
    from roost.cli import main as command  # noqa: PLC0415 — an interrupt while it loads is one too

    _on_interrupt(signal.default_int_handler)
    try:
        return command.main(sys.argv[1:])
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        _on_interrupt(_leave)


def _open_streams() -> None:
    """What was closed leads nowhere; the next file to be opened would be taken for it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 — it is to stay open
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, TextIOWrapper):
            # Of what is no text here, or cannot be shown, its place is left.
            stream.reconfigure(errors="replace")


def _on_interrupt(do: Callable[[int, FrameType | None], object]) -> None:
    """Where interrupts are ignored, as behind a shell's `&`, they stay so."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, do)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    """Nothing has begun yet, or all is done."""
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
