"""No statement of the PostgreSQL store reads a whole table that grows, but for those that are meant to."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping

import asyncpg
import pytest

from roost.stores.migrations import steps_in
from roost.stores.postgres.connection import PostgresOptions
from roost.stores.postgres.dialect import SQL, numbered
from roost.stores.postgres.migrating import MIGRATIONS, migrate
from roost.stores.postgres.rows import Connection
from roost.stores.sql.rows import FILTERS, filtered
from tests.scale import count

OPTIONS = PostgresOptions(schema="plans")
SESSIONS = count(4_000, 100_000)
ENTRIES = count(40_000, 1_000_000)
# A handful of rows, the newest few, a sum over all, or what a check and a sweep are for.
WHOLE = {
    "hostings",
    "leases",
    "denials",
    "usage",
    "spending",
    "dearest",
    "spoken",
    "count_listed",
    "used_bytes",
    "count_unarchived",
    "count_sessions",
    "unindexed_entries",
    "budgets",
    "all_reservations",
    "structure",
    "sessions",
    "glances",
    "kin",
}
# Asked once in a while for everything that is old: how much that is decides what is quickest.
SWEEPS = {name for name in SQL if "stale" in name or name == "sweepable"}
NOTHING: Mapping[str, str] = {}
GIVEN = {
    "tenant": "'default'",
    "limit": "50",
    "offset": "0",
    "match": "'word7'",
    "phrases": "'[\" word7 all \"]'",
    "key": "'agent:main:s7'",
    "keys": "'[\"agent:main:s7\"]'",
    "parents": "'[\"agent:main:s7\"]'",
    "label": "'home'",
    "agent": "'main'",
    "owner": "'owner'",
    "self_key": "'agent:main:s7'",
    "tree_of": "'agent:main:s7'",
    "after_updated": "1000",
    "after_key": "'agent:main:s7'",
    "caller": "'agent:main:s7'",
    "told": "'person:web:p7'",
    "since": "0",
    "until": "1000",
    "spells": """'[{"since": 0, "until": 1000, "ahead": 0}]'""",
}
GROWING = "sessions|lineage|generations|entries|entry_search|events|inbound|runs|exchanges|completions|deliveries|ledger|denials"
STATEMENTS = sorted(
    name
    for name in SQL
    if name not in WHOLE | SWEEPS
    and not name.startswith(("where_", "from_", "insert_", "put_", "open_", "keep_to"))
)
FILL = f"""
INSERT INTO sessions (key, agent, shape, heartbeat, principal, session_id, kind, depth, created_at, labels, origin,
    overrides, haystack, started_at, updated_at, interacted_at, status, version, events, entries, input_tokens,
    output_tokens, total_tokens, context_tokens, cache_read, cache_write, cost_micros, compactions)
SELECT 'agent:main:s' || n, 'main', 'named', 0, 'owner', 'g' || n, 'other', 0, n, '{{}}', '{{}}', '{{}}', 'agent:main:s' || n,
    n, n, n, 'idle', 1, 10, 10, 0, 0, 0, 0, 0, 0, 0, 0 FROM generate_series(1, {SESSIONS}) n;
