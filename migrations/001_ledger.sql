-- Up Migration

-- One row. Every send of a submission takes the next number and has a file in the document store. The files tell
-- whether the ledger was put back to an earlier state (docs/decisions/0010-counted-sends.md).
CREATE TABLE ledger_identity (
  singleton   boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  ledger_id   uuid NOT NULL DEFAULT gen_random_uuid(),
  send_number bigint NOT NULL DEFAULT 0,
  -- The files of all sends up to this number have been seen and are this ledger's own.
  sends_seen  bigint NOT NULL DEFAULT 0,
  -- The marks of sends up to this number have lapsed, because sends were imported after them: their senders write no
  -- more.
  marks_lapsed_to bigint NOT NULL DEFAULT 0,
  -- The document store that has the files; null before the first send.
  store_id    text,
  -- Set by "ebrc ledger restored --documents restored", at restored_at by this server's clock. A party's new filings
  -- wait until its certificates from certificates_from on were read after certificates_after.
  restored_at        timestamptz,
  certificates_from  timestamptz,
  certificates_after timestamptz,
  created_at  timestamptz NOT NULL DEFAULT now()
);
INSERT INTO ledger_identity DEFAULT VALUES;

-- Parties: a party is one exporter to the authority, which is an IEC in a mode. Clients with one IEC are one party; a
-- client whose IEC is not known yet is a party of its own.
CREATE TABLE parties (
  party_id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  mode       text NOT NULL CHECK (mode IN ('test', 'live')),
  iec        text CHECK (iec ~ '^[A-Z0-9]{10}$'),
  -- When its certificates were last read for a ledger that lost sends together with the document store.
  certificates_read_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX parties_iec ON parties (mode, iec);

-- Exporters: the service's platform customers, as it last described them. Ids keep its spelling and are compared in
-- lower case.
CREATE TABLE exporters (
  exporter_id               text PRIMARY KEY,
  party_id                  integer NOT NULL REFERENCES parties,
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
CREATE INDEX exporters_party ON exporters (party_id);

-- The vault: portal user names and passwords, sealed to the key in vault_keys. Only the reference leaves this table. A
-- secret's purpose is authenticated with it; these columns only tell what to try. A submission belongs to the workflow
-- in submitted_to until it becomes a version of an exporter's credentials.
CREATE TABLE vault_secrets (
  secret_ref   uuid PRIMARY KEY,
  format       smallint NOT NULL,
  purpose      text NOT NULL CHECK (purpose IN ('submission', 'portal-login')),
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

-- Filings that wait for better credentials than the version that they saw.
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

-- IRMs as last read from the service. The primary key is the full one, because numbers alone recur. irm_key identifies
-- an IRM for mappings, holds and locks: its comparable number and AD code.
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
-- By number alone, because the record that a mapping means is chosen among all IRMs of its number.
CREATE INDEX irms_number ON irms (exporter_id, split_part(irm_key, ' ', 1));

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
  -- When it was last handed in. An input without a filing is removed some time later.
  created_at      timestamptz NOT NULL DEFAULT now(),
  words           text GENERATED ALWAYS AS (words_of(rows)) STORED
);
-- Stores rows out of line, so that a search reads the words alone.
ALTER TABLE filing_inputs ALTER COLUMN words SET STORAGE MAIN, SET (toast_tuple_target = 128);
CREATE INDEX filing_inputs_created ON filing_inputs (created_at);

CREATE TABLE filings (
  filing_id        text PRIMARY KEY,
  mode             text NOT NULL,
  exporter_id      text NOT NULL REFERENCES exporters,
  reference        text NOT NULL,
  -- The filing's number under its reference: 1, then one number for each correction and each `--again`.
  n                integer NOT NULL CHECK (n > 0),
  corrects         text REFERENCES filings,
  workflow_id      text NOT NULL,
  content_hash     text NOT NULL,
  input_ref        text NOT NULL REFERENCES filing_inputs,
  upload_type      integer NOT NULL,
  declaration      text NOT NULL CHECK (declaration IN ('Y', 'N')),
  channel          text NOT NULL CHECK (channel IN ('push', 'bulk')),
  state            text NOT NULL,
  -- Progress needs a higher sequence number, so that a late worker or a replay moves nothing backwards.
  seq              bigint NOT NULL DEFAULT 0,
  -- The latest time for the next state, from the entry into this one. Null while the filing waits for a person, or once
  -- somebody was asked because the time was over. Moves within a state do not change it.
  due_at           timestamptz,
  -- The wait whose own time due_at includes (activation). Looking again during the same wait does not move due_at.
  waits_for        text,
  errors           jsonb NOT NULL DEFAULT '[]',
  warnings         jsonb NOT NULL DEFAULT '[]',
  evidence         jsonb,
  note             text,
  made_by          text NOT NULL,
  made_at          timestamptz NOT NULL,
  declared_by      text NOT NULL,
  approval_needed  boolean NOT NULL DEFAULT false,
  approved_by      text,
  approved_at      timestamptz,
  -- The maker's grant; null if made_by is a claim.
  grant_id         text,
  annotated        text,
  changed_at       timestamptz NOT NULL DEFAULT now(),
  closed_at        timestamptz,
  UNIQUE (mode, reference, n)
);
-- In the orders of lists: all, of one exporter, in one state. Workers read the open ones only.
CREATE INDEX filings_made ON filings (mode, made_at DESC, filing_id);
CREATE INDEX filings_exporter ON filings (exporter_id, made_at DESC, filing_id);
CREATE INDEX filings_state ON filings (state, made_at DESC, filing_id);
CREATE INDEX filings_input ON filings (input_ref);
CREATE INDEX filings_open ON filings (filing_id) WHERE closed_at IS NULL;
CREATE INDEX filings_open_exporter ON filings (exporter_id) WHERE closed_at IS NULL;

CREATE TABLE filing_rows (
  filing_id     text NOT NULL REFERENCES filings ON DELETE CASCADE,
  position      integer NOT NULL,
  source_row    integer NOT NULL,
  submission    integer NOT NULL,
  serial_no     integer NOT NULL,
  exporter_id   text NOT NULL,
  party_id      integer NOT NULL REFERENCES parties,
  irm_key       text NOT NULL,
  mapping       jsonb NOT NULL,
  extra         jsonb,
  -- Document number, its date and the exporter's bill number in comparable form, in which a certificate can agree.
  document_key  text NOT NULL,
  document_on   date,
  bill_key      text NOT NULL DEFAULT '',
  -- Document, date, amount and currency in comparable form, by which certificates of fetch-details are matched.
  match_key     text,
  mapped_amount numeric NOT NULL,
  currency      text NOT NULL,
  fingerprint   text NOT NULL,
  -- Shared by a row and all that took it over, as corrections or later numbers of its reference:
  -- `<filing_id>:<position>` of the first of them.
  lineage       text NOT NULL,
  -- Why a live mapping may be filed again, and beside which filings.
  permit_reason  text,
  permit_besides text[],
  -- The filing that holds the same mapping, found when two parties turned out to be one.
  collided_with  text,
  -- The release that freed the row, written by the release gate alone. A row without one holds its mapping.
  release_id    bigint,
  live          boolean NOT NULL GENERATED ALWAYS AS (release_id IS NULL) STORED,
  state         text NOT NULL,
  -- What proved its certificate: its request's own record, fetch-details, or two persons.
  adoption      text CHECK (adoption IN ('record', 'details', 'persons')),
  ebrc_number   text,
  ebrc_date     text,
  -- Whether another row has the same certificate, found when two parties turned out to be one.
  disputed      boolean NOT NULL DEFAULT false,
  errors        jsonb NOT NULL DEFAULT '[]',
  -- When the balance check passed. From then on the amount counts against the IRM for every other filing.
  reserved_at   timestamptz,
  -- Whether a balance check passed since the last attempt was judged. No row is sent without it.
  checked       boolean NOT NULL DEFAULT false,
  submitted_at  timestamptz,
  settled_at    timestamptz,
  taken_over_by text,
  PRIMARY KEY (filing_id, position),
  CONSTRAINT filing_rows_certified_by_an_adoption
    CHECK ((state = 'certified') = (adoption IS NOT NULL) AND (adoption IS NULL OR ebrc_number IS NOT NULL)),
  CONSTRAINT filing_rows_freed_by_a_release
    CHECK ((state IN ('needs_correction', 'withdrawn', 'corrected')) = (release_id IS NOT NULL))
);
-- A certificate belongs to one row.
CREATE UNIQUE INDEX filing_rows_ebrc ON filing_rows (party_id, ebrc_number) WHERE ebrc_number IS NOT NULL AND NOT disputed;
CREATE INDEX filing_rows_irm ON filing_rows (party_id, split_part(irm_key, ' ', 1));
CREATE INDEX filing_rows_unknown ON filing_rows (filing_id) WHERE live AND state = 'unknown';
-- Rows whose amounts are not in the balances of their party's IRMs yet.
CREATE INDEX filing_rows_uncertified ON filing_rows (party_id) WHERE live AND state <> 'certified';
CREATE INDEX filing_rows_document ON filing_rows (party_id, document_key);
-- For reports on a range of days. BRIN fits, because rows are settled roughly in the order in which they are stored.
CREATE INDEX filing_rows_settled ON filing_rows USING brin (settled_at);
CREATE INDEX filing_rows_lineage ON filing_rows (lineage);

-- The mappings that live rows hold: their own and those of their whole lineage. The primary key is the rule that a
-- mapping is filed once, which PostgreSQL enforces without a read before the write.
CREATE TABLE held_mappings (
  fingerprint text NOT NULL,
  ordinal     integer NOT NULL,
  filing_id   text NOT NULL,
  position    integer NOT NULL,
  -- Why the mapping is held beside another row.
  beside      text CHECK (beside IN ('permitted', 'collided')),
  PRIMARY KEY (fingerprint, ordinal),
  UNIQUE (filing_id, position, fingerprint),
  FOREIGN KEY (filing_id, position) REFERENCES filing_rows ON DELETE CASCADE,
  CONSTRAINT held_mappings_second_has_a_reason CHECK (ordinal = 0 OR beside IS NOT NULL)
);

-- A freed row holds no mapping, whichever statement freed it.
CREATE FUNCTION delete_held_mappings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM held_mappings WHERE filing_id = OLD.filing_id AND position = OLD.position;
  RETURN NULL;
END $$;
CREATE TRIGGER filing_rows_freed AFTER UPDATE OF live ON filing_rows
  FOR EACH ROW WHEN (OLD.live AND NOT NEW.live) EXECUTE FUNCTION delete_held_mappings();

-- A live row must hold its mapping when its transaction ends, whichever statement made it live.
CREATE FUNCTION check_held_mapping() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM filing_rows r WHERE r.filing_id = NEW.filing_id AND r.position = NEW.position AND r.live
      AND NOT EXISTS (SELECT FROM held_mappings h WHERE h.filing_id = r.filing_id AND h.position = r.position
        AND h.fingerprint = r.fingerprint)) THEN
    RAISE EXCEPTION 'row % of filing % is live and does not hold its mapping', NEW.position, NEW.filing_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'filing_rows_live_holds_mapping';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER filing_rows_live_holds_mapping AFTER INSERT OR UPDATE OF live, fingerprint ON filing_rows
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.live) EXECUTE FUNCTION check_held_mapping();

