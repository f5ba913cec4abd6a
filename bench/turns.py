"""Whole turns, from a message on a channel to its answer there, against what their parts cost bare.

CPU is that of this process, in which only the gateway works: all its threads, user and system time; the model answers
from a process of its own. What else runs on the machine makes the same turn cost up to half as much again, through
caches and cores that are shared, so the best of a few short rounds counts.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

from bench.figures import Figure, at_most, reaches, within
from bench.floor import BareSession, BareWriter
from bench.gateways import Gate, gates, model_process
from bench.model_process import HANGS
from bench.reads import fill_sessions
from bench.scale import size
from bench.stores import cpu, opened, prepared, turn
from roost.clock import SystemClock
from roost.core.keys import SessionKey
from roost.core.models import ModelRef, ModelRequest, ModelSpec
from roost.core.previews import SpokenText
from roost.models.openai_wire import Dialect, request_body
from roost.stores.codec import key_text

ROUNDS, CPU_ROUNDS = size(6), size(3)
TURNS = size(50, 2)
COMMITS = 4
WARM_UP = size(20)
CONCURRENT, EACH = size(100, 4), size(5)
MANY = size(1_000, 4)
LONG, LONG_TURNS = 1_000, size(10)


async def walls(act: Callable[[int], Awaitable[object]], count: int) -> list[float]:
    """Milliseconds of each act, one after another."""
    taken = []
    for number in range(count):
        began = time.perf_counter()
        await act(number)
        taken.append((time.perf_counter() - began) * 1000)
    return taken


def people(gate: Gate, name: str, each: int = 10) -> Callable[[int], Awaitable[object]]:
    """The n-th of many turns, a few for every person: conversations stay short."""
    return lambda number: gate.turn(f"{name}-{number // each}")


async def cpu_of_turns(gate: Gate, name: str, count: int) -> float:
    """CPU milliseconds a turn, the best of a few rounds."""
    return min([await cpu_of_round(gate, f"{name}-{number}", count) for number in range(CPU_ROUNDS)])


async def cpu_of_round(gate: Gate, name: str, count: int) -> float:
    began = cpu()
    await walls(people(gate, name), count)
    return (cpu() - began) / count * 1000


async def cpu_of_heard_turns(gate: Gate, name: str, count: int) -> float:
    """The same for a session that someone listens to."""
    best = float("inf")
    for round_number in range(3):
        person = f"{name}-{round_number}"
        async with gate.heard(person) as items:
            began = cpu()
            for _ in range(count):
                await gate.turn(person)
            best = min(best, (cpu() - began) / count * 1000)
            assert any(isinstance(item, SpokenText) for item in items)
    return best


class BareParts:
    """What a turn cannot do without: commits, and one answer read from the model."""

    def __init__(self, writer: BareWriter, session: BareSession, url: str) -> None:
        self._writer, self._session = writer, session
        (self._row,) = prepared(turn("bare", 0)[:1])
        self._clock = SystemClock()
        self._place = urlsplit(url)
        self._body = request_body(
            ModelRequest(
                spec=ModelSpec(ref=ModelRef("fake", "4"), context_window=1_000_000, max_tokens=4_096),
                system="You are measured.",
                messages=(),
            ),
            Dialect(),
            {},
        )
        self._number = 0

    async def connect(self) -> None:
        self._reader, self._out = await asyncio.open_connection(self._place.hostname, self._place.port)

    async def act(self, number: int) -> None:
        for _ in range(COMMITS):
            await self._writer.run(self._append)
        head = (
            f"POST {self._place.path}/chat/completions HTTP/1.1\r\ncontent-length: {len(self._body)}\r\n\r\n"
        )
        self._out.write(head.encode() + self._body)
        await self._reader.readuntil(b"\r\n0\r\n\r\n")

    def _append(self) -> None:
        self._number += 1
        values, words = self._row
        self._session.append([((f"bare-{self._number}", *values[1:]), words)], self._clock.now())

    def close(self) -> None:
        self._out.close()
        self._writer.close()


async def bare_parts(folder: Path, url: str) -> BareParts:
    key = SessionKey.named("main", "bare")
    await (await opened(folder / "bare.db", [key])).close()
    writer = BareWriter(folder / "bare.db")
    parts = BareParts(writer, BareSession(writer.connection, key_text(key), "id-0"), url)
    await parts.connect()
    return parts


async def one_turn(folder: Path, url: str) -> list[Figure]:
    """Both in turns, each judged by its best round: the machine's other work hits both alike."""
    parts = await bare_parts(folder, url)
    ours = floor = float("inf")
    async with gates(folder / "one.db", url) as gate:
        await walls(people(gate, "warm"), WARM_UP)
        await walls(parts.act, WARM_UP)
        for number in range(ROUNDS):
            ours = min(ours, statistics.median(await walls(people(gate, f"p{number}"), TURNS)))
            floor = min(floor, statistics.median(await walls(parts.act, TURNS)))
        short = await cpu_of_turns(gate, "cpu", TURNS)
        gate.model = str(LONG)
        long = await cpu_of_turns(gate, "long", LONG_TURNS)
        heard = await cpu_of_heard_turns(gate, "heard", LONG_TURNS)
    parts.close()
    return [
        at_most("turn, message to answer, p50", ours, floor, "ms", 10),
        within("CPU of a turn, answer of 4 chunks", short, 10, "ms CPU"),
        within("CPU of a chunk, answer of 1,000", (long - short) / (LONG - 4), 0.1, "ms CPU"),
        within("CPU of a chunk, answer of 1,000, one listener", (heard - short) / (LONG - 4), 0.1, "ms CPU"),
    ]


