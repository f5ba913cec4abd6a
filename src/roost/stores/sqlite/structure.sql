-- What a store is made of.

-- name: parts
-- What SQLite and the index of words make for themselves is left out.
SELECT name, sql, tbl_name FROM sqlite_schema
WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name NOT LIKE 'entry\_search\_%' ESCAPE '\'
ORDER BY type = 'index', rowid;
