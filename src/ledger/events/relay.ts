/** The relay: gives committed events their positions, one relay at a time, woken by notifications and by the clock. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { withTransaction } from '../pool';

/** Held by the relay that gives positions. */
const RELAY_LOCK = 4_203_003;
const BATCH = 1_000;
const LOOK_EVERY_MS = 1_000;
/** While nothing happens it looks ever less often, down to this. A new or ended filing triggers a look. */
const IDLE_LOOK_EVERY_MS = 10_000;

/**
 * Gives committed events positions in order; a later commit gets a later one, so no reader skips it. Writers of a
 * filing hold its lock, which keeps their order.
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
