"""Gateways in processes of their own, seen from the test."""

import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import apsw

ROOT = Path(__file__).parents[2]
WITHIN_S = 60


class Process:
    """One gateway's process, and what it said so far."""

    def __init__(self, folder: Path, model_url: str, name: str, *options: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.errors = folder / f"{name}.err"
        command = [sys.executable, "-m", "tests.faults.gateway_process"]
        command += [str(folder / "roost.db"), str(folder / "platform"), model_url, name, *options]
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self.lines.append(line.strip())

    def said(self, start: str) -> list[str]:
        return [line.removeprefix(f"{start}: ") for line in self.lines if line.startswith(f"{start}: ")]

    async def until_said(self, start: str, text: str = "") -> None:
        async with _limit(WITHIN_S, self):
            while not any(text in line for line in self.said(start)):
                await anyio.sleep(0.02)

    async def ended(self) -> int:
        async with _limit(WITHIN_S, self):
            while self.process.poll() is None:
                await anyio.sleep(0.02)
        self._reader.join()
        return self.process.returncode

    def end(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        self._reader.join()


@asynccontextmanager
async def _limit(seconds: float, process: Process) -> AsyncIterator[None]:
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError as error:
        raise AssertionError(f"{process.name}: {process.lines}, {process.errors.read_text()}") from error


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
