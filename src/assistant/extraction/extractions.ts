import type { ExtractionEndpoint } from './contracts';
import { type Queryable, withTransaction } from '../../ledger/pool';
import type pg from 'pg';

export interface ExtractionRow {
  extractionId: string;
  service: string;
  endpoint: ExtractionEndpoint;
  sha256: string;
  document: string;
  fileName: string;
  /** `asking`: no answer yet. The others are outcomes. */
  state: 'asking' | 'extracted' | 'refused' | 'failed';
  data: Record<string, unknown> | null;
  /** The whole answer, if its shape is not the specification's. */
  answer: unknown;
  errorCode: string | null;
  error: string | null;
}

export interface ExtractionOutcome {
  extractionId: string;
  state: Exclude<ExtractionRow['state'], 'asking'>;
  data?: Record<string, unknown> | null;
  answer?: unknown;
  errorCode?: string;
  error?: string;
  /** Hash of the address and key, if they are the cause. */
  access?: string;
}

const COLUMNS = `extraction_id::text AS "extractionId", service, endpoint, sha256, document, file_name AS "fileName", state, data,
  answer, error_code AS "errorCode", error`;

/** Records a document for an endpoint. It is asked again with `again`, or if a changed address or key was the cause. */
export async function openExtraction(
  db: Queryable,
  request: {
    service: string;
    access: string;
    endpoint: ExtractionEndpoint;
    sha256: string;
    document: string;
    fileName: string;
    /** Ask again if the outcome was a refusal or a failure. */
    again: boolean;
  },
): Promise<ExtractionRow> {
  const { service, endpoint, sha256, document, fileName, access, again } = request;
  await db.query(
    `UPDATE extractions SET state = 'asking', faults = 0, rate_limits = 0, error_code = NULL, error = NULL, access = NULL,
            answered_at = NULL
      WHERE service = $1 AND endpoint = $2 AND sha256 = $3
        AND ((state IN ('refused', 'failed') AND $4) OR (state = 'failed' AND access <> $5))`,
    [service, endpoint, sha256, again, access],
  );
  const { rows } = await db.query<ExtractionRow>(
    `INSERT INTO extractions (service, endpoint, sha256, document, file_name) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (service, endpoint, sha256) DO UPDATE SET document = excluded.document
     RETURNING ${COLUMNS}`,
    [service, endpoint, sha256, document, fileName],
  );
  const [row] = rows;
  if (!row) throw new Error('An extraction could not be opened.');
  return row;
}

export async function readExtraction(db: Queryable, extractionId: string): Promise<ExtractionRow | null> {
  const { rows } = await db.query<ExtractionRow>(`SELECT ${COLUMNS} FROM extractions WHERE extraction_id = $1`, [
    extractionId,
  ]);
  return rows[0] ?? null;
}

/** Why a requested document still waits, by its last call; null if nothing was recorded. */
export async function readWaitingReason(
  db: Queryable,
  { endpoint, sha256 }: Pick<ExtractionRow, 'endpoint' | 'sha256'>,
): Promise<string | null> {
  const { rows } = await db.query<{ error: string | null }>(
    `SELECT error FROM extractions WHERE endpoint = $1 AND sha256 = $2 AND state = 'asking'
      ORDER BY first_asked_at DESC LIMIT 1`,
    [endpoint, sha256],
  );
  return rows[0]?.error ?? null;
}

/** Records the outcome and releases the slot. The first outcome recorded stays. */
export async function settleExtraction(db: Queryable, outcome: ExtractionOutcome): Promise<void> {
  const { extractionId, state, data = null, answer, errorCode = null, error = null, access = null } = outcome;
  await db.query(
    `WITH settled AS (
       UPDATE extractions SET state = $2, data = $3, answer = $4, error_code = $5, error = $6, access = $7, lease_until = NULL,
              answered_at = clock_timestamp()
        WHERE extraction_id = $1 AND state = 'asking' RETURNING service, state)
     UPDATE extraction_pace p SET faults = p.faults / 2 FROM settled s
      WHERE p.service = s.service AND s.state IN ('extracted', 'refused')`,
    [
      extractionId,
      state,
      data === null ? null : JSON.stringify(data),
      answer === undefined ? null : JSON.stringify(answer),
      errorCode,
      error,
      access,
    ],
  );
}

