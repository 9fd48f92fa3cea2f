-- Up Migration

-- Three roles that logins are members of: ebrc_migrate owns and changes the schema, ebrc_run is what workers and filing commands need,
-- ebrc_read what looking needs. They belong to the whole server. Where the migrating user may not make roles, an administrator makes
-- them (docs/operations.md); the ledger works without them too, for the user that owns it.
DO $$
DECLARE
  v_role text;
BEGIN
  FOREACH v_role IN ARRAY ARRAY['ebrc_migrate', 'ebrc_run', 'ebrc_read'] LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = v_role);
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
    EXCEPTION
      -- Another ledger of this server is being migrated at the same moment, or only an administrator makes roles here.
      WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN NULL;
    END;
  END LOOP;
END
$$;

-- Gives each role that exists its rights on everything that is in the schema. Called whenever migrations were applied, so that a new
-- table needs no grants of its own.
CREATE FUNCTION grant_ledger_rights() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_schema text := quote_ident(current_schema());
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ebrc_run') THEN
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO ebrc_run', v_schema);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO ebrc_run', v_schema);
    EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %s TO ebrc_run', v_schema);
    -- Which migrations were applied is not for workers to say.
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON %s.schema_migrations FROM ebrc_run', v_schema);
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ebrc_read') THEN
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO ebrc_read', v_schema);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %s TO ebrc_read', v_schema);
    -- Encrypted, but nothing that looks needs them.
    EXECUTE format('REVOKE SELECT ON %s.vault_secrets FROM ebrc_read', v_schema);
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ebrc_migrate') THEN
    EXECUTE format('GRANT USAGE, CREATE ON SCHEMA %s TO ebrc_migrate', v_schema);
  END IF;
EXCEPTION
  -- The schema belongs to somebody else, who gives the rights on it.
  WHEN insufficient_privilege THEN RAISE NOTICE 'rights on the schema were not given: %', SQLERRM;
END
$$;
