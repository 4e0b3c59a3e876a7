-- The tables of 0.4.0 to 0.6.0. Times are seconds since 1970.
CREATE SCHEMA IF NOT EXISTS fpbandits;
CREATE TABLE fpbandits.about (kind text NOT NULL, schema integer NOT NULL);
CREATE TABLE fpbandits.experiments (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    definition text NOT NULL,
    open boolean NOT NULL,
    created double precision NOT NULL
);
CREATE TABLE fpbandits.units (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    experiment integer NOT NULL REFERENCES fpbandits.experiments,
    name text COLLATE "C" NOT NULL,
    steps bigint NOT NULL,
    state text,
    due double precision,
    UNIQUE (experiment, name)
) WITH (fillfactor = 70);
CREATE INDEX units_due ON fpbandits.units (due) WHERE due IS NOT NULL;
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
