"""What it costs to begin: the import, and opening a large store."""

import resource
import subprocess
import sys
import time
from pathlib import Path

from bench.figures import Figure, within
from bench.reads import fill_sessions
from bench.scale import size
from roost.clock import SystemClock
from roost.core.leases import Gateway
from roost.stores.sqlite import SqliteStore

ROUNDS = size(5)


def cpu_of_python(code: str) -> float:
    """CPU milliseconds of a fresh interpreter that runs `code`, the best of several."""
    best = float("inf")
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best * 1000


async def open_cost(path: Path) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        store = SqliteStore.open(path, SystemClock())
        await store.acquire_lease(Gateway(name="bench", holder="bench"))
        best = min(best, time.process_time() - began)
        await store.close()
    return best * 1000


async def measure(folder: Path) -> list[Figure]:
    path = folder / "large.db"
    fill_sessions(path, size(100_000, 100))
    return [
        within("import roost", cpu_of_python("import roost") - cpu_of_python("pass"), 50, "ms CPU"),
        within("open a store of 100,000 sessions", await open_cost(path), 200, "ms CPU"),
    ]
