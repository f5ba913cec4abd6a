"""The process that is killed: writes as fast as it can and says what was acknowledged.

python -m tests.faults.kill_child <database> <name of this life>
"""

import asyncio
import os
import sys
from pathlib import Path

from roost.stores.sqlite import SqliteStore
from roost.testing.clock import FakeClock
from tests.faults.load import Fact, Load

WRITERS = 16


def say(fact: Fact) -> None:
    # Not buffered: what the parent reads was acknowledged, and what was said is read even after a kill.
    os.write(sys.stdout.fileno(), f"{fact}\n".encode())


async def main(path: str, life: str) -> None:
    await Load(SqliteStore.open(Path(path), FakeClock()), life, say).run(WRITERS)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
