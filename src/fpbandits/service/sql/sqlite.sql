-- What is asked of the store in SQLite alone, each statement under its name. The tables:
-- sqlite/*.sql.

-- name: now
SELECT (julianday('now') - 2440587.5) * 86400.0

-- name: heartbeat
UPDATE heartbeat SET time = (julianday('now') - 2440587.5) * 86400.0

-- name: add_unit
INSERT INTO units (experiment, name, steps) VALUES (?, ?, 0)

-- name: units
-- CROSS JOIN goes through the list, and looks each unit up.
SELECT name, units.id, steps, state
FROM json_each(?) AS asked CROSS JOIN units ON experiment = ? AND name = asked.value

-- name: change_unit
UPDATE units SET steps = ?, state = ?, due = ? WHERE id = ?

-- name: due
-- A decision that would expire later than its wait from now was made before the clock went back.
WITH due AS (
    SELECT experiments.name AS experiment, units.name AS unit
    FROM experiments CROSS JOIN units ON units.experiment = experiments.id AND due <= ?
    WHERE status IN ('open', 'closed') AND wait IS NOT NULL
    UNION ALL
    SELECT experiments.name, units.name
    FROM experiments CROSS JOIN units
        ON units.experiment = experiments.id AND due > ? + wait + 1
    WHERE status IN ('open', 'closed') AND wait IS NOT NULL
)
SELECT experiment, unit FROM due
WHERE experiment NOT IN (SELECT value FROM json_each(?))
    AND (experiment, unit) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))
LIMIT ?

-- name: decided
SELECT step, kind, number, key, arm, context, probability, reward, time, version, revision,
    among
FROM events WHERE unit = ? AND key = ?

-- name: log
SELECT seq, units.name, step, kind, number, key, arm, context, probability, reward, time, version,
    revision, among
FROM events LEFT JOIN units ON units.id = unit
WHERE events.experiment = ? AND seq > ? ORDER BY seq LIMIT ?

-- name: log_units
SELECT seq, unit FROM events WHERE experiment = ? AND seq > ? ORDER BY seq LIMIT ?

-- name: delete_event
DELETE FROM events WHERE seq = ? AND unit = ?

-- name: delete_since
DELETE FROM events WHERE experiment = ? AND seq > ? AND unit = ?

-- name: inherited
-- What units, a JSON list, have observed, and whether they were erased. The first condition on the
-- kind is that of the index.
SELECT name, kind, arm, context, reward, time
FROM units CROSS JOIN events ON unit = units.id
WHERE units.experiment = ? AND name IN (SELECT value FROM json_each(?))
    AND kind <> 'decision' AND kind IN ('observed', 'erased')
