/** The feed of events, and the relay that assigns positions to committed events. Only one relay works at a time. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Mode } from '../domain/names';
import { withTransaction, type Queryable } from './pool';

/** A reader's place in the feed. A position is only valid within its epoch. */
export interface FeedMark {
  epoch: string;
  position: string;
}

export interface FeedEvent {
  id: string;
  type: string;
  at: Date;
  subject: string;
  data: { [id: string]: unknown };
  position: string;
}

/** SQL: the data of event `e` as it is told, with its hash in the chain: who keeps it can prove a later change. */
export const TOLD = (e: string) =>
  `(CASE WHEN ${e}.hash IS NULL THEN ${e}.data ELSE ${e}.data || jsonb_build_object('chain', encode(${e}.hash, 'hex')) END)`;

/** Events after a mark, in order; without a mark from the oldest event that is kept. */
export async function readFeed(
  db: Queryable,
  filter: { mode: Mode; after?: FeedMark; exporters: readonly string[] | null; limit: number },
): Promise<
  | {
      events: FeedEvent[];
      /** The last event of the page, or the end of the feed if nothing follows. */
      next: FeedMark;
    }
  | {
      /** The mark is no longer valid, because the ledger was put back or the events after it were removed. */
      start: FeedMark;
      end: FeedMark;
    }
> {
  const { mode, after, exporters, limit } = filter;
  const { rows } = await db.query<
    { epoch: string; head: string; removed: string } & (FeedEvent | { [K in keyof FeedEvent]: null })
  >(
    `SELECT f.feed_epoch AS epoch, f.feed_position AS head, f.feed_removed AS removed, e.* FROM ledger f LEFT JOIN LATERAL (
       SELECT event_id AS id, type, at, subject, ${TOLD('e')} AS data, e.position FROM events e
        WHERE e.position > greatest($1, f.feed_removed) AND e.mode = $2 AND ($3::text[] IS NULL OR lower(exporter_id) = ANY ($3))
        ORDER BY e.position LIMIT $4) AS e ON true
      ORDER BY e.position`,
    [after?.position ?? '0', mode, exporters, limit],
  );
  const [first] = rows;
  if (!first) throw new Error('The ledger has no row of its own: its migration did not finish.');
  const { epoch, head, removed } = first;
  const isGone =
    after &&
    (after.epoch !== epoch || BigInt(after.position) > BigInt(head) || BigInt(after.position) < BigInt(removed));
  if (isGone) return { start: { epoch, position: removed }, end: { epoch, position: head } };
  const events = rows.flatMap(({ epoch: _, head: __, removed: ___, ...event }) => (event.id === null ? [] : [event]));
  const last = events.length < limit ? head : (events.at(-1)?.position ?? head);
  return { events, next: { epoch, position: last } };
}

export async function feedEnd(db: Queryable): Promise<FeedMark> {
  const { rows } = await db.query<FeedMark>('SELECT feed_epoch AS epoch, feed_position AS position FROM ledger');
  return rows[0] ?? { epoch: '', position: '0' };
}

/**
 * Ends the feed's reach behind events older than `before`, among the next `limit`. They stay as the stories of their
 * filings, which nobody removes. @returns how many left the feed
 */
export async function pruneEvents(db: Queryable, before: Date, limit: number): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `WITH next AS (SELECT e.position, e.at FROM events e, ledger l WHERE e.position > l.feed_removed ORDER BY e.position LIMIT ${limit}),
       old AS (SELECT max(position) AS position, count(*)::int AS n FROM next WHERE at < $1),
       feed AS (UPDATE ledger SET feed_removed = old.position FROM old WHERE old.n > 0)
     SELECT n FROM old`,
    [before],
  );
  return rows[0]?.n ?? 0;
}

/** Notified when events got their positions. */
export const PLACED = 'ebrc_placed';

/** Advisory lock of the relay that assigns positions. */
const RELAY_LOCK = 4_203_003;
const BATCH = 1_000;
const LOOK_EVERY_MS = 1_000;
/** The longest pause while nothing happens. A new or ended filing triggers a look at once. */
const IDLE_LOOK_EVERY_MS = 10_000;

/**
 * Assigns positions to committed events in order. A later commit gets a later position, so no reader skips it.
 * @returns how many; null: another relay is active
 */
export async function placeEvents(pool: pg.Pool): Promise<number | null> {
  return withTransaction(pool, async (client) => {
    const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS held', [
      RELAY_LOCK,
    ]);
    if (!rows[0]?.held) return null;
    // Before the feed shows them, so that its readers hold the hashes too.
    await client.query('SELECT chain_events($1)', [BATCH]);
    const { rows: placed } = await client.query<{ n: number }>(
      `WITH batch AS (
         SELECT ordinal, row_number() OVER (ORDER BY ordinal) AS n
           FROM (SELECT ordinal FROM events WHERE position IS NULL AND type IS NOT NULL ORDER BY ordinal LIMIT $1) AS unplaced
       ), placed AS (
         UPDATE events e SET position = f.feed_position + b.n FROM batch b, ledger f WHERE e.ordinal = b.ordinal RETURNING 1
       ), head AS (
         UPDATE ledger SET feed_position = feed_position + (SELECT count(*) FROM placed) WHERE EXISTS (SELECT FROM placed)
       )
       SELECT count(*)::int AS n FROM placed`,
      [BATCH],
    );
    const n = placed[0]?.n ?? 0;
    if (n > 0) await client.query(`SELECT pg_notify('${PLACED}', '')`);
    return n;
  });
}

/** Assigns positions to events until `signal` is aborted. @throws the error of PostgreSQL */
export async function relayEvents(pool: pg.Pool, signal: AbortSignal): Promise<void> {
  const listener = await pool.connect();
  const lost = new AbortController();
  const onLost = (error: Error) => lost.abort(error);
  listener.on('error', onLost);
  try {
    // If a pooler swallows the notifications, the timer is enough.
    await listener.query('LISTEN ebrc_events');
    let pauseMs = LOOK_EVERY_MS;
    while (!signal.aborted) {
      lost.signal.throwIfAborted();
      const woken = new AbortController();
      const waits = { signal: AbortSignal.any([signal, woken.signal, lost.signal]), ref: false };
      const notified = once(listener, 'notification', { signal: waits.signal });
      const wake = Promise.race([notified, sleep(pauseMs, undefined, waits)]).catch(() => undefined);
      const { rowCount: unplaced } = await pool.query(
        `SELECT FROM (SELECT FROM events WHERE position IS NULL AND type IS NOT NULL LIMIT 1) AS unplaced
         UNION ALL SELECT FROM (SELECT FROM events WHERE hash IS NULL AND filing_id IS NOT NULL LIMIT 1) AS unchained`,
      );
      const placed = unplaced ? await placeEvents(pool) : 0;
      const event = placed === BATCH ? undefined : await wake;
      pauseMs = placed || event ? LOOK_EVERY_MS : Math.min(pauseMs * 1.5, IDLE_LOOK_EVERY_MS);
      woken.abort();
    }
  } finally {
    listener.off('error', onLost);
    // Close the connection, so that its next holder gets no notifications.
    listener.release(true);
  }
}
