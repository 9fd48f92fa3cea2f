/** Status records of requests, as they come: stored by the poll, judged under the filing's lock by `applyRecords`. */
import { isDone, type StatusRecord } from '../../domain/service/request-status';
import { MS } from '../paging';
import type { Queryable } from '../pool';

export interface OpenRequest {
  number: number;
  requestId: string;
  /** Since its attempt began, and since it was last asked for (null: never), ms. */
  ageMs: number;
  polledAgoMs: number | null;
}

/** The requests of a filing whose rows' outcomes are not all known, of any attempt; and how many the mode has. */
export async function readOpenRequests(
  db: Queryable,
  filingId: string,
): Promise<{ requests: OpenRequest[]; openRequests: number; now: number }> {
  const { rows } = await db.query<{ requests: OpenRequest[]; openRequests: number; now: number }>(
    `SELECT coalesce((SELECT jsonb_agg(jsonb_build_object('number', number, 'requestId', request_id,
              'ageMs', ${MS('clock_timestamp()')} - ${MS('marked_at')},
              'polledAgoMs', ${MS('clock_timestamp()')} - ${MS('polled_at')}) ORDER BY number)
              FROM attempts WHERE filing_id = $1 AND request_id IS NOT NULL AND ended_at IS NULL), '[]') AS requests,
            (SELECT count(*)::int FROM attempts a WHERE a.request_id IS NOT NULL AND a.ended_at IS NULL
               AND a.mode = (SELECT mode FROM filings WHERE filing_id = $1)) AS "openRequests", ${MS('clock_timestamp()')} AS now`,
    [filingId],
  );
  return rows[0] ?? { requests: [], openRequests: 0, now: 0 };
}

/** SQL: whether the last judged record of an attempt is Errored without a list: it counts as denied since it began. */
const ERRORED_EMPTY = (attempt: string): string => `(${attempt}.denied_since = ${attempt}.marked_at)`;

/**
 * Stores the record of a request, or its denial (null). An answer to an earlier call does not replace a later one.
 * @returns whether the run has something new to judge
 */
export async function storeRecord(
  client: Queryable,
  args: { filingId: string; number: number; requestId: string; record: StatusRecord | null },
): Promise<boolean> {
  const { filingId, number, requestId, record } = args;
  // An answer about another request proves nothing of this one.
  const denied = record === null;
  const { rows } = await client.query<{ news: boolean }>(
    `WITH before AS (SELECT * FROM attempts WHERE filing_id = $1 AND number = $2 FOR UPDATE)
     UPDATE attempts a SET polled_at = clock_timestamp(), record = coalesce($4::jsonb, a.record),
        record_at = CASE WHEN $5 OR NOT $6 THEN a.record_at ELSE clock_timestamp() END,
        denied_since = CASE WHEN $5 THEN coalesce(a.denied_since, clock_timestamp()) WHEN ${ERRORED_EMPTY('b')} THEN a.denied_since END
       FROM before b
      WHERE a.filing_id = $1 AND a.number = $2 AND lower(a.request_id) = lower($3)
      RETURNING ($5 AND b.denied_since IS NULL) OR (NOT $5 AND b.denied_since IS NOT NULL AND NOT ${ERRORED_EMPTY('b')})
        OR ($6 AND b.record IS DISTINCT FROM a.record) AS news`,
    [filingId, number, requestId, denied ? null : JSON.stringify(record), denied, record !== null && isDone(record)],
  );
  return rows[0]?.news ?? false;
}
