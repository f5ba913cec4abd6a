-- What finds damage in any database, and what mends it; these read everything.

-- name: headless_sessions
SELECT s.key FROM sessions s
WHERE NOT EXISTS (SELECT 1 FROM generations g WHERE g.session_id = s.session_id);

-- name: miscounted_sessions
-- A session whose count of entries is not what its transcript holds.
SELECT s.key FROM sessions s JOIN generations g ON g.session_id = s.session_id
WHERE s.entries <> (SELECT coalesce(max(seq), 0) FROM entries e WHERE e.generation = g.id);

-- name: gapped_generations
SELECT g.session_id FROM generations g JOIN entries e ON e.generation = g.id
GROUP BY g.id HAVING count(*) <> max(e.seq);

-- name: gapped_events
SELECT s.key FROM sessions s JOIN events n ON n.session = s.id
GROUP BY s.id HAVING max(n.number) <> s.events OR count(*) <> max(n.number) - min(n.number) + 1;

-- name: unlinked_children
SELECT s.key, s.parent FROM sessions s
WHERE s.parent IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM lineage l WHERE l.descendant = s.key AND l.distance = 1)
ORDER BY s.depth, s.key;

-- name: link_child
INSERT INTO lineage (descendant, distance, ancestor, live)
SELECT ?1, 1, ?2, CASE WHEN EXISTS (SELECT 1 FROM sessions WHERE key = ?2) THEN 1 ELSE 0 END WHERE true
ON CONFLICT (descendant, distance) DO UPDATE SET ancestor = excluded.ancestor, live = excluded.live;

-- name: link_above
INSERT INTO lineage (descendant, distance, ancestor, live)
SELECT ?1, distance + 1, ancestor, live FROM lineage WHERE descendant = ?2
ON CONFLICT (descendant, distance) DO UPDATE SET ancestor = excluded.ancestor, live = excluded.live;
