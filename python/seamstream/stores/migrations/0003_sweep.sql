-- What has expired is removed by those who write, some of it each time and of any tenant: a tenant may never come back.
-- Nobody but the tables' owner sees such rows of others, and only the function below runs as the owner.

DROP INDEX record_expiry;
CREATE INDEX record_expiry ON record (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX log_expiry ON log (expires_at) WHERE expires_at IS NOT NULL;

CREATE POLICY swept ON record TO CURRENT_USER USING (expires_at <= clock_timestamp());
CREATE POLICY swept ON log TO CURRENT_USER USING (expires_at <= clock_timestamp());
CREATE POLICY swept ON entry TO CURRENT_USER USING (EXISTS (
    SELECT FROM log WHERE log.tenant = entry.tenant AND log.log = entry.log AND log.expires_at <= clock_timestamp()));

-- It waits for no lock, so it cannot be part of a deadlock. `now()` lets the indexes be used.
CREATE FUNCTION sweep(at_most integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = seamstream, pg_temp AS $$
DECLARE
    gone record;
    removed integer;
BEGIN
    DELETE FROM record WHERE (tenant, key) IN (
        SELECT tenant, key FROM record WHERE expires_at <= now() ORDER BY expires_at LIMIT at_most
        FOR UPDATE SKIP LOCKED);
    WHILE at_most > 0 LOOP
        SELECT tenant, log INTO gone FROM log WHERE expires_at <= now() ORDER BY expires_at LIMIT 1
        FOR UPDATE SKIP LOCKED;
        EXIT WHEN NOT FOUND;
        DELETE FROM entry WHERE tenant = gone.tenant AND log = gone.log AND seq IN (
            SELECT seq FROM entry WHERE tenant = gone.tenant AND log = gone.log ORDER BY seq LIMIT at_most);
        GET DIAGNOSTICS removed = ROW_COUNT;
        IF removed < at_most THEN
            DELETE FROM log WHERE tenant = gone.tenant AND log = gone.log;
        ELSE  -- a clock that is set back must not show the rest
            UPDATE log SET expires_at = '-infinity' WHERE tenant = gone.tenant AND log = gone.log;
        END IF;
        at_most := at_most - removed - 1;
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION sweep(integer) FROM PUBLIC;
