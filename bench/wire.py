"""A gateway in a process of its own, asked over its port, against a bare WebSocket server."""

import asyncio
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio

from bench.figures import Figure, at_most
from bench.reads import fill_sessions
from bench.scale import size
from bench.sockets import Talker

TOKEN = "bench-token-0123456789"
ROUNDS = size(6)
CALLS = size(200, 3)
WARM_UP = size(50)
LISTENERS = size(100, 3)
IDLE, ACTIVE = size(1_000, 5), size(100, 2)
FEW, MANY = size(1_000, 20), size(100_000, 40)
PAUSE_S = 0.5
START_S = 60
ECHO = json.dumps({"type": "req", "id": "1", "method": "health", "params": {}}).encode()

Act = Callable[[], Awaitable[object]]


@contextmanager
def bare() -> Iterator[int]:
    command = [sys.executable, "-m", "bench.sockets"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.terminate()


@asynccontextmanager
async def gateway(home: Path, sessions: int = 0) -> AsyncIterator[int]:
    """Its port, over a store that holds so many sessions."""
    _fill(home, sessions)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "roost", "gateway", "run", "--port", str(port)]
    surroundings = {**os.environ, "ROOST_HOME": str(home)}  # noqa: TID251 — of the process that is started
    with (home / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(*command, env=surroundings, stdout=log, stderr=log)
    try:
        async with asyncio.timeout(START_S):
            await _entered(port)
        yield port
    finally:
        process.terminate()
        await process.wait()


def _fill(home: Path, sessions: int) -> None:
    home.mkdir()
    (home / "roost.json").write_text(json.dumps({"gateway": {"auth": {"token": TOKEN}}}))
    if sessions:
        fill_sessions(home / "roost.db", sessions)


async def _entered(port: int) -> None:
    while True:
        try:
            await Talker().enter(port, TOKEN)
        except (OSError, RuntimeError):
            await asyncio.sleep(0.1)
        else:
            return


async def entering(port: int, count: int) -> list[Talker]:
    talkers = [Talker() for _ in range(count)]
    for talker in talkers:
        await talker.enter(port, TOKEN)
    return talkers


async def median(act: Act, calls: int = CALLS) -> float:
    taken = []
    for _ in range(calls):
        began = time.perf_counter()
        await act()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


async def best(*acts: Act) -> list[float]:
    """Each in turns, judged by its best round: the machine's other work hits all alike."""
    found = [float("inf")] * len(acts)
    for act in acts:
        await median(act, WARM_UP)
    for _ in range(ROUNDS):
        for place, act in enumerate(acts):
            found[place] = min(found[place], await median(act))
    return found


async def health(port: int, floor: int) -> list[Figure]:
    (asker,), echo = await entering(port, 1), Talker()
    await echo.dial(floor)
    ours, bare_ms = await best(lambda: asker.ask(ECHO), lambda: echo.ask(ECHO))
    return [at_most("health over the port", ours, bare_ms, "ms", 4)]


class Crowd:
    """Clients of which each must have heard the same thing."""

    def __init__(self, talkers: list[Talker], mark: bytes) -> None:
        self._talkers, self._mark = talkers, mark

    async def hear(self, act: Callable[[], object]) -> None:
        all_heard: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        left = len(self._talkers)

        def heard(frame: bytes) -> None:
            nonlocal left
            if self._mark in frame:
                left -= 1
                if not left:
                    all_heard.set_result(None)

        for talker in self._talkers:
            talker.told = heard
        act()
        await all_heard


async def fan_out(port: int, floor: int) -> list[Figure]:
    """A line that is put into a session, until the last of those who listen to it has heard."""
    talkers, (driver,) = await entering(port, LISTENERS), await entering(port, 1)
    await driver.call("sessions.create", key="agent:main:fan")
    for talker in talkers:
        await talker.call("sessions.messages.subscribe", key="agent:main:fan")
    line = {"sessionKey": "agent:main:fan", "message": "x" * 200}
    told = json.dumps({"type": "req", "id": "1", "method": "chat.inject", "params": line}).encode()
    crowd = Crowd(talkers, b'"event":"chat"')
    others = [Talker() for _ in range(LISTENERS)]
    for other in others:
        await other.dial(floor)
    bare_crowd, sent = Crowd(others, b"*"), b"*" + b"x" * 600
    ours, bare_ms = await best(
        lambda: crowd.hear(lambda: driver.socket.send(told)),
        lambda: bare_crowd.hear(lambda: others[0].socket.send(sent)),
    )
    return [at_most(f"a line to {LISTENERS} listeners, the last of them", ours, bare_ms, "ms", 4)]


async def beside_many_connections(port: int) -> list[Figure]:
    (asker,) = await entering(port, 1)
    (alone,) = await best(lambda: asker.ask(ECHO))
    idle = await entering(port, IDLE)
    active = await entering(port, ACTIVE)

    async def work(talker: Talker, number: int) -> None:
        await asyncio.sleep(PAUSE_S * number / ACTIVE)
        while True:
            await talker.call("sessions.list", limit=10)
            await asyncio.sleep(PAUSE_S)

    async with anyio.create_task_group() as group:
        for number, talker in enumerate(active):
            group.start_soon(work, talker, number)
        (beside,) = await best(lambda: asker.ask(ECHO))
        group.cancel_scope.cancel()
    name = f"health beside {len(idle):,} idle and {ACTIVE} active connections"
    return [at_most(name, beside, alone, "ms", 10)]


async def beside_many_sessions(folder: Path) -> list[Figure]:
    async with gateway(folder / "few", FEW) as few, gateway(folder / "many", MANY) as many:
        (small,), (large,) = await entering(few, 1), await entering(many, 1)
        lists = await best(lambda: large.call("sessions.list"), lambda: small.call("sessions.list"))
        creations = await best(lambda: large.call("sessions.create"), lambda: small.call("sessions.create"))
    taken = {"sessions.list": lists, "sessions.create": creations}
    return [
        at_most(f"{method} at {MANY:,} sessions to {FEW:,}", ours, floor, "ms", 1.5)
        for method, (ours, floor) in taken.items()
    ]


def _more_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def measure(folder: Path) -> list[Figure]:
    _more_files()
    with bare() as floor:
        async with gateway(folder / "one") as port:
            figures = [*await health(port, floor), *await fan_out(port, floor)]
            figures += await beside_many_connections(port)
    return figures + await beside_many_sessions(folder)
