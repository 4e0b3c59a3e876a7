-- The tables of 0.4.0 to 0.6.0. Times are seconds since 1970.
CREATE TABLE experiments (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL,
    open INTEGER NOT NULL,
    created REAL NOT NULL
) STRICT;
CREATE TABLE units (
    id INTEGER PRIMARY KEY,
    experiment INTEGER NOT NULL REFERENCES experiments,
    name TEXT NOT NULL,
    steps INTEGER NOT NULL,
    state TEXT,
    due REAL,
    UNIQUE (experiment, name)
) STRICT;
CREATE INDEX units_due ON units (due) WHERE due IS NOT NULL;
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
