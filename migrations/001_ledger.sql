-- Up Migration

-- The epoch of this ledger: another one after a restore or a promotion, and after somebody saw that its beat fell. Where
-- a function is not to be had, the start of the server stands in for it. The timeline is the one being written: that of
-- the last checkpoint lags behind.
CREATE FUNCTION server_epoch() RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_branch text := coalesce((SELECT branch FROM ledger), '');
BEGIN
  RETURN (SELECT system_identifier::text FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) || v_branch;
EXCEPTION WHEN OTHERS THEN
  RETURN 'started/' || extract(epoch FROM pg_postmaster_start_time())::text || v_branch;
END $$;

-- One row. The ledger's time is (epoch, beat). epoch: the server_epoch() that the ledger was last compared with Temporal
-- in. beat: raised by one worker at a time; a lower one than somebody saw means that the ledger went back, and so does one
-- that was raised in a gap: a copy that was brought back knows nothing of the beats since it was taken.
CREATE TABLE ledger (
  singleton   boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  ledger_id   uuid NOT NULL DEFAULT gen_random_uuid(),
  -- A part of the epoch: another one after somebody saw a fallen beat, whose server may say that nothing has happened.
  branch      text NOT NULL DEFAULT '',
  epoch       text NOT NULL,
  beat        bigint NOT NULL DEFAULT 1,
  beat_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The last times in which no beat was raised although one was due: [from, to] in epoch ms, the newest first.
  gaps        jsonb NOT NULL DEFAULT '[]',
  -- When the last comparison with Temporal that found everything began, by mode, in epoch ms.
  compared    jsonb NOT NULL DEFAULT '{}',
  -- When "ebrc ledger restored" was said. No IEC sends before a whole reading that began a settle time after it.
  restored_at timestamptz,
  -- The feed of events: a cursor is (feed_epoch, position). The last position given, and the last one removed.
  feed_epoch    uuid NOT NULL DEFAULT gen_random_uuid(),
  feed_position bigint NOT NULL DEFAULT 0,
  feed_removed  bigint NOT NULL DEFAULT 0,
  created_at  timestamptz NOT NULL DEFAULT now()
);
INSERT INTO ledger (epoch) VALUES (server_epoch());

-- Exporters: the service's platform customers, as it last described them. Ids keep its spelling and are compared in
-- lower case.
CREATE TABLE exporters (
  exporter_id               text PRIMARY KEY,
  mode                      text NOT NULL CHECK (mode IN ('test', 'live')),
  name                      text NOT NULL,
  email                     text NOT NULL,
  company_name              text,
  iec                       text,
  -- The source of iec. IRMs outrank status records, and both outrank the client object. A known IEC is never removed.
  iec_source                text CHECK (iec_source IN ('client', 'irms', 'status')),
  -- The IEC entered for the client. A person is shown a difference from iec.
  stated_iec                text,
  address                   text,
  is_active                 boolean NOT NULL DEFAULT false,
  has_credentials           boolean NOT NULL DEFAULT false,
  api_state                 text,
  activates_at              timestamptz,
  shared_credentials_likely boolean,
  requires_approval         boolean NOT NULL DEFAULT false,
  -- Start of the last successful live refresh of its IRMs. Saved balances are as old as this, whenever they are read.
  irms_refreshed_at         timestamptz,
  read_at                   timestamptz NOT NULL DEFAULT now(),
  created_at                timestamptz NOT NULL DEFAULT now(),
  -- The value of exporter_state(), which triggers maintain.
  state                     text NOT NULL
);
-- Not unique: a client that was deleted at the service and created again has the same e-mail with another id.
CREATE INDEX exporters_email ON exporters (mode, lower(email));
CREATE UNIQUE INDEX exporters_id ON exporters (lower(exporter_id));
CREATE INDEX exporters_iec ON exporters (mode, iec);

-- The vault: portal user names and passwords, sealed to the key in vault_keys. Only the reference leaves this table. A
-- secret's purpose is authenticated with it; these columns only tell what to try. A submission belongs to the workflow
-- in submitted_to until it becomes a version of an exporter's credentials; a webhook's address and signing secrets belong
-- to the webhook in submitted_to.
CREATE TABLE vault_secrets (
  secret_ref   uuid PRIMARY KEY,
  format       smallint NOT NULL,
  purpose      text NOT NULL CHECK (purpose IN ('submission', 'portal-login', 'webhook')),
  mode         text NOT NULL,
  exporter_id  text,
  version      integer,
  submitted_to text NOT NULL,
  key_id       text NOT NULL,
  sealed       bytea NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  CHECK ((purpose = 'portal-login') = (exporter_id IS NOT NULL AND version IS NOT NULL))
);

-- The public key that passwords are sealed to. The workers publish it, and only they can open what it seals.
CREATE TABLE vault_keys (
  mode         text PRIMARY KEY,
  key_id       text NOT NULL,
  public_key   bytea NOT NULL,
  published_at timestamptz NOT NULL DEFAULT now()
);

-- Each submission of credentials is a version. `held`: the service accepted it. A rejected submission leaves the
-- service with the version before it, so the current version is the newest held one, or 0 without one. No call is made
-- while the current version is known to be bad.
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

-- IRMs as last read from the service. The primary key is the full one, because numbers alone recur. irm_key identifies
-- an IRM for mappings, holds and locks: its comparable number, because a bank merger changes AD code and IFSC.
-- missing_since: since when a complete list of the client's IRMs has lacked it.
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
  missing_since   timestamptz,
  PRIMARY KEY (exporter_id, irm_number, ad_code, ifsc_code, issue_date)
);
CREATE INDEX irms_key ON irms (exporter_id, irm_key);

CREATE TABLE irm_changes (
  change_id   bigint GENERATED ALWAYS AS IDENTITY,
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
  -- first_seen, balance, amended, cancelled or status; several are separated by commas.
  what        text NOT NULL,
  seen_at     timestamptz NOT NULL,
  PRIMARY KEY (exporter_id, irm_number, seen_at, change_id)
);