-- Filings beside which a mapping may be filed once more: a refusal named them, or two persons permitted it beside their
-- rows in doubt or abandoned after the send (by_persons: how many live rows may stand beside those).
CREATE TABLE permits (
  fingerprint text NOT NULL,
  filing_id   text NOT NULL REFERENCES filings ON DELETE CASCADE,
  by_persons  integer NOT NULL DEFAULT 0,
  -- Whether a refusal named the filing while its outcome was known. Two persons' permission is only for one in doubt.
  named       boolean NOT NULL DEFAULT false,
  at          timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (fingerprint, filing_id)
);

CREATE TABLE submissions (
  filing_id    text NOT NULL REFERENCES filings ON DELETE CASCADE,
  submission   integer NOT NULL,
  mode         text NOT NULL,
  -- The exporter's id. With a request's id it identifies the request when the service is asked for a status.
  customer_id  text NOT NULL,
  row_count    integer NOT NULL,
  -- planned, acknowledged (accepted at least once), settled (every row has its outcome) or released.
  state        text NOT NULL DEFAULT 'planned',
  terminal_at  timestamptz,
  document     text,
  PRIMARY KEY (filing_id, submission)
);

-- One row per try to send a submission. Only the gates (src/ledger/gates/) write its verdict: open, marked (in doubt),
-- unsent (proven), refused (by the service, documented), rejected (by the authority), absent (not filed, after a
-- complete look), accepted. The mark is a conditional update from open, which is the fence.
CREATE TABLE attempts (
  attempt_id    text PRIMARY KEY,
  filing_id     text NOT NULL REFERENCES filings ON DELETE CASCADE,
  submission    integer NOT NULL,
  number        integer NOT NULL,
  verdict       text NOT NULL DEFAULT 'open'
    CHECK (verdict IN ('open', 'marked', 'unsent', 'refused', 'rejected', 'absent', 'accepted')),
  payload_hash  text,
  -- The execution that set the mark. Only this one may record that nothing was written.
  sender        text,
  -- What was seen just before the send; null if nothing could be read.
  snapshot_id   bigint,
  opened_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  marked_at     timestamptz,
  -- Settle window and HTTP time-out of the process that set the mark. A judge takes the larger of these and its own.
  settle_ms     bigint,
  timeout_ms    bigint,
  answered_at   timestamptz,
  answer_status integer,
  answer        jsonb,
  judged_at     timestamptz,
  -- Why it has its verdict. For a marked attempt: its exchange is over, so no answer can follow.
  reason        text,
  UNIQUE (filing_id, submission, number),
  CHECK (verdict <> 'open' OR marked_at IS NULL)
);
-- A submission has one open attempt at a time.
CREATE UNIQUE INDEX attempts_one_open ON attempts (filing_id, submission) WHERE verdict = 'open';
CREATE INDEX attempts_in_doubt ON attempts (filing_id, submission) WHERE verdict IN ('marked', 'accepted');

