/** Endpoints that are told of events: added, listed, rotated, played again, paused and removed. */
import type { Mode } from '../../domain/names';
import type { WebhookTemplate } from '../../domain/webhooks';
import { ISO } from '../paging';
import { sealForWebhook } from '../vault/vault';
import type { Queryable } from '../pool';

/** Notified when an endpoint has something to be told at once. */
const WAKE = `pg_notify('ebrc_placed', '')`;

/** SQL: the day of the digest, which changes at 09:00 in India. */
export const DIGEST_DAY = `((clock_timestamp() AT TIME ZONE 'Asia/Kolkata') - interval '9 hours')::date`;

/** How long requests are signed with the secret before too. */
const OVERLAP = `interval '1 day'`;

const COLUMNS = `w.webhook_id AS "webhookId", w.address, w.template, w.exporters, p.name AS principal,
  CASE WHEN w.paused_at IS NOT NULL THEN 'paused' WHEN w.failing_since IS NOT NULL THEN 'failing' ELSE 'active' END AS state,
  w.paused_why AS "pausedWhy", ${ISO('coalesce(w.paused_at, w.failing_since)')} AS since, ${ISO('w.taken_at')} AS "takenAt",
  (SELECT count(*)::int FROM webhook_deliveries d WHERE d.webhook_id = w.webhook_id AND d.state = 'waiting') AS waiting,
  (SELECT count(*)::int FROM webhook_deliveries d WHERE d.webhook_id = w.webhook_id AND d.state = 'given_up'
     AND d.position IS NOT NULL) AS "givenUp",
  CASE WHEN w.previous_ends_at > clock_timestamp() THEN ${ISO('w.previous_ends_at')} END AS "previousSecretEndsAt",
  ${ISO('w.created_at')} AS "createdAt"`;

export interface WebhookView {
  webhookId: string;
  /** Without what may give access. */
  address: string;
  template: WebhookTemplate;
  /** Ids of the exporters that it is told of; null: of all that its principal may see. */
  exporters: string[] | null;
  /** Who added it; null: the command line, without a principal. */
  principal: string | null;
  state: 'active' | 'failing' | 'paused';
  pausedWhy: string | null;
  /** Since when it is paused, or fails. */
  since: string | null;
  /** When it last took a request. */
  takenAt: string | null;
  /** Deliveries that wait for their first or next try. */
  waiting: number;
  /** Events that were given up; `replay` tells them again. */
  givenUp: number;
  previousSecretEndsAt: string | null;
  createdAt: string;
}

/** `owner`: the id of a principal whose own webhooks are meant; null: all. */
export interface WebhookFilter {
  mode: Mode;
  owner: string | null;
  webhookId?: string;
}

const IS_MEANT =
  'w.mode = $1 AND ($2::uuid IS NULL OR w.principal_id = $2) AND ($3::uuid IS NULL OR w.webhook_id = $3)';
const meant = ({ mode, owner, webhookId }: WebhookFilter) => [mode, owner, webhookId];

export async function listWebhooks(db: Queryable, filter: WebhookFilter): Promise<WebhookView[]> {
  const { rows } = await db.query<WebhookView>(
    `SELECT ${COLUMNS} FROM webhooks w LEFT JOIN principals p USING (principal_id) WHERE ${IS_MEANT} ORDER BY w.created_at, w.webhook_id`,
    meant(filter),
  );
  return rows;
}

/** Adds an endpoint, which is told of what happens from now on. */
export async function addWebhook(
  db: Queryable,
  webhook: {
    webhookId: string;
    mode: Mode;
    url: string;
    address: string;
    template: WebhookTemplate;
    secret: string;
    principalId: string | null;
    exporters: readonly string[] | null;
  },
): Promise<void> {
  const { webhookId, mode, url, address, template, secret, principalId, exporters } = webhook;
  const addressRef = await sealForWebhook(db, mode, webhookId, url);
  const secretRef = await sealForWebhook(db, mode, webhookId, secret);
  await db.query(
    `INSERT INTO webhooks (webhook_id, mode, address, template, principal_id, exporters, address_ref, secret_ref, position, digest_on)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8, feed_position, ${DIGEST_DAY} FROM ledger`,
    [
      ...[webhookId, mode, address, template, principalId],
      ...[exporters?.map((id) => id.toLowerCase()) ?? null, addressRef, secretRef],
    ],
  );
}

/** @returns when the secret before ends; null: there is no such endpoint */
export async function rotateSecret(db: Queryable, filter: WebhookFilter & { webhookId: string }, secret: string) {
  const { rowCount } = await db.query(`SELECT FROM webhooks w WHERE ${IS_MEANT} FOR UPDATE`, meant(filter));
  if (!rowCount) return null;
  const secretRef = await sealForWebhook(db, filter.mode, filter.webhookId, secret);
  const { rows } = await db.query<{ endsAt: Date }>(
    `UPDATE webhooks SET previous_ref = secret_ref, previous_ends_at = clock_timestamp() + ${OVERLAP}, secret_ref = $2
      WHERE webhook_id = $1 RETURNING previous_ends_at AS "endsAt"`,
    [filter.webhookId, secretRef],
  );
  return rows[0]?.endsAt ?? null;
}