-- The document and IRM numbers of rows, lower-cased, one per line. Lists of filings are searched in them.
CREATE FUNCTION words_of(rows jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT string_agg(DISTINCT lower(named.word), E'\n') FROM jsonb_array_elements(rows) AS r (row)
   CROSS JOIN LATERAL (VALUES (r.row -> 'mapping' ->> 'sbCumInvoiceNumber'), (r.row -> 'mapping' ->> 'billNo'),
     (r.row -> 'mapping' ->> 'gstinInvoiceNumber'), (r.row -> 'mapping' ->> 'irmNumber')) AS named (word)
$$;

-- What callers handed in, stored once per content, so that workflow inputs carry a reference and not the rows.
CREATE TABLE filing_inputs (
  input_ref       text PRIMARY KEY,
  -- Workers read it whole, so its size is limited here as well as in the code.
  rows            jsonb NOT NULL CHECK (octet_length(rows::text) <= 16777216),
  row_count       integer NOT NULL CHECK (row_count <= 5000),
  source_kind     text NOT NULL CHECK (source_kind IN ('json', 'workbook')),
  source_name     text,
  source_document text,
  -- Warnings of the file's check, for the filing that is made from it.
  warnings        jsonb NOT NULL DEFAULT '[]',
  -- The principal who handed it in, and its name then. It is the maker of the filing made from it.
  maker_id        uuid,
  made_by         text,
  -- When it was last handed in. An input without a filing is removed some time later.
  created_at      timestamptz NOT NULL DEFAULT now(),
  words           text GENERATED ALWAYS AS (words_of(rows)) STORED
);
-- Stores rows out of line, so that a search reads the words alone.
ALTER TABLE filing_inputs ALTER COLUMN words SET STORAGE MAIN, SET (toast_tuple_target = 128);
CREATE INDEX filing_inputs_created ON filing_inputs (created_at);

-- Principals: the persons and systems that may use the HTTP API. A name, in comparable form, is one principal for ever:
-- if it is removed and added again it is the same one, so that nobody approves under it what they made before.
CREATE TABLE principals (
  principal_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  mode         text NOT NULL CHECK (mode IN ('test', 'live')),
  name         text NOT NULL,
  name_key     text NOT NULL CHECK (name_key <> ''),
  -- Of a person who signs in at the company's identity provider (OpenID Connect): who this is there.
  issuer       text,
  subject      text,
  is_system    boolean NOT NULL DEFAULT false,
  roles        text[] NOT NULL CHECK (roles <@ ARRAY['viewer', 'maker', 'checker', 'admin'] AND cardinality(roles) > 0),
  -- Lower-cased ids of the exporters that it may see; null for all.
  exporters    text[] CHECK (cardinality(exporters) > 0),
  expires_at   timestamptz,
  removed_at   timestamptz,
  created_at   timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT checkers_are_persons CHECK (NOT (is_system AND 'checker' = ANY(roles))),
  CONSTRAINT subject_of_issuer CHECK ((issuer IS NULL) = (subject IS NULL))
);
CREATE UNIQUE INDEX principals_name ON principals (mode, name_key);
CREATE UNIQUE INDEX principals_subject ON principals (mode, issuer, subject);

-- Tokens of principals, stored as SHA-256 only, because 256 random bits need no slower hash. A rotated token ends after
-- a day.
CREATE TABLE principal_tokens (
  token_hash   bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  principal_id uuid NOT NULL REFERENCES principals,
  ends_at      timestamptz,
  created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX principal_tokens_principal ON principal_tokens (principal_id);

-- Sign-ins at the pages. A session ends with the token that opened it; without one it was opened at the identity
-- provider. Its secret is stored as SHA-256 only.
CREATE TABLE sessions (
  session_hash bytea PRIMARY KEY CHECK (octet_length(session_hash) = 32),
  principal_id uuid NOT NULL REFERENCES principals,
  token_hash   bytea REFERENCES principal_tokens ON DELETE CASCADE,
  -- When the person last signed in, which a decision asks for again after some minutes.
  signed_in_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ends_at      timestamptz NOT NULL
);
CREATE INDEX sessions_principal ON sessions (principal_id);
CREATE INDEX sessions_token ON sessions (token_hash);

-- Filings: one reference and number, one input of at most 999 rows, one push or one upload.
CREATE TABLE filings (
  filing_id        text PRIMARY KEY,
  mode             text NOT NULL,
  exporter_id      text NOT NULL REFERENCES exporters,
  -- Whose it is: (mode, iec). Null until the exporter's IEC is known; nothing is sent before.
  iec              text,
  reference        text NOT NULL,
  -- The filing's number under its reference: 1, then one more for each correction.
  n                integer NOT NULL CHECK (n > 0),
  corrects         text REFERENCES filings,
  workflow_id      text NOT NULL,
  content_hash     text NOT NULL,
  input_ref        text NOT NULL REFERENCES filing_inputs,
  upload_type      integer NOT NULL,
  declaration      text NOT NULL CHECK (declaration IN ('Y', 'N')),
  channel          text NOT NULL CHECK (channel IN ('push', 'bulk')),
  declared_by      text NOT NULL,
  -- The maker: the principal who handed the input in, or a claimed name.
  made_by          text NOT NULL,
  maker_id         uuid REFERENCES principals,
  made_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Why it needs an approval: policy, maker or duplicate; null: it does not. approved_at: when it was given.
  approval         text,
  approved_at      timestamptz,
  -- The evidence that the approvers were shown, which rule 4 of the send conditions passes over once.
  approved_evidence text[] NOT NULL DEFAULT '{}',
  -- Two persons let it go although the certificates could not be read: that holds an hour, as a reading does.
  unread_until     timestamptz,
  state            text NOT NULL,
  since            timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The number of changes of its state.
  moves            integer NOT NULL DEFAULT 1,
  -- When it is overdue, counted from the last progress (approved, accepted, a row's outcome, a decision).
  due_at           timestamptz,
  -- What somebody should know and do; null: nobody is asked. asked: a person can answer now.
  attention        text,
  asked            boolean NOT NULL DEFAULT false,
  -- A pause (credentials, access, activation, breaker, balance, reading) and when it is looked at again.
  pause            text,
  pause_until      timestamptz,
  pause_tries      integer NOT NULL DEFAULT 0,
  pause_text       text,
  -- The version of the portal credentials that a paused call used.
  credentials_seen integer,
  -- The run of the last move, and the ledger's epoch then.
  run              text,
  epoch            text,
  -- When exporter, IRMs and documents were checked; null: not yet.
  checked_at       timestamptz,
  -- When the balances were last reserved; null: not since the last attempt was judged.
  reserved_at      timestamptz,
  errors           jsonb NOT NULL DEFAULT '[]',
  warnings         jsonb NOT NULL DEFAULT '[]',
  annotated        text,
  closed_at        timestamptz,
  UNIQUE (mode, reference, n)
);
-- In the orders of lists: all, of one exporter, in one state. Workers read the open ones only.
CREATE INDEX filings_made ON filings (mode, made_at DESC, filing_id);
CREATE INDEX filings_exporter ON filings (exporter_id, made_at DESC, filing_id);
CREATE INDEX filings_state ON filings (state, made_at DESC, filing_id);
CREATE INDEX filings_workflow ON filings (workflow_id);
CREATE INDEX filings_input ON filings (input_ref);
CREATE INDEX filings_open ON filings (mode, iec) WHERE closed_at IS NULL;
-- Filings that need somebody, and those that are open and may be overdue, in the order of lists.
CREATE INDEX filings_attention ON filings (mode, made_at DESC, filing_id) WHERE attention IS NOT NULL OR closed_at IS NULL;
CREATE INDEX filings_corrects ON filings (corrects) WHERE corrects IS NOT NULL;

-- Rows: one mapping of an IRM to a document each.
CREATE TABLE filing_rows (
  filing_id     text NOT NULL REFERENCES filings ON DELETE CASCADE,
  -- From 0; serial number in the message or workbook: position + 1.
  position      integer NOT NULL,
  source_row    integer NOT NULL,
  mode          text NOT NULL,
  iec           text,
  mapping       jsonb NOT NULL,
  extra         jsonb,
  -- IRM number, document number and bill number in comparable form (src/domain/identity.ts).
  irm_key       text NOT NULL,
  document_key  text NOT NULL,
  bill_key      text NOT NULL DEFAULT '',
  document_on   date,
  amount        numeric NOT NULL,
  currency      text NOT NULL,
  -- The same mapping has the same fingerprint; `ordinal` counts rows that may stand beside each other.
  fingerprint   text NOT NULL,
  ordinal       integer NOT NULL DEFAULT 0,
  -- The filings or certificates beside which it was let in, and why.
  beside        text[] NOT NULL DEFAULT '{}',
  beside_reason text,
  state         text NOT NULL DEFAULT 'planned' CHECK (state IN ('planned', 'sent', 'certified', 'rejected', 'released')),
  held          boolean NOT NULL GENERATED ALWAYS AS (state IN ('planned', 'sent', 'certified')) STORED,
  -- What the record of the filing's own request says of it, until its certificate's details were read.
  record_status text CHECK (record_status IN ('processed', 'errored')),
  record_number text,
  ebrc_number   text,
  ebrc_date     text,
  -- What proved its certificate: its request's own record, fetch-details, or two persons.
  certified_by  text CHECK (certified_by IN ('record', 'details', 'persons')),
  errors        jsonb NOT NULL DEFAULT '[]',
  -- When an attempt first carried it, when it was last freed, and when it got its outcome.
  sent_at       timestamptz,
  freed_at      timestamptz,
  settled_at    timestamptz,
  -- The filing that corrects it.
  corrected_by  text,
  PRIMARY KEY (filing_id, position),
  CHECK ((state = 'certified') = (ebrc_number IS NOT NULL)),
  CHECK ((ebrc_number IS NULL) = (certified_by IS NULL))
);
-- A mapping is held once at each ordinal, and a certificate belongs to one row: PostgreSQL holds both.
CREATE UNIQUE INDEX filing_rows_held ON filing_rows (fingerprint, ordinal) WHERE held;
CREATE UNIQUE INDEX filing_rows_ebrc ON filing_rows (mode, iec, ebrc_number);
CREATE INDEX filing_rows_irm ON filing_rows (mode, iec, irm_key);
CREATE INDEX filing_rows_document ON filing_rows (mode, iec, document_key);
CREATE INDEX filing_rows_bill ON filing_rows (mode, iec, bill_key) WHERE bill_key <> '';
CREATE INDEX filing_rows_sent ON filing_rows (mode, iec) WHERE state = 'sent';
-- Freed rows that an attempt carried, to which certificates may come late.
CREATE INDEX filing_rows_released ON filing_rows (mode, iec) WHERE state = 'released' AND sent_at IS NOT NULL;
-- For reports on a range of days. BRIN fits, because rows are settled roughly in the order in which they are stored.
CREATE INDEX filing_rows_settled ON filing_rows USING brin (settled_at);

-- One row per try to send a filing. Inserting it as `sending` is what allows the first byte; the unique index is the
-- rule that nothing else may have arrived.
CREATE TABLE attempts (
  filing_id     text NOT NULL REFERENCES filings ON DELETE CASCADE,
  number        integer NOT NULL CHECK (number > 0),
  mode          text NOT NULL,
  exporter_id   text NOT NULL,
  verdict       text NOT NULL CHECK (verdict IN ('sending', 'unknown', 'accepted', 'refused', 'not_sent', 'not_filed')),
  reason        text,
  -- When it began to be sent, by PostgreSQL's clock, and the ledger's time then.
  marked_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  epoch         text NOT NULL,
  beat          bigint NOT NULL,
  -- How many beats the settle time has, and settle time and HTTP time-out of the sending process. Whoever judges takes
  -- the longer of these and its own.
  settle_beats  bigint NOT NULL,
  settle_ms     bigint NOT NULL,
  timeout_ms    bigint NOT NULL,
  -- The execution that sends. Null: it was inserted as unknown, because it may have been sent (a ledger that went back).
  sender        text,
  payload_hash  text,
  document      text,
  -- Per IRM: the last balance before it, read while no row of ours was on its way on the IRM: {irmKey: {available, readAt}}.
  balances      jsonb NOT NULL DEFAULT '{}',
  request_id    text,
  -- service: its answer named the request; person: somebody did.
  request_from  text CHECK (request_from IN ('service', 'person')),
  dgft_ack_id   text,
  ack_status    text,
  answer        jsonb,
  answer_status integer,
  answered_at   timestamptz,
  -- The last status record of its request, when it last said something new, and when it was asked for last.
  record        jsonb,
  record_at     timestamptz,
  polled_at     timestamptz,
  -- Since when the service denies its request without another answer in between.
  denied_since  timestamptz,
  -- When every row had its outcome.
  ended_at      timestamptz,
  -- What speaks against "not filed" as of the last reading, by name, with the time of that reading.
  evidence      jsonb,
  judged_at     timestamptz,
  PRIMARY KEY (filing_id, number)
);
CREATE UNIQUE INDEX attempts_maybe_filed ON attempts (filing_id) WHERE verdict IN ('sending', 'unknown', 'accepted');
-- A request files one filing. Client and id identify it together (POST /genebrc/status).
CREATE UNIQUE INDEX attempts_request ON attempts (mode, exporter_id, lower(request_id)) WHERE request_id IS NOT NULL;
CREATE INDEX attempts_unknown ON attempts (mode, marked_at) WHERE verdict = 'unknown';
CREATE INDEX attempts_open ON attempts (mode, marked_at) WHERE request_id IS NOT NULL AND ended_at IS NULL;
-- For the figures of the last day. BRIN fits, because attempts end roughly in the order in which they are made.
CREATE INDEX attempts_ended ON attempts USING brin (ended_at);

CREATE FUNCTION ledger_beat() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT beat FROM ledger';

-- Readings of a company's certificates (fetch-details) and of a client's IRMs. An open one younger than ten minutes is
-- somebody's lease.
CREATE TABLE readings (
  reading_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  mode         text NOT NULL,
  iec          text NOT NULL,
  exporter_id  text NOT NULL,
  -- The activity that reads: its next try takes the place of one whose worker was lost.
  reader       text,
  began_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The ledger's beat when it began: whether a settle time was over then is told by clock and beats.
  beat         bigint NOT NULL DEFAULT ledger_beat(),
  ended_at     timestamptz,
  -- The days of the certificates; null: only IRMs were read.
  from_date    date,
  to_date      date,
  -- Whether the certificates, and the client's IRMs, were read whole; null: not read.
  whole        boolean,
  irms_whole   boolean,
  problem      text
);
CREATE UNIQUE INDEX readings_under_way ON readings (mode, iec) WHERE ended_at IS NULL;
CREATE INDEX readings_company ON readings (mode, iec, began_at DESC);

-- What persons decided, and what they were shown. Append-only but for the outcome.
CREATE TABLE decisions (
  decision_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  filing_id    text NOT NULL REFERENCES filings ON DELETE CASCADE,
  kind         text NOT NULL CHECK (kind IN ('approve', 'filed', 'not_filed', 'abandon')),
  -- The principal; null: the name is a claim.
  principal_id uuid REFERENCES principals,
  name         text NOT NULL,
  attempt      integer,
  -- The names of the evidence that was shown.
  shown        text[] NOT NULL DEFAULT '{}',
  request_id   text,
  -- {row, eBRCNumber} of a `filed`.
  certificates jsonb NOT NULL DEFAULT '[]',
  -- Whether the filing ends with a `not_filed`, instead of being sent again.
  ends         boolean NOT NULL DEFAULT false,
  note         text,
  at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- carried_out, refused or void; null: it waits for a second person or a reading.
  outcome      text CHECK (outcome IN ('carried_out', 'refused', 'void')),
  why          text,
  outcome_at   timestamptz
);
CREATE INDEX decisions_filing ON decisions (filing_id, decision_id);

-- Every certificate that fetch-details ever named, whoever filed it. It is ours where a row has its number.
CREATE TABLE certificates (
  mode          text NOT NULL,
  iec           text NOT NULL,
  ebrc_number   text NOT NULL,
  -- The client through which it was first read.
  exporter_id   text NOT NULL,
  ebrc_date     text,
  issued_on     date,
  status        text,
  first_status  text,
  document_no   text,
  document_date text,
  bill_no       text,
  amount        numeric,
  currency      text,
  document_key  text NOT NULL DEFAULT '',
  document_on   date,
  bill_key      text NOT NULL DEFAULT '',
  detail        jsonb NOT NULL,
  first_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When fetch-details last showed it, and when the call began whose answer is stored.
  seen_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  asked_at      timestamptz NOT NULL,
  pdf_document  text,
  pdf_sha256    text,
  pdf_bytes     integer,
  -- What is odd about it, though it opens.
  pdf_note      text,
  archived_at   timestamptz,
  -- How often the download was not a whole PDF, and when it is tried again.
  pdf_refused   integer NOT NULL DEFAULT 0,
  pdf_next_at   timestamptz,
  -- What the last check of the document store found: missing or damaged, and the hash of the stored file.
  pdf_problem   text,
  pdf_found     text,
  pdf_checked_at timestamptz,
  PRIMARY KEY (mode, iec, ebrc_number)
);
CREATE INDEX certificates_document ON certificates (mode, iec, document_key);
CREATE INDEX certificates_bill ON certificates (mode, iec, bill_key) WHERE bill_key <> '';
CREATE INDEX certificates_seen ON certificates (first_seen_at DESC, ebrc_number);
CREATE INDEX certificates_company ON certificates (mode, iec, first_seen_at DESC, ebrc_number);
-- Certificates without an intact PDF, ours and others'.
CREATE INDEX certificates_unarchived ON certificates (mode, iec, ebrc_number) WHERE archived_at IS NULL OR pdf_problem IS NOT NULL;
-- Cancelled certificates, by CANCELLED_STATUS of src/domain/rules/preflight.ts: their rows may be corrected.
CREATE INDEX certificates_cancelled ON certificates (mode, iec, ebrc_number) WHERE coalesce(status, '') ~* '^\s*c(ancel|\s*$)';
CREATE INDEX certificates_checked ON certificates (mode, iec, pdf_checked_at) WHERE archived_at IS NOT NULL;

-- What happened. An event of a filing has a line for people; one with a type is also in the feed, in which a relay gives
-- committed events their position. `data` has ids and states only, `detail` what only the filing's readers see.
CREATE TABLE events (
  -- In the order of writing, because writers of one filing hold its lock.
  ordinal     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id    uuid NOT NULL DEFAULT gen_random_uuid(),
  mode        text NOT NULL,
  type        text,
  at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  exporter_id text,
  filing_id   text,
  -- The reference of a filing, otherwise the id of what the event is about.
  subject     text NOT NULL,
  kind        text,
  state       text,
  who         text,
  text        text,
  data        jsonb NOT NULL DEFAULT '{}',
  detail      jsonb,
  position    bigint,
  -- Its place in the chain of its filing's events, and the hash over itself and the hash before it (event_line).
  link        integer,
  hash        bytea
);
CREATE INDEX events_unchained ON events (ordinal) WHERE hash IS NULL AND filing_id IS NOT NULL;
CREATE UNIQUE INDEX events_link ON events (filing_id, link) WHERE link IS NOT NULL;
CREATE UNIQUE INDEX events_position ON events (position) WHERE position IS NOT NULL;
CREATE INDEX events_unplaced ON events (ordinal) WHERE position IS NULL AND type IS NOT NULL;
CREATE INDEX events_filing ON events (filing_id, ordinal) WHERE filing_id IS NOT NULL;

-- What is hashed of an event, after the hash before it and a blank. Named fields in UTC, so that it stays the same text.
CREATE FUNCTION event_line(e events) RETURNS text LANGUAGE sql STABLE SET "TimeZone" TO 'UTC' AS $$
  SELECT jsonb_build_object('ordinal', e.ordinal, 'eventId', e.event_id, 'mode', e.mode, 'type', e.type, 'at', e.at,
    'exporterId', e.exporter_id, 'filingId', e.filing_id, 'subject', e.subject, 'kind', e.kind, 'state', e.state, 'who', e.who,
    'text', e.text, 'data', e.data, 'detail', e.detail)::text
$$;

-- Chains committed events of filings. Only the relay calls it, one at a time, so that a chain never branches.
CREATE FUNCTION chain_events(p_limit integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_event events;
  v_before events;
BEGIN
  FOR v_event IN SELECT * FROM events WHERE hash IS NULL AND filing_id IS NOT NULL ORDER BY ordinal LIMIT p_limit LOOP
    SELECT * INTO v_before FROM events WHERE filing_id = v_event.filing_id AND link IS NOT NULL ORDER BY link DESC LIMIT 1;
    UPDATE events SET link = coalesce(v_before.link, 0) + 1,
        hash = sha256(convert_to(coalesce(encode(v_before.hash, 'hex'), '') || ' ' || event_line(v_event), 'UTF8'))
      WHERE ordinal = v_event.ordinal;
  END LOOP;
END
$$;

-- Budgets of the service's rate limits, per hash of the API key and rate class, because that is what the service counts
-- by. Times are clock_timestamp(), because now() is the start of the transaction and lags behind.
CREATE TABLE budget_classes (
  key_hash     text NOT NULL,
  rate_class   text NOT NULL,
  -- No slot is granted before this, because the service answered 429: something else uses the key.
  closed_until timestamptz,
  -- How long it was closed last, ms. It grows while the service refuses again soon after.
  closed_ms    double precision,
  refusals     bigint NOT NULL DEFAULT 0,
  refused_at   timestamptz,
  PRIMARY KEY (key_hash, rate_class)
);

-- The queue of callers. A ticket whose process stops renewing its lease has left the queue.
CREATE TABLE budget_tickets (
  ticket      uuid PRIMARY KEY,
  place       bigint GENERATED ALWAYS AS IDENTITY,
  key_hash    text NOT NULL,
  rate_class  text NOT NULL,
  owner       uuid NOT NULL,
  entered_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  lease_until timestamptz NOT NULL
);
CREATE INDEX budget_tickets_line ON budget_tickets (key_hash, rate_class, place);

-- The calls that the service may still count. free_at is never unknown:
--   taken, not written  end of the lease + window + guard: a process that died may have written until its lease ran out
--   written             the stamp + window + guard: an answer that never comes frees the slot all the same
--   answered            the answer's headers + window, where that is earlier
CREATE TABLE budget_slots (
  ticket      uuid PRIMARY KEY,
  key_hash    text NOT NULL,
  rate_class  text NOT NULL,
  owner       uuid NOT NULL,
  taken_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  written_at  timestamptz,
  answered_at timestamptz,
  free_at     timestamptz NOT NULL
);
CREATE INDEX budget_slots_window ON budget_slots (key_hash, rate_class, free_at);

-- One step of the queue, for all waiting tickets of one process in one class: enters new ones in the order given,
-- renews the others, and turns those whose turn has come into slots. It is one statement for the client, so that a
-- worker which is stopped or cut off half-way never holds the lock that all others need.
--   hold_ms   how long a slot that is taken and never reported counts beyond its lease: window + guard
--   ahead     live tickets in front; wait_ms: until the slot that this ticket can expect is free, as known now
CREATE FUNCTION budget_step(
  p_key_hash text, p_rate_class text, p_limit integer, p_hold_ms double precision, p_lease_ms double precision,
  p_owner uuid, p_tickets uuid[]
) RETURNS TABLE (ticket uuid, granted boolean, ahead integer, wait_ms double precision)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_closed_until timestamptz;
  v_now          timestamptz;
  v_used         integer;
  v_room         integer;
  v_plain        boolean;
BEGIN
  LOOP
    SELECT c.closed_until INTO v_closed_until FROM budget_classes c
     WHERE c.key_hash = p_key_hash AND c.rate_class = p_rate_class FOR UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO budget_classes (key_hash, rate_class) VALUES (p_key_hash, p_rate_class) ON CONFLICT DO NOTHING;
  END LOOP;

  -- Read after the lock was acquired, which may have taken long.
  v_now := clock_timestamp();

  DELETE FROM budget_slots s
   WHERE s.key_hash = p_key_hash AND s.rate_class = p_rate_class AND s.free_at <= v_now AND s.ticket <> ALL (p_tickets);

  -- Usually the queue is empty and there is room, so nothing has to be entered, renewed or ordered.
  SELECT count(*) + cardinality(p_tickets) <= p_limit AND coalesce(v_closed_until <= v_now, true)
         AND NOT coalesce(bool_or(s.ticket = ANY (p_tickets)), false)
         AND NOT EXISTS (SELECT FROM budget_tickets t WHERE t.key_hash = p_key_hash AND t.rate_class = p_rate_class)
    INTO v_plain FROM budget_slots s WHERE s.key_hash = p_key_hash AND s.rate_class = p_rate_class;
  IF v_plain THEN
    RETURN QUERY
    INSERT INTO budget_slots (ticket, key_hash, rate_class, owner, taken_at, free_at)
    SELECT w.ticket, p_key_hash, p_rate_class, p_owner, v_now, v_now + (p_lease_ms + p_hold_ms) * interval '1 ms'
      FROM unnest(p_tickets) AS w (ticket)
    RETURNING budget_slots.ticket, true, 0, 0::double precision;
    RETURN;
  END IF;

  DELETE FROM budget_tickets t
   WHERE t.key_hash = p_key_hash AND t.rate_class = p_rate_class AND t.lease_until <= v_now
     AND t.ticket <> ALL (p_tickets);

  -- If a ticket already has a slot, its grant did not reach the client. It is returned again below.
  UPDATE budget_slots s SET free_at = v_now + (p_lease_ms + p_hold_ms) * interval '1 ms'
   WHERE s.ticket = ANY (p_tickets) AND s.written_at IS NULL;
  INSERT INTO budget_tickets (ticket, key_hash, rate_class, owner, lease_until)
  SELECT w.ticket, p_key_hash, p_rate_class, p_owner, v_now + p_lease_ms * interval '1 ms'
    FROM unnest(p_tickets) WITH ORDINALITY AS w (ticket, n)
   WHERE NOT EXISTS (SELECT FROM budget_slots s WHERE s.ticket = w.ticket)
   ORDER BY w.n
  ON CONFLICT (ticket) DO UPDATE SET lease_until = excluded.lease_until;

  SELECT count(*) INTO v_used FROM budget_slots s WHERE s.key_hash = p_key_hash AND s.rate_class = p_rate_class;
  v_room := CASE WHEN v_closed_until > v_now THEN 0 ELSE greatest(p_limit - v_used, 0) END;

  -- A ticket among the first v_room may go, even if one in front of it has not come for its slot yet.
  WITH queue AS (
    SELECT t.ticket, row_number() OVER (ORDER BY t.place) AS nth FROM budget_tickets t
     WHERE t.key_hash = p_key_hash AND t.rate_class = p_rate_class
  ), gone AS (
    DELETE FROM budget_tickets t USING queue
     WHERE t.ticket = queue.ticket AND queue.nth <= v_room AND t.ticket = ANY (p_tickets)
    RETURNING t.ticket
  )
  INSERT INTO budget_slots (ticket, key_hash, rate_class, owner, taken_at, free_at)
  SELECT gone.ticket, p_key_hash, p_rate_class, p_owner, v_now, v_now + (p_lease_ms + p_hold_ms) * interval '1 ms'
    FROM gone;

  RETURN QUERY
  SELECT s.ticket, true, 0, 0::double precision FROM budget_slots s WHERE s.ticket = ANY (p_tickets);

  RETURN QUERY
  WITH queue AS (
    SELECT t.ticket, row_number() OVER (ORDER BY t.place) AS nth FROM budget_tickets t
     WHERE t.key_hash = p_key_hash AND t.rate_class = p_rate_class
  ), frees AS (
    SELECT array_agg(s.free_at ORDER BY s.free_at) AS at, count(*) AS used FROM budget_slots s
     WHERE s.key_hash = p_key_hash AND s.rate_class = p_rate_class
  )
  SELECT queue.ticket, false, (queue.nth - 1)::integer,
         greatest(extract(epoch FROM greatest(
           v_closed_until,
           frees.at[least(greatest(queue.nth - (p_limit - frees.used), 0), frees.used)]) - v_now) * 1000, 0)::double precision
    FROM queue, frees
   WHERE queue.ticket = ANY (p_tickets)
   ORDER BY queue.nth;
END
$$;

-- Credential checks that the portal refused. After five within fifteen minutes the service refuses for fifteen more.
CREATE TABLE credential_failures (
  mode        text NOT NULL CHECK (mode IN ('test', 'live')),
  exporter_id text NOT NULL,
  failed_at   timestamptz NOT NULL,
  PRIMARY KEY (mode, exporter_id, failed_at)
);

-- One row per call that was tried, without bodies and secrets.
CREATE TABLE api_calls (
  call_id     bigint GENERATED ALWAYS AS IDENTITY,
  mode        text NOT NULL,
  at          timestamptz NOT NULL,
  operation   text NOT NULL,
  exporter_id text,
  -- HTTP status; null without an answer.
  status      smallint,
  -- Kind of the error; null for a success.
  kind        text,
  error_code  text,
  request_id  text,
  latency_ms  integer NOT NULL,
  attempt     integer,
  PRIMARY KEY (at, call_id)
);
-- The labels of the service's bulk template, as last read by a worker.
CREATE TABLE bulk_templates (
  mode       text PRIMARY KEY CHECK (mode IN ('test', 'live')),
  labels     jsonb,
  learned_at timestamptz,
  -- When a worker last began to read it, so that only one of several workers requests it.
  asked_at   timestamptz NOT NULL,
  CHECK ((labels IS NULL) = (learned_at IS NULL))
);

-- Differences and contradictions that somebody has to look at. A finding keeps its key, and with it its age, until a fact
-- closes it; if it comes back later, it is a new one. ledger_went_back is never acknowledged: while one is open, nothing
-- is sent (see docs/protocol.md).
CREATE TABLE findings (
  -- No number: it would tell whoever sees one company's findings how many there are of all.
  finding_id      text PRIMARY KEY DEFAULT upper(left(replace(gen_random_uuid()::text, '-', ''), 16)),
  mode            text NOT NULL,
  -- Null if it concerns no company.
  iec             text,
  key             text NOT NULL,
  kind            text NOT NULL,
  -- What a person should know and do.
  text            text,
  exporter_id     text,
  ebrc_number     text,
  filing_id       text,
  source_row      integer,
  irm_number      text,
  -- The day that a read window must cover before the finding may be closed; null if no window decides.
  on_date         date,
  amount          numeric,
  currency        text,
  ours            jsonb,
  theirs          jsonb,
  reason          text,
  first_seen_at   timestamptz NOT NULL,
  last_seen_at    timestamptz NOT NULL,
  closed_at       timestamptz,
  healed          text,
  acknowledged_at timestamptz,
  acknowledged_by text,
  note            text,
  CHECK (kind <> 'ledger_went_back' OR acknowledged_at IS NULL)
);
CREATE UNIQUE INDEX findings_open ON findings (mode, key) WHERE closed_at IS NULL;
CREATE INDEX findings_filing ON findings (filing_id) WHERE closed_at IS NULL;
CREATE INDEX findings_kind ON findings (mode, kind, first_seen_at) WHERE closed_at IS NULL;
CREATE INDEX findings_closed ON findings (closed_at) WHERE closed_at IS NOT NULL;

-- Earlier values of what the authority reports of a certificate.
CREATE TABLE certificate_changes (
  change_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  mode        text NOT NULL,
  iec         text NOT NULL,
  ebrc_number text NOT NULL,
  field       text NOT NULL,
  before      text,
  after       text,
  seen_at     timestamptz NOT NULL
);
CREATE INDEX certificate_changes_number ON certificate_changes (mode, iec, ebrc_number);

CREATE TABLE reconciliation_runs (
  run_id      text PRIMARY KEY,
  mode        text NOT NULL,
  workflow_id text NOT NULL,
  exporter_id text,
  from_date   date NOT NULL,
  to_date     date NOT NULL,
  started_at  timestamptz NOT NULL,
  ended_at    timestamptz,
  result      jsonb
);

-- Export documents in the exporter's own books, from `ebrc invoices import`. Filed documents are known from their rows;
-- these add documents without a filing, buyers, and due dates that were agreed differently.
CREATE TABLE invoices (
  exporter_id   text NOT NULL REFERENCES exporters,
  -- Number and date in comparable form, as certificates and rows are matched.
  document_key  text NOT NULL,
  document_no   text NOT NULL,
  document_date date NOT NULL,
  -- The upload type with which it will be filed, 101 to 104.
  document_type integer CHECK (document_type BETWEEN 101 AND 104),
  amount        numeric NOT NULL CHECK (amount > 0),
  currency      text NOT NULL,
  buyer         text,
  -- A due date agreed or extended by the bank. It takes precedence over the realisation rules.
  due_override  date,
  imported_at   timestamptz NOT NULL,
  imported_by   text NOT NULL,
  PRIMARY KEY (exporter_id, document_key, document_date)
);

-- Answers of the extraction service, one per content, endpoint and service, so that a PDF is never paid for twice.
-- `service` is its address and version word. `asking`: no answer yet.
CREATE TABLE extractions (
  extraction_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  service       text NOT NULL,
  endpoint      text NOT NULL CHECK (endpoint IN ('shipping-bill', 'shipping-bill-full', 'invoice')),
  sha256        text NOT NULL,
  -- Name in the document store.
  document      text NOT NULL,
  file_name     text NOT NULL,
  state         text NOT NULL DEFAULT 'asking' CHECK (state IN ('asking', 'extracted', 'refused', 'failed')),
  -- `data` of the answer, and the whole answer if its shape is not the specification's.
  data          jsonb,
  answer        jsonb,
  error_code    text,
  -- Why it was refused or failed; while `asking`, the last obstacle.
  error         text,
  -- Hash of the address and key, if they are the cause. With another hash it is asked again.
  access        text,
  -- Failed calls that a repeat may fix, by kind of failure.
  faults        integer NOT NULL DEFAULT 0,
  rate_limits   integer NOT NULL DEFAULT 0,
  -- A call is in progress until then.
  lease_until   timestamptz,
  first_asked_at timestamptz NOT NULL DEFAULT now(),
  answered_at   timestamptz,
  UNIQUE (service, endpoint, sha256)
);
CREATE INDEX extractions_sha256 ON extractions (sha256);
CREATE INDEX extractions_leases ON extractions (service, lease_until) WHERE lease_until IS NOT NULL;

-- The pace of all workers' calls. The service states no limits, so its answers slow the calls down.
CREATE TABLE extraction_pace (
  service      text PRIMARY KEY,
  faults       integer NOT NULL DEFAULT 0,
  closed_until timestamptz
);

-- Changes of an exporter's approval policy. Switching it off takes two principals.
CREATE TABLE policy_changes (
  change_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  exporter_id     text NOT NULL,
  approval        text NOT NULL CHECK (approval IN ('required', 'off')),
  -- A principal's name, or a claimed one.
  changed_by      text NOT NULL,
  principal_id    uuid REFERENCES principals,
  -- asked: somebody asked to switch the approval off, and a second principal has not yet.
  asked           boolean NOT NULL DEFAULT false,
  second_id       uuid REFERENCES principals,
  changed_at      timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT off_takes_two CHECK (approval = 'required' OR asked OR (principal_id IS NOT NULL AND second_id IS NOT NULL AND principal_id <> second_id))
);
CREATE INDEX policy_changes_exporter ON policy_changes (exporter_id, change_id);

-- The policy is what the last change says: it is switched in the transaction that records it, or not at all.
CREATE FUNCTION policy_needs_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.requires_approval IS DISTINCT FROM coalesce((SELECT approval = 'required' FROM policy_changes
       WHERE exporter_id = NEW.exporter_id AND NOT asked ORDER BY change_id DESC LIMIT 1), false) THEN
    RAISE EXCEPTION 'the approval policy of exporter % changes only with a record in policy_changes', NEW.exporter_id
      USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER exporters_policy BEFORE UPDATE OF requires_approval ON exporters
  FOR EACH ROW WHEN (OLD.requires_approval IS DISTINCT FROM NEW.requires_approval) EXECUTE FUNCTION policy_needs_record();
CREATE TRIGGER exporters_policy_made BEFORE INSERT ON exporters
  FOR EACH ROW WHEN (NEW.requires_approval) EXECUTE FUNCTION policy_needs_record();

-- What principals did and were refused. `uses`: reads, and calls without a valid token, are counted per minute.
CREATE TABLE audit_events (
  audit_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  mode         text NOT NULL,
  at           timestamptz NOT NULL,
  principal_id uuid REFERENCES principals,
  -- Null without a valid token.
  principal    text,
  action       text NOT NULL,
  outcome      text NOT NULL CHECK (outcome IN ('used', 'refused')),
  -- The exporter, filing or principal concerned.
  subject      text,
  code         text,
  request_id   text,
  uses         integer NOT NULL DEFAULT 1
);
CREATE INDEX audit_events_at ON audit_events (at);

-- Endpoints that are told of events. Address and signing secrets are in the vault: an address may let its holder in.
CREATE TABLE webhooks (
  webhook_id    uuid PRIMARY KEY,
  mode          text NOT NULL CHECK (mode IN ('test', 'live')),
  -- The address as it is shown, without what may give access.
  address       text NOT NULL,
  -- events: every event and a daily digest, as CloudEvents; slack, teams: the digest alone, as a message of a channel.
  template      text NOT NULL CHECK (template IN ('events', 'slack', 'teams')),
  -- Who added it, whose exporters limit what is told; null: the owner of the ledger, from the command line.
  principal_id  uuid REFERENCES principals,
  -- Lower-cased ids of the exporters that it is told of; null: of all that its principal may see.
  exporters     text[] CHECK (cardinality(exporters) > 0),
  address_ref   uuid NOT NULL REFERENCES vault_secrets,
  secret_ref    uuid NOT NULL REFERENCES vault_secrets,
  -- The secret before the last rotation, with which requests are signed too until it ends.
  previous_ref  uuid REFERENCES vault_secrets ON DELETE SET NULL,
  previous_ends_at timestamptz,
  -- The position in the feed up to which deliveries were made of events.
  position      bigint NOT NULL,
  -- Failures in a row that say that nothing is taken now, when it is tried again, and since when everything has failed.
  failures      integer NOT NULL DEFAULT 0,
  next_at       timestamptz,
  failing_since timestamptz,
  taken_at      timestamptz,
  paused_at     timestamptz,
  paused_why    text,
  -- The day of the last digest.
  digest_on     date NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK ((paused_at IS NULL) = (paused_why IS NULL))
);

-- What an endpoint is told, and what came of it. Of one stream (a filing) the oldest waiting one alone has a time: the
-- others wait behind it.
CREATE TABLE webhook_deliveries (
  delivery_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id  uuid NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  kind        text NOT NULL CHECK (kind IN ('event', 'digest', 'test')),
  -- Of an event its own id, which stays when it is told again.
  message_id  uuid NOT NULL,
  position    bigint,
  stream      text NOT NULL,
  state       text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'given_up')),
  tries       integer NOT NULL DEFAULT 0,
  next_at     timestamptz,
  first_at    timestamptz,
  last_at     timestamptz,
  status      integer,
  problem     text,
  CHECK ((kind = 'event') = (position IS NOT NULL))
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_at, delivery_id) WHERE state = 'waiting' AND next_at IS NOT NULL;
CREATE INDEX webhook_deliveries_stream ON webhook_deliveries (webhook_id, stream, delivery_id) WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_newest ON webhook_deliveries (webhook_id, delivery_id);
CREATE INDEX webhook_deliveries_given_up ON webhook_deliveries (webhook_id, position) WHERE state = 'given_up';
CREATE INDEX webhook_deliveries_old ON webhook_deliveries (last_at) WHERE state <> 'waiting';

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: it is evidence of who did what', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER policy_changes_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON policy_changes
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Events of filings, statements and consents are never changed, and only the ledger's owner removes them.
CREATE FUNCTION refuse_rewriting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
    RETURN NULL;
  END IF;
  RAISE EXCEPTION '% is append-only: it is evidence of what happened; only the owner of the ledger may remove it', TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER decisions_append_only BEFORE DELETE ON decisions FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting();
-- Of a decision only its outcome is written later, once.
CREATE TRIGGER decisions_unchanged BEFORE UPDATE ON decisions FOR EACH ROW
  WHEN (OLD.outcome IS NOT NULL OR (to_jsonb(OLD) - '{outcome,why,outcome_at}'::text[]) IS DISTINCT FROM (to_jsonb(NEW) - '{outcome,why,outcome_at}'::text[]))
  EXECUTE FUNCTION refuse_change();
-- Of an event only its position in the feed is written later, and its link of the chain, once.
CREATE TRIGGER events_unchanged BEFORE UPDATE ON events FOR EACH ROW
  WHEN ((to_jsonb(OLD) - '{position,link,hash}'::text[]) IS DISTINCT FROM (to_jsonb(NEW) - '{position,link,hash}'::text[])
    OR (OLD.hash IS NOT NULL AND (OLD.hash, OLD.link) IS DISTINCT FROM (NEW.hash, NEW.link))) EXECUTE FUNCTION refuse_change();
CREATE TRIGGER events_append_only BEFORE DELETE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting();
CREATE TRIGGER consents_append_only BEFORE UPDATE OR DELETE ON consents FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting();
-- What the service answered, and what a filing is made of, stay.
CREATE TRIGGER attempts_answer_unchanged BEFORE UPDATE OF answer, answer_status, answered_at ON attempts FOR EACH ROW
  WHEN (OLD.answered_at IS NOT NULL AND (OLD.answer, OLD.answer_status, OLD.answered_at)
    IS DISTINCT FROM (NEW.answer, NEW.answer_status, NEW.answered_at))
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER filing_inputs_unchanged BEFORE UPDATE ON filing_inputs FOR EACH ROW
  WHEN ((OLD.rows, OLD.row_count, OLD.source_kind, OLD.source_name, OLD.source_document, OLD.maker_id, OLD.made_by)
    IS DISTINCT FROM (NEW.rows, NEW.row_count, NEW.source_kind, NEW.source_name, NEW.source_document, NEW.maker_id, NEW.made_by))
  EXECUTE FUNCTION refuse_change();

-- A login that cannot make filings (the HTTP API's) changes one only in the transaction of a decision that it adds.
CREATE FUNCTION needs_decision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM decisions WHERE filing_id = NEW.filing_id AND at >= now() AND xmin = pg_current_xact_id()::xid) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION '% of filing % changes only with a decision about it', TG_TABLE_NAME, NEW.filing_id
    USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER filings_need_decision BEFORE UPDATE ON filings
  FOR EACH ROW WHEN (NOT has_table_privilege('filings'::regclass, 'INSERT')) EXECUTE FUNCTION needs_decision();
CREATE TRIGGER filing_rows_need_decision BEFORE UPDATE ON filing_rows
  FOR EACH ROW WHEN (NOT has_table_privilege('filings'::regclass, 'INSERT')) EXECUTE FUNCTION needs_decision();
CREATE TRIGGER attempts_need_decision BEFORE UPDATE ON attempts
  FOR EACH ROW WHEN (NOT has_table_privilege('filings'::regclass, 'INSERT')) EXECUTE FUNCTION needs_decision();
CREATE TRIGGER findings_need_decision BEFORE UPDATE OF closed_at ON findings
  FOR EACH ROW WHEN (NOT has_table_privilege('filings'::regclass, 'INSERT')) EXECUTE FUNCTION needs_decision();
CREATE TRIGGER findings_of_others BEFORE UPDATE OF closed_at ON findings
  FOR EACH ROW WHEN (NEW.kind <> 'record_contradicts' AND NOT has_table_privilege('filings'::regclass, 'INSERT'))
  EXECUTE FUNCTION refuse_change();

-- Removes what is no longer kept (docs/operations.md), some rows of each kind. No login of workers deletes what may
-- prove something: this has the rights of the ledger's owner, and the days are its own.
CREATE FUNCTION remove_old_rows(p_rows integer) RETURNS TABLE (what text, removed bigint)
LANGUAGE sql SECURITY DEFINER AS $$
  WITH calls AS (
    DELETE FROM api_calls WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM api_calls WHERE at < now() - interval '180 days' LIMIT p_rows)) RETURNING 1
  ), closed AS (
    DELETE FROM findings WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM findings WHERE closed_at < now() - interval '730 days' LIMIT p_rows)) RETURNING 1
  ), runs AS (
    DELETE FROM reconciliation_runs WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM reconciliation_runs WHERE started_at < now() - interval '730 days' LIMIT p_rows)) RETURNING 1
  ), read AS (
    -- The next reading begins where the last whole one ended, however old that is.
    DELETE FROM readings WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM readings r WHERE began_at < now() - interval '60 days' AND EXISTS (
        SELECT FROM readings later WHERE later.mode = r.mode AND later.iec = r.iec AND later.whole AND later.began_at > r.began_at)
       LIMIT p_rows)) RETURNING 1
  ), inputs AS (
    -- Older inputs were checked a month ago and have a filing.
    DELETE FROM filing_inputs WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM filing_inputs i WHERE created_at BETWEEN now() - interval '120 days' AND now() - interval '90 days'
        AND NOT EXISTS (SELECT FROM filings f WHERE f.input_ref = i.input_ref) LIMIT p_rows)) RETURNING 1
  ), told AS (
    DELETE FROM webhook_deliveries WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM webhook_deliveries WHERE last_at < now() - interval '30 days' AND state <> 'waiting' LIMIT p_rows)) RETURNING 1
  )
  SELECT 'deliveries', count(*) FROM told UNION ALL
  SELECT 'calls', count(*) FROM calls UNION ALL SELECT 'findings', count(*) FROM closed
  UNION ALL SELECT 'runs', count(*) FROM runs UNION ALL SELECT 'readings', count(*) FROM read
  UNION ALL SELECT 'inputs', count(*) FROM inputs
