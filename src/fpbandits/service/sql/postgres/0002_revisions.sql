-- 0.9.0: revisions of rules, and experiments that change their status. A server of an earlier
-- version cannot write to these tables. The rules of 0.6.0 are revision 1; revision 0 stands for
-- those of earlier versions, which nothing can check.
ALTER TABLE fpbandits.events
    ADD COLUMN revision integer NOT NULL DEFAULT 1,    -- of the rule that decided
    ALTER COLUMN unit DROP NOT NULL;                   -- none for what happened to the experiment
UPDATE fpbandits.events SET revision = 0 WHERE version COLLATE "C" < '0.6';
ALTER TABLE fpbandits.events ALTER COLUMN revision DROP DEFAULT;
ALTER TABLE fpbandits.experiments
    ADD COLUMN status text NOT NULL DEFAULT 'open',    -- whether it takes requests
    ADD COLUMN revision integer NOT NULL DEFAULT 1,    -- of the policy's rule
    ADD COLUMN states integer NOT NULL DEFAULT 2,      -- the schema of its units' states
    ADD COLUMN edition integer NOT NULL DEFAULT 0,     -- counts the changes of this row
    ADD COLUMN wait double precision;                  -- reward_wait, as in the definition
UPDATE fpbandits.experiments SET
    status = CASE WHEN open THEN 'open' ELSE 'migrating' END,
    revision = CASE WHEN id IN (SELECT experiment FROM fpbandits.events WHERE revision = 0)
        THEN 0 ELSE 1 END,
    wait = (definition::json ->> 'reward_wait')::float8;
ALTER TABLE fpbandits.experiments
    DROP COLUMN open,
    ALTER COLUMN status DROP DEFAULT,
    ALTER COLUMN revision DROP DEFAULT,
    ALTER COLUMN states DROP DEFAULT,
    ALTER COLUMN edition DROP DEFAULT;
DROP INDEX fpbandits.units_due;
CREATE INDEX units_due ON fpbandits.units (experiment, due) WHERE due IS NOT NULL;
ALTER INDEX fpbandits.events_settled RENAME TO events_resolved;
CREATE INDEX events_log ON fpbandits.events (experiment, seq);
-- Written to by /ready, which so finds out whether the database can be written to.
CREATE TABLE fpbandits.heartbeat (time double precision NOT NULL);
INSERT INTO fpbandits.heartbeat VALUES (0);
