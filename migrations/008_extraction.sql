-- Up Migration

-- What the extraction service answered, once per content, endpoint and service: a PDF whose answer is here is never paid for
-- again. `service` is its address and version word. `asking`: no answer yet.
CREATE TABLE extractions (
  extraction_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  service       text NOT NULL,
  endpoint      text NOT NULL CHECK (endpoint IN ('shipping-bill', 'shipping-bill-full', 'invoice')),
  sha256        text NOT NULL,
  -- Name in the document store.
  document      text NOT NULL,
  file_name     text NOT NULL,
  state         text NOT NULL DEFAULT 'asking' CHECK (state IN ('asking', 'extracted', 'refused', 'failed')),
  -- `data` of the answer, and the whole answer where it has another shape than the specification's.
  data          jsonb,
  answer        jsonb,
  error_code    text,
  -- Why it was refused or failed; while it is being asked for, what stood in the way last.
  error         text,
  -- Set where the address or the key is to blame: the hash of both. With others it is asked for again.
  access        text,
  -- Calls that failed in ways that a repeat may resolve, by kind of failure.
  faults        integer NOT NULL DEFAULT 0,
  rate_limits   integer NOT NULL DEFAULT 0,
  -- A call is under way until then.
  lease_until   timestamptz,
  first_asked_at timestamptz NOT NULL DEFAULT now(),
  answered_at   timestamptz,
  UNIQUE (service, endpoint, sha256)
);
CREATE INDEX extractions_sha256 ON extractions (sha256);
CREATE INDEX extractions_leases ON extractions (service, lease_until) WHERE lease_until IS NOT NULL;

-- How fast the service is called, by all workers together. It states no limits, so it is slowed down for by what it answers.
CREATE TABLE extraction_pace (
  service      text PRIMARY KEY,
  faults       integer NOT NULL DEFAULT 0,
  closed_until timestamptz
);

-- Drafted workbooks, so that a filing can say what its rows were made of. `rows`: the drafted value of each field, and the documents.
CREATE TABLE drafts (
  draft_id    text PRIMARY KEY,
  exporter_id text NOT NULL,
  rows        jsonb NOT NULL,
  made_by     text NOT NULL,
  made_at     timestamptz NOT NULL DEFAULT now()
);

-- What stands behind the rows of what was handed in to be filed: the drafted row, its documents, and what a person changed.
CREATE TABLE row_origins (
  input_ref  text NOT NULL REFERENCES filing_inputs,
  source_row integer NOT NULL,
  draft_id   text NOT NULL REFERENCES drafts,
  draft_row  integer NOT NULL,
  documents  jsonb NOT NULL,
  edits      jsonb NOT NULL,
  PRIMARY KEY (input_ref, source_row)
);
