-- Up Migration

-- What a caller handed in, kept once per content, so that workflow inputs carry a reference and not the rows.
CREATE TABLE filing_inputs (
  input_ref       text PRIMARY KEY,
  rows            jsonb NOT NULL,
  row_count       integer NOT NULL,
  source_kind     text NOT NULL CHECK (source_kind IN ('json', 'workbook')),
  source_name     text,
  source_document text,
  -- What the check of the file warned of, for the filing that is made from it.
  warnings        jsonb NOT NULL DEFAULT '[]',
  created_at      timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE filings (
  filing_id        text PRIMARY KEY,
  mode             text NOT NULL,
  exporter_id      text NOT NULL REFERENCES exporters,
  reference        text NOT NULL,
  correction       integer NOT NULL DEFAULT 0,
  revision         integer NOT NULL DEFAULT 0,
  corrects         text REFERENCES filings,
  workflow_id      text NOT NULL,
  content_hash     text NOT NULL,
  input_ref        text NOT NULL REFERENCES filing_inputs,
  upload_type      integer NOT NULL,
  declaration      text NOT NULL CHECK (declaration IN ('Y', 'N')),
  channel          text NOT NULL CHECK (channel IN ('push', 'bulk')),
  state            text NOT NULL,
  -- Progress is accepted only with a higher sequence number: a late worker or a replay changes nothing backwards.
  seq              bigint NOT NULL DEFAULT 0,
  needs_attention  boolean NOT NULL DEFAULT false,
  attention        text,
  -- When the next move is due at the latest, as far as the state explains itself; null where it waits for a person.
  due_at           timestamptz,
  -- What is wrong with its workflow, as the sweep or a failing workflow said; the next move clears it.
  run_problem      text,
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
  annotated        text,
  changed_at       timestamptz NOT NULL DEFAULT now(),
  closed_at        timestamptz,
  UNIQUE (mode, reference, correction, revision)
);
CREATE INDEX filings_state ON filings (state, made_at);
CREATE INDEX filings_exporter ON filings (exporter_id, made_at);
CREATE INDEX filings_reference ON filings (reference);

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
  -- Document, date, amount and currency in comparable form: what a certificate of fetch-details can be matched by.
  match_key     text,
  mapped_amount numeric NOT NULL,
  currency      text NOT NULL,
  fingerprint   text NOT NULL,
  ordinal       integer NOT NULL DEFAULT 0,
  -- Why, and beside which filings, a mapping that is live already may be filed again.
  permit_reason  text,
  permit_besides text[],
  -- The filing that was found to hold the same mapping when two parties turned out to be one.
  collided_with  text,
  live          boolean NOT NULL,
  state         text NOT NULL,
  ebrc_number   text,
  ebrc_date     text,
  -- Its certificate is another row's too, found when two parties turned out to be one.
  disputed      boolean NOT NULL DEFAULT false,
  errors        jsonb NOT NULL DEFAULT '[]',
  -- Set when the balance check passed: from then on the amount counts against the IRM for every other filing.
  reserved_at   timestamptz,
  submitted_at  timestamptz,
  settled_at    timestamptz,
  taken_over_by text,
  PRIMARY KEY (filing_id, position),
  CONSTRAINT filing_rows_second_is_permitted
    CHECK (ordinal = 0 OR permit_reason IS NOT NULL OR collided_with IS NOT NULL)
);
-- The rule that a mapping is filed once, held by PostgreSQL itself and not by a read before a write.
CREATE UNIQUE INDEX filing_rows_live_mapping ON filing_rows (fingerprint, ordinal) WHERE live;
-- A certificate belongs to one row.
CREATE UNIQUE INDEX filing_rows_ebrc ON filing_rows (party_id, ebrc_number) WHERE ebrc_number IS NOT NULL AND NOT disputed;
CREATE INDEX filing_rows_irm ON filing_rows (party_id, irm_key) WHERE live;
CREATE INDEX filing_rows_match ON filing_rows (party_id, match_key) WHERE live;
CREATE INDEX filing_rows_exporter ON filing_rows (exporter_id);

-- Holders that a refusal has named for a mapping: a permitted row may stand beside these, and no others.
CREATE TABLE named_holders (
  fingerprint text NOT NULL,
  filing_id   text NOT NULL REFERENCES filings ON DELETE CASCADE,
  named_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (fingerprint, filing_id)
);

CREATE TABLE submissions (
  filing_id    text NOT NULL REFERENCES filings ON DELETE CASCADE,
  submission   integer NOT NULL,
  mode         text NOT NULL,
  -- The exporter's id, by which, with request_id, the service is asked for the status.
  customer_id  text NOT NULL,
  row_count    integer NOT NULL,
  state        text NOT NULL DEFAULT 'planned',
  request_id   text,
  dgft_ack_id  text,
  ack_status   text,
  submitted_at timestamptz,
  terminal_at  timestamptz,
  processing_status text,
  warnings     jsonb NOT NULL DEFAULT '[]',
  -- What earlier polls saw, for the rules that need two of them.
  poll_state   jsonb NOT NULL DEFAULT '{}',
  document     text,
  PRIMARY KEY (filing_id, submission)
);
-- A request files one submission. It is named by client and id together (POST /genebrc/status): the ids of two clients may be alike.
CREATE UNIQUE INDEX submissions_request ON submissions (mode, customer_id, request_id);

