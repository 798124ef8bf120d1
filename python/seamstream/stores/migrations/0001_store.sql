-- Records, logs and work of all tenants. Row-level security is forced, also upon the owner of the tables: without a
-- tenant set inside the transaction nothing is seen and nothing can be written.

CREATE SEQUENCE revision;

CREATE TABLE record (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    value bytea NOT NULL,
    revision bigint NOT NULL DEFAULT nextval('revision'),
    expires_at timestamptz,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX record_expiry ON record (tenant, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE log (
    tenant text COLLATE "C" NOT NULL,
    log text COLLATE "C" NOT NULL,
    last bigint NOT NULL DEFAULT 0,
    incarnation bigint NOT NULL DEFAULT nextval('revision'),
    PRIMARY KEY (tenant, log)
);

CREATE TABLE entry (
    tenant text COLLATE "C" NOT NULL,
    log text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (tenant, log, seq)
);

CREATE TABLE job (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    due_at timestamptz NOT NULL,
    deliveries integer NOT NULL DEFAULT 0,
    token text NOT NULL DEFAULT ''
);
CREATE INDEX job_due ON job (tenant, queue, due_at, number);

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['record', 'log', 'entry', 'job'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY tenant ON %I USING (tenant = current_setting(''seamstream.tenant'', true))'
            ' WITH CHECK (tenant = current_setting(''seamstream.tenant'', true))', name);
    END LOOP;
END $$;
