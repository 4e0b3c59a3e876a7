-- The store in PostgreSQL. Each statement stands under its name; `schema` makes the tables.
-- Times are seconds since 1970. The numbers 7364 are fpbandits' own among advisory locks: (7364, 1)
-- is held while tables are made, and (7364, 2) shared by all who write, so that whoever reads the
-- log can wait until everything before a position in it is there.

-- name: installing
SELECT pg_advisory_xact_lock(7364, 1)

-- name: installed
SELECT to_regclass('fpbandits.about') IS NOT NULL

-- name: about
SELECT kind, schema FROM fpbandits.about

-- name: schema
CREATE SCHEMA IF NOT EXISTS fpbandits;
CREATE TABLE fpbandits.about (kind text NOT NULL, schema integer NOT NULL);
CREATE TABLE fpbandits.experiments (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    definition text NOT NULL,          -- JSON; see `experiment`
    open boolean NOT NULL,             -- false while units are still being migrated
    created double precision NOT NULL
);
CREATE TABLE fpbandits.units (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    experiment integer NOT NULL REFERENCES fpbandits.experiments,
    name text COLLATE "C" NOT NULL,
    steps bigint NOT NULL,             -- how many events it has had
    state text,                        -- what follows from them, as JSON; see `step`
    due double precision,              -- when the first of its decisions expires
    UNIQUE (experiment, name)
) WITH (fillfactor = 70);              -- states change in place
CREATE INDEX units_due ON fpbandits.units (due) WHERE due IS NOT NULL;
-- Append-only. The two indices make sure that a key has one decision, and a decision one reward.
CREATE TABLE fpbandits.events (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    experiment integer NOT NULL,
    unit bigint NOT NULL,
    step bigint NOT NULL,
    kind text NOT NULL,
    number bigint NOT NULL,
    key text,
    arm text,
    context text,
    probability double precision,
    reward double precision,
    time double precision NOT NULL,
    version text NOT NULL
);
CREATE UNIQUE INDEX events_key ON fpbandits.events (unit, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX events_settled ON fpbandits.events (unit, number, kind)
    WHERE kind <> 'decision';

-- name: describe
INSERT INTO fpbandits.about VALUES (%s, %s)

-- name: add_experiment
INSERT INTO fpbandits.experiments (name, definition, open, created)
VALUES (%s, %s, %s, extract(epoch FROM clock_timestamp()))
ON CONFLICT (name) DO NOTHING

-- name: open_experiment
UPDATE fpbandits.experiments SET open = true WHERE id = %s

-- name: experiments
SELECT id, name, definition, open, created FROM fpbandits.experiments ORDER BY name

-- name: experiment
SELECT id, name, definition, open, created FROM fpbandits.experiments WHERE name = %s

-- name: begin
SELECT pg_advisory_xact_lock_shared(7364, 2), extract(epoch FROM clock_timestamp())::float8

-- name: add_units
INSERT INTO fpbandits.units (experiment, name, steps)
SELECT experiment, name, 0
FROM unnest(%s::integer[], %s::text[]) WITH ORDINALITY AS asked (experiment, name, place)
ORDER BY place
ON CONFLICT (experiment, name) DO NOTHING

-- name: lock_units
SELECT experiment, name, id, steps, state FROM fpbandits.units
WHERE (experiment, name) IN (SELECT * FROM unnest(%s::integer[], %s::text[]))
ORDER BY experiment, name FOR UPDATE

-- name: decided
SELECT units.experiment, units.name,
    step, kind, number, events.key, arm, context, probability, reward, time, version
FROM unnest(%s::integer[], %s::text[], %s::text[]) AS asked (experiment, name, key)
JOIN fpbandits.units ON units.experiment = asked.experiment AND units.name = asked.name
JOIN fpbandits.events ON events.unit = units.id AND events.key = asked.key

-- name: resolutions
SELECT step, kind, number, key, arm, context, probability, reward, time, version
FROM fpbandits.events WHERE unit = %s AND number = %s AND kind <> 'decision'

-- name: add_events
INSERT INTO fpbandits.events (experiment, unit, step, kind, number, key, arm, context, probability,
    reward, time, version)
SELECT * FROM unnest(%s::integer[], %s::bigint[], %s::bigint[], %s::text[], %s::bigint[],
    %s::text[], %s::text[], %s::text[], %s::float8[], %s::float8[], %s::float8[], %s::text[])

-- name: change_units
UPDATE fpbandits.units SET steps = new.steps, state = new.state, due = new.due
FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::float8[]) AS new (id, steps, state, due)
WHERE units.id = new.id

-- name: unit
SELECT id, steps, state FROM fpbandits.units WHERE experiment = %s AND name = %s

-- name: due
SELECT experiments.name, units.name
FROM fpbandits.units JOIN fpbandits.experiments ON experiments.id = experiment
WHERE due <= extract(epoch FROM clock_timestamp()) ORDER BY due LIMIT %s

-- name: all_written
SELECT pg_advisory_xact_lock(7364, 2)

-- name: last
SELECT coalesce(max(seq), 0) FROM fpbandits.events

-- name: log
SELECT seq, units.name, step, kind, number, key, arm, context, probability, reward, time, version
FROM fpbandits.events JOIN fpbandits.units ON units.id = unit
WHERE events.experiment = %s AND seq > %s AND seq <= %s ORDER BY seq LIMIT %s

-- name: by_unit
SELECT units.name, step, kind, number, key, arm, context, probability, reward, time, version
FROM fpbandits.events JOIN fpbandits.units ON units.id = unit
WHERE events.experiment = %s ORDER BY unit, step

-- name: states
SELECT name, steps, state FROM fpbandits.units WHERE experiment = %s ORDER BY id