$$;

-- Removes a password that was handed in and is not used: whoever knows its reference handed it in.
CREATE FUNCTION discard_submission(p_secret_ref text) RETURNS boolean LANGUAGE sql SECURITY DEFINER AS $$
  WITH gone AS (DELETE FROM vault_secrets WHERE secret_ref::text = lower(p_secret_ref) AND purpose = 'submission' RETURNING 1)
  SELECT EXISTS (SELECT FROM gone)
$$;

-- The person of an identity provider, with the roles that it gives now; made at the first sign-in. Null: the person was
-- removed here, or another principal has the name. Who has a token only is never changed by it.
CREATE FUNCTION person_of_provider(p_mode text, p_issuer text, p_subject text, p_name text, p_name_key text, p_roles text[])
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  v_id uuid;
BEGIN
  UPDATE principals SET roles = p_roles
   WHERE mode = p_mode AND issuer = p_issuer AND subject = p_subject AND removed_at IS NULL AND NOT is_system
   RETURNING principal_id INTO v_id;
  IF v_id IS NULL AND p_issuer IS NOT NULL AND p_subject IS NOT NULL THEN
    INSERT INTO principals (mode, issuer, subject, name, name_key, roles)
    VALUES (p_mode, p_issuer, p_subject, p_name, p_name_key, p_roles) ON CONFLICT DO NOTHING RETURNING principal_id INTO v_id;
  END IF;
  RETURN v_id;
