"""Gateways in processes of their own, seen from the test."""

import asyncio
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import apsw

from tests.faults.platform import Platform

ROOT = Path(__file__).parents[2]


class Process:
    """One gateway's process and what it said so far. The platform's `until` hears of every line of it."""

    def __init__(self, platform: Platform, folder: Path, model_url: str, name: str, *options: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.over = False
        self._platform = platform
        self._loop = asyncio.get_running_loop()
        self._errors = folder / f"{name}.err"
        command = [sys.executable, "-m", "tests.faults.gateway_process"]
        command += [str(folder / "roost.db"), str(folder / "platform"), model_url, name, *options]
        with self._errors.open("ab") as errors:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def errors(self) -> str:
        return self._errors.read_text()

    def said(self, start: str) -> list[str]:
        return [line.removeprefix(f"{start}: ") for line in self.lines if line.startswith(f"{start}: ")]

    async def until_said(self, start: str, text: str = "") -> None:
        await self._platform.until(lambda: any(text in line for line in self.said(start)))

    async def ended(self) -> int:
        await self._platform.until(lambda: self.over)
        return self.process.wait()

    def kill(self) -> None:
        """At once, wherever it is."""
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        self._reader.join()
        print(f"{self.name}: {self.lines} {self.errors}")  # noqa: T201 — shown when it fails

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
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
            process.process.send_signal(signal.SIGSTOP)
            try:
                connection.execute("BEGIN IMMEDIATE; ROLLBACK")
            except apsw.BusyError:
                process.process.send_signal(signal.SIGCONT)
            else:
                return
    finally:
        connection.close()
