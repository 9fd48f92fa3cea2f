import type pg from 'pg';
import { withTransaction } from '../../ledger/pool';

/**
 * Limits how fast all workers together call the extraction service. Its limits are not documented ("not shown" in the
 * spec), so only few calls run at once, and after every 429, 5xx and lost answer all workers pause for a growing time.
 */
export interface Pace {
  /** Parallel calls over all workers in normal operation; one at a time after a failure. */
  atOnce: number;
  /** The first pause; each further failure doubles it. */
  pauseMs: number;
}

const MAX_PAUSE_MS = 15 * 60_000;
/** Delay until the next try while all slots are taken. */
const TAKEN_MS = 1_000;
/** How long a call may exceed its own time limit before its slot is given to another. */
const MARGIN_MS = 30_000;

/**
 * Takes a slot for one call.
 * @returns 0 when it was taken, otherwise the milliseconds until the next try
 */
export async function takeSlot(
  pool: pg.Pool,
  { extractionId, service, callMs, pace }: { extractionId: string; service: string; callMs: number; pace: Pace },
): Promise<number> {
  return withTransaction(pool, async (client) => {
    await client.query('INSERT INTO extraction_pace (service) VALUES ($1) ON CONFLICT DO NOTHING', [service]);
    const { rows } = await client.query<{ faults: number; closedMs: number | null }>(
      `SELECT faults, (extract(epoch FROM closed_until - clock_timestamp()) * 1000)::float8 AS "closedMs"
         FROM extraction_pace WHERE service = $1 FOR UPDATE`,
      [service],
    );
    const { faults = 0, closedMs = null } = rows[0] ?? {};
    if (closedMs !== null && closedMs > 0) return Math.ceil(closedMs);
    const { rows: running } = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM extractions
        WHERE service = $1 AND lease_until > clock_timestamp() AND extraction_id <> $2`,
      [service, extractionId],
    );
    if ((running[0]?.n ?? 0) >= (faults > 0 ? 1 : pace.atOnce)) return Math.min(TAKEN_MS, pace.pauseMs);
    await client.query(
      "UPDATE extractions SET lease_until = clock_timestamp() + $2 * interval '1 millisecond' WHERE extraction_id = $1",
      [extractionId, callMs + MARGIN_MS],
    );
    return 0;
  });
}

/**
 * `document`: counts against the document; `rate`: a 429; `service`: the service was not reached, independent of the
 * document.
 */
export type FailureScope = 'document' | 'rate' | 'service';

/**
 * Records a failed call that a repeat may fix: all workers pause for a growing time.
 * @returns how often a call for this document has failed in this way, and the milliseconds until the next try
 */
export async function noteFailedCall(
  pool: pg.Pool,
  {
    extractionId,
    service,
    scope,
    reason,
    atLeastMs = 0,
    pace,
  }: {
    extractionId: string;
    service: string;
    scope: FailureScope;
    reason: string;
    /** The delay that the service itself asked for (Retry-After). */
    atLeastMs?: number;
    pace: Pace;
  },
): Promise<{ faults: number; rateLimits: number; pauseMs: number }> {
  return withTransaction(pool, async (client) => {
    await client.query('INSERT INTO extraction_pace (service) VALUES ($1) ON CONFLICT DO NOTHING', [service]);
    const { rows: paces } = await client.query<{ pauseMs: number }>(
      `WITH before AS (SELECT service, least($2 * 2 ^ least(faults, 30), $3)::float8 AS pause FROM extraction_pace
                        WHERE service = $1 FOR UPDATE)
       UPDATE extraction_pace p SET faults = p.faults + 1,
              closed_until = greatest(closed_until, clock_timestamp() + greatest(b.pause, $4) * interval '1 millisecond')
         FROM before b WHERE p.service = b.service RETURNING greatest(b.pause, $4)::float8 AS "pauseMs"`,
      [service, pace.pauseMs, MAX_PAUSE_MS, atLeastMs],
    );
    const { rows } = await client.query<{ faults: number; rateLimits: number }>(
      `UPDATE extractions SET lease_until = NULL, error = $2, faults = faults + $3, rate_limits = rate_limits + $4
        WHERE extraction_id = $1 RETURNING faults, rate_limits AS "rateLimits"`,
      [extractionId, reason, scope === 'document' ? 1 : 0, scope === 'rate' ? 1 : 0],
    );
    return { faults: 0, rateLimits: 0, ...rows[0], pauseMs: paces[0]?.pauseMs ?? pace.pauseMs };
  });
}

/** Releases a slot whose call was not made. */
export async function releaseSlot(pool: pg.Pool, extractionId: string): Promise<void> {
  await pool.query('UPDATE extractions SET lease_until = NULL WHERE extraction_id = $1', [extractionId]);
}
