-- What only SQLite is asked, by name.

-- name: newest_epoch
SELECT max(epoch) FROM gateways;

-- name: insert_entry
INSERT INTO entries (id, generation, seq, entry_id, parent_id, run_id, role, provenance, source_session, principal,
    at, body, source)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: last_entry
SELECT coalesce(max(id), 0) FROM entries;

-- name: insert_search
INSERT INTO entry_search (rowid, body) VALUES (?, ?);

-- name: delete_search
DELETE FROM entry_search WHERE rowid IN (
    SELECT e.id FROM entries e JOIN generations g ON g.id = e.generation WHERE g.session = ?
);

-- name: delete_generation_search
DELETE FROM entry_search WHERE rowid IN (
    SELECT e.id FROM entries e WHERE e.generation = (SELECT id FROM generations WHERE session_id = ?)
);

-- name: search
SELECT s.key, g.session_id, e.seq, e.entry_id, e.body, e.parent_id, e.run_id, e.source
FROM entry_search f
JOIN entries e ON e.id = f.rowid
JOIN generations g ON g.id = e.generation
JOIN sessions s ON s.id = g.session
WHERE s.tenant = :tenant /* filters */ ORDER BY f.rowid DESC LIMIT :limit OFFSET :offset;

-- name: session_numbers
SELECT s.id FROM sessions s WHERE s.tenant = :tenant /* filters */ LIMIT :limit;

-- name: due_deliveries
-- The oldest unsent one of each address, unless it or a later one is being sent.
SELECT d.body FROM deliveries d JOIN (
    SELECT min(seq) AS first, max(state = 'sending') AS busy FROM deliveries INDEXED BY deliveries_waiting
    WHERE state IN ('intent', 'sending') GROUP BY address
) heads ON d.seq = heads.first
WHERE NOT heads.busy AND d.ready_at <= ?
    AND NOT EXISTS (
        SELECT 1 FROM json_each(?)
        WHERE value ->> 0 = d.address ->> '$.channel' AND value ->> 1 = coalesce(d.address ->> '$.account', ?))
ORDER BY d.seq LIMIT ?;

-- name: where_matching
AND entry_search MATCH :match;

-- name: exchanges
SELECT body FROM exchanges WHERE requester = ? AND target = ? ORDER BY rowid;

-- name: exchanges_of
SELECT body FROM exchanges WHERE requester = ? OR target = ? ORDER BY rowid DESC LIMIT ?;

-- name: remote_exchanges
SELECT body FROM exchanges
WHERE tenant = ? AND body ->> '$.sent.remote.gateway' IS NOT NULL AND body ->> '$.phase' IS NOT 'done'
    AND body ->> '$.sent.remote.gateway' NOT IN (SELECT value FROM json_each(?))
ORDER BY rowid LIMIT ?;
