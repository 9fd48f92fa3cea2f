/** The requests under which the service processes a submission. Each is followed to its end. */
import { IEC_OF_CLIENT } from '../exporters/exporters';
import type { KnownIec } from '../exporters/parties';
import type { Queryable } from '../pool';
import { IS_OPEN } from '../rows/filing-rows';
import { credentialsHeld, type CredentialVersion } from '../vault/credentials';
import { answerToRecord, POLL_LOAD, recordsAnswer } from './answer-times';
import type { SubmissionKey, StoredAnswer } from '../../domain/filing/attempt';
import type { PollLoad } from '../../domain/filing/poll-cadence';

/** What the service says about a request instead of an outcome of its rows. */
export type Statement = 'unknown_request' | 'errored' | 'incomplete';

/** Whether it says that nothing of the request was filed. */
export const isDenial = (statement: Statement | null): boolean => statement !== null && statement !== 'incomplete';

/** SQL: {@link isDenial} of the statement about request `q`. */
export const IS_DENIED = `(q.statement IS NOT NULL AND q.statement <> 'incomplete')`;

export interface RequestRecord extends SubmissionKey {
  requestId: string;
  customerId: string;
  attemptId: string | null;
  source: 'acknowledged' | 'acknowledged_late' | 'named';
  state: 'followed' | 'ended' | 'absent' | 'not_ours';
  dgftAckId: string | null;
  ackStatus: string | null;
  since: Date;
  statement: Statement | null;
  statementSince: Date | null;
  statementAt: Date | null;
  polledAtAgeMs: number | null;
  /** The status in its last record; null while it has not ended, or if persons closed it. */
  processingStatus: string | null;
}

const COLUMNS = `filing_id AS "filingId", submission, request_id AS "requestId", customer_id AS "customerId", attempt_id AS "attemptId",
  source, state, dgft_ack_id AS "dgftAckId", ack_status AS "ackStatus", since, statement, statement_since AS "statementSince",
  statement_at AS "statementAt", polled_at_age_ms::float8 AS "polledAtAgeMs",
  processing_status AS "processingStatus"`;

export async function readRequests(db: Queryable, filingId: string, submission: number): Promise<RequestRecord[]> {
  const { rows } = await db.query<RequestRecord>(
    `SELECT ${COLUMNS} FROM requests WHERE filing_id = $1 AND submission = $2 ORDER BY since, request_id`,
    [filingId, submission],
  );
  return rows;
}

/** {@link readRequests} with locks, and with what each request's record says about rows. */
export async function lockRequests(
  client: Queryable,
  filingId: string,
  submission: number,
): Promise<(RequestRecord & { errored: { position: number; errors: string[] }[]; contradicted: number[] })[]> {
  const { rows } = await client.query<Awaited<ReturnType<typeof lockRequests>>[number]>(
    `SELECT ${COLUMNS}, errored, contradicted FROM requests WHERE filing_id = $1 AND submission = $2
      ORDER BY since, request_id FOR UPDATE`,
    [filingId, submission],
  );
  return rows;
}

/** A request to poll, with its client's IEC and credentials. */
export interface RequestToPoll extends RequestRecord, KnownIec {
  credentials: CredentialVersion | null;
}

/** Everything that one poll reads: the request, the client's data for the call, and the input of the cadence. */
export async function readNextPoll(
  db: Queryable,
  { filingId, submission, mode, at }: SubmissionKey & { mode: string; at: Date },
): Promise<{
  /** Null: no request is left to poll. */
  request: RequestToPoll | null;
  load: PollLoad;
}> {
  const { rows } = await db.query<RequestToPoll & { load: PollLoad }>(
    `SELECT ${POLL_LOAD} AS load, q.*, ${IEC_OF_CLIENT}, ${credentialsHeld('q."customerId"')} AS credentials
       FROM (VALUES (1)) AS one LEFT JOIN (
         SELECT ${COLUMNS} FROM requests WHERE filing_id = $3 AND submission = $4 AND state = 'followed'
          ORDER BY polled_at_age_ms NULLS FIRST, since, request_id LIMIT 1) AS q ON true
       LEFT JOIN exporters e ON e.exporter_id = q."customerId"`,
    [mode, at, filingId, submission],
  );
  const [{ load, ...request }] = rows as [(typeof rows)[number]];
  return { load, request: (request.requestId as string | null) === null ? null : request };
}

/**
 * Ended filings with requests that were not polled since `before`, in random order, so that many with dead credentials
 * do not keep the others waiting.
 */
export async function endedWithRequests(
  db: Queryable,
  { mode, before, limit }: { mode: string; before: Date; limit: number },
) {
  const { rows } = await db.query<{ filingId: string; exporterId: string; workflowId: string; submissions: number[] }>(
    `SELECT f.filing_id AS "filingId", f.exporter_id AS "exporterId", f.workflow_id AS "workflowId",
            array_agg(DISTINCT q.submission) AS submissions
       FROM requests q JOIN filings f USING (filing_id)
      WHERE q.mode = $1 AND q.state = 'followed' AND f.closed_at IS NOT NULL
        AND coalesce(q.since + q.polled_at_age_ms * interval '1 ms', '-infinity') < $2
      GROUP BY f.filing_id ORDER BY random() LIMIT $3`,
    [mode, before, limit],
  );
  return rows;
}

/** Moves a planned submission to `acknowledged`, because some of it is at the service. */
export async function acknowledgeSubmission(client: Queryable, filingId: string, submission: number): Promise<void> {
  await client.query(
    `UPDATE submissions SET state = 'acknowledged' WHERE filing_id = $1 AND submission = $2 AND state = 'planned'`,
    [filingId, submission],
  );
}

