"""What a store may be asked about that small world, to draw from."""

from hypothesis import strategies as st

from roost.core.keys import KeyKind
from roost.core.queries import Cursor, HistoryQuery, LedgerQuery, Position, SearchQuery, SessionQuery
from roost.core.retention import Crowd, Cutoffs
from roost.core.search import parse_query
from roost.core.sessions import SessionKind
from roost.core.visibility import EVERYTHING, VisibleScope
from roost.testing.clock import NOON
from tests.contract import pools

scopes = st.just(EVERYTHING) | st.builds(
    VisibleScope,
    owner=st.none() | pools.principals,
    self_key=st.none() | pools.keys,
    tree_of=st.none() | pools.keys,
    agents=st.none() | st.frozensets(st.sampled_from(("main", "ops"))),
)
session_queries = st.builds(
    SessionQuery,
    scope=scopes,
    kinds=st.none() | st.frozensets(st.sampled_from(SessionKind), max_size=2),
    agent=st.sampled_from((None, "main", "ops")),
    label=st.sampled_from((None, None, "home")),
    search=st.none() | pools.texts,
    active_since=st.none() | pools.moments,
    keys=st.none() | st.frozensets(pools.keys, max_size=3),
    parents=st.none() | st.frozensets(pools.keys, max_size=2),
    hidden=st.frozensets(st.sampled_from(KeyKind), max_size=2),
    archived=st.sampled_from((None, False, True)),
    after=st.none() | st.builds(Cursor, updated=pools.moments, key=pools.keys.map(str)),
    offset=st.integers(0, 2),
    limit=st.integers(1, 6),
)
ledger_queries = st.builds(
    LedgerQuery,
    key=st.none() | pools.keys,
    tree_of=st.none() | pools.keys,
    agent=st.sampled_from((None, "main")),
    principal=st.none() | pools.principals,
    since=st.none() | pools.moments,
    until=st.none() | pools.moments,
)
history_queries = st.builds(
    HistoryQuery,
    key=pools.keys,
    session_id=st.none() | st.sampled_from(pools.GENERATIONS),
    before=st.none() | st.builds(Position, st.integers(1, 4), st.integers(1, 5)),
    tools=st.booleans(),
    limit=st.integers(1, 4),
)
search_queries = st.builds(
    SearchQuery,
    query=st.sampled_from(pools.WORDS).map(parse_query),
    scope=scopes,
    key=st.none() | pools.keys,
    limit=st.integers(1, 5),
)
rare_moments = st.sampled_from((None, None, None, NOON, NOON + 1, NOON + 4_000))
cutoffs = st.builds(
    Cutoffs,
    synthetic_before=rare_moments,
    cron_before=rare_moments,
    events_before=rare_moments,
    dedupe_before=rare_moments,
    archive_children_before=rare_moments,
    archive_dashboards_before=rare_moments,
    generations_before=rare_moments,
    crowd=st.none() | st.builds(Crowd, most=st.integers(0, 3), spared=rare_moments),
)
