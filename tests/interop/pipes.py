"""A program that answers JSON-RPC over its standard streams, one message a line."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.interop.clients import Client

LONGEST_LINE = 16 * 1024 * 1024


class Failed(Exception):
    """What a client said, or did not."""


class Pipe:
    """`told` is what came without being asked for."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._out, self._in = process.stdin, process.stdout
        self._asked = 0
        self.told: list[dict[str, Any]] = []

    async def ask(self, method: str, **params: Any) -> Any:
        self._asked += 1
        self._write({"id": self._asked, "method": method, "params": params})
        while True:
            line = await self._in.readline()
            if not line:
                raise Failed(f"it left before it answered {method}")
            frame = _read(line)
            if frame.get("id") != self._asked or "method" in frame:
                self.told.append(frame)
            elif "error" in frame:
                raise Failed(f"{method}: {frame['error']}")
            else:
                return frame["result"]

    def tell(self, method: str) -> None:
        self._write({"method": method})

    def _write(self, frame: dict[str, Any]) -> None:
        self._out.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")


def _read(line: bytes) -> dict[str, Any]:
    try:
        frame = json.loads(line)
    except ValueError:
        return {}
    return frame if isinstance(frame, dict) else {}


@asynccontextmanager
async def piping(client: Client, *arguments: str) -> AsyncIterator[Pipe]:
    process = await asyncio.create_subprocess_exec(
        *client.command(*arguments, *client.door),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=dict(client.environment),
        limit=LONGEST_LINE,
    )
    try:
        yield Pipe(process)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
