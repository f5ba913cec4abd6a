"""What a piece of work opens, as the interpreter itself tells it.

A hook can't be taken out again, and CPython 3.11 fails to trace a thread that starts while another one's hook is
asked: such work has a process of its own.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, ParamSpec

Given = ParamSpec("Given")


def in_own_process(work: Callable[Given, None], *given: Given.args, **named: Given.kwargs) -> None:
    """Do a module's function elsewhere; what it asserts there fails here."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        processes.submit(work, *given, **named).result()


class Opened:
    """What this process opens, lists or looks at while it is watched."""

    def __init__(self) -> None:
        self._watching = False
        self._heard: list[tuple[str, str]] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, details: tuple[Any, ...]) -> None:
        if self._watching and (event == "open" or event.startswith(("os.", "shutil.", "pathlib."))):
            self._heard.append((event, str(details[0]) if details else ""))

    @contextmanager
    def during(self) -> Iterator[list[tuple[str, str]]]:
        """What was done, and to what."""
        self._heard, self._watching = [], True
        try:
            yield self._heard
        finally:
            self._watching = False