END $$;

REVOKE EXECUTE ON FUNCTION remove_old_rows(integer), discard_submission(text), person_of_provider(text, text, text, text, text, text[]) FROM PUBLIC;
-- They read the ledger's own tables, and no temporary ones of a login.
DO $$
DECLARE
  v_function text;
BEGIN
  FOREACH v_function IN ARRAY ARRAY['policy_needs_record()', 'needs_decision()', 'remove_old_rows(integer)', 'discard_submission(text)',
    'person_of_provider(text, text, text, text, text, text[])'] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', v_function, current_schema());
  END LOOP;
END
$$;

-- The other events of the feed are written by the statement that changes the state, through these triggers.
CREATE FUNCTION write_finding_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (mode, type, exporter_id, filing_id, subject, data)
  SELECT NEW.mode, 'ebrc.attention.' || CASE WHEN NEW.closed_at IS NULL THEN 'opened' ELSE 'closed' END,
         coalesce(f.exporter_id, NEW.exporter_id), f.filing_id, coalesce(f.reference, NEW.finding_id),
         jsonb_build_object('findingId', NEW.finding_id, 'kind', NEW.kind, 'filingId', NEW.filing_id,
           'exporterId', coalesce(f.exporter_id, NEW.exporter_id))
    FROM (SELECT) AS one LEFT JOIN filings f ON f.filing_id = NEW.filing_id;
  IF NEW.closed_at IS NULL THEN PERFORM pg_notify('ebrc_events', ''); END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER findings_opened AFTER INSERT ON findings
  FOR EACH ROW WHEN (NEW.closed_at IS NULL) EXECUTE FUNCTION write_finding_event();
