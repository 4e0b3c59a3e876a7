-- What is asked of the store in PostgreSQL, each statement under its name. The tables:
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
SELECT kind, schema FROM fpbandits.about

-- name: describe
INSERT INTO fpbandits.about VALUES (%s, %s)

-- name: upgraded
UPDATE fpbandits.about SET schema = %s

-- name: heartbeat
UPDATE fpbandits.heartbeat SET time = extract(epoch FROM clock_timestamp())

-- name: add_experiment
INSERT INTO fpbandits.experiments (name, definition, status, revision, states, edition, wait,
    created)
VALUES (%s, %s, %s, %s, %s, 0, %s, %s)
ON CONFLICT (name) DO NOTHING

-- name: no_one_writes
SELECT pg_advisory_xact_lock(7364, 2)

-- name: change_experiment
UPDATE fpbandits.experiments SET status = %s, revision = %s, states = %s, edition = edition + 1
WHERE id = %s AND created = %s AND edition = %s

-- name: count_experiments
SELECT count(*) FROM fpbandits.experiments

-- name: experiments
SELECT id, name, definition, status, revision, states, edition, created FROM fpbandits.experiments
WHERE name > %s ORDER BY name LIMIT %s

-- name: experiment
SELECT id, name, definition, status, revision, states, edition, created FROM fpbandits.experiments
WHERE name = %s

-- name: begin
SELECT pg_advisory_xact_lock_shared(7364, 2),
    pg_advisory_xact_lock_shared(
        (7364::bigint << 48) + (SELECT coalesce(max(seq), 0) FROM fpbandits.events)
    ),
    extract(epoch FROM clock_timestamp())::float8, (SELECT schema FROM fpbandits.about)

-- name: stamp
SELECT id, created, edition FROM fpbandits.experiments WHERE id = %s

-- name: stamps
SELECT id, created, edition FROM fpbandits.experiments WHERE id = ANY(%s::integer[])

-- name: add_units
INSERT INTO fpbandits.units (experiment, name, steps)
SELECT asked.experiment, asked.name, 0
FROM unnest(%s::integer[], %s::text[]) WITH ORDINALITY AS asked (experiment, name, place)
JOIN fpbandits.experiments ON experiments.id = asked.experiment
JOIN unnest(%s::integer[], %s::float8[], %s::integer[]) AS known (id, created, edition)
    ON known.id = experiments.id AND known.created = experiments.created
    AND known.edition = experiments.edition
ORDER BY place
ON CONFLICT (experiment, name) DO NOTHING

-- name: lock_units
SELECT experiment, name, id, steps, state FROM fpbandits.units
WHERE (experiment, name) IN (SELECT * FROM unnest(%s::integer[], %s::text[]))
ORDER BY experiment, name FOR UPDATE

-- name: decided
SELECT units.experiment, units.name,
    step, kind, number, events.key, arm, context, probability, reward, time, version, revision,
    among
FROM unnest(%s::integer[], %s::text[], %s::text[]) AS asked (experiment, name, key)
JOIN fpbandits.units ON units.experiment = asked.experiment AND units.name = asked.name
JOIN fpbandits.events ON events.unit = units.id AND events.key = asked.key

-- name: resolutions
SELECT step, kind, number, key, arm, context, probability, reward, time, version, revision,
    among
FROM fpbandits.events WHERE unit = %s AND number = %s AND kind <> 'decision'

-- name: add_event
INSERT INTO fpbandits.events (experiment, unit, step, kind, number, key, arm, context, probability,
    reward, time, version, revision, among)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)

-- name: add_events
INSERT INTO fpbandits.events (experiment, unit, step, kind, number, key, arm, context, probability,
    reward, time, version, revision, among)
SELECT * FROM unnest(%s::integer[], %s::bigint[], %s::bigint[], %s::text[], %s::bigint[],
    %s::text[], %s::text[], %s::text[], %s::float8[], %s::float8[], %s::float8[], %s::text[],
    %s::integer[], %s::text[])

-- name: change_units
UPDATE fpbandits.units SET steps = new.steps, state = new.state, due = new.due
FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::float8[]) AS new (id, steps, state, due)
WHERE units.id = new.id

-- name: rewrite_unit
UPDATE fpbandits.units SET state = %s, due = %s WHERE experiment = %s AND name = %s

-- name: unit
SELECT id, steps, state FROM fpbandits.units WHERE experiment = %s AND name = %s

-- name: due
-- A decision that would expire later than its wait from now was made before the clock went back.
WITH clock AS MATERIALIZED (SELECT extract(epoch FROM clock_timestamp())::float8 AS now), due AS (
    SELECT experiments.name AS experiment, units.name AS unit
    FROM clock, fpbandits.experiments
    JOIN fpbandits.units ON units.experiment = experiments.id
    WHERE status IN ('open', 'closed') AND wait IS NOT NULL AND due <= now
    UNION ALL
    SELECT experiments.name, units.name
    FROM clock, fpbandits.experiments
    JOIN fpbandits.units ON units.experiment = experiments.id
    WHERE status IN ('open', 'closed') AND wait IS NOT NULL AND due > now + wait + 1
)
SELECT experiment, unit FROM due
WHERE experiment <> ALL(%s::text[])
    AND (experiment, unit) NOT IN (SELECT * FROM unnest(%s::text[], %s::text[]))