-- The requests under which the service processes a submission. There are several if it was accepted twice, or if a
-- person named another one. Each is followed to its end.
CREATE TABLE requests (
  filing_id         text NOT NULL REFERENCES filings ON DELETE CASCADE,
  submission        integer NOT NULL,
  request_id        text NOT NULL,
  mode              text NOT NULL,
  customer_id       text NOT NULL,
  -- The attempt whose answer named it; null if a person named it.
  attempt_id        text REFERENCES attempts ON DELETE CASCADE,
  source            text NOT NULL CHECK (source IN ('acknowledged', 'acknowledged_late', 'named')),
  -- followed; ended (every record has an outcome); absent (released as never filed); not_ours (named, and without any row of ours).
  state             text NOT NULL DEFAULT 'followed' CHECK (state IN ('followed', 'ended', 'absent', 'not_ours')),
  dgft_ack_id       text,
  ack_status        text,
  warnings          jsonb NOT NULL DEFAULT '[]',
  -- When its age begins.
  since             timestamptz NOT NULL,
  -- What the service says of it instead of an outcome: it does not know it, reports it Errored in a way that
  -- proves nothing, or as ended without accounting for every record. statement_since: from when, without another answer
  -- in between; statement_at: when last.
  statement         text CHECK (statement IN ('unknown_request', 'errored', 'incomplete')),
  statement_since   timestamptz,
  statement_at      timestamptz,
  -- Rows that its record reports as Errored: [{position, errors}]. They are freed once nothing else can have filed them.
  errored           jsonb NOT NULL DEFAULT '[]',
  -- Rows for which its record names a certificate that they cannot have. Another request's rejection does not free
  -- them.
  contradicted      integer[] NOT NULL DEFAULT '{}',
  -- Age in ms at the last poll without an answer.
  polled_at_age_ms  bigint,
  processing_status text,
  ended_at          timestamptz,
  PRIMARY KEY (filing_id, submission, request_id)
);
-- A request files one submission. Client and id identify it together (POST /genebrc/status), because two clients may
-- have the same id. In lower case, because a person may type it differently from the service.
CREATE UNIQUE INDEX requests_id ON requests (mode, customer_id, lower(request_id)) WHERE state <> 'not_ours';
CREATE INDEX requests_attempt ON requests (attempt_id);
CREATE INDEX requests_followed ON requests (mode, since) WHERE state = 'followed';