async def many_sessions(folder: Path, url: str) -> list[Figure]:
    best = 0.0
    async with gates(folder / "many.db", url) as gate:
        await walls(people(gate, "warm"), WARM_UP)

        async def talk(person: str) -> None:
            for _ in range(EACH):
                await gate.turn(person)

        for number in range(3):
            began = time.perf_counter()
            await asyncio.gather(*(talk(f"r{number}-{person}") for person in range(CONCURRENT)))
            best = max(best, CONCURRENT * EACH / (time.perf_counter() - began))
    return [reaches(f"{CONCURRENT} sessions x {EACH} turns", best, 100, "turns/s")]


async def beside_a_hanging_call(folder: Path, url: str) -> list[Figure]:
    """Two gateways, a turn of each in turns; a call of the second never ends."""
    async with gates(folder / "alone.db", url) as alone, gates(folder / "beside.db", url) as beside:
        beside.desk.write(HANGS, "hangs")
        taken: tuple[list[float], list[float]] = ([], [])
        for number in range(ROUNDS * TURNS):
            for gate, walls_of in zip((alone, beside), taken, strict=True):
                walls_of.extend(await walls(people(gate, f"p{number // 10}"), 1))
    median, beside_median = (statistics.median(walls_of) for walls_of in taken)
    return [at_most("turn beside a call that hangs, p50", beside_median, median, "ms", 1.2)]


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def flat(folder: Path, url: str) -> list[Figure]:
    """What is left after many turns, each of a session of its own."""
    async with gates(folder / "flat.db", url) as gate:
        await walls(people(gate, "warm", each=1), MANY // 2)
        memory, files, tasks = resident_mb(), len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks())
        await walls(people(gate, "more", each=1), MANY)
        after = resident_mb(), len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks())
    return [
        at_most(f"memory after {MANY:,} turns", after[0], memory, "MB", 1.05),
        at_most(f"open files after {MANY:,} turns", after[1], files, "files", 1),
        at_most(f"tasks after {MANY:,} turns", after[2], tasks, "tasks", 1),
    ]


async def beside_many_sessions(folder: Path, url: str) -> list[Figure]:
    costs = []
    for count in (10, size(100_000, 100)):
        path = folder / f"beside-{count}.db"
        fill_sessions(path, count)
        async with gates(path, url) as gate:
            await walls(people(gate, "warm"), WARM_UP)
            costs.append(await cpu_of_turns(gate, "cpu", 2 * TURNS))
    return [at_most("CPU of a turn at 100,000 sessions to 10", costs[1], costs[0], "ms CPU", 1.2)]


async def measure(folder: Path) -> list[Figure]:
    figures = []
    with model_process() as url:
        for part in (one_turn, many_sessions, beside_a_hanging_call, flat, beside_many_sessions):
            figures += await part(folder, url)
    return figures
