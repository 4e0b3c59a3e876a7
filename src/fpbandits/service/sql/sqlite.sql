-- The store in SQLite. Each statement stands under its name; `schema` makes the tables.
-- Times are seconds since 1970.

-- name: schema
CREATE TABLE experiments (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL,          -- JSON; see `experiment`
    open INTEGER NOT NULL,             -- 0 while units are still being migrated
    created REAL NOT NULL
) STRICT;
CREATE TABLE units (
    id INTEGER PRIMARY KEY,
    experiment INTEGER NOT NULL REFERENCES experiments,
    name TEXT NOT NULL,
    steps INTEGER NOT NULL,            -- how many events it has had
    state TEXT,                        -- what follows from them, as JSON; see `step`
    due REAL,                          -- when the first of its decisions expires
    UNIQUE (experiment, name)
) STRICT;
CREATE INDEX units_due ON units (due) WHERE due IS NOT NULL;
-- Append-only. The two indices make sure that a key has one decision, and a decision one reward.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    experiment INTEGER NOT NULL,
    unit INTEGER NOT NULL REFERENCES units,
    step INTEGER NOT NULL,
    kind TEXT NOT NULL,
    number INTEGER NOT NULL,
    key TEXT,
    arm TEXT,
    context TEXT,
    probability REAL,
    reward REAL,
    time REAL NOT NULL,
    version TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_key ON events (unit, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX events_settled ON events (unit, number, kind) WHERE kind <> 'decision';

-- name: now
SELECT (julianday('now') - 2440587.5) * 86400.0

-- name: add_experiment
INSERT INTO experiments (name, definition, open, created)
VALUES (?, ?, ?, (julianday('now') - 2440587.5) * 86400.0)
ON CONFLICT (name) DO NOTHING

-- name: open_experiment
UPDATE experiments SET open = 1 WHERE id = ?

-- name: experiments
SELECT id, name, definition, open, created FROM experiments ORDER BY name

-- name: experiment
SELECT id, name, definition, open, created FROM experiments WHERE name = ?

-- name: add_unit
INSERT INTO units (experiment, name, steps) VALUES (?, ?, 0)

-- name: unit
SELECT id, steps, state FROM units WHERE experiment = ? AND name = ?

-- name: change_unit
UPDATE units SET steps = ?, state = ?, due = ? WHERE id = ?

-- name: due
SELECT experiments.name, units.name FROM units JOIN experiments ON experiments.id = experiment
WHERE due <= (julianday('now') - 2440587.5) * 86400.0 ORDER BY due LIMIT ?

-- name: decided
SELECT step, kind, number, key, arm, context, probability, reward, time, version
FROM events WHERE unit = ? AND key = ?

-- name: resolutions
SELECT step, kind, number, key, arm, context, probability, reward, time, version
FROM events WHERE unit = ? AND number = ? AND kind <> 'decision'

-- name: add_event
INSERT INTO events (experiment, unit, step, kind, number, key, arm, context, probability, reward,
    time, version)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: log
SELECT seq, units.name, step, kind, number, key, arm, context, probability, reward, time, version
FROM events JOIN units ON units.id = unit
WHERE events.experiment = ? AND seq > ? ORDER BY seq LIMIT ?

-- name: by_unit
SELECT units.name, step, kind, number, key, arm, context, probability, reward, time, version
FROM events JOIN units ON units.id = unit
WHERE events.experiment = ? ORDER BY unit, step

-- name: states
SELECT name, steps, state FROM units WHERE experiment = ? ORDER BY id
