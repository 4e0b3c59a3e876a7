-- What is asked of every store, each statement under its name; the others: sqlite.sql, postgres.sql.
-- In all three files ? stands for a value, and tables have no schema: postgres_connection.py puts
-- in what PostgreSQL needs.

-- name: add_experiment
INSERT INTO experiments (name, definition, status, revision, states, edition, wait, created)
VALUES (?, ?, ?, ?, ?, 0, ?, ?)
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
SELECT id, name, definition, status, revision, states, edition, created FROM experiments
WHERE name = ?

-- name: stamp
SELECT id, created, edition FROM experiments WHERE id = ?

-- name: unit
SELECT id, steps, state FROM units WHERE experiment = ? AND name = ?

-- name: rewrite_unit
UPDATE units SET state = ?, due = ? WHERE experiment = ? AND name = ?

-- name: resolutions
SELECT step, kind, number, key, arm, context, probability, reward, time, version, revision,
    among
FROM events WHERE unit = ? AND number = ? AND kind <> 'decision'

-- name: add_event
INSERT INTO events (experiment, unit, step, kind, number, key, arm, context, probability, reward,
    time, version, revision, among)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: by_unit
SELECT units.name, step, kind, number, key, arm, context, probability, reward, time, version,
    revision, among
FROM events JOIN units ON units.id = unit
WHERE events.experiment = ? ORDER BY unit, step

-- name: states
SELECT name, steps, state FROM units WHERE experiment = ? ORDER BY id

-- name: delete_events
DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE experiment = ? LIMIT ?)

-- name: delete_units
DELETE FROM units WHERE id IN (SELECT id FROM units WHERE experiment = ? LIMIT ?)

-- name: delete_experiment
DELETE FROM experiments WHERE id = ?

-- name: times
SELECT seq, time FROM events WHERE seq > ? AND time <= ? ORDER BY seq LIMIT ?

-- name: forget_keys
UPDATE events SET key = NULL WHERE seq > ? AND seq <= ? AND key IS NOT NULL

-- name: erased_units
SELECT name FROM events JOIN units ON units.id = unit
WHERE events.experiment = ? AND kind = 'erased'

-- name: remains
SELECT id FROM experiments WHERE id = ? AND status <> 'deleting'

-- name: closings
SELECT kind FROM events
WHERE experiment = ? AND unit IS NULL AND kind IN ('closed', 'reopened') ORDER BY seq

-- name: names
SELECT id, name FROM units WHERE experiment = ? AND steps > 0 ORDER BY id

-- name: some_states
-- By rank: ids are shared by all experiments, so those of one may all be odd.
SELECT name, state FROM units WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (ORDER BY id) - 1 AS rank, count(*) OVER () AS total
        FROM units WHERE experiment = ? AND state IS NOT NULL
    ) AS ranked WHERE rank % ((total - 1) / ? + 1) = 0
)

-- name: count_kinds
SELECT kind, count(*) FROM events WHERE experiment = ? GROUP BY kind

-- name: by_unit_and_arm
SELECT decided.unit, decided.arm, count(*), count(told.reward), coalesce(sum(told.reward), 0)
FROM events AS decided LEFT JOIN events AS told
    ON told.unit = decided.unit AND told.number = decided.number AND told.kind <> 'decision'
    AND told.kind IN ('reward', 'expired')
WHERE decided.experiment = ? AND decided.kind = 'decision'
GROUP BY decided.unit, decided.arm

-- name: rewards_since
SELECT unit, count(*), sum(reward), max(seq), max(time) FROM (
    SELECT unit, reward, seq, time FROM events
    WHERE experiment = ? AND seq > ? AND kind IN ('reward', 'expired') AND reward IS NOT NULL
    ORDER BY seq LIMIT ?
) AS newer GROUP BY unit
