-- What is asked of the store in SQLite, each statement under its name. The tables: sqlite/*.sql.

-- name: now
SELECT (julianday('now') - 2440587.5) * 86400.0

-- name: heartbeat
UPDATE heartbeat SET time = (julianday('now') - 2440587.5) * 86400.0

-- name: add_experiment
INSERT INTO experiments (name, definition, status, revision, states, edition, wait, created)
VALUES (?, ?, ?, ?, ?, 0, ?, (julianday('now') - 2440587.5) * 86400.0)
ON CONFLICT (name) DO NOTHING

-- name: change_experiment
UPDATE experiments SET status = ?, revision = ?, states = ?, edition = edition + 1
WHERE id = ? AND created = ? AND edition = ?

-- name: count_experiments
SELECT count(*) FROM experiments

-- name: experiments
SELECT id, name, definition, status, revision, states, edition, created FROM experiments
WHERE name > ? ORDER BY name LIMIT ?

-- name: experiment
SELECT id, name, definition, status, revision, states, edition, created FROM experiments WHERE name = ?

-- name: stamp
SELECT id, created, edition FROM experiments WHERE id = ?

-- name: add_unit
INSERT INTO units (experiment, name, steps) VALUES (?, ?, 0)

-- name: unit
SELECT id, steps, state FROM units WHERE experiment = ? AND name = ?

-- name: change_unit
UPDATE units SET steps = ?, state = ?, due = ? WHERE id = ?

-- name: rewrite_unit
UPDATE units SET state = ?, due = ? WHERE experiment = ? AND name = ?

-- name: due
-- A decision that would expire later than its wait from now was made before the clock went back.
WITH due AS (
    SELECT experiments.name AS experiment, units.name AS unit
    FROM experiments CROSS JOIN units ON units.experiment = experiments.id AND due <= :now
    WHERE status IN ('open', 'closed') AND wait IS NOT NULL
    UNION ALL
    SELECT experiments.name, units.name
    FROM experiments CROSS JOIN units
        ON units.experiment = experiments.id AND due > :now + wait + 1
    WHERE status IN ('open', 'closed') AND wait IS NOT NULL
)
SELECT experiment, unit FROM due
WHERE experiment NOT IN (SELECT value FROM json_each(:experiments))
    AND (experiment, unit) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(:units))
LIMIT :most

-- name: decided
SELECT step, kind, number, key, arm, context, probability, reward, time, version, revision,
    among
FROM events WHERE unit = ? AND key = ?

-- name: resolutions
SELECT step, kind, number, key, arm, context, probability, reward, time, version, revision,
    among
FROM events WHERE unit = ? AND number = ? AND kind <> 'decision'

-- name: add_event
INSERT INTO events (experiment, unit, step, kind, number, key, arm, context, probability, reward,
    time, version, revision, among)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: log
SELECT seq, units.name, step, kind, number, key, arm, context, probability, reward, time, version,
    revision, among
FROM events LEFT JOIN units ON units.id = unit
WHERE events.experiment = ? AND seq > ? ORDER BY seq LIMIT ?

-- name: by_unit
SELECT units.name, step, kind, number, key, arm, context, probability, reward, time, version,
    revision, among
FROM events JOIN units ON units.id = unit
WHERE events.experiment = ? ORDER BY unit, step

-- name: states
SELECT name, steps, state FROM units WHERE experiment = ? ORDER BY id
