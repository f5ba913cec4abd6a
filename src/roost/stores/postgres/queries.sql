-- What only PostgreSQL is asked, or asked in other words, by name.

-- name: now
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint;

-- name: make_place
INSERT INTO marks (place) VALUES (?) ON CONFLICT DO NOTHING;

-- name: mark
-- Only where something was written: what writes nothing has no end to be waited for.
UPDATE marks SET mark = ?, at = now() WHERE place = ? AND pg_current_xact_id_if_assigned() IS NOT NULL RETURNING mark;

-- name: last_mark
-- Who set it may still be at it.
SELECT mark FROM marks WHERE place = ? FOR UPDATE NOWAIT;

-- name: forget_places
-- Of gateways that are long gone.
DELETE FROM marks WHERE at < now() - interval '30 days';

-- name: end_stuck
-- Transactions that hold rows and whose gateway stands still in the middle of asking or being told: the server waits for it
-- without taking it for idle.
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND application_name = ? AND pid <> pg_backend_pid()
    AND state = 'active' AND wait_event_type = 'Client' AND backend_xid IS NOT NULL
    AND state_change < clock_timestamp() - ?::bigint * interval '1 ms';

-- name: notify
SELECT pg_notify(?, value) FROM json_each(?);

-- name: recently_changed
SELECT s.key, s.events FROM (SELECT DISTINCT session FROM events WHERE at >= ?) e
CROSS JOIN LATERAL (SELECT key, events FROM sessions WHERE id = e.session OFFSET 0) s
UNION ALL
-- No number of events is below nought.
SELECT key, -(extract(epoch FROM at) * 1000000)::bigint FROM gone WHERE at >= now() - ?::bigint * interval '1 ms';

-- name: note_gone
-- With what everybody has seen since. What another forgets just now is not waited for.
WITH seen AS (
    DELETE FROM gone WHERE key IN (
        SELECT key FROM gone WHERE at < now() - interval '1 hour' AND key <> ?1 FOR UPDATE SKIP LOCKED)
)
INSERT INTO gone (key) VALUES (?1) ON CONFLICT (key) DO UPDATE SET at = excluded.at;

-- name: keep_to_ourselves
-- Until the end of the transaction nobody else of this store does what has this name.
SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || ?, 0));

-- name: keep_to_ourselves_named
SELECT pg_advisory_xact_lock(hashtextextended(?, 0));

-- name: seize_sessions
SELECT key FROM sessions WHERE tenant = ? AND key IN (SELECT value FROM json_each(?)) ORDER BY key
FOR UPDATE SKIP LOCKED;

-- name: still_queued
SELECT q.body FROM runs q WHERE q.id IN (SELECT value FROM json_each(?)) AND q.state = 'queued'
    AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.key = q.key AND r.state = 'running');

-- name: merged_inputs
-- Each looked up by itself: how many there are cannot be guessed, and are few.
WITH RECURSIVE ends (id) AS (
    SELECT value COLLATE "C" FROM json_each(?)
    UNION SELECT i.id FROM ends CROSS JOIN LATERAL (SELECT id FROM inbound WHERE merged_into = ends.id OFFSET 0) i
)
SELECT i.body FROM ends
CROSS JOIN LATERAL (SELECT seq, body FROM inbound WHERE id = ends.id AND state = 'merged' OFFSET 0) i ORDER BY i.seq;

-- name: open_balance
INSERT INTO budgets (name, since, spent, held, warned, tenant) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: insert_search
INSERT INTO entry_search (entry, tokens, words)
SELECT e.id, array_to_tsvector(ARRAY(SELECT value FROM json_each(?))), ? FROM entries e
WHERE e.generation = ? AND e.seq = ?;

-- name: search
SELECT s.key, g.session_id, e.seq, e.entry_id, e.body, e.parent_id, e.run_id, e.source
FROM entry_search f
JOIN entries e ON e.id = f.entry
JOIN generations g ON g.id = e.generation
JOIN sessions s ON s.id = g.session
WHERE s.tenant = :tenant /* filters */ ORDER BY f.entry DESC LIMIT :limit OFFSET :offset;

-- name: where_matching
AND f.tokens @@ :match::text::tsquery;

-- name: where_side_by_side
AND NOT EXISTS (SELECT 1 FROM json_each(:phrases) WHERE strpos(' ' || f.words || ' ', value) = 0);

-- name: due_deliveries
-- The oldest unsent one of each address, unless it or a later one is being sent.
SELECT d.body FROM deliveries d JOIN (
    SELECT min(seq) AS first, bool_or(state = 'sending') AS busy FROM deliveries
    WHERE state IN ('intent', 'sending') GROUP BY address
) heads ON d.seq = heads.first
WHERE NOT heads.busy AND d.ready_at <= ?
    AND NOT EXISTS (
        SELECT 1 FROM json_each(?) WHERE value::json ->> 0 = d.address ->> '$.channel'
            AND value::json ->> 1 = coalesce(d.address ->> '$.account', ?))
