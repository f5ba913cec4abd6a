-- What every database is asked in the same words, by name. An index is named where a planner would choose another.

-- name: leases
SELECT name, holder, address, config_hash, epoch, expires_at FROM gateways ORDER BY name;

-- name: lease
SELECT name, holder, address, config_hash, epoch, expires_at FROM gateways WHERE name = ?;

-- name: put_lease
INSERT INTO gateways (name, holder, address, config_hash, epoch, expires_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, address = excluded.address,
    config_hash = excluded.config_hash, epoch = excluded.epoch, expires_at = excluded.expires_at;

-- name: delete_lease
DELETE FROM gateways WHERE name = ?;

-- name: hostings
SELECT channel, account, gateway, epoch, at FROM hostings ORDER BY channel, account;

-- name: put_hosting
INSERT INTO hostings (channel, account, gateway, epoch, at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (channel, account) DO UPDATE SET gateway = excluded.gateway, epoch = excluded.epoch, at = excluded.at;

-- name: session
SELECT id, key, principal, session_id, kind, channel, chat_type, account, peer, thread, route_rule,
    parent, depth, terms, created_at, archived_at, pinned_at, labels, origin, route, overrides,
    started_at, updated_at, interacted_at, status, version, events, entries, title, preview, model,
    input_tokens, output_tokens, total_tokens, context_tokens, cache_read, cache_write, cost_micros, compactions
FROM sessions WHERE tenant = ? AND key = ?;

-- name: session_by_id
SELECT s.id, s.key, s.principal, s.session_id, s.kind, s.channel, s.chat_type, s.account, s.peer, s.thread,
    s.route_rule, s.parent, s.depth, s.terms, s.created_at, s.archived_at, s.pinned_at, s.labels, s.origin, s.route,
    s.overrides, s.started_at, s.updated_at, s.interacted_at, s.status, s.version, s.events, s.entries, s.title,
    s.preview, s.model, s.input_tokens, s.output_tokens, s.total_tokens, s.context_tokens,
    s.cache_read, s.cache_write, s.cost_micros, s.compactions
FROM generations g JOIN sessions s ON s.id = g.session WHERE g.session_id = ? AND s.tenant = ?;

-- name: sessions
SELECT s.id, s.key, s.principal, s.session_id, s.kind, s.channel, s.chat_type, s.account, s.peer, s.thread,
    s.route_rule, s.parent, s.depth, s.terms, s.created_at, s.archived_at, s.pinned_at, s.labels, s.origin, s.route,
    s.overrides, s.started_at, s.updated_at, s.interacted_at, s.status, s.version, s.events, s.entries, s.title,
    s.preview, s.model, s.input_tokens, s.output_tokens, s.total_tokens, s.context_tokens,
    s.cache_read, s.cache_write, s.cost_micros, s.compactions
FROM sessions s WHERE s.tenant = :tenant /* filters */ ORDER BY s.updated_at DESC, s.key LIMIT :limit OFFSET :offset;

-- name: glances
SELECT s.key, s.session_id, s.kind, s.channel, s.chat_type, NULLIF(s.origin, '{}'), NULLIF(s.labels, '{}'), s.route,
    NULLIF(s.overrides, '{}'), s.parent, s.depth, s.terms, s.created_at, s.updated_at, s.started_at, s.interacted_at,
    s.archived_at, s.pinned_at, s.title, s.preview, s.model, s.status, s.input_tokens, s.output_tokens, s.total_tokens,
    s.context_tokens, s.cache_read, s.cache_write, s.cost_micros, s.compactions
FROM sessions s WHERE s.tenant = :tenant /* filters */ ORDER BY s.updated_at DESC, s.key LIMIT :limit OFFSET :offset;

-- name: kin
SELECT s.parent, s.key FROM sessions s WHERE s.tenant = :tenant /* filters */
ORDER BY s.updated_at DESC, s.key LIMIT :limit OFFSET :offset;

-- name: count_listed
SELECT count(*) FROM sessions s WHERE s.tenant = :tenant /* filters */;

-- name: where_unarchived
AND s.archived_at IS NULL;

-- name: where_archived
AND s.archived_at IS NOT NULL;

-- name: where_kinds
AND s.kind IN (SELECT value FROM json_each(:kinds));

-- name: where_agent
AND s.agent = :agent;

-- name: where_label
AND s.label = :label;

-- name: where_keys
AND s.key IN (SELECT value FROM json_each(:keys));

-- name: where_parents
AND s.parent IN (SELECT value FROM json_each(:parents));

-- name: where_shown
AND s.shape NOT IN (SELECT value FROM json_each(:hidden));

-- name: where_active
AND s.updated_at >= :active_since;

-- name: where_search
AND instr(s.haystack, :search) > 0;

-- name: where_after
AND s.updated_at <= :after_updated AND (s.updated_at < :after_updated OR s.key > :after_key);

-- name: where_owner
AND s.principal = :owner;

-- name: where_in_tree
AND s.key IN (SELECT :self_key UNION SELECT descendant FROM lineage WHERE ancestor = :tree_of AND live = 1);

-- name: where_of_agents
AND ((s.agent IN (SELECT value FROM json_each(:agents)) AND (s.principal = :owner OR :owner IS NULL))
    OR s.key = :self_key
    OR EXISTS (SELECT 1 FROM lineage l WHERE l.descendant = s.key AND l.ancestor = :tree_of AND l.live = 1));

-- name: where_of_owner
AND (s.principal = :owner OR s.key = :self_key
    OR EXISTS (SELECT 1 FROM lineage l WHERE l.descendant = s.key AND l.ancestor = :tree_of AND l.live = 1));

-- name: insert_session
INSERT INTO sessions (key, agent, shape, heartbeat, principal, session_id, kind, channel, chat_type, account,
    peer, thread, route_rule, parent, depth, terms, created_at, archived_at, pinned_at, label, labels, origin, route,
    overrides, haystack, started_at, updated_at, interacted_at, status, version, events, entries, title, preview,
    model, input_tokens, output_tokens, total_tokens, context_tokens, cache_read, cache_write, cost_micros, compactions, tenant)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
RETURNING id;

-- name: update_session
UPDATE sessions SET session_id = ?, archived_at = ?, pinned_at = ?, label = ?, labels = ?, origin = ?, route = ?,
    overrides = ?, haystack = ?, started_at = ?, updated_at = ?, interacted_at = ?, status = ?, version = ?,
    events = ?, entries = ?, title = ?, preview = ?, model = ?,
    input_tokens = ?, output_tokens = ?, total_tokens = ?, context_tokens = ?,
    cache_read = ?, cache_write = ?, cost_micros = ?, compactions = ?
WHERE id = ?;

-- name: touch_session
UPDATE sessions SET started_at = ?, updated_at = ?, interacted_at = ?, status = ?, version = ?, events = ?,
    entries = ?, title = ?, preview = ?, model = ?,
    input_tokens = ?, output_tokens = ?, total_tokens = ?, context_tokens = ?,
    cache_read = ?, cache_write = ?, cost_micros = ?, compactions = ?
WHERE id = ?;

-- name: mark_session
UPDATE sessions SET status = ?, version = ?, events = ? WHERE id = ?;

-- name: delete_session
DELETE FROM sessions WHERE id = ?;

-- name: insert_parent
INSERT INTO lineage (descendant, distance, ancestor, live) VALUES (?, 1, ?, 1);

-- name: inherit_lineage
INSERT INTO lineage (descendant, distance, ancestor, live)
SELECT ?, distance + 1, ancestor, live FROM lineage WHERE descendant = ?;

-- name: end_kinship
UPDATE lineage SET live = 0 WHERE ancestor = ?1 OR descendant = ?1;

-- name: forget_lineage
DELETE FROM lineage WHERE descendant = ?;

-- name: ancestors
SELECT ancestor FROM lineage WHERE descendant = ? AND live = 1 ORDER BY distance;

-- name: working_below
SELECT DISTINCT l.descendant FROM lineage l WHERE l.ancestor = ? AND l.live = 1
    AND (EXISTS (SELECT 1 FROM runs r WHERE r.key = l.descendant AND r.state IN ('queued', 'running'))
        OR EXISTS (SELECT 1 FROM completions c WHERE c.requester = l.descendant AND c.acknowledged_at IS NULL))
ORDER BY l.descendant;

-- name: generation
SELECT g.session_id, s.key, g.number, g.opened_at, g.opened_by, g.reset_rule, g.previous, g.base_session_id,
    g.base_seq, (SELECT coalesce(max(seq), 0) FROM entries e WHERE e.generation = g.id), g.archived, g.header
FROM generations g JOIN sessions s ON s.id = g.session WHERE g.session_id = ?;

-- name: generations
SELECT g.session_id, s.key, g.number, g.opened_at, g.opened_by, g.reset_rule, g.previous, g.base_session_id,
    g.base_seq, (SELECT coalesce(max(seq), 0) FROM entries e WHERE e.generation = g.id), g.archived, g.header
FROM generations g JOIN sessions s ON s.id = g.session WHERE s.tenant = ? AND s.key = ? ORDER BY g.number;

-- name: forks
SELECT DISTINCT s.key FROM generations o JOIN generations f ON f.base_session_id = o.session_id
JOIN sessions s ON s.id = f.session
WHERE o.session = (SELECT id FROM sessions WHERE tenant = ? AND key = ?) AND f.session <> o.session ORDER BY s.key;

-- name: last_generation
SELECT coalesce(max(number), 0) FROM generations WHERE session = ?;

-- name: insert_generation
INSERT INTO generations (session, session_id, number, opened_at, opened_by, reset_rule, previous,
    base_session_id, base_seq, archived, header)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: generation_row
SELECT id FROM generations WHERE session_id = ?;

-- name: insert_entry
INSERT INTO entries (generation, seq, entry_id, parent_id, run_id, role, provenance, source_session, principal, at,
    body, source)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: entries
SELECT e.seq, e.entry_id, e.body, e.parent_id, e.run_id, e.source
FROM entries e WHERE e.generation = (SELECT id FROM generations WHERE session_id = ?) AND e.seq > ? AND e.seq <= ?
ORDER BY e.seq;

-- name: entries_before
SELECT e.seq, e.entry_id, e.body, e.parent_id, e.run_id, e.source
FROM entries e WHERE e.generation = (SELECT id FROM generations WHERE session_id = ?) AND e.seq < ?
ORDER BY e.seq DESC LIMIT ?;

-- name: prose_before
SELECT e.seq, e.entry_id, e.body, e.parent_id, e.run_id, e.source
FROM entries e WHERE e.generation = (SELECT id FROM generations WHERE session_id = ?) AND e.seq < ? AND e.role <> 'tool'
ORDER BY e.seq DESC LIMIT ?;

-- name: where_key
AND s.key = :key;

-- name: where_generation
AND g.session_id = :session_id;

-- name: insert_event
INSERT INTO events (session, number, at, kind, ref) VALUES (?, ?, ?, ?, ?);

-- name: events
SELECT number, at, kind, ref FROM events
WHERE session = (SELECT id FROM sessions WHERE tenant = ? AND key = ?) AND number > ? ORDER BY number LIMIT ?;

-- name: insert_inbound
INSERT INTO inbound (id, key, principal, channel, account, external_id, idempotency_key, received_at, state, run_id,
    merged_into, reason, body, tenant)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: update_inbound
UPDATE inbound SET state = ?, run_id = ?, merged_into = ?, reason = ?, body = ? WHERE id = ?;

-- name: inbound
SELECT body FROM inbound WHERE id = ?;

-- name: inbound_by_external_id
SELECT body FROM inbound WHERE tenant = ? AND channel = ? AND account = ? AND external_id = ?;

-- name: inbound_by_idempotency_key
SELECT body FROM inbound WHERE tenant = ? AND principal = ? AND key = ? AND idempotency_key = ?;

-- name: newest_inbound_by_idempotency_key
SELECT body FROM inbound WHERE tenant = ? AND principal = ? AND idempotency_key = ? ORDER BY seq DESC LIMIT 1;

-- name: pending_inputs
SELECT body FROM inbound INDEXED BY inbound_pending WHERE key = ? AND state = 'pending' ORDER BY seq;

-- name: merged_inputs
WITH RECURSIVE ends (id) AS (
    SELECT value FROM json_each(?)
    UNION SELECT i.id FROM inbound i JOIN ends ON i.merged_into = ends.id
)
SELECT body FROM inbound WHERE id IN (SELECT id FROM ends) AND state = 'merged' ORDER BY seq;

-- name: inbound_of_session
SELECT body FROM inbound WHERE key = ?;

-- name: insert_run
INSERT INTO runs (id, key, principal, asker, lane, state, ready_at, body, tenant) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: update_run
UPDATE runs SET principal = ?, state = ?, ready_at = ?, aside = ?, waits_until = ?, body = ? WHERE id = ?;

-- name: run
SELECT body FROM runs WHERE id = ?;

-- name: queued_runs
SELECT id FROM runs INDEXED BY runs_queued WHERE state = 'queued' LIMIT ?;

-- name: active_runs
SELECT body FROM runs INDEXED BY runs_active WHERE key = ? AND state IN ('queued', 'running') ORDER BY seq;

-- name: running_runs
SELECT body FROM runs INDEXED BY runs_running WHERE state = 'running' ORDER BY seq;

-- name: parked_runs
-- Nearly only those that wait for a budget; the value itself says which do.
SELECT body FROM runs INDEXED BY runs_queued WHERE state = 'queued' AND instr(body, '"parked":') > 0 ORDER BY seq;

-- name: overdue_runs
SELECT body FROM runs INDEXED BY runs_waiting WHERE waits_until <= ? ORDER BY waits_until, seq LIMIT ?;

-- name: ready_runs
-- The oldest queued run of each session that has none running, but for people one of whose runs stands aside; the first
-- few of each asker, the first of each lane.
SELECT body FROM (
    SELECT seq, body, row_number() OVER (PARTITION BY lane ORDER BY seq) AS place FROM (
        SELECT seq, body, lane, row_number() OVER (PARTITION BY asker ORDER BY seq) AS turn FROM (
            SELECT q.seq, q.body, q.asker, q.lane, q.ready_at,
                row_number() OVER (PARTITION BY q.key ORDER BY q.seq) AS place
            FROM runs q
            WHERE q.state = 'queued'
                AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.key = q.key AND r.state = 'running')
                AND NOT EXISTS (SELECT 1 FROM runs a WHERE a.key = q.key AND a.principal = q.principal
                    AND a.aside = 1 AND a.state = 'queued' AND a.ready_at > ? AND a.seq <= q.seq)
        ) heads WHERE place = 1 AND ready_at <= ?
    ) askers WHERE turn <= ?
) lanes WHERE place <= ? ORDER BY seq;

-- name: put_exchange
INSERT INTO exchanges (id, requester, target, body, tenant) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET requester = excluded.requester, target = excluded.target, body = excluded.body;

-- name: exchange
SELECT body FROM exchanges WHERE id = ?;

-- name: insert_completion
INSERT INTO completions (child_run, child, requester, batch, acknowledged_at, body, tenant)
VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: update_completion
UPDATE completions SET acknowledged_at = ?, body = ? WHERE child_run = ?;

-- name: completion
SELECT body FROM completions WHERE child_run = ?;

-- name: owed
SELECT body FROM completions WHERE requester = ? AND acknowledged_at IS NULL ORDER BY seq;

-- name: spawned
SELECT child_run, child, coalesce(body ->> '$.status', 'pending') FROM completions WHERE requester = ? ORDER BY seq;

-- name: batch
SELECT body FROM completions WHERE requester = ? AND batch = ? ORDER BY seq;

-- name: registered
SELECT body FROM devices ORDER BY name;

-- name: put_registered
INSERT INTO devices (name, body, tenant) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body;

-- name: delete_registered
DELETE FROM devices WHERE name = ?;

-- name: put_participant
INSERT INTO participants (session, principal) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: participants
SELECT p.principal FROM participants p JOIN sessions s ON s.id = p.session WHERE s.tenant = ? AND s.key = ?;

-- name: put_binding
INSERT INTO thread_bindings (address, key, body, tenant) VALUES (?, ?, ?, ?)
ON CONFLICT (address) DO UPDATE SET key = excluded.key, body = excluded.body;

-- name: binding
SELECT body FROM thread_bindings WHERE address = ?;

-- name: delete_binding
DELETE FROM thread_bindings WHERE address = ?;

-- name: points
SELECT body FROM points WHERE key = ? ORDER BY at, name;

-- name: insert_point
INSERT INTO points (key, name, principal, session_id, at, body, tenant) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: delete_point
DELETE FROM points WHERE key = ? AND name = ?;

-- name: delete_points
DELETE FROM points WHERE key = ?;

-- name: insert_delivery
INSERT INTO deliveries (id, key, principal, address, state, ready_at, body, tenant) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: update_delivery
UPDATE deliveries SET state = ?, ready_at = ?, body = ? WHERE id = ?;

-- name: delivery
SELECT body FROM deliveries WHERE id = ?;

-- name: deliveries
SELECT body FROM deliveries WHERE state = :state ORDER BY seq LIMIT :limit;

-- name: deliveries_of
SELECT d.body FROM deliveries d JOIN sessions s ON s.tenant = d.tenant AND s.key = d.key
WHERE s.tenant = :tenant AND d.state = :state /* filters */ ORDER BY d.seq LIMIT :limit;

-- name: deliveries_wait
SELECT 1 FROM deliveries INDEXED BY deliveries_by_state WHERE state = 'intent' LIMIT 1;

-- name: is_known_call
SELECT EXISTS (SELECT 1 FROM ledger WHERE id = ?);

-- name: put_usage
INSERT INTO ledger (id, principal, at, key, agent, session_id, run_id, run_kind, provider, model, input, output,
    cache_read, cache_write, total, cost_micros, estimated, tenant)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET principal = excluded.principal, at = excluded.at, key = excluded.key,
    agent = excluded.agent, session_id = excluded.session_id, run_id = excluded.run_id,
    run_kind = excluded.run_kind, provider = excluded.provider, model = excluded.model, input = excluded.input,
    output = excluded.output, cache_read = excluded.cache_read, cache_write = excluded.cache_write,
    total = excluded.total, cost_micros = excluded.cost_micros, estimated = excluded.estimated
WHERE ledger.estimated = 1;

-- name: usage
-- In halves, the high ones first: a sum may have more than 64 bits.
SELECT count(*), sum(input >> 32), sum(output >> 32), sum(cache_read >> 32), sum(cache_write >> 32),
    sum(total >> 32), sum(cost_micros >> 32), sum(input & 4294967295), sum(output & 4294967295),
    sum(cache_read & 4294967295), sum(cache_write & 4294967295), sum(total & 4294967295),
    sum(cost_micros & 4294967295)
FROM ledger s WHERE s.tenant = :tenant /* filters */;

-- name: spending
WITH spells AS MATERIALIZED (
    SELECT CAST(value ->> '$.since' AS BIGINT) AS since, CAST(value ->> '$.until' AS BIGINT) AS until,
        CAST(value ->> '$.ahead' AS BIGINT) AS ahead
    FROM json_each(:spells)
)
SELECT (SELECT (s.at + ahead) / 86400000 FROM spells WHERE s.at >= since AND s.at < until LIMIT 1) AS day,
    s.agent, s.provider, s.model, count(*),
    sum(input >> 32), sum(output >> 32), sum(cache_read >> 32), sum(cache_write >> 32),
    sum(total >> 32), sum(cost_micros >> 32), sum(input & 4294967295), sum(output & 4294967295),
    sum(cache_read & 4294967295), sum(cache_write & 4294967295), sum(total & 4294967295),
    sum(cost_micros & 4294967295)
FROM ledger s WHERE s.tenant = :tenant /* filters */
GROUP BY day, s.agent, s.provider, s.model;

-- name: dearest
SELECT count(*) OVER (), s.key, count(*),
    sum(input >> 32), sum(output >> 32), sum(cache_read >> 32), sum(cache_write >> 32),
    sum(total >> 32), sum(cost_micros >> 32), sum(input & 4294967295), sum(output & 4294967295),
    sum(cache_read & 4294967295), sum(cache_write & 4294967295), sum(total & 4294967295),
    sum(cost_micros & 4294967295)
FROM ledger s WHERE s.tenant = :tenant /* filters */
GROUP BY s.key ORDER BY sum(cost_micros * 1.0) DESC, sum(total * 1.0) DESC, s.key LIMIT :limit;

-- name: ledger
SELECT id, principal, at, key, session_id, run_id, run_kind, provider, model, input, output, cache_read, cache_write,
    total, cost_micros, estimated
FROM ledger s WHERE s.tenant = :tenant /* filters */
ORDER BY s.at DESC, s.id DESC LIMIT :limit OFFSET :offset;

-- name: spoken
WITH spells AS MATERIALIZED (
    SELECT CAST(value ->> '$.since' AS BIGINT) AS since, CAST(value ->> '$.until' AS BIGINT) AS until,
        CAST(value ->> '$.ahead' AS BIGINT) AS ahead
    FROM json_each(:spells)
)
SELECT (SELECT (e.at + ahead) / 86400000 FROM spells WHERE e.at >= since AND e.at < until LIMIT 1) AS day,
    sum(CASE WHEN e.role = 'user' THEN 1 ELSE 0 END), sum(CASE WHEN e.role = 'assistant' THEN 1 ELSE 0 END),
    sum(CASE WHEN e.role = 'tool' THEN 1 ELSE 0 END)
FROM sessions s JOIN generations g ON g.session = s.id JOIN entries e ON e.generation = g.id
WHERE s.tenant = :tenant AND e.at >= :since AND e.at < :until /* filters */
GROUP BY day ORDER BY day;

-- name: where_tree
AND s.key IN (SELECT :tree_of UNION SELECT descendant FROM lineage WHERE ancestor = :tree_of);

-- name: where_since
AND s.at >= :since;

-- name: where_until
AND s.at < :until;

-- name: balance
SELECT since, spent, held, warned FROM budgets WHERE name = ?;

-- name: put_balance
INSERT INTO budgets (name, since, spent, held, warned, tenant) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET since = excluded.since, spent = excluded.spent, held = excluded.held,
    warned = excluded.warned;

-- name: reservation
SELECT body FROM reservations WHERE id = ?;

-- name: reservations
SELECT body FROM reservations WHERE run_id = ? ORDER BY id;

-- name: insert_reservation
INSERT INTO reservations (id, run_id, body, tenant) VALUES (?, ?, ?, ?);

-- name: delete_reservation
DELETE FROM reservations WHERE id = ?;

-- name: insert_denial
INSERT INTO denials (principal, at, operation, rule, reason, caller, target, hidden, tenant)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: denials
SELECT principal, at, operation, rule, reason, caller, target, hidden
FROM denials s WHERE s.tenant = :tenant /* filters */
ORDER BY s.seq DESC LIMIT :limit;

-- name: where_told
AND s.principal = :told AND s.hidden = 0;

-- name: where_caller
AND s.caller = :caller;

-- name: where_at_door
AND s.caller IS NULL;

-- name: where_operation
AND s.operation = :operation;

-- name: where_target
AND s.target = :target;

-- name: delete_runs
DELETE FROM runs WHERE key = ?;

-- name: delete_deliveries
DELETE FROM deliveries WHERE key = ?;

-- name: delete_exchanges
-- A message that died stays, for its sender to ask about.
DELETE FROM exchanges
WHERE requester = ?1 OR (target = ?1 AND coalesce(body ->> '$.state', '') NOT IN ('failed', 'expired'));

-- name: delete_completions
DELETE FROM completions WHERE requester = ?;

-- name: delete_bindings
DELETE FROM thread_bindings WHERE key = ?;

-- name: count_unarchived
SELECT count(*) FROM sessions WHERE tenant = :tenant AND archived_at IS NULL;

-- name: count_sessions
SELECT count(*) FROM sessions WHERE tenant = :tenant;

-- name: count_pending
SELECT count(*) FROM inbound WHERE state = 'pending';

-- name: count_runs
SELECT state, count(*) FROM runs WHERE state IN ('queued', 'running') GROUP BY state;

-- name: count_deliveries
SELECT state, count(*) FROM deliveries WHERE state IN ('intent', 'sending', 'uncertain', 'failed') GROUP BY state;

-- name: where_at_rest
-- Nothing runs, waits or is owed in the session `s`.
NOT EXISTS (SELECT 1 FROM runs r WHERE r.key = s.key AND r.state IN ('queued', 'running'))
    AND NOT EXISTS (SELECT 1 FROM inbound i WHERE i.key = s.key AND i.state = 'pending' AND i.run_id IS NOT NULL)
    AND NOT EXISTS (
        SELECT 1 FROM deliveries d WHERE d.key = s.key AND d.state IN ('intent', 'sending', 'uncertain'))
    AND NOT EXISTS (SELECT 1 FROM completions c WHERE c.requester = s.key AND c.acknowledged_at IS NULL)
    AND NOT EXISTS (SELECT 1 FROM completions c WHERE c.child = s.key AND c.acknowledged_at IS NULL);

-- name: sweepable
SELECT s.key, CASE
        WHEN s.kind = 'cron' THEN 'cron'
        WHEN s.shape = 'subagent' THEN 'child'
        WHEN s.shape IN ('acp', 'hook') OR s.heartbeat = 1 THEN 'synthetic'
        ELSE 'dashboard'
    END, s.updated_at, s.archived_at IS NOT NULL,
    EXISTS (SELECT 1 FROM thread_bindings b WHERE b.key = s.key),
    EXISTS (SELECT 1 FROM deliveries d WHERE d.key = s.key AND d.state = 'failed')
        OR EXISTS (SELECT 1 FROM exchanges e
            WHERE (e.requester = s.key OR e.target = s.key) AND instr(e.body, '"phase":"done"') = 0)
        OR EXISTS (SELECT 1 FROM generations o JOIN generations f ON f.base_session_id = o.session_id
            WHERE o.session = s.id AND f.session <> s.id)
FROM sessions s INDEXED BY sessions_sweepable
WHERE (s.kind = 'cron' OR s.shape IN ('subagent', 'acp', 'hook', 'dashboard') OR s.heartbeat = 1) /* filters */
    AND s.tenant = :tenant AND s.updated_at < :before AND s.pinned_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM points p WHERE p.key = s.key)
    AND /* where_at_rest */;

