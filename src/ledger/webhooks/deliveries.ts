/** Deliveries to one endpoint: made of the feed, taken one by one, and what came of each. */
import type { Mode } from '../../domain/names';
import {
  type DeliveryKind,
  type Digest,
  type EventToTell,
  TRIED_FOR_MS,
  type Verdict,
  type WebhookTemplate,
} from '../../domain/webhooks';
import { TOLD } from '../events';
import { closeFinding, openFinding } from '../findings';
import { ISO } from '../paging';
import type { Queryable } from '../pool';
import { DIGEST_DAY } from './webhooks';

/** Events that are made into deliveries at once: all that an endpoint holds back while it fails. */
const BATCH = 100;

/** Endpoints that have something to be told now. */
export async function dueWebhooks(db: Queryable, mode: Mode): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT w.webhook_id AS id FROM webhooks w, ledger l WHERE w.mode = $1 AND (
        (w.paused_at IS NULL AND coalesce(w.next_at <= clock_timestamp(), true) AND w.template = 'events' AND w.position < l.feed_position)
        OR EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.webhook_id AND ${IS_DUE}))`,
    [mode],
  );
  return rows.map(({ id }) => id);
}

/** SQL: whether delivery `d` of endpoint `w` may be tried now. A test is tried whatever else is. */
const IS_DUE = `d.state = 'waiting' AND d.next_at <= clock_timestamp() AND (d.kind = 'test' OR (w.paused_at IS NULL
  AND coalesce(w.next_at <= clock_timestamp(), true)))`;

/** SQL: what limits what endpoint `w` is told; null: nothing. */
const SCOPE = `(SELECT CASE WHEN w.exporters IS NULL THEN p.exporters WHEN p.exporters IS NULL THEN w.exporters
    ELSE ARRAY(SELECT unnest(w.exporters) INTERSECT SELECT unnest(p.exporters)) END
  FROM (SELECT) AS one LEFT JOIN principals p ON p.principal_id = w.principal_id)`;

export interface Delivery {
  id: string;
  kind: DeliveryKind;
  messageId: string;
  tries: number;
  /** Failures of the endpoint in a row. */
  failures: number;
  template: WebhookTemplate;
  addressRef: string;
  secretRef: string;
  /** Null: it has ended, or there is none. */
  previousRef: string | null;
  /** Lower-cased ids of the exporters that it may be told of; null: all. */
  scope: string[] | null;
  /** Whether the principal that added it was removed, or has ended. */
  ownerGone: boolean;
  /** Of an event. */
  event: EventToTell | null;
}

/** The delivery to try next; null: none is due. Makes deliveries of the next events where all before were tried. */
export async function nextDelivery(db: Queryable, webhookId: string): Promise<Delivery | null> {
  const due = await dueDelivery(db, webhookId);
  if (due) return due;
  await readOn(db, webhookId);
  return dueDelivery(db, webhookId);
}

async function dueDelivery(db: Queryable, webhookId: string): Promise<Delivery | null> {
  type Row = Omit<Delivery, 'event'> & { [K in keyof EventToTell as `event_${K}`]: EventToTell[K] | null };
  const { rows } = await db.query<Row>(
    `SELECT d.delivery_id::text AS id, d.kind, d.message_id AS "messageId", d.tries, w.failures, w.template,
        w.address_ref AS "addressRef", w.secret_ref AS "secretRef",
        CASE WHEN w.previous_ends_at > clock_timestamp() THEN w.previous_ref END AS "previousRef", ${SCOPE} AS scope,
        EXISTS (SELECT FROM principals p WHERE p.principal_id = w.principal_id
          AND (p.removed_at IS NOT NULL OR p.expires_at <= clock_timestamp())) AS "ownerGone",
        e.event_id AS event_id, e.type AS event_type, e.at AS event_at, e.subject AS event_subject, ${TOLD('e')} AS event_data
       FROM webhooks w JOIN webhook_deliveries d USING (webhook_id) LEFT JOIN events e ON e.position = d.position
      WHERE w.webhook_id = $1 AND ${IS_DUE} ORDER BY d.next_at, d.delivery_id LIMIT 1`,
    [webhookId],
  );
  const [row] = rows;
  if (!row) return null;
  const { event_id: id, event_type: type, event_at: at, event_subject: subject, event_data: data, ...delivery } = row;
  return { ...delivery, event: id && type && at && subject ? { id, type, at, subject, data: data ?? {} } : null };
}

/** Makes deliveries of the next events. Those of a filing that waits already wait behind it. */
async function readOn(db: Queryable, webhookId: string): Promise<void> {
  await db.query(
    `WITH w AS (
       SELECT w.*, ${SCOPE} AS scope, l.feed_position, greatest(w.position, l.feed_removed) AS after FROM webhooks w, ledger l
        WHERE webhook_id = $1 AND paused_at IS NULL AND template = 'events' AND coalesce(next_at <= clock_timestamp(), true)
        FOR UPDATE OF w
     ), next AS (
       SELECT e.position, e.event_id, coalesce(e.filing_id, e.subject) AS stream FROM w JOIN events e ON e.position > w.after
        WHERE e.mode = w.mode AND (w.scope IS NULL OR lower(e.exporter_id) = ANY (w.scope)) ORDER BY e.position LIMIT ${BATCH}
     ), moved AS (
       UPDATE webhooks SET position = CASE WHEN (SELECT count(*) FROM next) < ${BATCH} THEN w.feed_position
         ELSE (SELECT max(position) FROM next) END FROM w WHERE webhooks.webhook_id = w.webhook_id
     )
     INSERT INTO webhook_deliveries (webhook_id, kind, message_id, position, stream, next_at)
     SELECT $1, 'event', event_id, position, stream, CASE WHEN row_number() OVER (PARTITION BY stream ORDER BY position) = 1
         AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = $1 AND d.stream = next.stream AND d.state = 'waiting')
         THEN clock_timestamp() END
       FROM next ORDER BY position`,
    [webhookId],
  );
}

export interface Outcome {
  verdict: Verdict;
  status: number | null;
  problem: string | null;
  /** When this delivery is tried again, and when the endpoint is, if they failed. */
  againInMs: number;
  endpointInMs: number;
}

/** SQL: lets the next delivery of the stream of delivery $1 go. */
const RELEASE_NEXT = `UPDATE webhook_deliveries SET next_at = clock_timestamp() WHERE delivery_id = (
    SELECT min(n.delivery_id) FROM webhook_deliveries n, ended WHERE n.webhook_id = ended.webhook_id AND n.stream = ended.stream
      AND n.state = 'waiting' AND n.delivery_id <> ended.delivery_id)`;

/** Records that a delivery was taken. */
export async function recordTaken(db: Queryable, { id }: Pick<Delivery, 'id'>, status: number | null): Promise<void> {
  await db.query(
    `WITH ended AS (
       UPDATE webhook_deliveries SET state = 'delivered', tries = tries + 1, first_at = coalesce(first_at, clock_timestamp()),
           last_at = clock_timestamp(), next_at = NULL, status = $2, problem = NULL
        WHERE delivery_id = $1 RETURNING webhook_id, stream, delivery_id, kind
     ), released AS (${RELEASE_NEXT}), others AS (
       -- It works again: what failed before is not left to wait.
       UPDATE webhook_deliveries d SET next_at = clock_timestamp() FROM ended e JOIN webhooks w USING (webhook_id)
        WHERE e.kind <> 'test' AND w.failures > 0 AND d.webhook_id = e.webhook_id AND d.state = 'waiting' AND d.next_at > clock_timestamp()
     )
     UPDATE webhooks w SET failures = 0, next_at = NULL, failing_since = NULL, taken_at = clock_timestamp()
       FROM ended e WHERE w.webhook_id = e.webhook_id AND e.kind <> 'test'`,
    [id, status],
  );
}

/** Records that a delivery failed. @returns whether the endpoint has only failed for so long that it is paused */
export async function recordFailed(db: Queryable, { id }: Pick<Delivery, 'id'>, outcome: Outcome): Promise<boolean> {
  const { verdict, status, problem, againInMs, endpointInMs } = outcome;
  const { rows } = await db.query<{ only: boolean }>(
    `WITH d AS (
       SELECT delivery_id, kind = 'test' OR coalesce(first_at <= clock_timestamp() - $6::float8 * interval '1 ms', false) AS is_over
         FROM webhook_deliveries WHERE delivery_id = $1
     ), ended AS (
       UPDATE webhook_deliveries u SET state = CASE WHEN d.is_over THEN 'given_up' ELSE 'waiting' END, tries = tries + 1,
           first_at = coalesce(first_at, clock_timestamp()), last_at = clock_timestamp(), status = $2, problem = $3,
           next_at = CASE WHEN NOT d.is_over THEN clock_timestamp() + $4::float8 * interval '1 ms' END
         FROM d WHERE u.delivery_id = d.delivery_id RETURNING u.webhook_id, u.stream, u.delivery_id, u.kind, d.is_over
     ), released AS (${RELEASE_NEXT} AND (SELECT is_over FROM ended))
     UPDATE webhooks w SET failing_since = coalesce(failing_since, clock_timestamp()),
         failures = CASE WHEN $7 THEN failures + 1 ELSE failures END,
         next_at = CASE WHEN $7 THEN clock_timestamp() + $5::float8 * interval '1 ms' ELSE next_at END
       FROM ended e WHERE w.webhook_id = e.webhook_id AND e.kind <> 'test'
     RETURNING failing_since <= clock_timestamp() - $6::float8 * interval '1 ms' AS only`,
    [id, status, problem, againInMs, endpointInMs, TRIED_FOR_MS, verdict === 'failed'],
  );
  return rows[0]?.only ?? false;
}

const findingOf = (mode: Mode, webhookId: string) =>
  ({ mode, iec: null, kind: 'webhook_paused', subject: webhookId }) as const;

/** Pauses an endpoint, with a finding that asks; in the caller's transaction. */
export async function pauseWebhook(db: Queryable, mode: Mode, webhookId: string, why: string): Promise<void> {
  const { rows } = await db.query<{ address: string }>(
    `UPDATE webhooks SET paused_at = clock_timestamp(), paused_why = $2 WHERE webhook_id = $1 AND paused_at IS NULL RETURNING address`,
    [webhookId, why],
  );
  const [paused] = rows;
  if (!paused) return;
  const text = `The webhook ${webhookId} (${paused.address}) is paused: ${why}. Mend it, then: ebrc webhooks replay ${webhookId}`;
  await openFinding(db, { ...findingOf(mode, webhookId), text });
}

/** Closes the finding of an endpoint that goes on, or was removed. */
export const closePaused = (db: Queryable, mode: Mode, webhookId: string): Promise<boolean> =>
  closeFinding(db, findingOf(mode, webhookId));

/** Makes the digests of the day. One that was not taken yet says the same as today's. */
export async function addDigests(db: Queryable, mode: Mode): Promise<void> {
  await db.query(
    `WITH due AS (
       UPDATE webhooks SET digest_on = ${DIGEST_DAY} WHERE mode = $1 AND paused_at IS NULL AND digest_on < ${DIGEST_DAY} RETURNING webhook_id
     )
     INSERT INTO webhook_deliveries (webhook_id, kind, message_id, stream, next_at)
     SELECT webhook_id, 'digest', gen_random_uuid(), 'digest', clock_timestamp() FROM due
      WHERE NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = due.webhook_id AND d.kind = 'digest' AND d.state = 'waiting')`,
    [mode],
  );
}

export async function dropDelivery(db: Queryable, { id }: Pick<Delivery, 'id'>): Promise<void> {
  await db.query('DELETE FROM webhook_deliveries WHERE delivery_id = $1', [id]);
}

/** The most entries of a digest; it counts the others. */
const DIGEST_ITEMS = 20;

/** What needs somebody: filings with attention, and open findings that nobody has acknowledged. Oldest first. */
export async function readDigest(db: Queryable, mode: Mode, scope: readonly string[] | null): Promise<Digest> {
  const { rows } = await db.query<Digest['items'][number] & { count: number }>(
    `SELECT subject, what, "filingId", "findingId", ${ISO('since')} AS since, count(*) OVER ()::int AS count FROM (
       SELECT reference || CASE WHEN n > 1 THEN '#' || n ELSE '' END AS subject, state AS what, filing_id AS "filingId",
              NULL AS "findingId", since
         FROM filings f WHERE mode = $1 AND ($2::text[] IS NULL OR lower(exporter_id) = ANY ($2))
          AND (attention IS NOT NULL OR (closed_at IS NULL AND due_at < clock_timestamp()))
       UNION ALL
       SELECT finding_id, kind, filing_id, finding_id, first_seen_at FROM findings
        WHERE mode = $1 AND ($2::text[] IS NULL OR lower(exporter_id) = ANY ($2)) AND closed_at IS NULL AND acknowledged_at IS NULL
     ) AS matters ORDER BY since LIMIT ${DIGEST_ITEMS}`,
    [mode, scope],
  );
  return { count: rows[0]?.count ?? 0, items: rows.map(({ count: _, ...item }) => item) };
}
