"""`python -m tests.interop [part …]`: one line a client, and the exit code says whether all managed."""

import argparse
import asyncio
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.interop.clients import SURROUNDINGS, Client, Missing, install
from tests.interop.drives import DRIVES
from tests.interop.pipes import Failed

LONGEST_S = 300
TO_START_S = 60


@asynccontextmanager
async def gateway(home: Path) -> AsyncIterator[tuple[str, str]]:
    """A fresh one in a process of its own: its address and its token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "roost", "gateway", "run", "--port", str(port)]
    with (home / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *command, env={**SURROUNDINGS, "ROOST_HOME": str(home)}, stdout=log, stderr=log
        )
    try:
        async with asyncio.timeout(TO_START_S):
            while not await asyncio.to_thread(_answers, port):
                if process.returncode is not None:
                    raise Failed(f"the gateway did not start: {(home / 'log').read_text()[-500:]}")
                await asyncio.sleep(0.2)
        yield f"ws://127.0.0.1:{port}", (home / "gateway.token").read_text().strip()
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/startupz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


async def drive(names: list[str]) -> bool:
    folder, managed = install(), True
    with tempfile.TemporaryDirectory() as place:
        home, own = Path(place) / "gateway", Path(place) / "client"
        for one in (home, own):
            one.mkdir()
        async with gateway(home) as (url, token):
            client = Client(folder=folder, home=own, url=url, token=token)
            for name in names:
                try:
                    async with asyncio.timeout(LONGEST_S):
                        await DRIVES[name](client)
                except (Failed, Missing, TimeoutError) as error:
                    managed = False
                    _tell(f"FAILED  {name}: {str(error) or 'it took too long'}")
                else:
                    _tell(f"ok      {name}")
    return managed


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.interop")
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(DRIVES)}; all by default")
    asked = parser.parse_args()
    if unknown := set(asked.parts) - DRIVES.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    try:
        managed = asyncio.run(drive(asked.parts or list(DRIVES)))
    except (Missing, subprocess.CalledProcessError) as error:
        sys.exit(str(error))
    sys.exit(0 if managed else 1)


if __name__ == "__main__":
    main()
