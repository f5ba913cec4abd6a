"""Lists, histories and searches against the same queries through bare apsw."""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.figures import Figure, at_most
from bench.scale import size
from bench.stores import ASKED, SAID, USAGE
from roost.clock import SystemClock
from roost.core.entries import Entry
from roost.core.keys import SessionKey
from roost.core.queries import HistoryQuery, SearchQuery, SessionQuery
from roost.core.search import parse_query
from roost.core.sessions import Session, SessionKind
from roost.core.visibility import VisibleScope
from roost.stores.sql.rows import Binding, filtered, scope_conditions
from roost.stores.sql.session_rows import list_conditions
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.connection import open_reader, open_writer
from roost.stores.sqlite.rows import SQL
from roost.stores.sqlite.search_rows import match_text
from roost.stores.sqlite.tables import SqliteTables
from roost.stores.tables import drive
from roost.testing.builders import answered, generation, said, session

AGENTS = 10
ROUNDS = size(20)
CALLS = size(10)
FEW, MANY = size(10_000, 60), size(100_000, 120)


def key_of(number: int) -> SessionKey:
    return SessionKey.named(f"agent{number % AGENTS}", f"chat-{number}")


def fill_sessions(path: Path, count: int, shape: Callable[[Session], Session] = lambda row: row) -> None:
    connection = open_writer(path)
    tables = SqliteTables(connection, "default", lambda: 0)
    connection.execute("BEGIN")
    for number in range(count):
        key = key_of(number)
        drive(tables.insert_session(shape(session(key, at=1_000_000 + number))))
        drive(tables.insert_generation(generation(key, f"id-{number}")))
    connection.execute("COMMIT")
    connection.close()


def fill_messages(path: Path, sessions: int, messages: int) -> None:
    connection = open_writer(path)
    tables = SqliteTables(connection, "default", lambda: 0)
    connection.execute("BEGIN")
    for number in range(sessions):
        entries = []
        for seq in range(1, messages // sessions + 1):
            rare = f" needle{seq % 97} " if seq % 11 == 0 else ""
            draft = (
                said(f"{number}-{seq}", ASKED + rare)
                if seq % 2
                else answered(f"{number}-{seq}", SAID + rare, usage=USAGE)
            )
            entries.append(Entry(session_id=f"id-{number}", seq=seq, id=draft.id, body=draft.body))
        drive(tables.insert_entries(key_of(number), entries))
    connection.execute("COMMIT")
    connection.close()


async def cpu_of(*calls: Callable[[], Awaitable[object]]) -> list[float]:
    """CPU milliseconds of each call, in turns, each judged by its best round: the machine's other work hits all alike."""
    best = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for place, call in enumerate(calls):
            began = time.process_time()
            for _ in range(CALLS):
                await call()
            best[place] = min(best[place], (time.process_time() - began) / CALLS * 1000)
    return best


async def list_cost(path: Path) -> tuple[float, float]:
    store = SqliteStore.open(path, SystemClock())
    query = SessionQuery(
        scope=VisibleScope(self_key=key_of(3), tree_of=key_of(3), agents=frozenset({"agent3"})),
        kinds=frozenset({SessionKind.OTHER}),
        agent="agent3",
        active_since=1_000,
        limit=50,
    )
    reader = open_reader(path)
    bindings: dict[str, Binding] = {"tenant": "default", "limit": 51, "offset": 0}
    conditions = list_conditions(query, bindings) + scope_conditions(query.scope, bindings)
    statement = filtered(SQL, "sessions", conditions)

    async def bare() -> None:
        reader.execute(statement, bindings).fetchall()

    ours, floor = await cpu_of(lambda: store.list_sessions(query), bare)
    reader.close()
    await store.close()
    return ours, floor


async def lists(folder: Path) -> list[Figure]:
    costs = {}
    for count in (FEW, MANY):
        path = folder / f"list-{count}.db"
        fill_sessions(path, count)
        costs[count] = await list_cost(path)
    small, large = costs[FEW], costs[MANY]
    return [
        at_most("list 50 of 10,000 sessions", small[0], small[1], "ms CPU", 6),
        at_most("list 50 of 100,000 sessions", large[0], large[1], "ms CPU", 6),
        at_most("list at 100,000 to list at 10,000", large[0], small[0], "ms CPU", 1.5),
    ]


async def histories(folder: Path) -> list[Figure]:
    path = folder / "history.db"
    fill_sessions(path, 1)
    fill_messages(path, 1, FEW)
    store = SqliteStore.open(path, SystemClock())
    reader = open_reader(path)

    async def bare() -> None:
        reader.execute(SQL["generations"], ("default", str(key_of(0)))).fetchall()
        reader.execute(SQL["entries_before"], ("id-0", 2**62, 51)).fetchall()

    ours, floor = await cpu_of(lambda: store.history(HistoryQuery(key=key_of(0), limit=50)), bare)
    reader.close()
    await store.close()
    return [at_most("last 50 of 10,000 messages", ours, floor, "ms CPU", 5)]


async def searches(folder: Path) -> list[Figure]:
    path = folder / "search.db"
    fill_sessions(path, 100)
    fill_messages(path, 100, MANY)
    store = SqliteStore.open(path, SystemClock())
    query = parse_query("needle7 conversation")
    reader = open_reader(path)
    bindings: dict[str, Binding] = {"match": match_text(query), "tenant": "default", "limit": 10, "offset": 0}
    statement = filtered(SQL, "search", ["where_matching"])

    async def bare() -> None:
        reader.execute(statement, bindings).fetchall()

    ours, floor = await cpu_of(lambda: store.search(SearchQuery(query=query, limit=10)), bare)
    reader.close()
    await store.close()
    return [at_most("search 100,000 messages", ours, floor, "ms CPU", 3)]


async def measure(folder: Path) -> list[Figure]:
    return [*await lists(folder), *await histories(folder), *await searches(folder)]