-- name: where_as_found
AND s.key = :key AND s.updated_at = :updated;

-- name: session_bytes
SELECT coalesce(sum(octet_length(e.body) + coalesce(octet_length(e.source), 0)), 0)
FROM entries e JOIN generations g ON g.id = e.generation
WHERE g.session = (SELECT id FROM sessions WHERE tenant = :tenant AND key = :key);

-- name: stale_generations
-- Closed by the next one, continued by none, of a session in which nothing waits. Those of timers have a time of their own,
-- which is never the earlier one.
SELECT g.session_id FROM generations g INDEXED BY generations_by_age JOIN sessions s ON s.id = g.session
WHERE g.opened_at < :timers AND g.session_id <> s.session_id AND s.pinned_at IS NULL
    AND (s.kind = 'cron' OR s.heartbeat = 1 OR g.opened_at < :before)
    AND (SELECT n.opened_at FROM generations n WHERE n.session = g.session AND n.number > g.number
        ORDER BY n.number LIMIT 1) < CASE WHEN s.kind = 'cron' OR s.heartbeat = 1 THEN :timers ELSE :before END
    AND NOT EXISTS (SELECT 1 FROM generations b WHERE b.base_session_id = g.session_id)
    AND NOT EXISTS (SELECT 1 FROM points p WHERE p.session_id = g.session_id)
    AND /* where_at_rest */
