-- The labels of the service's bulk template, as a worker read them last.
CREATE TABLE bulk_templates (
  mode       text PRIMARY KEY CHECK (mode IN ('test', 'live')),
  labels     jsonb,
  learned_at timestamptz,
  -- When a worker last began to read it: of several workers one requests it.
  asked_at   timestamptz NOT NULL,
  CHECK ((labels IS NULL) = (learned_at IS NULL))
);
