"""However many sessions pass through a gateway, it holds no more than before."""

import asyncio
import gc
import os
import sys
from functools import _lru_cache_wrapper
from pathlib import Path

import anyio
import pytest

import roost
from roost.client import Client
from tests.scale import FULL, count

WARM_UP = count(60, 10_000)
SESSIONS = count(120, 50_000)
TURNS = count(2, 10)
AT_ONCE = 5
ALLOWED = 1.1
PASSING = 5
"""What may be open for a moment; what stayed behind of every session would be many times more."""


async def pass_through(client: Client, names: range) -> None:
    for start in names[::AT_ONCE]:
        async with anyio.create_task_group() as group:
            for name in range(start, start + AT_ONCE):
                group.start_soon(talk, client, f"agent:main:visitor-{name}")


async def talk(client: Client, session: str) -> None:
    for _ in range(TURNS):
        assert await client.ask("hello", session)


class Held:
    """What this process holds: objects, or at full scale memory; open files; tasks."""

    def __init__(self) -> None:
        _forget_rows()
        gc.collect()
        self.memory = _resident() if FULL else len(gc.get_objects())
        self.files = len(os.listdir("/proc/self/fd"))
        self.tasks = len(asyncio.all_tasks())


def _forget_rows() -> None:
    """What the bounded caches of the store hold is no growth, and they are not full yet."""
    for module in [one for name, one in sys.modules.items() if name.startswith("roost.stores.")]:
        for cached in vars(module).values():
            if isinstance(cached, _lru_cache_wrapper):
                cached.cache_clear()


def _resident() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.requirement("P21")
@pytest.mark.timeout(14_400)
async def test_what_passed_through_leaves_nothing_behind(tmp_path: Path) -> None:
    async with roost.open({"ROOST_HOME": str(tmp_path)}) as client:
        await pass_through(client, range(WARM_UP))
        before = Held()
        await pass_through(client, range(WARM_UP, SESSIONS))
        after = Held()
    assert after.files <= before.files + PASSING
    assert after.tasks <= before.tasks + PASSING
    assert after.memory <= before.memory * ALLOWED