ORDER BY g.session_id;

-- name: is_continued
SELECT EXISTS (SELECT 1 FROM generations WHERE base_session_id = ?1)
    OR EXISTS (SELECT 1 FROM points WHERE session_id = ?1);

-- name: delete_generation
DELETE FROM generations WHERE session_id = ?;

-- name: has_work
SELECT NOT (/* where_at_rest */) FROM (SELECT :key AS key) s;

-- name: has_undelivered
SELECT EXISTS (SELECT 1 FROM deliveries WHERE key = ? AND state = 'failed');

-- name: end_feed
INSERT INTO ended_feeds (key, last) SELECT key, events FROM sessions WHERE id = ?
ON CONFLICT (key) DO UPDATE SET last = excluded.last;

-- name: last_event
SELECT last FROM ended_feeds WHERE key = ?;

-- name: stale_feeds
SELECT key FROM sessions WHERE id IN (SELECT DISTINCT session FROM events INDEXED BY events_by_age WHERE at < ?);

-- name: from_stale_events
-- The beginning of a feed: numbers never get a gap, whatever the clock did.
FROM events
WHERE session = (SELECT id FROM sessions WHERE tenant = :tenant AND key = :key) AND number < coalesce((
    SELECT number FROM events
    WHERE session = (SELECT id FROM sessions WHERE tenant = :tenant AND key = :key) AND at >= :before ORDER BY number LIMIT 1
), 9223372036854775807);

