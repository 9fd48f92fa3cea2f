import type { ExtractionEndpoint } from './contracts';
import type { Queryable } from '../../ledger/pool';

/** `asking`: no answer yet; the other three are outcomes. */
type ExtractionState = 'asking' | 'extracted' | 'refused' | 'failed';

export interface ExtractionRow {
  extractionId: string;
  service: string;
  endpoint: ExtractionEndpoint;
  sha256: string;
  document: string;
  fileName: string;
  state: ExtractionState;
  data: Record<string, unknown> | null;
  /** The complete answer, if it has another shape than the specification's. */
  answer: unknown;
  errorCode: string | null;
  error: string | null;
  faults: number;
  rateLimits: number;
}

export interface ExtractionRequest {
  service: string;
  /** Hash of the address and the key of the call. */
  access: string;
  endpoint: ExtractionEndpoint;
  sha256: string;
  document: string;
  fileName: string;
  /** Ask again if the answer was a refusal or a failure. */
  again: boolean;
}

export interface ExtractionOutcome {
  extractionId: string;
  state: Exclude<ExtractionState, 'asking'>;
  data?: Record<string, unknown> | null;
  answer?: unknown;
  errorCode?: string;
  error?: string;
  /** Whether the address or the key is the cause. */
  access?: string;
}

const COLUMNS = `extraction_id::text AS "extractionId", service, endpoint, sha256, document, file_name AS "fileName", state, data,
  answer, error_code AS "errorCode", error, faults, rate_limits AS "rateLimits"`;

/**
 * The record of a document at an endpoint; created if it is new. A failed extraction is asked for again if `again` is
 * set, or if the address or the key was the cause and has changed since.
 */
export async function openExtraction(db: Queryable, request: ExtractionRequest): Promise<ExtractionRow> {
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

/** Why a document that was requested is still waiting, from the last call; null where nothing was recorded. */
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

/** Records an answer, or that there will be none; the first record is kept. Releases the slot of the call. */
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

/** The endpoint that read a document successfully, the last one if several did, by content hash. */
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
