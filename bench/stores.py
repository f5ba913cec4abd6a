"""The embedded store against its own statements through bare apsw."""

import asyncio
import resource
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.figures import Figure, at_least, at_most
from bench.floor import BareSession, BareWriter, Prepared
from bench.scale import size
from roost.clock import SystemClock
from roost.core.entries import Entry, EntryDraft
from roost.core.keys import SessionKey
from roost.core.leases import Gateway
from roost.core.messages import Usage
from roost.core.search import index_text, searchable_text
from roost.stores.codec import key_text
from roost.stores.sql.entry_rows import entry_values
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.connection import open_writer
from roost.testing.builders import answered, opening, said, session

PROSE = (
    "The gateway keeps every conversation under its own key and answers where it was asked; "
    "a message that was accepted is never lost, and none is sent twice, whatever is killed in between. "
)
ASKED = (PROSE * 2)[:300]
SAID = (PROSE * 6)[:900]
USAGE = Usage(input=812, output=233, cache_read=512, total=1557, cost_micros=4120)
WRITERS = size(64, 2)
APPENDS = size(40, 2)
WARMING, ROUNDS = size(4), size(12)
MESSAGES = size(10_000, 20)
SLICE = MESSAGES // 20
SHORT = max(SLICE // 50, 1)


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def turn(name: str, at: int) -> tuple[EntryDraft, EntryDraft]:
    return said(f"{name}-u", ASKED, at=at), answered(f"{name}-a", SAID, at=at, usage=USAGE)


def prepared(drafts: tuple[EntryDraft, ...]) -> Prepared:
    """The bindings Roost would make of drafts, but for the place."""
    rows = []
    for draft in drafts:
        entry = Entry(session_id="", seq=0, id=draft.id, body=draft.body)
        rows.append((tuple(entry_values(entry)[1:]), index_text(searchable_text(draft.body))))
    return rows


async def opened(path: Path, keys: list[SessionKey]) -> SqliteStore:
    store = SqliteStore.open(path, SystemClock())
    await store.acquire_lease(Gateway(name="bench", holder="bench"))
    for number, key in enumerate(keys):
        await store.change_session(
            key,
            lambda _, key=key, number=number: (opening(session(key), f"id-{number}"),),  # type: ignore[misc]
        )
    return store


Append = Callable[[int, int], Awaitable[object]]


async def seconds(append: Append, round_number: int) -> float:
    """How long it takes all writers, appending at once, to append their share of a round."""

    async def write(writer: int) -> None:
        for place in range(APPENDS):
            await append(writer, round_number * APPENDS + place)

    began = time.perf_counter()
    await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
    return time.perf_counter() - began


async def many_writers(folder: Path) -> list[Figure]:
    """Both in turns and over all rounds, after some that do not count: an empty search index has nothing to merge."""
    keys = [SessionKey.named("main", f"writer-{number}") for number in range(WRITERS)]
    turns = [turn(str(number), number) for number in range((WARMING + ROUNDS) * APPENDS)]
    rows = [prepared(drafts) for drafts in turns]
    store = await opened(folder / "ours.db", keys)
    await (await opened(folder / "bare.db", keys)).close()
    bare = BareWriter(folder / "bare.db")
    sessions = [BareSession(bare.connection, key_text(key), f"id-{n}") for n, key in enumerate(keys)]
    clock = SystemClock()

    async def append(writer: int, number: int) -> None:
        await store.append(keys[writer], turns[number])

    async def append_bare(writer: int, number: int) -> None:
        await bare.run(lambda: sessions[writer].append(rows[number], clock.now()))

    spent, floor = 0.0, 0.0
    for number in range(WARMING + ROUNDS):
        counts = number >= WARMING
        spent += counts * await seconds(append, number)
        floor += counts * await seconds(append_bare, number)
    await store.close()
    bare.close()
    appends = WRITERS * APPENDS * ROUNDS
    return [at_least(f"append, {WRITERS} writers", appends / spent, appends / floor, "txn/s", 0.6)]


async def one_writer(folder: Path) -> list[Figure]:
    """Ours and the floor in turns, a slice of messages each: the machine's other work hits both alike."""
    key = SessionKey.named("main", "lonely")
    drafts = [(turn(str(n), n)[n % 2],) for n in range(MESSAGES)]
    rows = [prepared(draft) for draft in drafts]
    store = await opened(folder / "one.db", [key])
    await (await opened(folder / "one-bare.db", [key])).close()
    bare = open_writer(folder / "one-bare.db")
    one, clock = BareSession(bare, key_text(key), "id-0"), SystemClock()
    spent = floor = 0.0
    for start in range(0, MESSAGES, SLICE):
        began = time.perf_counter()
        for draft in drafts[start : start + SLICE]:
            await store.append(key, draft)
        spent += time.perf_counter() - began
        began = time.perf_counter()
        for entries in rows[start : start + SLICE]:
            one.commit(entries, clock.now())
        floor += time.perf_counter() - began
    await store.close()
    bare.close()
    return [at_least("append, one writer, one commit each", MESSAGES / spent, MESSAGES / floor, "txn/s", 0.5)]


async def long_session(folder: Path) -> list[Figure]:
    """CPU of the first appends to a session and of the last of 10,000, in turns on one file."""
    long = SessionKey.named("main", "long")
    fresh = [SessionKey.named("main", f"fresh-{number}") for number in range(SLICE // SHORT)]
    store = await opened(folder / "long.db", [long, *fresh])
    before = MESSAGES - SLICE
    await store.append(long, tuple(turn(f"before-{n}", n)[n % 2] for n in range(before)))
    first = last = 0.0
    for number, key in enumerate(fresh):
        rounds = [(turn(f"{number}-{n}", n)[n % 2],) for n in range(SHORT)]
        for draft in rounds:
            began = cpu()
            await store.append(long, draft)
            halfway = cpu()
            await store.append(key, draft)
            last += halfway - began
            first += cpu() - halfway
    await store.close()
    count = len(fresh) * SHORT
    return [
        at_most("CPU of the 10,000th append to the first", last / count * 1e6, first / count * 1e6, "us", 1.3)
    ]


async def measure(folder: Path) -> list[Figure]:
    return [*await many_writers(folder), *await one_writer(folder), *await long_session(folder)]
