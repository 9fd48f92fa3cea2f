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

export interface OpenRequests {
  requests: OpenRequest[];
  /** How many the mode has. */
  openRequests: number;
  /** Whether a record says something else than at the time of `since`. */
  news: boolean;
  now: number;
}

/** The requests of a filing whose rows' outcomes are not all known, of any attempt. `since`: ms, the ledger's clock. */
export async function readOpenRequests(db: Queryable, filingId: string, since: number): Promise<OpenRequests> {
  const { rows } = await db.query<OpenRequests>(
    `SELECT coalesce((SELECT jsonb_agg(jsonb_build_object('number', number, 'requestId', request_id,
              'ageMs', ${MS('clock_timestamp()')} - ${MS('marked_at')},
              'polledAgoMs', ${MS('clock_timestamp()')} - ${MS('polled_at')}) ORDER BY number)
              FROM attempts WHERE filing_id = $1 AND request_id IS NOT NULL AND ended_at IS NULL), '[]') AS requests,
            (SELECT count(*)::int FROM attempts a WHERE a.request_id IS NOT NULL AND a.ended_at IS NULL
               AND a.mode = (SELECT mode FROM filings WHERE filing_id = $1)) AS "openRequests",
            EXISTS (SELECT FROM attempts WHERE filing_id = $1 AND ${MS('record_at')} > $2) AS news,
            ${MS('clock_timestamp()')} AS now`,
    [filingId, since],
  );
  return rows[0] ?? { requests: [], openRequests: 0, news: false, now: 0 };
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
  const denied = record === null;
  // A step that reads its records after this one sees it: what it judged is what was stored before its `now`.
  await client.query('SELECT FROM filings WHERE filing_id = $1 FOR UPDATE', [filingId]);
  // An answer about another request proves nothing of this one.
  const { rows } = await client.query<{ news: boolean }>(
    `WITH before AS (
       SELECT *, ($5 AND denied_since IS NULL) OR (NOT $5 AND denied_since IS NOT NULL AND NOT ${ERRORED_EMPTY('attempts')})
           OR ($6 AND record IS DISTINCT FROM $4::jsonb) AS news
         FROM attempts WHERE filing_id = $1 AND number = $2)
     UPDATE attempts a SET polled_at = clock_timestamp(), record = coalesce($4::jsonb, a.record),
        record_at = CASE WHEN b.news THEN clock_timestamp() ELSE a.record_at END,
        denied_since = CASE WHEN $5 THEN coalesce(a.denied_since, clock_timestamp()) WHEN ${ERRORED_EMPTY('b')} THEN a.denied_since END
       FROM before b
      WHERE a.filing_id = $1 AND a.number = $2 AND lower(a.request_id) = lower($3)
      RETURNING b.news`,
    [filingId, number, requestId, denied ? null : JSON.stringify(record), denied, record !== null && isDone(record)],
  );
  return rows[0]?.news ?? false;
}
