"""A gateway's process that does one store verb for each line it is told, and says how it went.

python -m tests.faults.lease_process <database> <clock> <name of the gateway>
"""

import asyncio
import mmap
import sys
from collections.abc import Callable
from pathlib import Path

import anyio

from roost.core.errors import RoostError
from roost.core.leases import Gateway, Lease
from roost.core.runs import Claim
from roost.stores.sqlite import SqliteStore
from roost.testing.builders import accept, inbound, said
from roost.testing.clock import NOON
from tests.faults.load import KEYS, as_entries, ending, first, queue_again

KEY = KEYS[0]
SESSION_ID = "shared"
DIGITS = 20


class SharedClock:
    """A clock in a file: every process that maps it sees the same time, and only a test moves it."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_text(f"{NOON:0{DIGITS}}")
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), DIGITS)

    def now(self) -> int:
        return int(self._map[:])

    async def sleep(self, milliseconds: int) -> None:
        await anyio.sleep_forever()

    def later(self, milliseconds: int, act: Callable[[], None]) -> Callable[[], None]:
        raise NotImplementedError

    def advance(self, milliseconds: int) -> None:
        self._map[:] = f"{self.now() + milliseconds:0{DIGITS}}".encode()


class Process:
    """One gateway. Each method is a word it understands; the answer is one line."""

    def __init__(self, store: SqliteStore, name: str) -> None:
        self._store = store
        self._gateway = Gateway(name=name, holder=f"process of {name}", address=f"http://{name}")
        self._lease: Lease | None = None
        self._claims: dict[str, Claim] = {}

    async def acquire(self) -> str:
        self._lease = await self._store.acquire_lease(self._gateway)
        return f"epoch {self._lease.epoch}"

    async def renew(self) -> str:
        assert self._lease is not None
        self._lease = await self._store.renew_lease(self._lease)
        return "renewed"

    async def release(self) -> str:
        assert self._lease is not None
        await self._store.release_lease(self._lease)
        return "released"

    async def accept(self, name: str) -> str:
        message = inbound(name, KEY)
        await self._store.accept_inbound(message, accept(message, f"run-{name}", SESSION_ID))
        return "accepted"

    async def append(self, name: str) -> str:
        (entry,) = await self._store.append(KEY, (said(name, "written by hand"),))
        return f"seq {entry.seq}"

    async def claim(self) -> str:
        assert self._lease is not None
        (run,) = await self._store.claim_runs(self._lease, first)
        assert run.claim is not None
        self._claims[run.id] = run.claim
        return run.id

    async def finish(self, run_id: str) -> str:
        run = await self._store.run(run_id)
        assert run is not None
        await self._store.take_inputs(self._claims[run_id], as_entries)
        await self._store.finish_run(self._claims[run_id], lambda snapshot: ending(run))
        return "finished"

    async def reap(self) -> str:
        assert self._lease is not None
        runs = await self._store.reap_runs(self._lease, queue_again)
        return " ".join(run.id for run in runs)


async def main(database: str, clock: str, name: str) -> None:
    shared = SharedClock(Path(clock))
    print("ready", flush=True)  # noqa: T201 — the line is the protocol
    await asyncio.to_thread(sys.stdin.readline)
    process = Process(SqliteStore.open(Path(database), shared), name)
    print("open", flush=True)  # noqa: T201 — the line is the protocol
    while line := (await asyncio.to_thread(sys.stdin.readline)).split():
        try:
            answer = await getattr(process, line[0])(*line[1:])
        except RoostError as error:
            answer = f"{error.code}: {error}"
        print(answer, flush=True)  # noqa: T201 — the line is the protocol


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