-- name: count_stale_events
SELECT count(*) /* from_stale_events */;

-- name: delete_stale_events
DELETE /* from_stale_events */;

-- name: from_stale_inbound
-- One merged into another stays while that one may still wait.
FROM inbound i WHERE received_at < :before AND state <> 'pending' AND NOT (state = 'merged'
    AND EXISTS (SELECT 1 FROM inbound p WHERE p.key = i.key AND p.state = 'pending'));

-- name: count_stale_inbound
SELECT count(*) /* from_stale_inbound */;

-- name: delete_stale_inbound
DELETE FROM inbound WHERE seq IN (SELECT seq /* from_stale_inbound */ LIMIT :limit);

-- name: from_stale_run
-- The end of a child is told with its run and the one that spawned it.
FROM runs r INDEXED BY runs_ended
WHERE r.state NOT IN ('queued', 'running') AND r.ready_at < :before
    AND r.body ->> '$.outcome.at' < :before
    AND NOT EXISTS (SELECT 1 FROM completions c WHERE c.child_run = r.id)
    AND NOT EXISTS (SELECT 1 FROM completions c WHERE c.requester = r.key AND c.batch = r.id)
    AND NOT EXISTS (
        SELECT 1 FROM sessions s WHERE s.tenant = :tenant AND s.key = r.key AND s.pinned_at IS NOT NULL);

