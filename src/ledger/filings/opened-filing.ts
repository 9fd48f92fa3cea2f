/** A filing as a run takes it up, read in one statement: ids, counts and stages, never rows. */
import type { FilingCounts } from '../../domain/contracts';
import type { AttemptState } from '../../domain/filing/attempt';
import type { Queryable } from '../pool';
import { ROW_COUNTS } from '../rows/filing-rows';
import type { SubmissionRecord } from '../submissions/submissions';
import { FilingMissing } from './filing-missing';
import type { OperatorRequests } from './operator-requests';
import { FILING_COLUMNS, type FilingRecord } from './filings';

/** How far one submission is, as a workflow needs to know it. */
export interface SubmissionStage extends Pick<
  SubmissionRecord,
  'submission' | 'rowCount' | 'state' | 'requestId' | 'dgftAckId' | 'ackStatus'
> {
  /** ms since the epoch. */
  submittedAt: number | null;
  /** What the acknowledgement complained of. */
  ackErrors?: string[];
  /** The newest attempt, when a run takes up what another left. */
  lastAttempt: { attemptId: string; number: number; state: AttemptState } | null;
}

/** What of a filing's own record its run needs. */
const KEPT = [
  'filingId',
  'exporterId',
  'reference',
  'state',
  'seq',
  'attention',
  'needsAttention',
  'asked',
  'channel',
  'approvalNeeded',
  'approvedBy',
  'madeBy',
] as const satisfies (keyof FilingRecord)[];

export interface FilingStanding extends Pick<FilingRecord, (typeof KEPT)[number]> {
  /** Requests of operators that no run has carried out yet. */
  operatorRequests: OperatorRequests;
  /** When its certificates began to be collected, ms since the epoch. */
  collectingSince: number | null;
  /** Whether it came as a workbook that findings can be written back into. */
  hasWorkbook: boolean;
  counts: FilingCounts;
  submissions: SubmissionStage[];
}

const MS = (time: string) => `floor(extract(epoch FROM ${time}) * 1000)::float8`;

const STAGES = `(SELECT coalesce(jsonb_agg(jsonb_build_object('submission', s.submission, 'rowCount', s.row_count, 'state', s.state,
    'requestId', s.request_id, 'dgftAckId', s.dgft_ack_id, 'ackStatus', s.ack_status, 'submittedAt', ${MS('s.submitted_at')},
    'lastAttempt', (SELECT jsonb_build_object('attemptId', a.attempt_id, 'number', a.number, 'state', a.state) FROM attempts a
       WHERE a.filing_id = s.filing_id AND a.submission = s.submission ORDER BY a.number DESC LIMIT 1)) ORDER BY s.submission), '[]')
  FROM submissions s WHERE s.filing_id = filings.filing_id)`;

/** @throws FilingMissing when the ledger does not hold the filing */
export async function readStanding(db: Queryable, filingId: string): Promise<FilingStanding> {
  const { rows } = await db.query<FilingStanding & FilingRecord>(
    `SELECT ${FILING_COLUMNS}, ${STAGES} AS submissions,
            (SELECT coalesce(jsonb_object_agg(o.kind, o.args), '{}') FROM operator_requests o
              WHERE o.filing_id = filings.filing_id) AS "operatorRequests",
            (SELECT ${MS('min(e.at)')} FROM filing_events e
              WHERE e.filing_id = filings.filing_id AND e.kind = 'collecting') AS "collectingSince",
            coalesce((SELECT i.source_document IS NOT NULL FROM filing_inputs i
              WHERE i.input_ref = filings.input_ref), false) AS "hasWorkbook",
            (SELECT to_jsonb(counted) FROM (SELECT ${ROW_COUNTS}
              WHERE r.filing_id = filings.filing_id) AS counted) AS counts
       FROM filings WHERE filing_id = $1`,
    [filingId],
  );
  const [found] = rows;
  if (!found) throw new FilingMissing(filingId);
  const { operatorRequests, collectingSince, hasWorkbook, counts, submissions } = found;
  const kept = Object.fromEntries(KEPT.map((name) => [name, found[name]])) as Pick<FilingRecord, (typeof KEPT)[number]>;
  return { ...kept, operatorRequests, collectingSince, hasWorkbook, counts, submissions };
}
