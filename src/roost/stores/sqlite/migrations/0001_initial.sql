-- Times are UTC milliseconds. `body` holds a whole value; the columns beside it are what queries need.

CREATE TABLE gateways (
    name        TEXT PRIMARY KEY,
    holder      TEXT NOT NULL,
    address     TEXT NOT NULL,
    config_hash TEXT NOT NULL,
    epoch       INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Which gateway serves a channel.
CREATE TABLE hostings (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    gateway TEXT NOT NULL,
    epoch   INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (channel, account)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    id            INTEGER PRIMARY KEY,
    tenant        TEXT NOT NULL DEFAULT 'default',
    key           TEXT NOT NULL,
    agent         TEXT NOT NULL,
    shape         TEXT NOT NULL,
    heartbeat     INTEGER NOT NULL,
    principal     TEXT NOT NULL,
    session_id    TEXT NOT NULL,
    kind          TEXT NOT NULL,
    channel       TEXT,
    chat_type     TEXT,
    account       TEXT,
    peer          TEXT,
    thread        TEXT,
    route_rule    TEXT,
    parent        TEXT,
    depth         INTEGER NOT NULL,
    terms         TEXT,
    created_at    INTEGER NOT NULL,
    archived_at   INTEGER,
    pinned_at     INTEGER,
    label         TEXT,
    labels        TEXT NOT NULL,
    origin        TEXT NOT NULL,
    route         TEXT,
    overrides     TEXT NOT NULL,
    haystack      TEXT NOT NULL,
    -- what an append moves
    started_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    interacted_at INTEGER NOT NULL,
    status        TEXT NOT NULL,
    version       INTEGER NOT NULL,
    events        INTEGER NOT NULL,
    entries       INTEGER NOT NULL,
    title         TEXT,
    preview       TEXT,
    model         TEXT,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    total_tokens  INTEGER NOT NULL,
    context_tokens INTEGER NOT NULL,
    cache_read    INTEGER NOT NULL,
    cache_write   INTEGER NOT NULL,
    cost_micros   INTEGER NOT NULL,
    compactions   INTEGER NOT NULL,
    UNIQUE (tenant, key)
) STRICT;

CREATE INDEX sessions_by_activity ON sessions (tenant, updated_at DESC, key, archived_at);
CREATE INDEX sessions_archived ON sessions (tenant, updated_at DESC, key) WHERE archived_at IS NOT NULL;
CREATE INDEX sessions_by_agent ON sessions (tenant, agent, updated_at DESC, key);
CREATE INDEX sessions_by_owner ON sessions (tenant, principal, updated_at DESC, key);
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;
CREATE INDEX sessions_by_label ON sessions (label) WHERE label IS NOT NULL;
CREATE INDEX sessions_sweepable ON sessions (tenant, updated_at)
    WHERE kind = 'cron' OR shape IN ('subagent', 'acp', 'hook', 'dashboard') OR heartbeat = 1;

-- Every ancestor of every session that was ever spawned; kept when one goes, for the ledger's trees, but no longer live.
CREATE TABLE lineage (
    descendant TEXT NOT NULL,
    distance   INTEGER NOT NULL,
    ancestor   TEXT NOT NULL,
    live       INTEGER NOT NULL,
    PRIMARY KEY (descendant, distance)
) STRICT, WITHOUT ROWID;

CREATE INDEX lineage_down ON lineage (ancestor, descendant);

CREATE TABLE participants (
    session   INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    principal TEXT NOT NULL,
    PRIMARY KEY (session, principal)
) STRICT, WITHOUT ROWID;

CREATE TABLE generations (
    id              INTEGER PRIMARY KEY,
    session         INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    session_id      TEXT NOT NULL UNIQUE,
    number          INTEGER NOT NULL,
    opened_at       INTEGER NOT NULL,
    opened_by       TEXT NOT NULL,
    reset_rule      TEXT,
    previous        TEXT,
    base_session_id TEXT,
    base_seq        INTEGER,
    archived        INTEGER NOT NULL,
    header          TEXT,
    UNIQUE (session, number)
) STRICT;

CREATE INDEX generations_by_age ON generations (opened_at);
CREATE INDEX generations_by_base ON generations (base_session_id) WHERE base_session_id IS NOT NULL;

CREATE TABLE entries (
    id             INTEGER PRIMARY KEY,
    generation     INTEGER NOT NULL REFERENCES generations (id) ON DELETE CASCADE,
    seq            INTEGER NOT NULL,
    entry_id       TEXT NOT NULL,
    parent_id      TEXT,
    run_id         TEXT,
    role           TEXT NOT NULL,
    provenance     TEXT,
    source_session TEXT,
    principal      TEXT,
    at             INTEGER NOT NULL,
    body           TEXT NOT NULL,
    source         TEXT,
    UNIQUE (generation, seq)
) STRICT;

-- Segmented text in, row ids out; the text itself is in the entry.
CREATE VIRTUAL TABLE entry_search USING fts5 (
    body,
    content = '',
    contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'"
);

CREATE TABLE events (
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    number  INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    ref     TEXT NOT NULL,
    PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX events_by_age ON events (at);

-- Where the feed of a deleted session stopped: another one under its key goes on from there.
CREATE TABLE ended_feeds (
    key  TEXT PRIMARY KEY,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE inbound (
    seq             INTEGER PRIMARY KEY,
    id              TEXT NOT NULL UNIQUE,
    tenant          TEXT NOT NULL DEFAULT 'default',
    key             TEXT NOT NULL,
    principal       TEXT NOT NULL,
    channel         TEXT NOT NULL,
    account         TEXT NOT NULL,
    external_id     TEXT,
    idempotency_key TEXT,
    received_at     INTEGER NOT NULL,
    state           TEXT NOT NULL,
    run_id          TEXT,
    merged_into     TEXT,
    reason          TEXT,
    body            TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX inbound_external ON inbound (tenant, channel, account, external_id)
    WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX inbound_idempotency ON inbound (tenant, principal, idempotency_key, key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX inbound_pending ON inbound (key) WHERE state = 'pending';
CREATE INDEX inbound_merged ON inbound (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX inbound_by_key ON inbound (key);
CREATE INDEX inbound_by_age ON inbound (received_at);

CREATE TABLE runs (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    tenant       TEXT NOT NULL DEFAULT 'default',
    key          TEXT NOT NULL,
    principal    TEXT NOT NULL,
    asker        TEXT NOT NULL,
    lane         TEXT NOT NULL,
    state        TEXT NOT NULL,
    ready_at     INTEGER NOT NULL,
    aside        INTEGER NOT NULL DEFAULT 0,
    waits_until  INTEGER,
    model_reason TEXT GENERATED ALWAYS AS (body ->> '$.outcome.model_reason') VIRTUAL,
    body         TEXT NOT NULL
) STRICT;

CREATE INDEX runs_active ON runs (key, state) WHERE state IN ('queued', 'running');
CREATE INDEX runs_queued ON runs (key, seq) WHERE state = 'queued';
CREATE INDEX runs_running ON runs (key, seq) WHERE state = 'running';
CREATE INDEX runs_aside ON runs (key, principal) WHERE aside = 1;
CREATE INDEX runs_waiting ON runs (waits_until) WHERE waits_until IS NOT NULL;
CREATE INDEX runs_by_key ON runs (key);
CREATE INDEX runs_ended ON runs (ready_at) WHERE state NOT IN ('queued', 'running');

CREATE TABLE exchanges (
    id        TEXT PRIMARY KEY,
    tenant    TEXT NOT NULL DEFAULT 'default',
    requester TEXT NOT NULL,
    target    TEXT NOT NULL,
    body      TEXT NOT NULL
) STRICT;

CREATE INDEX exchanges_by_requester ON exchanges (requester);
CREATE INDEX exchanges_by_target ON exchanges (target);
CREATE INDEX exchanges_done ON exchanges (body ->> '$.created_at') WHERE body ->> '$.phase' = 'done';
CREATE INDEX exchanges_remote ON exchanges (tenant)
    WHERE body ->> '$.sent.remote.gateway' IS NOT NULL AND body ->> '$.phase' IS NOT 'done';

CREATE TABLE completions (
    seq             INTEGER PRIMARY KEY,
    child_run       TEXT NOT NULL UNIQUE,
    tenant          TEXT NOT NULL DEFAULT 'default',
    child           TEXT NOT NULL,
    requester       TEXT NOT NULL,
    batch           TEXT NOT NULL,
    acknowledged_at INTEGER,
    body            TEXT NOT NULL
) STRICT;

CREATE INDEX completions_by_batch ON completions (requester, batch);
CREATE INDEX completions_owed ON completions (requester) WHERE acknowledged_at IS NULL;
CREATE INDEX completions_by_child ON completions (child) WHERE acknowledged_at IS NULL;
CREATE INDEX completions_heard ON completions (acknowledged_at) WHERE acknowledged_at IS NOT NULL;

CREATE TABLE devices (
    name   TEXT PRIMARY KEY,
    tenant TEXT NOT NULL DEFAULT 'default',
    body   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
    id        TEXT PRIMARY KEY,
    tenant    TEXT NOT NULL DEFAULT 'default',
    principal TEXT NOT NULL,
    next_at   INTEGER,
    body      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX jobs_due ON jobs (next_at) WHERE next_at IS NOT NULL;

CREATE TABLE firings (
    seq    INTEGER PRIMARY KEY,
    id     TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL DEFAULT 'default',
    job    TEXT NOT NULL,
    key    TEXT NOT NULL,
    at     INTEGER NOT NULL,
    state  TEXT NOT NULL,
    body   TEXT NOT NULL
) STRICT;

CREATE INDEX firings_by_job ON firings (job, seq);
CREATE INDEX firings_unsettled ON firings (job, seq) WHERE state = 'started';
CREATE INDEX firings_settled ON firings (at) WHERE state <> 'started';

CREATE TABLE thread_bindings (
    address TEXT PRIMARY KEY,
    tenant  TEXT NOT NULL DEFAULT 'default',
    key     TEXT NOT NULL,
    body    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX thread_bindings_by_key ON thread_bindings (key);

-- Named moments of conversations. A generation that one names is kept.
CREATE TABLE points (
    key        TEXT NOT NULL,
    name       TEXT NOT NULL,
    tenant     TEXT NOT NULL DEFAULT 'default',
    principal  TEXT NOT NULL,
    session_id TEXT NOT NULL,
    at         INTEGER NOT NULL,
    body       TEXT NOT NULL,
    PRIMARY KEY (key, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX points_by_generation ON points (session_id);

CREATE TABLE deliveries (
    seq       INTEGER PRIMARY KEY,
    id        TEXT NOT NULL UNIQUE,
    tenant    TEXT NOT NULL DEFAULT 'default',
    key       TEXT NOT NULL,
    principal TEXT NOT NULL,
    address   TEXT NOT NULL,
    state     TEXT NOT NULL,
    ready_at  INTEGER NOT NULL,
    body      TEXT NOT NULL
) STRICT;

CREATE INDEX deliveries_waiting ON deliveries (address, seq, state) WHERE state IN ('intent', 'sending');
CREATE INDEX deliveries_by_state ON deliveries (state, seq);
CREATE INDEX deliveries_by_key ON deliveries (key);
CREATE INDEX deliveries_settled ON deliveries (ready_at) WHERE state IN ('confirmed', 'failed', 'dismissed');

CREATE TABLE ledger (
    id          TEXT PRIMARY KEY,
    tenant      TEXT NOT NULL DEFAULT 'default',
    principal   TEXT NOT NULL,
    at          INTEGER NOT NULL,
    key         TEXT NOT NULL,
    agent       TEXT NOT NULL,
    session_id  TEXT NOT NULL,
    run_id      TEXT NOT NULL,
    run_kind    TEXT NOT NULL,
    provider    TEXT NOT NULL,
    model       TEXT NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    total       INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL,
    estimated   INTEGER NOT NULL
) STRICT;

CREATE INDEX ledger_by_key ON ledger (key, at);
CREATE INDEX ledger_by_time ON ledger (tenant, at, id);

CREATE TABLE budgets (
    name   TEXT PRIMARY KEY,
    tenant TEXT NOT NULL DEFAULT 'default',
    since  INTEGER NOT NULL,
    spent  INTEGER NOT NULL,
    held   INTEGER NOT NULL,
    warned INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE reservations (
    id     TEXT PRIMARY KEY,
    tenant TEXT NOT NULL DEFAULT 'default',
    run_id TEXT NOT NULL,
    body   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX reservations_by_run ON reservations (run_id);

CREATE TABLE denials (
    seq       INTEGER PRIMARY KEY,
    tenant    TEXT NOT NULL DEFAULT 'default',
    principal TEXT NOT NULL,
    at        INTEGER NOT NULL,
    operation TEXT NOT NULL,
    rule      TEXT NOT NULL,
    reason    TEXT NOT NULL,
    caller    TEXT,
    target    TEXT,
    hidden    INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX denials_by_age ON denials (at);
CREATE INDEX denials_by_caller ON denials (caller, seq);
CREATE INDEX denials_by_principal ON denials (principal, seq);

-- Plans are made for a store that has grown, from its first day on: nobody counts the rows again. A tenant is no way to
-- find a session, nor is an agent or an owner; a key, a parent and a label are.
ANALYZE sqlite_schema;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('sessions', 'sqlite_autoindex_sessions_1', '100000 100000 1'),
    ('sessions', 'sessions_by_activity', '100000 100000 1 1 1'),
    ('sessions', 'sessions_archived', '50000 50000 1 1'),
    ('sessions', 'sessions_by_agent', '100000 100000 20000 1 1'),
    ('sessions', 'sessions_by_owner', '100000 100000 20000 1 1'),
    ('sessions', 'sessions_by_parent', '10000 5'),
    ('sessions', 'sessions_by_label', '1000 2'),
    ('sessions', 'sessions_sweepable', '10000 10000 1');

-- Read by who makes the store; whoever opens it later has them from the start.
ANALYZE sqlite_schema;