-- name: count_stale_run
SELECT count(*) /* from_stale_run */;

-- name: delete_stale_run
DELETE FROM runs WHERE seq IN (SELECT seq /* from_stale_run */ LIMIT :limit);

-- name: from_stale_delivery
FROM deliveries d INDEXED BY deliveries_settled
WHERE d.state IN ('confirmed', 'failed', 'dismissed') AND d.ready_at < :before
    AND d.body ->> '$.created_at' < :before
    AND NOT EXISTS (
        SELECT 1 FROM sessions s WHERE s.tenant = :tenant AND s.key = d.key AND s.pinned_at IS NOT NULL);

-- name: count_stale_delivery
SELECT count(*) /* from_stale_delivery */;

-- name: delete_stale_delivery
DELETE FROM deliveries WHERE seq IN (SELECT seq /* from_stale_delivery */ LIMIT :limit);

-- name: from_stale_exchange
FROM exchanges e WHERE e.body ->> '$.phase' = 'done' AND e.body ->> '$.created_at' < :before
    AND NOT EXISTS (
        SELECT 1 FROM sessions s WHERE s.tenant = :tenant AND s.key IN (e.requester, e.target)
            AND s.pinned_at IS NOT NULL);

-- name: count_stale_exchange
SELECT count(*) /* from_stale_exchange */;