-- A submission with its first request and the time of its first send.
CREATE VIEW submission_progress AS
SELECT s.*, q.request_id, q.dgft_ack_id, q.ack_status, q.warnings, q.processing_status,
       least(q.since, (SELECT min(a.marked_at) FROM attempts a WHERE a.filing_id = s.filing_id AND a.submission = s.submission
         AND a.verdict IN ('marked', 'accepted', 'rejected'))) AS submitted_at
  FROM submissions s LEFT JOIN LATERAL (
    SELECT * FROM requests q WHERE q.filing_id = s.filing_id AND q.submission = s.submission AND q.state <> 'not_ours'
     ORDER BY q.source = 'named', q.since, q.request_id LIMIT 1) AS q ON true;

-- Every judgement of the release gate, with its ground, its subject and its proof.
CREATE TABLE releases (
  release_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  filing_id     text NOT NULL REFERENCES filings ON DELETE CASCADE,
  submission    integer NOT NULL,
  ground        text NOT NULL CHECK (ground IN ('never_attempted', 'unsent', 'refused', 'rejected', 'absent')),
  attempt_id    text,
  request_id    text,
  -- The complete look that proves an absence; null if two persons stand in for it (unseen).
  look_id       bigint,
  unseen        boolean NOT NULL DEFAULT false,
  -- Certificates that agree with its rows, but that two persons named as another filing's.
  not_ours      text[] NOT NULL DEFAULT '{}',
  -- From when on certificates count against it: the day before its lineage's first mark.
  certificates_from timestamptz,
  reason        text,
  released_at   timestamptz NOT NULL,
  -- When and why it was withdrawn, because it was filed after all.
  withdrawn_at  timestamptz,
  withdrawn_why text
);
CREATE INDEX releases_filing ON releases (filing_id, submission);
CREATE INDEX releases_absent ON releases (filing_id, submission) WHERE ground = 'absent';
ALTER TABLE filing_rows ADD FOREIGN KEY (release_id) REFERENCES releases;

-- Statements of persons, append-only. Their judgements and withdrawals are rows of their own.
CREATE TABLE words (
  word_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  filing_id    text NOT NULL REFERENCES filings ON DELETE CASCADE,
  kind         text NOT NULL CHECK (kind IN ('approve', 'abandon', 'filed', 'not_filed', 'permit')),
  -- The subject: an attempt, at the mark that the ledger showed, or a request; and rows of the caller's file if any are
  -- named.
  attempt_id   text,
  marked_at    timestamptz,
  request_id   text,
  source_rows  integer[],
  -- {row, eBRCNumber} of a `filed`.
  certificates jsonb NOT NULL DEFAULT '[]',
  not_ours     text[] NOT NULL DEFAULT '{}',
  unseen       boolean NOT NULL DEFAULT false,
  said_by      text NOT NULL,
  -- The name in comparable form: two persons have different ones.
  person_key   text NOT NULL,
  -- The grant of the principal who said it; null if the name is a claim.
  grant_id     text,
  -- What was named as the grant but is not valid: used, older than a day, of another filing, or unknown.
  void_grant   text CHECK (void_grant IS NULL OR grant_id IS NULL),
  note         text,
  said_at      timestamptz NOT NULL,
  -- The update that said it, with its content, so that an update that a reset repeats is recorded once.
  step         text,
  UNIQUE (filing_id, step)
);
CREATE INDEX words_filing ON words (filing_id, word_id);
CREATE TABLE word_judgements (
  word_id   bigint NOT NULL REFERENCES words ON DELETE CASCADE,
  -- stands: waits for a second person. The others are final.
  outcome   text NOT NULL CHECK (outcome IN ('stands', 'carried_out', 'refused', 'withdrawn')),
  why       text,
  judged_at timestamptz NOT NULL,
  PRIMARY KEY (word_id, outcome)
);

-- Looks at a party's certificates, by date alone. complete: every day of the range and every entry was read.
CREATE TABLE looks (
  look_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  party_id  integer NOT NULL REFERENCES parties,
  began_at  timestamptz NOT NULL,
  ended_at  timestamptz NOT NULL,
  from_date date NOT NULL,
  to_date   date NOT NULL,
  complete  boolean NOT NULL,
  problem   text
);
CREATE INDEX looks_party ON looks (party_id, began_at);