CREATE TRIGGER findings_closed AFTER UPDATE OF closed_at ON findings
  FOR EACH ROW WHEN (OLD.closed_at IS NULL AND NEW.closed_at IS NOT NULL) EXECUTE FUNCTION write_finding_event();

CREATE FUNCTION write_certificate_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (mode, type, exporter_id, filing_id, subject, data)
  SELECT NEW.mode, 'ebrc.certificate.archived', coalesce(f.exporter_id, NEW.exporter_id), f.filing_id,
         coalesce(f.reference, NEW.ebrc_number),
         jsonb_build_object('eBRCNumber', NEW.ebrc_number, 'filingId', f.filing_id,
           'exporterId', coalesce(f.exporter_id, NEW.exporter_id))
    FROM (SELECT) AS one
    LEFT JOIN filing_rows r ON r.mode = NEW.mode AND r.iec = NEW.iec AND r.ebrc_number = NEW.ebrc_number
    LEFT JOIN filings f ON f.filing_id = r.filing_id;
  RETURN NULL;
END $$;
CREATE TRIGGER certificates_archived AFTER UPDATE OF archived_at ON certificates
  FOR EACH ROW WHEN (OLD.archived_at IS NULL AND NEW.archived_at IS NOT NULL) EXECUTE FUNCTION write_certificate_event();

