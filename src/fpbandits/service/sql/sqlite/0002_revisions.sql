-- 0.9.0: revisions of rules, experiments that change their status, numbers that are never reused.
-- A server of an earlier version cannot write to these tables. The rules of 0.6.0 are revision 1;
-- revision 0 stands for those of earlier versions, which nothing can check.
CREATE TABLE experiments_2 (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL,          -- JSON; see `experiment`
    status TEXT NOT NULL,              -- whether it takes requests; see `experiment`
    revision INTEGER NOT NULL,         -- of the policy's rule
    states INTEGER NOT NULL,           -- the schema of its units' states, which are agents'
    edition INTEGER NOT NULL,          -- counts the changes of this row
    wait REAL,                         -- reward_wait, as in the definition
    created REAL NOT NULL
) STRICT;
INSERT INTO experiments_2
SELECT id, name, definition, CASE open WHEN 1 THEN 'open' ELSE 'migrating' END,
    id NOT IN (SELECT experiment FROM events WHERE version < '0.6'), 2, 0,
    json_extract(definition, '$.reward_wait'), created
FROM experiments;
CREATE TABLE units_2 (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    experiment INTEGER NOT NULL REFERENCES experiments,
    name TEXT NOT NULL,
    steps INTEGER NOT NULL,            -- how many events it has had
    state TEXT,                        -- what follows from them, as JSON; see `step`
    due REAL,                          -- when the first of its decisions expires
    UNIQUE (experiment, name)
) STRICT;
INSERT INTO units_2 SELECT id, experiment, name, steps, state, due FROM units;
-- Append-only. The two unique indices make sure that a key has one decision, and a decision one
-- reward.
CREATE TABLE events_2 (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    experiment INTEGER NOT NULL,
    unit INTEGER REFERENCES units,     -- none for what happened to the experiment itself
    step INTEGER NOT NULL,
    kind TEXT NOT NULL,
    number INTEGER NOT NULL,
    key TEXT,
    arm TEXT,
    context TEXT,
    probability REAL,
    reward REAL,
    time REAL NOT NULL,
    version TEXT NOT NULL,
    revision INTEGER NOT NULL          -- of the rule that decided
) STRICT;
INSERT INTO events_2
SELECT seq, experiment, unit, step, kind, number, key, arm, context, probability, reward, time,
    version, version >= '0.6'
FROM events;
DROP TABLE events;
DROP TABLE units;
DROP TABLE experiments;
ALTER TABLE experiments_2 RENAME TO experiments;
ALTER TABLE units_2 RENAME TO units;
ALTER TABLE events_2 RENAME TO events;
CREATE INDEX units_due ON units (experiment, due) WHERE due IS NOT NULL;
CREATE UNIQUE INDEX events_key ON events (unit, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX events_resolved ON events (unit, number, kind) WHERE kind <> 'decision';
CREATE INDEX events_log ON events (experiment, seq);
-- Written to by /ready, which so finds out whether the database can be written to.
CREATE TABLE heartbeat (time REAL NOT NULL) STRICT;
INSERT INTO heartbeat VALUES (0);