-- The ledger's sends, one per mark, inserted in the mark's transaction. A number without an attempt has a void file. An
-- attempt has several only after sends were imported from the document store.
CREATE TABLE sends (
  number     bigint PRIMARY KEY,
  attempt_id text REFERENCES attempts ON DELETE CASCADE,
  sender     text NOT NULL,
  -- Its file was seen above a missing one, which sends_seen could not pass. If the file is missing later, it was lost.
  counted    boolean NOT NULL DEFAULT false
);
CREATE INDEX sends_attempt ON sends (attempt_id);

-- What was seen just before a send: the party's certificates and the balances of the submission's IRMs. An unknown
-- outcome is settled against it.
CREATE TABLE snapshots (
  snapshot_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  filing_id    text NOT NULL REFERENCES filings ON DELETE CASCADE,
  submission   integer NOT NULL,
  exporter_id  text NOT NULL,
  party_id     integer NOT NULL REFERENCES parties,
  taken_at     timestamptz NOT NULL,
  -- Number of certificates in the list; null if none could be read. The numbers themselves are in listed_certificates.
  listed       integer,
  balances     jsonb NOT NULL DEFAULT '[]',
  -- For a snapshot imported with its send after a restore: all certificate numbers from before the send, because the
  -- snapshot's own id does not tell its order among the others.
  certificates jsonb
);
CREATE INDEX snapshots_filing ON snapshots (filing_id, submission);
CREATE INDEX snapshots_party ON snapshots (party_id, taken_at);

-- Certificate numbers in the lists from before sends, with the snapshot that first had each; recorded again after two
-- days in which lists only repeated it. They tell what existed before a send, so that no list is stored per send.
CREATE TABLE listed_certificates (
  party_id    integer NOT NULL REFERENCES parties,
  ebrc_number text NOT NULL,
  snapshot_id bigint NOT NULL,
  taken_at    timestamptz NOT NULL,
  PRIMARY KEY (party_id, ebrc_number, snapshot_id)
);
CREATE INDEX listed_certificates_taken ON listed_certificates (party_id, taken_at);

-- Every certificate that fetch-details or a status record ever named, whoever filed it. fetch-details answers per IEC,
-- so a certificate is a party's; exporter_id is the client through which it was first read.
CREATE TABLE certificates (
  party_id      integer NOT NULL REFERENCES parties,
  exporter_id   text NOT NULL,
  ebrc_number   text NOT NULL,
  ebrc_date     text,
  status        text,
  document_no   text,
  document_date text,
  bill_no       text,
  amount        numeric,
  currency      text,
  detail        jsonb,
  filing_id     text,
  position      integer,
  first_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  document_key  text,
  document_on   date,
  bill_key      text,
  -- When the call began whose answer is stored. An answer to a call that began earlier does not replace it.
  asked_at      timestamptz,
  -- When fetch-details last showed it and when a row claimed it, by this server's clock, because workers' clocks
  -- differ; its day of issue, and what it is matched by.
  seen_at       timestamptz,
  claimed_at    timestamptz,
  issued_on     date,
  match_key     text,
  -- The first status that the authority reported.
  first_status  text,
  pdf_document  text,
  pdf_sha256    text,
  pdf_bytes     integer,
  archived_at   timestamptz,
  -- How often the download was not a whole PDF, and when it is tried again.
  pdf_refused   integer NOT NULL DEFAULT 0,
  pdf_next_at   timestamptz,
  -- What the last check of the document store found: missing or damaged, and the hash of the stored file.
  pdf_problem   text,
  pdf_found     text,
  pdf_checked_at timestamptz,
  PRIMARY KEY (ebrc_number, party_id)
);
CREATE INDEX certificates_filing ON certificates (filing_id);
CREATE INDEX certificates_document ON certificates (party_id, document_key);
CREATE INDEX certificates_bill ON certificates (party_id, bill_key) WHERE bill_key <> '';
-- In the orders of lists: all, of a party.
CREATE INDEX certificates_seen ON certificates (first_seen_at DESC, ebrc_number);
CREATE INDEX certificates_party ON certificates (party_id, first_seen_at DESC, ebrc_number);
-- For the PDFs to check next.
CREATE INDEX certificates_checked ON certificates (party_id, pdf_checked_at) WHERE archived_at IS NOT NULL AND filing_id IS NOT NULL;
-- Certificates of our filings whose PDF is not stored, or is missing or damaged.
CREATE INDEX certificates_without_pdf ON certificates (party_id) WHERE filing_id IS NOT NULL AND (pdf_document IS NULL OR pdf_problem IS NOT NULL);

-- The events of a filing, one line each, for people.
CREATE TABLE filing_events (
  event_id  bigint GENERATED ALWAYS AS IDENTITY,
  filing_id text NOT NULL REFERENCES filings ON DELETE CASCADE,
  seq       bigint,
  -- Run and activity that recorded a move. It tells a repeated activity from a run that is behind the ledger.
  step      text,
  at        timestamptz NOT NULL,
  kind      text NOT NULL,
  -- The state that a move led to; null if the event is not a move. Reports read waiting times from it.
  state     text,
  who       text,
  text      text NOT NULL,
  data      jsonb,
  PRIMARY KEY (filing_id, event_id),
  UNIQUE (filing_id, seq),
  UNIQUE (filing_id, step)
);