LIMIT %s

-- name: last
SELECT coalesce(max(seq), 0) FROM fpbandits.events

-- name: complete
SELECT min(((classid::bigint & 65535) << 32) + objid::bigint) FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint >> 16 = 7364
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())

-- name: log
SELECT seq, units.name, step, kind, number, key, arm, context, probability, reward, time, version,
    revision, among
FROM fpbandits.events LEFT JOIN fpbandits.units ON units.id = unit
WHERE events.experiment = %s AND seq > %s AND seq <= %s ORDER BY seq LIMIT %s

-- name: by_unit
SELECT units.name, step, kind, number, key, arm, context, probability, reward, time, version,
    revision, among
FROM fpbandits.events JOIN fpbandits.units ON units.id = unit
WHERE events.experiment = %s ORDER BY unit, step

-- name: states
SELECT name, steps, state FROM fpbandits.units WHERE experiment = %s ORDER BY id

-- name: log_units
SELECT seq, unit FROM fpbandits.events
WHERE experiment = %s AND seq > %s AND seq <= %s ORDER BY seq LIMIT %s

-- name: erase
DELETE FROM fpbandits.events
WHERE (seq = ANY(%s::bigint[]) AND unit = %s) OR (experiment = %s AND seq > %s AND unit = %s)

-- name: delete_events
DELETE FROM fpbandits.events
WHERE seq IN (SELECT seq FROM fpbandits.events WHERE experiment = %s LIMIT %s)

-- name: delete_units
DELETE FROM fpbandits.units
WHERE id IN (SELECT id FROM fpbandits.units WHERE experiment = %s LIMIT %s)

-- name: delete_experiment
DELETE FROM fpbandits.experiments WHERE id = %s

-- name: now
SELECT extract(epoch FROM clock_timestamp())::float8

-- name: times
SELECT seq, time FROM fpbandits.events WHERE seq > %s AND time <= %s ORDER BY seq LIMIT %s

-- name: forget_keys
UPDATE fpbandits.events SET key = NULL WHERE seq > %s AND seq <= %s AND key IS NOT NULL

-- name: erased_units
SELECT name FROM fpbandits.events JOIN fpbandits.units ON units.id = unit
WHERE events.experiment = %s AND kind = 'erased'

-- name: inherited
-- What units, a JSON list, have observed, and whether they were erased. The first condition on the
-- kind is that of the index.
SELECT name, kind, arm, context, reward, time
FROM fpbandits.units JOIN fpbandits.events ON unit = units.id
WHERE units.experiment = %s AND name IN (SELECT json_array_elements_text(%s::json))
    AND kind <> 'decision' AND kind IN ('observed', 'erased')

-- name: remains
SELECT id FROM fpbandits.experiments WHERE id = %s AND status <> 'deleting'

-- name: closings
SELECT kind FROM fpbandits.events
WHERE experiment = %s AND unit IS NULL AND kind IN ('closed', 'reopened') ORDER BY seq

-- name: names
SELECT id, name FROM fpbandits.units WHERE experiment = %s AND steps > 0 ORDER BY id

-- name: some_states
-- By rank: ids are shared by all experiments, so those of one may all be odd.
SELECT name, state FROM fpbandits.units WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (ORDER BY id) - 1 AS rank, count(*) OVER () AS total
        FROM fpbandits.units WHERE experiment = %s AND state IS NOT NULL
    ) AS ranked WHERE rank %% ((total - 1) / %s + 1) = 0
)

-- name: count_kinds
SELECT kind, count(*) FROM fpbandits.events WHERE experiment = %s GROUP BY kind

-- name: by_unit_and_arm
SELECT decided.unit, decided.arm, count(*), count(told.reward), coalesce(sum(told.reward), 0)
FROM fpbandits.events AS decided LEFT JOIN fpbandits.events AS told
    ON told.unit = decided.unit AND told.number = decided.number AND told.kind <> 'decision'
    AND told.kind IN ('reward', 'expired')
WHERE decided.experiment = %s AND decided.kind = 'decision'
GROUP BY decided.unit, decided.arm

-- name: rewards_since
SELECT unit, count(*), sum(reward), max(seq), max(time) FROM (
    SELECT unit, reward, seq, time FROM fpbandits.events
    WHERE experiment = %s AND seq > %s AND kind IN ('reward', 'expired') AND reward IS NOT NULL
    ORDER BY seq LIMIT %s
) AS newer GROUP BY unit