-- name: delete_stale_exchange
DELETE FROM exchanges WHERE id IN (SELECT id /* from_stale_exchange */ LIMIT :limit);

-- name: from_stale_completion
FROM completions c WHERE c.acknowledged_at < :before AND NOT EXISTS (
        SELECT 1 FROM completions o WHERE o.requester = c.requester AND o.batch = c.batch
            AND (o.acknowledged_at IS NULL OR o.acknowledged_at >= :before))
    AND NOT EXISTS (
        SELECT 1 FROM sessions s WHERE s.tenant = :tenant AND s.key = c.requester AND s.pinned_at IS NOT NULL);

-- name: count_stale_completion
SELECT count(*) /* from_stale_completion */;

-- name: delete_stale_completion
DELETE FROM completions WHERE seq IN (SELECT seq /* from_stale_completion */ LIMIT :limit);

-- name: from_stale_denial
FROM denials n WHERE n.at < :before
    AND NOT EXISTS (
        SELECT 1 FROM sessions s WHERE s.tenant = :tenant AND s.key = n.caller AND s.pinned_at IS NOT NULL);

-- name: count_stale_denial
SELECT count(*) /* from_stale_denial */;

-- name: delete_stale_denial
DELETE FROM denials WHERE seq IN (SELECT seq /* from_stale_denial */ LIMIT :limit);

