"""Gateways in processes of their own, seen from the test."""

import asyncio
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import apsw

from tests import forks
from tests.faults.platform import Platform


class Process:
    """One gateway's process and what it said so far. The platform's `until` hears of every line of it."""

    def __init__(self, platform: Platform, folder: Path, model_url: str, name: str, *options: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.over = False
        self._platform = platform
        self._loop = asyncio.get_running_loop()
        self._errors = folder / f"{name}.err"
        places = (str(folder / "roost.db"), str(folder / "platform"))
        self._output, theirs = os.pipe()
        with self._errors.open("ab") as errors:
            self.process = forks.started(
                "tests.faults.gateway_process",
                *places,
                model_url,
                name,
                *options,
                streams=(0, theirs, errors.fileno()),
            )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def errors(self) -> str:
        return self._errors.read_text()

    def said(self, start: str) -> list[str]:
        return [line.removeprefix(f"{start}: ") for line in self.lines if line.startswith(f"{start}: ")]

    async def until_said(self, start: str, text: str = "") -> None:
        await self._platform.until(lambda: any(text in line for line in self.said(start)))

    async def ended(self) -> int | None:
        await self._platform.until(lambda: self.over)
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        forks.signalled(self.process, number)

    def kill(self) -> None:
        """At once, wherever it is."""
        self.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.join()
        self._reader.join()
        print(f"{self.name}: {self.lines} {self.errors}")  # noqa: T201 — shown when it fails

    def _read(self) -> None:
        with open(self._output) as output:
            for line in output:
                self.lines.append(line.strip())
                self._tell()
        self.over = True
        self._tell()

    def _tell(self) -> None:
        # A test that is over waits for nothing.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._platform.tell)


def stop_between_writes(process: Process, database: Path) -> None:
    """Nobody gets at a file whose writer was stopped in the middle of a write, so it is stopped elsewhere."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        while True:
            process.send_signal(signal.SIGSTOP)
            try:
                connection.execute("BEGIN IMMEDIATE; ROLLBACK")
            except apsw.BusyError:
                process.send_signal(signal.SIGCONT)
            else:
                return
    finally:
        connection.close()
