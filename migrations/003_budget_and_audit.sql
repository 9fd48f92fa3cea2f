-- Up Migration

-- Budgets of the service's rate limits. Everything is kept for a hash of the API key and a rate class, because that is
-- what the service counts by. Times are clock_timestamp(): now() is the start of a transaction and lags behind it.
CREATE TABLE budget_classes (
  key_hash     text NOT NULL,
  rate_class   text NOT NULL,
  -- No slot is granted before this: the service answered 429, so somebody else uses the key.
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

-- One step of the queue, for all waiting tickets of one process in one class: enters those that are new in the order
-- given, renews the others, and turns those whose turn has come into slots. One statement for the client, so that a
-- worker which is stopped or cut off half-way never holds the lock that all others need.
--   hold_ms   how long a slot counts that is taken and never heard of again, without the lease: window + guard
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

  -- Read behind the lock: the wait for it may have been long.
  v_now := clock_timestamp();

  DELETE FROM budget_slots s
   WHERE s.key_hash = p_key_hash AND s.rate_class = p_rate_class AND s.free_at <= v_now AND s.ticket <> ALL (p_tickets);

  -- Usually the queue is empty and there is room: then nothing has to be entered, renewed or put in order.
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

  -- A ticket that has its slot already is one whose grant did not reach the client: it is returned again below.
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

  -- Whoever stands among the first v_room may go, also when one in front has not come for its slot yet.
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

-- Credential checks that the portal refused: five within fifteen minutes, and the service refuses fifteen more.
CREATE TABLE credential_failures (
  failure_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  mode        text NOT NULL CHECK (mode IN ('test', 'live')),
  exporter_id text NOT NULL,
  failed_at   timestamptz NOT NULL
);
CREATE INDEX credential_failures_recent ON credential_failures (mode, exporter_id, failed_at);

-- One row for each call that was tried. No bodies, no secrets.
CREATE TABLE api_calls (
  call_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at          timestamptz NOT NULL,
  operation   text NOT NULL,
  exporter_id text,
  -- HTTP status; null where no answer came.
  status      smallint,
  -- Kind of the error; null for a success.
  kind        text,
  error_code  text,
  request_id  text,
  latency_ms  integer NOT NULL,
  attempt     integer
);
CREATE INDEX api_calls_at ON api_calls (at);
CREATE INDEX api_calls_exporter ON api_calls (exporter_id, at);
CREATE INDEX api_calls_request ON api_calls (request_id) WHERE request_id IS NOT NULL;