/** Removes an endpoint with its deliveries; workers remove its secrets. @returns whether there was one */
export async function removeWebhook(db: Queryable, filter: WebhookFilter & { webhookId: string }): Promise<boolean> {
  const { rowCount } = await db.query(`DELETE FROM webhooks w WHERE ${IS_MEANT}`, meant(filter));
  return rowCount === 1;
}

/** The position before an event, or before the first event from a time on; null: there is none. */
export async function positionBefore(db: Queryable, mode: Mode, from: { event: string } | { since: Date }) {
  const [where, value] = 'event' in from ? ['event_id = $2', from.event] : ['at >= $2', from.since];
  const { rows } = await db.query<{ position: string | null }>(
    `SELECT (min(position) - 1)::text AS position FROM events WHERE mode = $1 AND position IS NOT NULL AND ${where}`,
    [mode, value],
  );
  return rows[0]?.position ?? null;
}

/**
 * Lets an endpoint go on, and tells it again what was given up; from a position also everything that came after it.
 * @returns how many events are told again; null: there is no such endpoint
 */
export async function replayWebhook(
  db: Queryable,
  filter: WebhookFilter & { webhookId: string },
  position: string | null,
): Promise<number | null> {
  const { rows } = await db.query<{ position: string }>(
    `UPDATE webhooks w SET paused_at = NULL, paused_why = NULL, failures = 0, failing_since = NULL, next_at = NULL,
        position = least(position, coalesce($4, position)) WHERE ${IS_MEANT} RETURNING position`,
    [...meant(filter), position],
  );
  const [webhook] = rows;
  if (!webhook) return null;
  // What comes after the position is read from the feed again.
  await db.query(`DELETE FROM webhook_deliveries WHERE webhook_id = $1 AND position > $2 AND state <> 'delivered'`, [
    filter.webhookId,
    webhook.position,
  ]);
  const { rowCount: again } = await db.query(
    `UPDATE webhook_deliveries SET state = 'waiting', tries = 0, first_at = NULL WHERE webhook_id = $1 AND position IS NOT NULL AND state <> 'delivered'`,
    [filter.webhookId],
  );
  await db.query(
    `UPDATE webhook_deliveries SET next_at = CASE WHEN delivery_id IN (SELECT min(delivery_id) FROM webhook_deliveries
        WHERE webhook_id = $1 AND state = 'waiting' GROUP BY stream) THEN clock_timestamp() END
      WHERE webhook_id = $1 AND state = 'waiting'`,
    [filter.webhookId],
  );
  const { rows: told } = await db.query<{ n: number }>(
    `SELECT (SELECT count(*) FROM events e, webhooks w, ledger l WHERE w.webhook_id = $1 AND e.position > greatest(w.position, l.feed_removed)
       AND e.mode = w.mode)::int AS n, ${WAKE}`,
    [filter.webhookId],
  );
  return (again ?? 0) + (told[0]?.n ?? 0);
}

/** Adds a delivery that only tests the endpoint. @returns its id; null: there is no such endpoint */
export async function addTest(db: Queryable, filter: WebhookFilter & { webhookId: string }): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>(
    `INSERT INTO webhook_deliveries (webhook_id, kind, message_id, stream, next_at)
     SELECT w.webhook_id, 'test', m.id, m.id::text, clock_timestamp() FROM webhooks w, (SELECT gen_random_uuid() AS id) AS m
      WHERE ${IS_MEANT} RETURNING delivery_id::text AS id`,
    meant(filter),
  );
  await db.query(`SELECT ${WAKE}`);
  return rows[0]?.id ?? null;
}

export interface DeliveryView {
  id: string;
  kind: 'event' | 'digest' | 'test';
  /** `webhook-id` of its requests; of an event its own id. */
  messageId: string;
  /** Of an event. */
  type: string | null;
  subject: string | null;
  state: 'waiting' | 'delivered' | 'given_up';
  tries: number;
  /** The last answer's status; null: there was none. */
  status: number | null;
  problem: string | null;
  /** When it was last tried, and is tried next; null: it waits behind another one of its filing. */
  lastAt: string | null;
  nextAt: string | null;
}

/** Deliveries of an endpoint, newest first, without what was told. */
export async function listDeliveries(
  db: Queryable,
  { webhookId, before, id, limit }: { webhookId: string; before?: string; id?: string; limit: number },
): Promise<DeliveryView[]> {
  const { rows } = await db.query<DeliveryView>(
    `SELECT delivery_id::text AS id, d.kind, message_id AS "messageId", e.type, e.subject, d.state, tries, status, problem,
        ${ISO('last_at')} AS "lastAt", CASE WHEN d.state = 'waiting' THEN ${ISO('next_at')} END AS "nextAt"
       FROM webhook_deliveries d LEFT JOIN events e ON e.position = d.position
      WHERE webhook_id = $1 AND ($2::bigint IS NULL OR delivery_id < $2) AND ($3::bigint IS NULL OR delivery_id = $3)
      ORDER BY delivery_id DESC LIMIT $4`,
    [webhookId, before, id, limit],
  );
  return rows;
}
