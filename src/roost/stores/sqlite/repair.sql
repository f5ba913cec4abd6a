-- What finds damage in a file, and what mends it; these read everything.

-- name: statistics
SELECT tbl, idx, stat FROM sqlite_stat1;

-- name: forget_statistics
DELETE FROM sqlite_stat1;

-- name: put_statistics
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?);

-- name: read_statistics
-- Makes room for them, where there is none, and has them heeded.
ANALYZE sqlite_schema;

-- name: stray_search_rows
SELECT d.id FROM entry_search_docsize d WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.id = d.id);

-- name: unindexed_entries
SELECT e.id, e.body FROM entries e
WHERE NOT EXISTS (SELECT 1 FROM entry_search_docsize d WHERE d.id = e.id);

-- name: last_entry
SELECT coalesce(max(id), 0) FROM entries;

-- name: entries_to_index
SELECT e.id, g.session, e.body FROM entries e JOIN generations g ON g.id = e.generation
WHERE e.id > ? AND e.id <= ? ORDER BY e.id LIMIT ?;

-- name: misstated_runs
SELECT id FROM runs WHERE state <> body ->> '$.state' OR waits_until IS NOT body ->> '$.outcome.until';

-- name: restate_runs
UPDATE runs SET state = body ->> '$.state', waits_until = body ->> '$.outcome.until'
WHERE state <> body ->> '$.state' OR waits_until IS NOT body ->> '$.outcome.until';

-- name: misstated_inbound
SELECT id FROM inbound WHERE state <> body ->> '$.state';

-- name: restate_inbound
UPDATE inbound SET state = body ->> '$.state' WHERE state <> body ->> '$.state';

-- name: misstated_deliveries
SELECT id FROM deliveries WHERE state <> coalesce(body ->> '$.state', 'intent');

-- name: restate_deliveries
UPDATE deliveries SET state = coalesce(body ->> '$.state', 'intent')
WHERE state <> coalesce(body ->> '$.state', 'intent');

-- name: miscounted_budgets
-- One that does not hold what the calls under way hold of it.
SELECT b.name FROM budgets b WHERE b.held <> (
    SELECT coalesce(sum(hold.value ->> '$.amount'), 0) FROM reservations r, json_each(r.body, '$.holds') hold
    WHERE hold.value ->> '$.name' = b.name
);

-- name: restate_budgets
UPDATE budgets SET held = (
    SELECT coalesce(sum(hold.value ->> '$.amount'), 0) FROM reservations r, json_each(r.body, '$.holds') hold
    WHERE hold.value ->> '$.name' = budgets.name
);

-- name: lost_generations
SELECT DISTINCT e.generation FROM entries e
WHERE NOT EXISTS (SELECT 1 FROM generations g WHERE g.id = e.generation);

-- name: home_of_entries
-- The session whose feed tells of these entries, if its own generation is the one that is lost.
-- In this order: every event is looked at once, however many sessions there are.
SELECT s.id, s.session_id FROM events n CROSS JOIN sessions s ON s.id = n.session
WHERE n.kind = 'entry' AND n.ref IN (SELECT entry_id FROM entries WHERE generation = ?)
    AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.session_id = s.session_id) LIMIT 1;

-- name: free_session
SELECT 1 + max((SELECT coalesce(max(id), 0) FROM sessions), (SELECT coalesce(max(session), 0) FROM generations));

-- name: adopt_entries
INSERT INTO generations (id, session, session_id, number, opened_at, opened_by, archived)
SELECT :generation, :session, :session_id,
    1 + (SELECT coalesce(max(number), 0) FROM generations WHERE session = :session), coalesce(min(at), 0), 'first', 0
FROM entries WHERE generation = :generation;

-- name: open_headless
INSERT INTO generations (session, session_id, number, opened_at, opened_by, archived)
SELECT s.id, s.session_id, 1 + (SELECT coalesce(max(number), 0) FROM generations WHERE session = s.id), s.started_at,
    'first', 0
FROM sessions s WHERE NOT EXISTS (SELECT 1 FROM generations g WHERE g.session_id = s.session_id);

-- name: lost_sessions
SELECT g.session, g.session_id, max(g.opened_at) FROM generations g
WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = g.session)
    AND g.number = (SELECT max(n.number) FROM generations n WHERE n.session = g.session)
GROUP BY g.session;

-- name: key_in_ledger
SELECT l.key FROM ledger l
WHERE l.session_id = ? AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.key = l.key) LIMIT 1;

-- name: adopt_generations
INSERT INTO sessions (id, tenant, key, agent, shape, heartbeat, principal, session_id, kind, depth, created_at, labels,
    origin, overrides, haystack, started_at, updated_at, interacted_at, status, version, events, entries, input_tokens,
    output_tokens, total_tokens, context_tokens, cache_read, cache_write, cost_micros, compactions)
VALUES (:session, :tenant, :key, :agent, :shape, 0, :owner, :session_id, 'other', 0, :at, '{}', '{}', '{}', :key, :at,
    :at, :at, 'idle', 1, (SELECT coalesce(max(number), 0) FROM events WHERE session = :session),
    0, 0, 0, 0, 0, 0, 0, 0, 0);

-- name: feed_of
SELECT s.id, max(s.events, (SELECT max(n.number) FROM events n WHERE n.session = s.id)) FROM sessions s WHERE s.key = ?;

-- name: raise_feed
UPDATE sessions SET events = ? WHERE id = ?;

-- name: fill_feed
WITH RECURSIVE numbers (number) AS (
    SELECT min(number) FROM events WHERE session = :session
    UNION ALL SELECT number + 1 FROM numbers
    WHERE number < (SELECT events FROM sessions WHERE id = :session) LIMIT 1000000
)
INSERT OR IGNORE INTO events (session, number, at, kind, ref)
SELECT :session, n.number, (
    SELECT p.at FROM events p WHERE p.session = :session AND p.number < n.number ORDER BY p.number DESC LIMIT 1
), :kind, :key FROM numbers n
WHERE NOT EXISTS (SELECT 1 FROM events k WHERE k.session = :session AND k.number = n.number);

-- name: sessions_to_summarise
SELECT id, key, principal, session_id, kind, channel, chat_type, account, peer, thread, route_rule,
    parent, depth, terms, created_at, archived_at, pinned_at, labels, origin, route, overrides,
    started_at, updated_at, interacted_at, status, version, events, entries, title, preview, model,
    input_tokens, output_tokens, total_tokens, context_tokens, cache_read, cache_write, cost_micros, compactions
FROM sessions WHERE id > ? ORDER BY id LIMIT ?;