-- The rule of `readinessOf` in src/domain/exporter/exporter.ts.
CREATE FUNCTION readiness_of(e exporters) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN NOT e.is_active AND e.has_credentials THEN 'unvalidated'
    WHEN NOT e.is_active OR NOT e.has_credentials THEN 'created'
    WHEN lower(trim(e.api_state)) = 'activation_pending' THEN 'activation_pending'
    ELSE 'ready' END
$$;
-- Why an exporter's portal credentials are bad; null if they are not known to be. If the exporter is not active and the
-- service accepted none, the newest submission counts, because the first one was rejected.
CREATE FUNCTION credentials_problem(e exporters) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT coalesce(reason, 'credentials_invalid') FROM (
    SELECT state, reason FROM credential_versions WHERE exporter_id = e.exporter_id AND (held OR NOT e.is_active)
     ORDER BY held DESC, version DESC LIMIT 1) AS current WHERE state = 'bad'
$$;
CREATE FUNCTION exporter_state(e exporters) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN credentials_problem(e) IS NULL THEN readiness_of(e) ELSE 'needs_credentials' END
$$;
CREATE FUNCTION set_exporter_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.state := exporter_state(NEW);
  RETURN NEW;
END $$;
CREATE TRIGGER exporters_state BEFORE INSERT OR UPDATE OF is_active, has_credentials, api_state, state ON exporters
  FOR EACH ROW EXECUTE FUNCTION set_exporter_state();
