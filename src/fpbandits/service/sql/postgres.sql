-- What is asked of the store in PostgreSQL alone, each statement under its name. The tables:
-- postgres/*.sql. Times are seconds since 1970.
--
-- The number 7364 is fpbandits' own among advisory locks. (7364, 1) is held while tables are made or
-- upgraded. (7364, 2) is shared by all who write, and held alone by who changes an experiment.
-- Whoever writes also shares 7364 * 2^48 + the last event of the log at that time: all events that
-- they add come after it. So who reads the log sees in pg_locks how far it is complete, and no one
-- waits for anyone.

-- name: installing
SELECT pg_advisory_xact_lock(7364, 1)

-- name: installed
SELECT to_regclass('fpbandits.about') IS NOT NULL

-- name: about
SELECT kind, schema FROM about

-- name: describe
INSERT INTO about VALUES (?, ?)

-- name: upgraded
UPDATE about SET schema = ?

-- name: heartbeat
UPDATE heartbeat SET time = extract(epoch FROM clock_timestamp())

-- name: no_one_writes
SELECT pg_advisory_xact_lock(7364, 2)

-- name: begin
SELECT pg_advisory_xact_lock_shared(7364, 2),
    pg_advisory_xact_lock_shared(
        (7364::bigint << 48) + (SELECT coalesce(max(seq), 0) FROM events)
    ),
    extract(epoch FROM clock_timestamp())::float8, (SELECT schema FROM about)

-- name: stamps
SELECT id, created, edition FROM experiments WHERE id = ANY(?::integer[])

-- name: add_units
INSERT INTO units (experiment, name, steps)
SELECT asked.experiment, asked.name, 0
FROM unnest(?::integer[], ?::text[]) WITH ORDINALITY AS asked (experiment, name, place)
JOIN experiments ON experiments.id = asked.experiment
JOIN unnest(?::integer[], ?::float8[], ?::integer[]) AS known (id, created, edition)
    ON known.id = experiments.id AND known.created = experiments.created
    AND known.edition = experiments.edition
ORDER BY place
ON CONFLICT (experiment, name) DO NOTHING

-- name: lock_units
SELECT experiment, name, id, steps, state FROM units
WHERE (experiment, name) IN (SELECT * FROM unnest(?::integer[], ?::text[]))
ORDER BY experiment, name FOR UPDATE

-- name: decided
SELECT units.experiment, units.name,
    step, kind, number, events.key, arm, context, probability, reward, time, version, revision,
    among
FROM unnest(?::integer[], ?::text[], ?::text[]) AS asked (experiment, name, key)
JOIN units ON units.experiment = asked.experiment AND units.name = asked.name
JOIN events ON events.unit = units.id AND events.key = asked.key

-- name: add_events
INSERT INTO events (experiment, unit, step, kind, number, key, arm, context, probability,
    reward, time, version, revision, among)
SELECT * FROM unnest(?::integer[], ?::bigint[], ?::bigint[], ?::text[], ?::bigint[],
    ?::text[], ?::text[], ?::text[], ?::float8[], ?::float8[], ?::float8[], ?::text[],
    ?::integer[], ?::text[])

-- name: change_units
UPDATE units SET steps = new.steps, state = new.state, due = new.due
FROM unnest(?::bigint[], ?::bigint[], ?::text[], ?::float8[]) AS new (id, steps, state, due)
WHERE units.id = new.id

-- name: due
-- A decision that would expire later than its wait from now was made before the clock went back.
WITH clock AS MATERIALIZED (SELECT extract(epoch FROM clock_timestamp())::float8 AS now), due AS (
    SELECT experiments.name AS experiment, units.name AS unit
    FROM clock, experiments
    JOIN units ON units.experiment = experiments.id
    WHERE status IN ('open', 'closed') AND wait IS NOT NULL AND due <= now
    UNION ALL
    SELECT experiments.name, units.name
    FROM clock, experiments
    JOIN units ON units.experiment = experiments.id
    WHERE status IN ('open', 'closed') AND wait IS NOT NULL AND due > now + wait + 1
)
SELECT experiment, unit FROM due
WHERE experiment <> ALL(?::text[])
    AND (experiment, unit) NOT IN (SELECT * FROM unnest(?::text[], ?::text[]))
LIMIT ?

-- name: last
SELECT coalesce(max(seq), 0) FROM events

-- name: complete
SELECT min(((classid::bigint & 65535) << 32) + objid::bigint) FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint >> 16 = 7364
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())

-- name: log
SELECT seq, units.name, step, kind, number, key, arm, context, probability, reward, time, version,
    revision, among
FROM events LEFT JOIN units ON units.id = unit
WHERE events.experiment = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?

-- name: log_units
SELECT seq, unit FROM events
WHERE experiment = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?

-- name: erase
DELETE FROM events
WHERE (seq = ANY(?::bigint[]) AND unit = ?) OR (experiment = ? AND seq > ? AND unit = ?)

-- name: now
SELECT extract(epoch FROM clock_timestamp())::float8

-- name: inherited
-- What units, a JSON list, have observed, and whether they were erased. The first condition on the
-- kind is that of the index.
SELECT name, kind, arm, context, reward, time
FROM units JOIN events ON unit = units.id
WHERE units.experiment = ? AND name IN (SELECT json_array_elements_text(?::json))
    AND kind <> 'decision' AND kind IN ('observed', 'erased')