/**
 * Adds a request to a submission, unless another submission has the id: its outcome would be taken for this one's.
 * @returns that other submission
 */
export async function addRequest(
  client: Queryable,
  request: Pick<RequestRecord, 'filingId' | 'submission' | 'requestId' | 'source' | 'attemptId' | 'since'> &
    Pick<StoredAnswer, 'dgftAckId' | 'ackStatus' | 'warnings'>,
): Promise<SubmissionKey | null> {
  const { filingId, submission, requestId, source, attemptId, dgftAckId, ackStatus, warnings = [], since } = request;
  const values = [attemptId, source, dgftAckId, ackStatus, JSON.stringify(warnings), since];
  const { rowCount: added } = await client.query(
    `INSERT INTO requests (filing_id, submission, request_id, mode, customer_id, attempt_id, source, dgft_ack_id, ack_status,
        warnings, since)
     SELECT filing_id, submission, $3, mode, customer_id, $4, $5, $6, $7, $8, $9 FROM submissions
      WHERE filing_id = $1 AND submission = $2 ON CONFLICT DO NOTHING`,
    [filingId, submission, requestId, ...values],
  );
  if (added) return null;
  const holder = await requestHolder(client, { filingId, requestId });
  if (holder && (holder.filingId !== filingId || holder.submission !== submission)) return holder;
  // A request that a person named and an answer of ours now names is our own. A request that was judged absent or not
  // ours, and that a person now names, is followed again.
  await client.query(
    `UPDATE requests SET attempt_id = coalesce($4, attempt_id), source = CASE WHEN $4 IS NULL THEN source ELSE $5 END,
        state = CASE WHEN state IN ('absent', 'not_ours') THEN 'followed' ELSE state END,
        ended_at = CASE WHEN state IN ('absent', 'not_ours') THEN NULL ELSE ended_at END
      WHERE filing_id = $1 AND submission = $2 AND lower(request_id) = lower($3)
        AND (source = 'named' AND $4::text IS NOT NULL OR state IN ('absent', 'not_ours') AND $5 = 'named')`,
    [filingId, submission, requestId, attemptId, source],
  );
  return null;
}

/** The submission of a filing's exporter that has a request with this id; null: none has. */
export async function requestHolder(db: Queryable, { filingId, requestId }: { filingId: string; requestId: string }) {
  const { rows } = await db.query<SubmissionKey>(
    `SELECT q.filing_id AS "filingId", q.submission FROM filings f JOIN requests q ON q.mode = f.mode AND q.customer_id = f.exporter_id
      WHERE f.filing_id = $1 AND lower(q.request_id) = lower($2) AND q.state <> 'not_ours'`,
    [filingId, requestId],
  );
  return rows[0] ?? null;
}

/** Records a poll that found no outcome. @returns since when the service makes this statement, if it makes one */
export async function notePoll(
  client: Queryable,
  request: SubmissionKey & { requestId: string },
  { statement, ageMs, at }: { statement: Statement | null; ageMs: number; at: Date },
): Promise<Date | null> {
  const { rows } = await client.query<{ since: Date | null }>(
    `UPDATE requests SET polled_at_age_ms = $4, statement = $5::text,
        statement_since = CASE WHEN $5::text IS NULL THEN NULL WHEN statement = $5 THEN statement_since ELSE $6 END,
        statement_at = CASE WHEN $5::text IS NULL THEN NULL ELSE $6 END
      WHERE filing_id = $1 AND submission = $2 AND request_id = $3 RETURNING statement_since AS since`,
    [request.filingId, request.submission, request.requestId, Math.round(ageMs), statement, at],
  );
  return rows[0]?.since ?? null;
}

/**
 * Ends a request, once. `errored`: rows that its record reports as Errored; `contradicted`: rows that cannot have the
 * certificate that it names; `answered`: when polls saw its answer.
 */
export async function endRequest(
  client: Queryable,
  request: SubmissionKey & { requestId: string },
  args: {
    state: Exclude<RequestRecord['state'], 'followed'>;
    processingStatus: string | null;
    errored: readonly { position: number; errors: string[] }[];
    contradicted?: readonly number[];
    answered?: Parameters<typeof answerToRecord>[0];
    at: Date;
  },
): Promise<void> {
  const { state, processingStatus, errored, contradicted = [], answered, at } = args;
  const { filingId, submission, requestId } = request;
  const end = [state, processingStatus, JSON.stringify(errored), contradicted, at];
  await client.query(
    `WITH answered AS (${recordsAnswer('$9::jsonb')})
     UPDATE requests SET state = $4, processing_status = $5, errored = $6, contradicted = $7, ended_at = $8
      WHERE filing_id = $1 AND submission = $2 AND request_id = $3 AND state = 'followed'`,
    [filingId, submission, requestId, ...end, answered && answerToRecord(answered)],
  );
}

/** Settles a submission once no request is followed and every row has its outcome. @returns whether it is settled */
export async function settleIfDone(
  client: Queryable,
  { filingId, submission, at }: SubmissionKey & { at: Date },
): Promise<boolean> {
  const { rowCount } = await client.query(
    `UPDATE submissions SET state = 'settled', terminal_at = coalesce(terminal_at, $3)
      WHERE filing_id = $1 AND submission = $2
        AND NOT EXISTS (SELECT FROM requests WHERE filing_id = $1 AND submission = $2 AND state = 'followed')
        AND NOT EXISTS (SELECT FROM filing_rows WHERE filing_id = $1 AND submission = $2
          AND ${IS_OPEN})`,
    [filingId, submission, at],
  );
  return (rowCount ?? 0) > 0;
}