-- Without a WHEN condition: it waits for a change of the exporter in progress, whose trigger cannot see these
-- credentials yet.
CREATE FUNCTION credentials_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE exporters SET state = state WHERE exporter_id = NEW.exporter_id;
  RETURN NULL;
END $$;
CREATE TRIGGER credentials_changed AFTER INSERT OR UPDATE OF state, held ON credential_versions
  FOR EACH ROW EXECUTE FUNCTION credentials_changed();

CREATE FUNCTION write_exporter_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (mode, type, exporter_id, subject, data)
  VALUES (NEW.mode, 'ebrc.exporter.' || NEW.state, NEW.exporter_id, NEW.exporter_id,
    jsonb_build_object('exporterId', NEW.exporter_id, 'state', NEW.state));
  RETURN NULL;
END $$;
CREATE TRIGGER exporters_made AFTER INSERT ON exporters FOR EACH ROW EXECUTE FUNCTION write_exporter_event();
CREATE TRIGGER exporters_moved AFTER UPDATE ON exporters
  FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION write_exporter_event();

CREATE FUNCTION write_reconciliation_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (mode, type, exporter_id, subject, data)
  VALUES (NEW.mode, 'ebrc.reconciliation.completed', NEW.exporter_id, NEW.run_id,
    jsonb_build_object('runId', NEW.run_id, 'exporterId', NEW.exporter_id));
  RETURN NULL;
