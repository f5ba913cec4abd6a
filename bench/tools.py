"""Session tools, from the call to the text a model reads, against the queries they cannot do without."""

import json
from pathlib import Path

from bench.figures import Figure, at_most
from bench.reads import cpu_of, fill_messages, fill_sessions, key_of
from bench.scale import size
from roost.clock import SystemClock
from roost.core.jsonvalue import JsonValue
from roost.core.messages import ProvenanceKind, Text
from roost.core.principals import OWNER
from roost.core.queries import SessionQuery
from roost.core.reach import SessionReach
from roost.core.redaction import redact
from roost.core.runs import Cause
from roost.core.sessions import Session, Summary
from roost.core.tools import Invocation, Place
from roost.core.visibility import AgentToAgent, Level
from roost.ports import Store, Tool
from roost.scanners.re2 import Re2Scanner
from roost.stores.sql.rows import Binding, filtered
from roost.stores.sql.session_rows import list_conditions
from roost.stores.sqlite import SqliteStore
from roost.stores.sqlite.connection import open_reader
from roost.stores.sqlite.rows import SQL
from roost.tools.access import Access
from roost.tools.sessions_history import SessionsHistory
from roost.tools.sessions_list import SessionsList

SESSIONS, ROWS, CHILDREN = size(100_000, 200), 100, 1_000
MESSAGES = size(10_000, 400)
SCANNER = Re2Scanner()
CALLER = key_of(3)


def with_words(row: Session) -> Session:
    """A row as it looks once people have talked in it."""
    title = "Which invoices of the last quarter are still open, and who was asked about them already?"
    said = "Three are open: two of May, for which reminders went out on Monday, and one of June that nobody asked about."
    return row._replace(summary=Summary(title=title, preview=said, entries=2, model="demo/demo-1"))


def access(store: Store) -> Access:
    everyone = AgentToAgent(enabled=True, allow=None)
    return Access(store, SystemClock(), SessionReach(agent=CALLER.agent, level=Level.ALL, a2a=everyone))


async def told(tool: Tool, arguments: dict[str, JsonValue]) -> str:
    call = Invocation(
        run_id="bench",
        call_id="bench",
        agent=CALLER.agent,
        key=CALLER,
        cause=Cause(principal=OWNER, kind=ProvenanceKind.HUMAN, trace="bench"),
        place=Place(workspace="/nonexistent"),
        arguments=arguments,
    )
    outcome = await tool.run(call, _nobody)
    return "".join(block.text for block in outcome.content if isinstance(block, Text))


async def _nobody(text: str) -> None:
    pass


async def lists(folder: Path) -> list[Figure]:
    path = folder / "tools-list.db"
    fill_sessions(path, SESSIONS, with_words)
    store = SqliteStore.open(path, SystemClock())
    tool = SessionsList(access(store), SCANNER, lambda session: None)
    asked: dict[str, JsonValue] = {"limit": ROWS, "includeDerivedTitles": True, "includeLastMessage": True}
    rows = json.loads(await told(tool, asked))["sessions"]
    assert len(rows) == ROWS
    assert all(row["derivedTitle"] and row["lastMessagePreview"] for row in rows)
    hidden = access(store).reach.hidden
    shown = frozenset((await store.list_sessions(SessionQuery(hidden=hidden, limit=ROWS))).rows)
    reader = open_reader(path)
    statements = []
    parents = frozenset(row.key for row in shown)
    for query, limit in ((SessionQuery(hidden=hidden), ROWS), (SessionQuery(parents=parents), CHILDREN)):
        bindings: dict[str, Binding] = {"tenant": "default", "limit": limit + 1, "offset": 0}
        statements.append((filtered(SQL, "sessions", list_conditions(query, bindings)), bindings))

    async def bare() -> None:
        for statement, bindings in statements:
            reader.execute(statement, bindings).fetchall()

    ours, floor = await cpu_of(lambda: told(tool, asked), bare)
    reader.close()
    await store.close()
    return [at_most(f"sessions_list, {ROWS} of {SESSIONS:,}, with words", ours, floor, "ms CPU", 4)]


async def histories(folder: Path) -> list[Figure]:
    path = folder / "tools-history.db"
    fill_sessions(path, 4)
    fill_messages(path, 4, 4 * MESSAGES)
    store = SqliteStore.open(path, SystemClock())
    tool = SessionsHistory(access(store), SCANNER)
    asked: dict[str, JsonValue] = {"sessionKey": str(CALLER), "limit": 1_000}
    page = json.loads(await told(tool, asked))
    assert 75 << 10 < page["bytes"] <= 80 << 10
    reader = open_reader(path)

    async def bare() -> None:
        reader.execute(SQL["generations"], ("default", str(CALLER))).fetchall()
        for row in reader.execute(SQL["entries_before"], ("id-3", 2**62, page["count"])).fetchall():
            redact(str(row[2]), SCANNER)

    ours, floor = await cpu_of(lambda: told(tool, asked), bare)
    reader.close()
    await store.close()
    return [at_most("sessions_history, 80 KiB", ours, floor, "ms CPU", 3)]


async def measure(folder: Path) -> list[Figure]:
    return [*await lists(folder), *await histories(folder)]