ORDER BY d.seq LIMIT ?;

-- name: used_bytes
SELECT coalesce(sum(octet_length(body) + coalesce(octet_length(source), 0)), 0) FROM entries;

-- name: structure
SELECT tablename FROM pg_tables WHERE schemaname = current_schema();

-- name: columns
SELECT attname FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum;

-- name: parts
-- How what the schema holds is made, by its table and its name; indexes and references apart from their tables.
SELECT c.relname, c.relname, (
    SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attcollation::regcollation,
        a.attnotnull, a.attidentity, pg_get_expr(d.adbin, d.adrelid)), ', ' ORDER BY a.attnum)
    FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
) FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname <> 'roost_schema'
UNION ALL
SELECT t.relname, x.relname, pg_get_indexdef(x.oid, 0, true)
FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
WHERE x.relnamespace = current_schema()::regnamespace
UNION ALL
SELECT t.relname, r.conname, pg_get_constraintdef(r.oid, true) FROM pg_constraint r JOIN pg_class t ON t.oid = r.conrelid
WHERE r.connamespace = current_schema()::regnamespace AND r.contype IN ('c', 'f')
UNION ALL
SELECT t.relname, g.tgname, pg_get_triggerdef(g.oid, true) FROM pg_trigger g JOIN pg_class t ON t.oid = g.tgrelid
WHERE t.relnamespace = current_schema()::regnamespace AND NOT g.tgisinternal;

-- name: identities
SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attidentity <> '' AND NOT a.attisdropped;

-- name: unindexed_entries
SELECT g.id, e.seq, e.body FROM entries e JOIN generations g ON g.id = e.generation
WHERE NOT EXISTS (SELECT 1 FROM entry_search f WHERE f.entry = e.id);

-- name: budgets
SELECT name, held FROM budgets ORDER BY name;

-- name: all_reservations
SELECT body FROM reservations;

-- name: restate_budget
UPDATE budgets SET held = ? WHERE name = ?;

-- name: from_stale_run
FROM runs r
WHERE r.state NOT IN ('queued', 'running') AND r.ready_at < :before
    AND (r.body::json #>> '{outcome,at}')::bigint < :before
    AND NOT EXISTS (SELECT 1 FROM completions c WHERE c.child_run = r.id)
    AND NOT EXISTS (SELECT 1 FROM completions c WHERE c.requester = r.key AND c.batch = r.id)
    AND NOT EXISTS (
        SELECT 1 FROM sessions s WHERE s.tenant = :tenant AND s.key = r.key AND s.pinned_at IS NOT NULL);

-- name: from_stale_delivery
FROM deliveries d
WHERE d.state IN ('confirmed', 'failed', 'dismissed') AND d.ready_at < :before
    AND substring(d.body FROM '"created_at":(\d+)')::bigint < :before
    AND NOT EXISTS (
        SELECT 1 FROM sessions s WHERE s.tenant = :tenant AND s.key = d.key AND s.pinned_at IS NOT NULL);

-- name: from_stale_exchange
FROM exchanges e WHERE strpos(e.body, '"phase":"done"') > 0 AND substring(e.body FROM '"created_at":(\d+)')::bigint < :before
    AND NOT EXISTS (
        SELECT 1 FROM sessions s WHERE s.tenant = :tenant AND s.key IN (e.requester, e.target)
            AND s.pinned_at IS NOT NULL);

-- name: delete_exchanges
DELETE FROM exchanges WHERE requester = ?1
    OR (target = ?1 AND strpos(body, '"state":"failed"') = 0 AND strpos(body, '"state":"expired"') = 0);

-- name: spawned
SELECT child_run, child, coalesce(substring(body FROM '"status":"([a-z]+)"'), 'pending') FROM completions
WHERE requester = ? ORDER BY seq;

-- name: exchanges
SELECT body FROM exchanges WHERE requester = ? AND target = ? ORDER BY seq;

-- name: exchanges_of
SELECT body FROM exchanges WHERE requester = ? OR target = ? ORDER BY seq DESC LIMIT ?;

-- name: remote_exchanges
SELECT body FROM exchanges WHERE tenant = ? AND strpos(body, '"remote":{') > 0 AND strpos(body, '"phase":"done"') = 0
    AND substring(body FROM '"remote":\{"gateway":"([^"]+)"') NOT IN (SELECT value FROM json_each(?))
ORDER BY seq LIMIT ?;