END $$;
CREATE TRIGGER reconciliations_completed AFTER UPDATE OF ended_at ON reconciliation_runs
  FOR EACH ROW WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION write_reconciliation_event();

-- Four roles of the whole server, of which logins are members: ebrc_migrate owns and changes the schema, ebrc_run has
-- what workers and filing commands need, ebrc_serve what the HTTP API needs, ebrc_read what readers need. If the
-- migrating user may not create roles, an administrator creates them (docs/operations.md). The ledger also works without
-- them, for the user that owns it.
DO $$
DECLARE
  v_role text;
BEGIN
  FOREACH v_role IN ARRAY ARRAY['ebrc_migrate', 'ebrc_run', 'ebrc_serve', 'ebrc_read'] LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = v_role);
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
    EXCEPTION
      -- Another ledger of this server is being migrated right now, or only an administrator may create roles.
      WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN NULL;
    END;
  END LOOP;
END
$$;

-- Grants each existing role its rights on everything in the schema. Called whenever migrations were applied, so that a
-- new table needs no grants of its own.
CREATE FUNCTION grant_ledger_rights() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_schema text := quote_ident(current_schema());
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ebrc_run') THEN
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO ebrc_run', v_schema);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA %s TO ebrc_run', v_schema);
    EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %s TO ebrc_run', v_schema);
    -- Nothing else is deleted by workers: what they removed could not be missed.
    EXECUTE format('GRANT DELETE ON %1$s.budget_slots, %1$s.budget_tickets, %1$s.vault_secrets, %1$s.credential_failures, %1$s.webhooks, %1$s.webhook_deliveries TO ebrc_run', v_schema);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %1$s.remove_old_rows(integer), %1$s.discard_submission(text) TO ebrc_run', v_schema);
    -- Nor do they change which migrations count as applied, who may do what, or the record of it.
    EXECUTE format('REVOKE INSERT, UPDATE ON %1$s.schema_migrations, %1$s.principals, %1$s.principal_tokens, %1$s.sessions FROM ebrc_run', v_schema);
    EXECUTE format('REVOKE UPDATE ON %1$s.audit_events, %1$s.policy_changes, %1$s.consents FROM ebrc_run', v_schema);
    -- The relay assigns positions to events and chains them; their content stays.
    EXECUTE format('REVOKE UPDATE ON %1$s.events FROM ebrc_run; GRANT UPDATE (position, link, hash) ON %1$s.events TO ebrc_run', v_schema);
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ebrc_serve') THEN
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO ebrc_serve', v_schema);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %s TO ebrc_serve', v_schema);
    EXECUTE format('REVOKE SELECT ON %1$s.vault_secrets FROM ebrc_serve', v_schema);
    EXECUTE format('GRANT INSERT ON %1$s.audit_events, %1$s.decisions, %1$s.events, %1$s.filing_inputs, %1$s.policy_changes, %1$s.vault_secrets TO ebrc_serve', v_schema);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %1$s.discard_submission(text), %1$s.person_of_provider(text, text, text, text, text, text[]) TO ebrc_serve', v_schema);
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %1$s.sessions TO ebrc_serve', v_schema);
    -- The same content handed in again.
    EXECUTE format('GRANT UPDATE (warnings, created_at) ON %1$s.filing_inputs TO ebrc_serve', v_schema);
    EXECUTE format('GRANT UPDATE (requires_approval) ON %1$s.exporters TO ebrc_serve', v_schema);
    EXECUTE format('GRANT UPDATE (acknowledged_at, acknowledged_by, note, closed_at, healed) ON %1$s.findings TO ebrc_serve', v_schema);
    -- What a decision changes that is carried out at once.
    EXECUTE format('GRANT UPDATE (outcome, why, outcome_at) ON %1$s.decisions TO ebrc_serve', v_schema);
    EXECUTE format('GRANT UPDATE (state, since, moves, due_at, attention, asked, approved_at, approved_evidence, unread_until, reserved_at, closed_at)
      ON %1$s.filings TO ebrc_serve', v_schema);
    EXECUTE format('GRANT UPDATE (state, ebrc_number, ebrc_date, certified_by, errors, freed_at, settled_at) ON %1$s.filing_rows TO ebrc_serve', v_schema);
    EXECUTE format('GRANT UPDATE (verdict, reason, request_id, request_from) ON %1$s.attempts TO ebrc_serve', v_schema);
    -- Webhooks prove nothing. Their secrets are removed by the workers, once nothing refers to them.
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %1$s.webhooks, %1$s.webhook_deliveries TO ebrc_serve', v_schema);
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ebrc_read') THEN
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO ebrc_read', v_schema);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %s TO ebrc_read', v_schema);
    -- Encrypted, but no reader needs them.
    EXECUTE format('REVOKE SELECT ON %1$s.vault_secrets, %1$s.principal_tokens, %1$s.sessions FROM ebrc_read', v_schema);
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ebrc_migrate') THEN
    EXECUTE format('GRANT USAGE, CREATE ON SCHEMA %s TO ebrc_migrate', v_schema);
  END IF;
  -- The roles are server-wide. Without this, a login of another ledger's workers could write into this database. Each
  -- login is granted access by name.
  BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ebrc_run') AND EXISTS (
      SELECT FROM pg_database WHERE datname = current_database() AND pg_has_role(current_user, datdba, 'USAGE')) THEN
      EXECUTE format('REVOKE CONNECT, TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
      EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO ebrc_run', current_database());
    END IF;
  EXCEPTION
    WHEN insufficient_privilege THEN RAISE NOTICE 'PUBLIC may still connect: %', SQLERRM;
  END;
EXCEPTION
  -- Another user owns the schema and grants the rights on it.
  WHEN insufficient_privilege THEN RAISE NOTICE 'rights on the schema were not given: %', SQLERRM;
END
$$;