-- One row per try to send a submission. The mark `sending` is a conditional update from `open`: the fence
-- (src/ledger/submissions/sending-mark.ts has its other conditions).
CREATE TABLE attempts (
  attempt_id    text PRIMARY KEY,
  filing_id     text NOT NULL REFERENCES filings ON DELETE CASCADE,
  submission    integer NOT NULL,
  number        integer NOT NULL,
  state         text NOT NULL CHECK (state IN ('open', 'sending', 'answered', 'not_sent')),
  payload_hash  text,
  -- Which execution set the mark: only that one may record that nothing was written.
  sender        text,
  -- What was seen just before it; null where nothing could be read.
  snapshot_id   bigint,
  opened_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  sending_at    timestamptz,
  answered_at   timestamptz,
  answer_status integer,
  answer        jsonb,
  -- It was found to have been sent, or accepted, when another attempt had been sent in its place.
  late          boolean NOT NULL DEFAULT false,
  closed_at     timestamptz,
  reason        text,
  UNIQUE (filing_id, submission, number)
);
-- One attempt of a submission at a time. Only a late answer may stand beside another attempt.
CREATE UNIQUE INDEX attempts_one_standing ON attempts (filing_id, submission)
  WHERE state <> 'not_sent' AND NOT late;

-- The ledger's sends, one per mark, in its transaction. A number without an attempt is one that a void file fills. An
-- attempt has several only after sends were brought back from the document store.
CREATE TABLE sends (
  number     bigint PRIMARY KEY,
  attempt_id text REFERENCES attempts ON DELETE CASCADE,
  sender     text NOT NULL
);
CREATE INDEX sends_attempt ON sends (attempt_id);

-- Certificate numbers and IRM balances seen just before a send; an unknown outcome is settled against them.
CREATE TABLE snapshots (
  snapshot_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  filing_id    text NOT NULL REFERENCES filings ON DELETE CASCADE,
  submission   integer NOT NULL,
  exporter_id  text NOT NULL,
  party_id     integer NOT NULL REFERENCES parties,
  taken_at     timestamptz NOT NULL,
  certificates jsonb,
  balances     jsonb NOT NULL DEFAULT '[]',
  -- It came back with its send's record into a ledger that was put back to an earlier state: certificates has every
  -- number from before the send, and its number does not tell its order among the others.
  brought_back boolean NOT NULL DEFAULT false
);
CREATE INDEX snapshots_filing ON snapshots (filing_id, submission);
CREATE INDEX snapshots_party ON snapshots (party_id, taken_at);

-- Every certificate that fetch-details or a status record ever named, whoever filed it. fetch-details answers per IEC, so a
-- certificate is a party's; exporter_id is the client through which it was first read.
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
  -- When fetch-details showed it last and when a row claimed it, by this server's clock: workers' clocks differ. Its day of
  -- issue, and what it is matched by.
  seen_at       timestamptz,
  claimed_at    timestamptz,
  issued_on     date,
  match_key     text,
  -- The first word that the authority said of it.
  first_status  text,
  pdf_document  text,
  pdf_sha256    text,
  pdf_bytes     integer,
  archived_at   timestamptz,
  -- How often what came was no whole PDF, and when it is asked for again.
  pdf_refused   integer NOT NULL DEFAULT 0,
  pdf_next_at   timestamptz,
  -- What the last look at the document store found: missing or damaged, and the hash of what is there.
  pdf_problem   text,
  pdf_found     text,
  pdf_checked_at timestamptz,
  PRIMARY KEY (party_id, ebrc_number)
);
CREATE INDEX certificates_filing ON certificates (filing_id);
CREATE INDEX certificates_issued ON certificates (party_id, issued_on);
CREATE INDEX certificates_exporter ON certificates (exporter_id);

-- The events of a filing, one line each, for people.
CREATE TABLE filing_events (
  event_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  filing_id text NOT NULL REFERENCES filings ON DELETE CASCADE,
  seq       bigint,
  -- Run and activity that recorded a move: a repeated activity is told apart from a run that is behind the ledger.
  step      text,
  at        timestamptz NOT NULL,
  kind      text NOT NULL,
  -- The state that a move led to; null for a line that is no move. Reports read from it how long filings waited.
  state     text,
  who       text,
  text      text NOT NULL,
  data      jsonb,
  UNIQUE (filing_id, seq),
  UNIQUE (filing_id, step)
);
CREATE INDEX filing_events_filing ON filing_events (filing_id, event_id);

-- Requests of operators that no run has carried out yet: they outlive the run that received them.
CREATE TABLE operator_requests (
  filing_id text NOT NULL REFERENCES filings ON DELETE CASCADE,
  kind      text NOT NULL CHECK (kind IN ('approve', 'resolve', 'abandon')),
  args      jsonb NOT NULL,
  asked_at  timestamptz NOT NULL,
  PRIMARY KEY (filing_id, kind)
);

-- How long the authority took lately, for the poll cadence: the age of a request at the poll that found its answer, and
-- at the one before, which found none (0: there was none).
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
