-- What is asked of every table in turn, by name; `{table}` and the rest are names of ours.

-- name: count
SELECT count(*) FROM {table};

-- name: rows
SELECT {columns} FROM {table} ORDER BY {order};

-- name: write
INSERT INTO {table} ({columns}) VALUES ({places});

-- name: number_on
SELECT setval(pg_get_serial_sequence('{table}', '{column}'), coalesce(max({column}), 0) + 1, false) FROM {table};
