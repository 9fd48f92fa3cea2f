/** The feed of events, and the relay that gives committed events their positions: one relay at a time. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Mode } from '../domain/names';
import { withTransaction, type Queryable } from './pool';

/** Where a reader stands. A position counts within its epoch alone. */
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

/** The mark is of no use any more: the ledger was put back, or what comes after it was removed. */
export interface FeedGone {
  /** Before everything that is kept. */
  start: FeedMark;
  /** Behind everything that happened so far. */
  end: FeedMark;
}

/** Events behind a mark in their order; without one, from the oldest that is kept. */
export async function readFeed(
  db: Queryable,
  filter: { mode: Mode; after?: FeedMark; exporters: readonly string[] | null; limit: number },
): Promise<
  | {
      events: FeedEvent[];
      /** The last event of the page, or the end of the feed where nothing more is behind it. */
      next: FeedMark;
    }
  | FeedGone
> {
  const { mode, after, exporters, limit } = filter;
  const { rows } = await db.query<
    { epoch: string; head: string; removed: string } & (FeedEvent | { [K in keyof FeedEvent]: null })
  >(
    `SELECT f.epoch, f.position AS head, f.removed, e.* FROM event_feed f LEFT JOIN LATERAL (
       SELECT event_id AS id, type, at, subject, data, e.position FROM events e
        WHERE e.position > $1 AND e.mode = $2 AND ($3::text[] IS NULL OR lower(exporter_id) = ANY ($3))
        ORDER BY e.position LIMIT $4) AS e ON true
      ORDER BY e.position`,
    [after?.position ?? '0', mode, exporters, limit],
  );
  const [first] = rows;
  if (!first) throw new Error('The ledger has lost the head of its feed (table event_feed is empty).');
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
  const { rows } = await db.query<FeedMark>('SELECT epoch, position FROM event_feed');
  return rows[0] ?? { epoch: '', position: '0' };
}

/** The ledger was put back: what a position names now is not what it named before. */
export async function renewEpoch(db: Queryable): Promise<void> {
  await db.query('UPDATE event_feed SET epoch = gen_random_uuid()');
}

/** Removes the oldest events of the feed, of the first `limit` those that are old. @returns how many */
export async function pruneEvents(db: Queryable, before: Date, limit: number): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `WITH gone AS (DELETE FROM events WHERE at < $1
         AND position = ANY(ARRAY(SELECT position FROM events WHERE position IS NOT NULL ORDER BY position LIMIT ${limit}))
       RETURNING position),
       feed AS (UPDATE event_feed SET removed = greatest(removed, (SELECT max(position) FROM gone)) WHERE EXISTS (SELECT FROM gone))
     SELECT count(*)::int AS n FROM gone`,
    [before],
  );
  return rows[0]?.n ?? 0;
}

/** Held by the relay that gives positions. */
const RELAY_LOCK = 4_203_003;
const BATCH = 1_000;
const LOOK_EVERY_MS = 1_000;
/** While nothing happens it looks ever less often, down to this. A new or ended filing triggers a look. */
const IDLE_LOOK_EVERY_MS = 10_000;

/**
 * Gives committed events positions in order; a later commit gets a later one, so no reader skips it.
 * @returns how many; null: another relay is at it
 */
export async function placeEvents(pool: pg.Pool): Promise<number | null> {
  return withTransaction(pool, async (client) => {
    const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS held', [
      RELAY_LOCK,
    ]);
    if (!rows[0]?.held) return null;
    const { rows: placed } = await client.query<{ n: number }>(
      `WITH batch AS (
         SELECT ordinal, row_number() OVER (ORDER BY ordinal) AS n
           FROM (SELECT ordinal FROM events WHERE position IS NULL ORDER BY ordinal LIMIT $1) AS unplaced
       ), placed AS (
         UPDATE events e SET position = f.position + b.n FROM batch b, event_feed f WHERE e.ordinal = b.ordinal RETURNING 1
       ), head AS (
         UPDATE event_feed SET position = position + (SELECT count(*) FROM placed) WHERE EXISTS (SELECT FROM placed)
       )
       SELECT count(*)::int AS n FROM placed`,
      [BATCH],
    );
    return placed[0]?.n ?? 0;
  });
}

async function isAnyUnplaced(pool: pg.Pool): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT FROM events WHERE position IS NULL LIMIT 1');
  return Boolean(rowCount);
}

/** Places events until `signal` is aborted. @throws what PostgreSQL says */
export async function relayEvents(pool: pg.Pool, signal: AbortSignal): Promise<void> {
  const listener = await pool.connect();
  const lost = new AbortController();
  const onLost = (error: Error) => lost.abort(error);
  listener.on('error', onLost);
  try {
    // Where notifications do not come through (a pooler between), the clock is enough.
    await listener.query('LISTEN ebrc_events');
    let pauseMs = LOOK_EVERY_MS;
    while (!signal.aborted) {
      lost.signal.throwIfAborted();
      const woken = new AbortController();
      const waits = { signal: AbortSignal.any([signal, woken.signal, lost.signal]), ref: false };
      const notified = once(listener, 'notification', { signal: waits.signal });
      const wake = Promise.race([notified, sleep(pauseMs, undefined, waits)]).catch(() => undefined);
      const placed = (await isAnyUnplaced(pool)) ? await placeEvents(pool) : 0;
      const event = placed === BATCH ? undefined : await wake;
      pauseMs = placed || event ? LOOK_EVERY_MS : Math.min(pauseMs * 1.5, IDLE_LOOK_EVERY_MS);
      woken.abort();
    }
  } finally {
    listener.off('error', onLost);
    // Another holder of the connection must not be sent what it did not ask for.
    listener.release(true);
  }
}