INSERT INTO generations (session, session_id, number, opened_at, opened_by, archived)
SELECT id, session_id, 1, 1, 'first', 0 FROM sessions;
INSERT INTO entries (generation, seq, entry_id, role, at, body)
SELECT g.id, seq, 'e' || seq, 'user', seq, '["user",1,"word"]' FROM generations g, generate_series(1, {ENTRIES // SESSIONS}) seq;
INSERT INTO entry_search (entry, tokens, words)
SELECT id, array_to_tsvector(ARRAY['word' || id % 5000, 'all']), 'word' || id % 5000 || ' all' FROM entries;
INSERT INTO events (session, number, at, kind, ref)
SELECT s.id, n, n, 'entry', 'e' FROM sessions s, generate_series(1, 10) n;
INSERT INTO lineage (descendant, distance, ancestor, live) SELECT key, 1, 'agent:main:s' || id / 10, 1 FROM sessions;
INSERT INTO inbound (id, key, principal, channel, account, external_id, received_at, state, merged_into, body)
SELECT 'm' || id, key, 'owner', 'web', 'default', 'x' || id, 1, 'taken', CASE WHEN id % 10 = 0 THEN 'm' || id / 10 END, '{{}}' FROM sessions;
INSERT INTO runs (id, key, principal, asker, lane, state, ready_at, body)
SELECT 'r' || id, key, 'owner', key, 'main', CASE WHEN id % 500 = 0 THEN 'queued' WHEN id % 500 = 1 THEN 'running'
    ELSE 'done' END, 1, '{{}}' FROM sessions;
INSERT INTO exchanges (id, requester, target, body) SELECT 'x' || id, key, key, '{{}}' FROM sessions;
INSERT INTO completions (child_run, child, requester, batch, acknowledged_at, body)
SELECT 'r' || id, key, key, 'r' || id, 1, '{{}}' FROM sessions;
INSERT INTO deliveries (id, key, principal, address, state, ready_at, body)
SELECT 'd' || id, key, 'owner', '{{"channel":"web"}}', CASE WHEN id % 500 = 0 THEN 'intent' ELSE 'confirmed' END, 1, '{{}}'
FROM sessions;
INSERT INTO ledger (id, principal, at, key, agent, session_id, run_id, run_kind, provider, model, input, output, cache_read,
    cache_write, total, cost_micros, estimated)
SELECT 'u' || id, 'owner', id, key, 'main', 's', 'r', 'turn', 'p', 'm', 0, 0, 0, 0, 0, 0, 0 FROM sessions;
INSERT INTO denials (principal, at, operation, rule, reason, caller)
SELECT 'person:web:p' || id, id, 'inbound', 'r', '', CASE WHEN id % 500 > 0 THEN key END FROM sessions;
INSERT INTO reservations (id, run_id, body) SELECT 'u' || id, 'r' || id, '{{}}' FROM sessions;
INSERT INTO budgets SELECT 'b' || n, 'default', 0, 0, 0, 0 FROM generate_series(1, 1000) n;
"""


@pytest.fixture(scope="module")
def filled(postgres_server: str) -> str:
    asyncio.run(fill(postgres_server))
    return postgres_server


async def fill(address: str) -> None:
    connection = await asyncpg.connect(address)
    await connection.execute("DROP SCHEMA IF EXISTS plans CASCADE")
    await migrate(connection, OPTIONS, steps_in(MIGRATIONS))
    await connection.execute(f"SET search_path = plans; SET synchronous_commit = off; {FILL}")
    await connection.execute("VACUUM ANALYZE")
    await connection.close()


@pytest.fixture
async def planner(filled: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(filled)
    await connection.execute("SET search_path = plans; SET plan_cache_mode = force_generic_plan")
    yield connection
    await connection.close()


async def plan(connection: Connection, sql: str, given: Mapping[str, str] = NOTHING) -> str:
    """How the server would go about it, whatever is asked for unless it is given."""
    statement = numbered(sql)
    places = max([0, *(int(place) for place in re.findall(r"\$(\d+)", statement.text))])
    await connection.execute(f"PREPARE asked AS {statement.text}")
    asked = [given.get(name, "NULL") for name in statement.names] or ["NULL"] * places
    values = f"({', '.join(asked)})" if places else ""
    rows = await connection.fetch(f"EXPLAIN EXECUTE asked{values}")
    return "\n".join(row[0] for row in rows)


@pytest.mark.parametrize("name", STATEMENTS)
async def test_a_statement_finds_its_rows_by_an_index(planner: Connection, name: str) -> None:
    found = await plan(planner, SQL[name].replace(FILTERS, ""))
    assert not re.search(rf"Seq Scan on ({GROWING})\b", found), found


@pytest.mark.parametrize(
    ("statement", "conditions"),
    [
        ("search", ["where_matching"]),
        ("search", ["where_matching", "where_side_by_side"]),
        ("search", ["where_matching", "where_key"]),
        ("sessions", ["where_unarchived"]),
        ("sessions", ["where_unarchived", "where_after"]),
        ("sessions", ["where_unarchived", "where_agent"]),
        ("sessions", ["where_keys"]),
        ("sessions", ["where_parents"]),
        ("sessions", ["where_label"]),
        ("sessions", ["where_unarchived", "where_of_owner"]),
        ("sessions", ["where_unarchived", "where_in_tree"]),
        ("glances", ["where_unarchived"]),
        ("glances", ["where_unarchived", "where_of_owner"]),
        ("kin", ["where_unarchived", "where_parents"]),
        ("spoken", ["where_unarchived", "where_keys"]),
        ("spoken", ["where_in_tree"]),
        ("count_listed", ["where_unarchived", "where_keys"]),
        ("count_listed", ["where_in_tree"]),
        ("denials", ["where_caller"]),
        ("denials", ["where_at_door"]),
        ("denials", ["where_told"]),
        ("usage", ["where_key"]),
        ("usage", ["where_tree"]),
    ],
)
async def test_what_is_asked_with_conditions_is_found_by_an_index(
    planner: Connection, statement: str, conditions: list[str]
) -> None:
    await planner.execute("SET plan_cache_mode = force_custom_plan")
    found = await plan(planner, filtered(SQL, statement, conditions), GIVEN)
    assert not re.search(rf"Seq Scan on ({GROWING})\b", found), found


async def test_the_check_notices_a_statement_without_an_index(planner: Connection) -> None:
    assert "Seq Scan on inbound" in await plan(planner, "SELECT * FROM inbound WHERE reason = ?")