-- name: from_stale_firing
FROM firings f WHERE f.at < :before AND f.state <> 'started'
    AND NOT EXISTS (
        SELECT 1 FROM sessions s WHERE s.tenant = :tenant AND s.key = f.key AND s.pinned_at IS NOT NULL);

-- name: count_stale_firing
SELECT count(*) /* from_stale_firing */;

-- name: delete_stale_firing
DELETE FROM firings WHERE seq IN (SELECT seq /* from_stale_firing */ LIMIT :limit);

-- name: jobs
SELECT body FROM jobs ORDER BY id;

-- name: job
SELECT body FROM jobs WHERE id = ?;

-- name: due_jobs
SELECT body FROM jobs INDEXED BY jobs_due WHERE next_at <= ? ORDER BY next_at, id LIMIT ?;

-- name: next_due_job
SELECT min(next_at) FROM jobs WHERE next_at IS NOT NULL;

-- name: put_job
INSERT INTO jobs (id, principal, next_at, body, tenant) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET principal = excluded.principal, next_at = excluded.next_at, body = excluded.body;

-- name: delete_job
DELETE FROM jobs WHERE id = ?;

-- name: firing
SELECT body FROM firings WHERE id = ?;

-- name: put_firing
INSERT INTO firings (id, job, key, at, state, body, tenant) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET job = excluded.job, key = excluded.key, at = excluded.at, state = excluded.state,
    body = excluded.body;

-- name: unsettled_firings
SELECT body FROM firings INDEXED BY firings_unsettled WHERE job = ? AND state = 'started' ORDER BY seq;

-- name: firings
SELECT body FROM firings WHERE job = ? ORDER BY seq DESC LIMIT ? OFFSET ?;

-- name: every_firing
SELECT body FROM firings WHERE key NOT LIKE ? ORDER BY seq DESC LIMIT ? OFFSET ?;

-- name: count_firings
SELECT count(*) FROM firings WHERE job = ?;

-- name: count_every_firing
SELECT count(*) FROM firings WHERE key NOT LIKE ?;
