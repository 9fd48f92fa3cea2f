-- Up Migration

-- One row. Every send of a submission takes the next number; the document store has a file for each, which tells a ledger
-- that was put back to an earlier state from one that is whole (docs/decisions/0010-counted-sends.md).
CREATE TABLE ledger_identity (
  singleton   boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  ledger_id   uuid NOT NULL DEFAULT gen_random_uuid(),
  send_number bigint NOT NULL DEFAULT 0,
  -- Up to here the file of every send has been seen and is this ledger's own.
  sends_seen  bigint NOT NULL DEFAULT 0,
  -- The document store that has the files; null before the first send.
  store_id    text,
  -- Set by "ebrc ledger restored --documents restored", at restored_at by this server's clock: a party's new filings wait
  -- until its certificates were read after certificates_after, from certificates_from on.
  restored_at        timestamptz,
  certificates_from  timestamptz,
  certificates_after timestamptz,
  created_at  timestamptz NOT NULL DEFAULT now()
);
INSERT INTO ledger_identity DEFAULT VALUES;

-- Parties: whose filing it is in the authority's eyes, an IEC in a mode. Clients with one IEC are one party; a client whose IEC
-- is not known yet is a party of its own.
CREATE TABLE parties (
  party_id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  mode       text NOT NULL CHECK (mode IN ('test', 'live')),
  iec        text CHECK (iec ~ '^[A-Z0-9]{10}$'),
  -- When its certificates were last read for a ledger that lost sends together with the document store.
  certificates_read_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX parties_iec ON parties (mode, iec);

-- Exporters: platform customers as the service last described them. Ids are compared lower-cased, and kept as spelled there.
CREATE TABLE exporters (
  exporter_id               text PRIMARY KEY,
  party_id                  integer NOT NULL REFERENCES parties,
  mode                      text NOT NULL CHECK (mode IN ('test', 'live')),
  name                      text NOT NULL,
  email                     text NOT NULL,
  company_name              text,
  iec                       text,
  -- Where it comes from. A client object outranks its IRMs and status records; a known IEC is never removed.
  iec_source                text CHECK (iec_source IN ('client', 'irms', 'status')),
  address                   text,
  is_active                 boolean NOT NULL DEFAULT false,
  has_credentials           boolean NOT NULL DEFAULT false,
  api_state                 text,
  activates_at              timestamptz,
  shared_credentials_likely boolean,
  requires_approval         boolean NOT NULL DEFAULT false,
  -- Start of the last live refresh of its IRMs that succeeded: saved balances are as old as that, whenever they are read.
  irms_refreshed_at         timestamptz,
  read_at                   timestamptz NOT NULL DEFAULT now(),
  created_at                timestamptz NOT NULL DEFAULT now()
);
-- Not unique: a client that was deleted at the service and created again has the same e-mail under another id.
CREATE INDEX exporters_email ON exporters (mode, lower(email));
CREATE UNIQUE INDEX exporters_id ON exporters (lower(exporter_id));
CREATE INDEX exporters_party ON exporters (party_id);

-- The vault: portal user names and passwords, AES-256-GCM; the reference is all that leaves this table. What a secret is for is
-- authenticated with it: these columns only say what to try. A submission is in the hands of the workflow `submitted_to`
-- until it becomes a version of an exporter's credentials.
CREATE TABLE vault_secrets (
  secret_ref   uuid PRIMARY KEY,
  format       smallint NOT NULL,
  purpose      text NOT NULL CHECK (purpose IN ('submission', 'portal-login')),
  mode         text NOT NULL,
  exporter_id  text,
  version      integer,
  submitted_to text NOT NULL,
  key_id       text NOT NULL,
  nonce        bytea NOT NULL,
  ciphertext   bytea NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  CHECK ((purpose = 'portal-login') = (exporter_id IS NOT NULL AND version IS NOT NULL))
);

-- Each submission of credentials is a version. `held` means that the service accepted it: a submission that is rejected leaves
-- the service with the version before, so the current version is the newest held one, and 0 where none is. No call is
-- made while the current version is known to be bad.
CREATE TABLE credential_versions (
  exporter_id text NOT NULL REFERENCES exporters,
  version     integer NOT NULL,
  secret_ref  uuid REFERENCES vault_secrets ON DELETE SET NULL,
  state       text NOT NULL CHECK (state IN ('unverified', 'valid', 'bad')),
  held        boolean NOT NULL DEFAULT false,
  reason      text,
  created_at  timestamptz NOT NULL DEFAULT now(),
  changed_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (exporter_id, version)
);

-- Filings that wait for better credentials than the version they saw.
CREATE TABLE credential_waiters (
  workflow_id  text PRIMARY KEY,
  exporter_id  text NOT NULL,
  version_seen integer NOT NULL,
  since        timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX credential_waiters_exporter ON credential_waiters (exporter_id);

-- Evidence of consent to submit credentials: who, when, for which portal account (hashed), and a hash over all of it.
CREATE TABLE consents (
  consent_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  exporter_id  text NOT NULL,
  account_hash text NOT NULL,
  given_by     text NOT NULL,
  given_at     timestamptz NOT NULL,
  statement    text NOT NULL,
  evidence_hash text NOT NULL
);
CREATE UNIQUE INDEX consents_evidence ON consents (evidence_hash);

-- IRMs as last read from the service; the key is the full one, because a number alone recurs. irm_key is the identity by which
-- mappings, holds and locks know an IRM: comparable number and AD code.
CREATE TABLE irms (
  exporter_id     text NOT NULL REFERENCES exporters,
  irm_key         text NOT NULL,
  irm_number      text NOT NULL,
  ad_code         text NOT NULL,
  ifsc_code       text NOT NULL,
  issue_date      text NOT NULL,
  remittance_date text,
  currency        text,
  purpose_code    text,
  amount          numeric,
  available       numeric,
  utilized        numeric,
  status          text,
  remitter_name   text,
  remitter_country text,
  iec             text,
  record          jsonb NOT NULL,
  read_at         timestamptz NOT NULL,
  first_seen_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (exporter_id, irm_number, ad_code, ifsc_code, issue_date)
);
CREATE INDEX irms_key ON irms (exporter_id, irm_key);

CREATE TABLE irm_changes (
  change_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  exporter_id text NOT NULL,
  irm_number  text NOT NULL,
  ad_code     text NOT NULL,
  ifsc_code   text NOT NULL,
  issue_date  text NOT NULL,
  amount      numeric,
  available   numeric,
  currency    text,
  purpose_code text,
  status      text,
  -- first_seen, balance, amended, cancelled or status; several are joined by a comma.
  what        text NOT NULL,
  seen_at     timestamptz NOT NULL
);
CREATE INDEX irm_changes_irm ON irm_changes (exporter_id, irm_number, seen_at);