-- Steps that have begun and not ended. A step that its next try finds here has lost its worker.
CREATE TABLE steps_under_way (
  workflow_id text NOT NULL,
  -- The same for each try of a step.
  step        text NOT NULL,
  what        text NOT NULL,
  try_id      uuid NOT NULL,
  -- How many tries in a row lost their worker.
  lost        integer NOT NULL DEFAULT 0,
  -- Whether it is no longer tried until a person says otherwise.
  set_aside   boolean NOT NULL DEFAULT false,
  since       timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workflow_id, step)
);

-- How long the authority took recently, for the poll cadence: the age of a request at the poll that found its answer
-- (took_ms), and at the poll before, which found none (after_ms; 0 if there was none).
CREATE TABLE acknowledgement_times (
  filing_id  text NOT NULL,
  submission integer NOT NULL,
  mode       text NOT NULL,
  after_ms   bigint NOT NULL DEFAULT 0,
  took_ms    bigint NOT NULL,
  at         timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (filing_id, submission)
);
CREATE INDEX acknowledgement_times_newest ON acknowledgement_times (mode, at);

-- Budgets of the service's rate limits, per hash of the API key and rate class, because that is what the service counts
-- by. Times are clock_timestamp(), because now() is the start of the transaction and lags behind.
CREATE TABLE budget_classes (
  key_hash     text NOT NULL,
  rate_class   text NOT NULL,
  -- No slot is granted before this, because the service answered 429: something else uses the key.
  closed_until timestamptz,
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
CREATE INDEX api_calls_request ON api_calls (request_id) WHERE request_id IS NOT NULL;
-- The labels of the service's bulk template, as last read by a worker.
CREATE TABLE bulk_templates (
  mode       text PRIMARY KEY CHECK (mode IN ('test', 'live')),
  labels     jsonb,
  learned_at timestamptz,
  -- When a worker last began to read it, so that only one of several workers requests it.
  asked_at   timestamptz NOT NULL,
  CHECK ((labels IS NULL) = (learned_at IS NULL))
);

-- What somebody has to look at: questions of filings, facts that contradict each other, and differences between ledger
-- and authority (findings of reconciliations). A question keeps its key, and with it its age, until a fact closes it.
-- If it comes back later, it is a new one.
CREATE TABLE questions (
  question_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  mode            text NOT NULL,
  party_id        integer NOT NULL REFERENCES parties,
  key             text NOT NULL,
  kind            text NOT NULL,
  -- What a person should know and do. For a finding, reason says why it was found.
  text            text,
  -- What closes it: the filing's next move, its leaving the state, or a fact.
  until           text NOT NULL DEFAULT 'fact' CHECK (until IN ('move', 'state', 'fact')),
  exporter_id     text,
  ebrc_number     text,
  filing_id       text,
  attempt_id      text,
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
  note            text
);
CREATE UNIQUE INDEX questions_open ON questions (party_id, key) WHERE closed_at IS NULL;
CREATE INDEX questions_filing ON questions (filing_id) WHERE closed_at IS NULL;
CREATE INDEX questions_mode ON questions (mode, kind, first_seen_at) WHERE closed_at IS NULL;
CREATE INDEX questions_closed ON questions (closed_at) WHERE closed_at IS NOT NULL;

-- Ranges of days whose certificates were read completely, and when the reading began by this server's clock.
CREATE TABLE certificate_windows (
  party_id  integer NOT NULL REFERENCES parties,
  from_date date NOT NULL,
  to_date   date NOT NULL,
  read_at   timestamptz NOT NULL,
  PRIMARY KEY (party_id, from_date, to_date)
);
CREATE INDEX certificate_windows_read ON certificate_windows (read_at);

-- Earlier values of what the authority reports of a certificate.
CREATE TABLE certificate_changes (
  change_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  party_id    integer NOT NULL REFERENCES parties,
  ebrc_number text NOT NULL,
  field       text NOT NULL,
  before      text,
  after       text,
  seen_at     timestamptz NOT NULL
);
CREATE INDEX certificate_changes_number ON certificate_changes (party_id, ebrc_number);

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

-- Principals: the persons and systems that may use the HTTP API. A name, in comparable form, is one principal for ever:
-- if it is removed and added again it is the same one, so that nobody approves under it what they made before.
CREATE TABLE principals (
  principal_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  mode         text NOT NULL CHECK (mode IN ('test', 'live')),
  name         text NOT NULL,
  name_key     text NOT NULL CHECK (name_key <> ''),
  is_system    boolean NOT NULL DEFAULT false,
  roles        text[] NOT NULL CHECK (roles <@ ARRAY['viewer', 'maker', 'checker', 'admin'] AND cardinality(roles) > 0),
  -- Lower-cased ids of the exporters that it may see; null for all.
  exporters    text[] CHECK (cardinality(exporters) > 0),
  expires_at   timestamptz,
  removed_at   timestamptz,
  created_at   timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT checkers_are_persons CHECK (NOT (is_system AND 'checker' = ANY(roles)))
);
CREATE UNIQUE INDEX principals_name ON principals (mode, name_key);

-- Tokens of principals, stored as SHA-256 only, because 256 random bits need no slower hash. A rotated token ends after
-- a day.
CREATE TABLE principal_tokens (
  token_hash   bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  principal_id uuid NOT NULL REFERENCES principals,
  ends_at      timestamptz,
  created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX principal_tokens_principal ON principal_tokens (principal_id);

-- What principals answer for, written before the action goes to Temporal, which carries the id alone. The resulting
-- fact (a filing, a word, a change of policy) refers to the grant, once. A grant without a fact within a day is void.
CREATE TABLE grants (
  grant_id     text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  mode         text NOT NULL,
  principal_id uuid NOT NULL REFERENCES principals,
  principal    text NOT NULL,
  action       text NOT NULL CHECK (action IN ('file', 'approve', 'resolve', 'abandon', 'permit', 'policy')),
  exporter_id  text NOT NULL,
  -- Null if the action makes the filing, or is about none.
  filing_id    text,
  -- SHA-256 of what was shown.
  shown        text NOT NULL,
  -- The exporter's policy at that time. The stricter of it and the policy at the time of the fact counts.
  approval_required boolean NOT NULL,
  granted_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX grants_policy ON grants (exporter_id, granted_at) WHERE action = 'policy';
ALTER TABLE filings ADD FOREIGN KEY (grant_id) REFERENCES grants, ADD UNIQUE (grant_id);
ALTER TABLE words ADD FOREIGN KEY (grant_id) REFERENCES grants, ADD UNIQUE (grant_id);

-- Changes of an exporter's approval policy. Switching it off takes two principals.
CREATE TABLE policy_changes (
  change_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  exporter_id     text NOT NULL,
  approval        text NOT NULL CHECK (approval IN ('required', 'off')),
  -- A principal's name, or a claim if there is no grant.
  changed_by      text NOT NULL,
  grant_id        text UNIQUE REFERENCES grants,
  second_grant_id text UNIQUE REFERENCES grants,
  changed_at      timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT off_takes_two CHECK (approval = 'required' OR (grant_id IS NOT NULL AND second_grant_id IS NOT NULL AND grant_id <> second_grant_id))
);
CREATE INDEX policy_changes_exporter ON policy_changes (exporter_id, change_id);

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

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: it is evidence of who did what', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER grants_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON grants
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
CREATE TRIGGER filing_events_append_only BEFORE UPDATE OR DELETE ON filing_events FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting();
CREATE TRIGGER words_append_only BEFORE UPDATE OR DELETE ON words FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting();
CREATE TRIGGER word_judgements_append_only BEFORE UPDATE OR DELETE ON word_judgements
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting();
CREATE TRIGGER consents_append_only BEFORE UPDATE OR DELETE ON consents FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting();

-- Keeps an answer of the service in the filing's events when another one replaces it, such as when a send was repeated
-- after a restore.
CREATE FUNCTION keep_answer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO filing_events (filing_id, at, kind, text, data)
  VALUES (OLD.filing_id, clock_timestamp(), 'answer_replaced', 'attempt ' || OLD.attempt_id || ' was answered otherwise before',
    jsonb_build_object('attemptId', OLD.attempt_id, 'status', OLD.answer_status, 'answeredAt', OLD.answered_at, 'answer', OLD.answer));
  RETURN NEW;
END
$$;
CREATE TRIGGER attempts_answer_kept BEFORE UPDATE ON attempts FOR EACH ROW
  WHEN (OLD.answer IS NOT NULL AND (NEW.answer IS DISTINCT FROM OLD.answer OR NEW.answer_status IS DISTINCT FROM OLD.answer_status))
  EXECUTE FUNCTION keep_answer();

-- What happened, for readers outside. The statement that changes a state writes its event, through the triggers below.
-- A relay of the workers gives committed events their position. Readers read by position, so that nothing is skipped or
-- out of order.
CREATE TABLE events (
  -- In the order of writing, because writers of one filing hold its lock.
  ordinal     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id    uuid NOT NULL DEFAULT gen_random_uuid(),
  mode        text NOT NULL,
  type        text NOT NULL,
  at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Null if it concerns no exporter, or several.
  exporter_id text,
  -- The reference of a filing, otherwise the id of what the event is about.
  subject     text NOT NULL,
  -- Ids, state and the number of the move, but no name, amount or document number.
  data        jsonb NOT NULL,
  position    bigint
);
CREATE UNIQUE INDEX events_position ON events (position) WHERE position IS NOT NULL;
CREATE INDEX events_unplaced ON events (ordinal) WHERE position IS NULL;

-- One row. A cursor is an epoch and a position. The epoch is renewed when the ledger was put back, after which
-- positions name other events.
CREATE TABLE event_feed (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  epoch     uuid NOT NULL DEFAULT gen_random_uuid(),
  -- The last position assigned, and the last one removed.
  position  bigint NOT NULL DEFAULT 0,
  removed   bigint NOT NULL DEFAULT 0
);
INSERT INTO event_feed DEFAULT VALUES;

CREATE FUNCTION write_filing_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (mode, type, exporter_id, subject, data)
  VALUES (NEW.mode, 'ebrc.filing.' || NEW.state, NEW.exporter_id, NEW.reference,
    jsonb_build_object('filingId', NEW.filing_id, 'exporterId', NEW.exporter_id, 'n', NEW.n, 'state', NEW.state, 'sequence', NEW.seq));
  -- The relay also looks by the clock, more often after these. A notification for each move would make commits wait for
  -- one another.
  IF TG_OP = 'INSERT' OR NEW.closed_at IS NOT NULL THEN PERFORM pg_notify('ebrc_events', ''); END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER filings_made AFTER INSERT ON filings FOR EACH ROW EXECUTE FUNCTION write_filing_event();
CREATE TRIGGER filings_moved AFTER UPDATE OF state ON filings
  FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION write_filing_event();

CREATE FUNCTION write_question_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (mode, type, exporter_id, subject, data)
  SELECT NEW.mode, 'ebrc.question.' || CASE WHEN NEW.closed_at IS NULL THEN 'opened' ELSE 'closed' END,
         coalesce(f.exporter_id, NEW.exporter_id), coalesce(f.reference, NEW.question_id::text),
         jsonb_build_object('questionId', NEW.question_id::text, 'kind', NEW.kind, 'filingId', NEW.filing_id,
           'exporterId', coalesce(f.exporter_id, NEW.exporter_id))
    FROM (SELECT) AS one LEFT JOIN filings f ON f.filing_id = NEW.filing_id;
  IF NEW.closed_at IS NULL THEN PERFORM pg_notify('ebrc_events', ''); END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER questions_opened AFTER INSERT ON questions
  FOR EACH ROW WHEN (NEW.closed_at IS NULL) EXECUTE FUNCTION write_question_event();
CREATE TRIGGER questions_closed AFTER UPDATE OF closed_at ON questions
  FOR EACH ROW WHEN (OLD.closed_at IS NULL AND NEW.closed_at IS NOT NULL) EXECUTE FUNCTION write_question_event();

CREATE FUNCTION write_certificate_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (mode, type, exporter_id, subject, data)
  SELECT p.mode, 'ebrc.certificate.archived', coalesce(f.exporter_id, NEW.exporter_id), coalesce(f.reference, NEW.ebrc_number),
         jsonb_build_object('eBRCNumber', NEW.ebrc_number, 'filingId', NEW.filing_id,
           'exporterId', coalesce(f.exporter_id, NEW.exporter_id))
    FROM parties p LEFT JOIN filings f ON f.filing_id = NEW.filing_id WHERE p.party_id = NEW.party_id;
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

-- Three roles of the whole server, of which logins are members: ebrc_migrate owns and changes the schema, ebrc_run has
-- what workers and filing commands need, ebrc_read has what readers need. If the migrating user may not create roles,
-- an administrator creates them (docs/operations.md). The ledger also works without them, for the user that owns it.
DO $$
DECLARE
  v_role text;
BEGIN
  FOREACH v_role IN ARRAY ARRAY['ebrc_migrate', 'ebrc_run', 'ebrc_read'] LOOP
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
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO ebrc_run', v_schema);
    EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %s TO ebrc_run', v_schema);
    -- Workers must not change which migrations count as applied.
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON %s.schema_migrations FROM ebrc_run', v_schema);
    -- Workers must not change who may do what, nor the record of it.
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON %1$s.principals, %1$s.principal_tokens FROM ebrc_run', v_schema);
    EXECUTE format('REVOKE UPDATE, DELETE ON %1$s.audit_events, %1$s.grants, %1$s.policy_changes, %1$s.filing_events, %1$s.words, '
      '%1$s.word_judgements, %1$s.consents FROM ebrc_run', v_schema);
    EXECUTE format('REVOKE DELETE ON %1$s.attempts, %1$s.filings, %1$s.filing_rows FROM ebrc_run', v_schema);
    -- The relay assigns positions to events, whose content stays.
    EXECUTE format('REVOKE UPDATE ON %1$s.events FROM ebrc_run; GRANT UPDATE (position) ON %1$s.events TO ebrc_run', v_schema);
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ebrc_read') THEN
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO ebrc_read', v_schema);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %s TO ebrc_read', v_schema);
    -- Encrypted, but no reader needs them.
    EXECUTE format('REVOKE SELECT ON %1$s.vault_secrets, %1$s.principal_tokens FROM ebrc_read', v_schema);
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ebrc_migrate') THEN
    EXECUTE format('GRANT USAGE, CREATE ON SCHEMA %s TO ebrc_migrate', v_schema);
  END IF;
  -- The roles are server-wide. Without this, a login of another ledger's workers could write into this database. Each
  -- login is granted access by name.
  BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ebrc_run') AND EXISTS (
      SELECT FROM pg_database WHERE datname = current_database() AND pg_has_role(current_user, datdba, 'USAGE')) THEN
      EXECUTE format('REVOKE CONNECT ON DATABASE %I FROM PUBLIC', current_database());
    END IF;
  EXCEPTION
    WHEN insufficient_privilege THEN RAISE NOTICE 'PUBLIC may still connect: %', SQLERRM;
  END;
EXCEPTION
  -- Another user owns the schema and grants the rights on it.
  WHEN insufficient_privilege THEN RAISE NOTICE 'rights on the schema were not given: %', SQLERRM;
END
$$;
