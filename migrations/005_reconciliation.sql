-- Up Migration

-- Where the ledger and the authority disagree. A finding is the same one from run to run, by its key, until it is gone:
-- that gives it its age. What comes back after it was closed is a new finding.
CREATE TABLE findings (
  finding_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  mode            text NOT NULL,
  party_id        integer NOT NULL REFERENCES parties,
  key             text NOT NULL,
  kind            text NOT NULL,
  exporter_id     text,
  ebrc_number     text,
  filing_id       text,
  source_row      integer,
  irm_number      text,
  -- The day that a window has to cover before the finding may be closed; null where no window decides.
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
CREATE UNIQUE INDEX findings_open ON findings (party_id, key) WHERE closed_at IS NULL;
CREATE INDEX findings_mode ON findings (mode, kind, first_seen_at);

-- Spans of days whose certificates were read whole, and when the reading began by this server's clock.
CREATE TABLE certificate_windows (
  party_id  integer NOT NULL REFERENCES parties,
  from_date date NOT NULL,
  to_date   date NOT NULL,
  read_at   timestamptz NOT NULL,
  PRIMARY KEY (party_id, from_date, to_date)
);

-- What the authority said of a certificate before it said something else.
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