/** The endpoint that extracted each document, by content hash; the latest if there are several. */
export async function extractedEndpoints(
  db: Queryable,
  sha256s: readonly string[],
): Promise<Map<string, ExtractionEndpoint>> {
  const { rows } = await db.query<{ sha256: string; endpoint: ExtractionEndpoint }>(
    `SELECT DISTINCT ON (sha256) sha256, endpoint FROM extractions
      WHERE sha256 = ANY($1) AND state = 'extracted' ORDER BY sha256, answered_at DESC`,
    [sha256s],
  );
  return new Map(rows.map(({ sha256, endpoint }) => [sha256, endpoint]));
}

/** The pace of all workers. The service's limits are "not shown" (spec), so calls are few, with growing pauses. */
export interface Pace {
  /** Maximum concurrent calls of all workers; one at a time after a failure. */
  atOnce: number;
  /** The first pause. Each further failure doubles it. */
  pauseMs: number;
}

const MAX_PAUSE_MS = 15 * 60_000;
/** Delay until the next try while all slots are taken. */
const RETRY_MS = 1_000;
/** How much longer than its time limit a call may take before its slot is free again. */
const LEASE_MARGIN_MS = 30_000;

/** Takes a slot for a call. @returns 0 if it was taken, otherwise the milliseconds until the next try */
export async function takeSlot(
  pool: pg.Pool,
  { extractionId, service, callMs, pace }: { extractionId: string; service: string; callMs: number; pace: Pace },
): Promise<number> {
  return withTransaction(pool, async (client) => {
    const { rows } = await client.query<{ faults: number; closedMs: number | null }>(
      `INSERT INTO extraction_pace (service) VALUES ($1) ON CONFLICT (service) DO UPDATE SET service = excluded.service
       RETURNING faults, (extract(epoch FROM closed_until - clock_timestamp()) * 1000)::float8 AS "closedMs"`,
      [service],
    );
    const { faults = 0, closedMs = null } = rows[0] ?? {};
    if (closedMs !== null && closedMs > 0) return Math.ceil(closedMs);
    const { rows: running } = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM extractions
        WHERE service = $1 AND lease_until > clock_timestamp() AND extraction_id <> $2`,
      [service, extractionId],
    );
    if ((running[0]?.n ?? 0) >= (faults > 0 ? 1 : pace.atOnce)) return Math.min(RETRY_MS, pace.pauseMs);
    await client.query(
      "UPDATE extractions SET lease_until = clock_timestamp() + $2 * interval '1 millisecond' WHERE extraction_id = $1",
      [extractionId, callMs + LEASE_MARGIN_MS],
    );
    return 0;
  });
}

/** Records a failed call that a repeat may fix, and pauses all. @returns its failures, and ms until the next try */
export async function noteFailedCall(
  pool: pg.Pool,
  call: {
    extractionId: string;
    service: string;
    /** `document`: counts against the document; `rate`: a 429; `service`: it was not reached. */
    scope: 'document' | 'rate' | 'service';
    reason: string;
    /** Delay that the service asked for (Retry-After). */
    atLeastMs?: number;
    pace: Pace;
  },
): Promise<{ faults: number; rateLimits: number; pauseMs: number }> {
  const { extractionId, service, scope, reason, atLeastMs = 0, pace } = call;
  return withTransaction(pool, async (client) => {
    const pauseAfter = (faults: string) => `greatest(least($2 * 2 ^ least(${faults}, 30), $3), $4)::float8`;
    const { rows: paces } = await client.query<{ pauseMs: number }>(
      `UPDATE extraction_pace SET faults = faults + 1,
              closed_until = greatest(closed_until, clock_timestamp() + ${pauseAfter('faults')} * interval '1 millisecond')
        WHERE service = $1 RETURNING ${pauseAfter('faults - 1')} AS "pauseMs"`,
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

/** Releases the slot of a call that was not made. */
export async function releaseSlot(pool: pg.Pool, extractionId: string): Promise<void> {
  await pool.query('UPDATE extractions SET lease_until = NULL WHERE extraction_id = $1', [extractionId]);
}
