/** A filing as a run takes it up, read in one statement: ids, counts, stages, and the rows of its result. */
import type { FilingCounts, ResultRow } from '../../domain/contracts';
import type { QueuePlace } from '../../domain/filing/queue-places';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import { lineOf, placeIn, type InLine } from '../questions/waiting';
import { standingOf } from '../questions/questions';
import { resultRows, ROW_COUNTS } from '../rows/filing-rows';
import { HAS_REQUEST, type AttemptRow } from '../gates/attempts';
import type { RequestRecord } from '../submissions/requests';
import type { SubmissionRecord } from '../submissions/submissions';
import { openWords, type OpenWords, unjudgedWords } from '../submissions/words';
import { FilingMissing, HEAD_COLUMNS, type FilingHead } from './filings';

/** How far one submission is, as a workflow needs to know it. */
export interface SubmissionStage extends Pick<SubmissionRecord, 'submission' | 'rowCount' | 'state'> {
  requests: (Pick<RequestRecord, 'requestId' | 'source' | 'state' | 'ackStatus' | 'dgftAckId'> & {
    /** Its age counts from here; ms since the epoch. */
    since: number;
  })[];
  ackErrors?: string[];
  /** The attempt that is in doubt, open, or accepted; null: none is. */
  attempt: Pick<AttemptRow, 'attemptId' | 'number' | 'verdict'> | null;
  attempts: number;
}

export interface FilingStanding extends FilingHead {
  /** What persons asked for that no run has carried out yet. */
  words: OpenWords;
  /** When its certificates began to be collected, ms since the epoch. */
  collectingSince: number | null;
  /** When its last move was made, ms since the epoch. */
  movedAt?: number;
  /** Its place among the filings that wait for calls of the service; null: it waits for something else. */
  queue?: QueuePlace | null;
  /** What facts ask about it, whatever its state. */
  standing: string | null;
  /** Whether it came as a workbook that findings can be written back into. */
  hasWorkbook: boolean;
  counts: FilingCounts;
  /** Its first rows; null in a state in which nothing is known of them yet. */
  rows: ResultRow[] | null;
  submissions: SubmissionStage[];
}

const STAGES = `(SELECT coalesce(jsonb_agg(jsonb_build_object('submission', s.submission, 'rowCount', s.row_count, 'state', s.state,
    'requests', (SELECT coalesce(jsonb_agg(jsonb_build_object('requestId', q.request_id, 'source', q.source, 'state', q.state,
        'dgftAckId', q.dgft_ack_id, 'ackStatus', q.ack_status, 'since', ${MS('q.since')}) ORDER BY q.source = 'named', q.since), '[]')
       FROM requests q WHERE q.filing_id = s.filing_id AND q.submission = s.submission AND q.state <> 'not_ours'),
    'attempts', (SELECT coalesce(max(a.number), 0) FROM attempts a WHERE a.filing_id = s.filing_id AND a.submission = s.submission),
    'attempt', (SELECT jsonb_build_object('attemptId', a.attempt_id, 'number', a.number, 'verdict', a.verdict) FROM attempts a
       WHERE a.filing_id = s.filing_id AND a.submission = s.submission AND a.verdict IN ('open', 'marked', 'accepted')
       ORDER BY ${HAS_REQUEST}, a.verdict = 'open', a.number DESC LIMIT 1)
    ) ORDER BY s.submission), '[]')
  FROM submissions s WHERE s.filing_id = filings.filing_id)`;

/** @throws FilingMissing when the ledger does not hold the filing */
export async function readStanding(db: Queryable, filingId: string): Promise<FilingStanding> {
  const { rows } = await db.query<
    Omit<FilingStanding, 'words' | 'queue'> & { said: Parameters<typeof openWords>[0]; line: InLine[] | null }
  >(
    `SELECT ${HEAD_COLUMNS}, ${STAGES} AS submissions, ${unjudgedWords('filings.filing_id')} AS said,
            (SELECT ${MS('min(e.at)')} FROM filing_events e
              WHERE e.filing_id = filings.filing_id AND e.kind = 'collecting') AS "collectingSince",
            coalesce((SELECT i.source_document IS NOT NULL FROM filing_inputs i
              WHERE i.input_ref = filings.input_ref), false) AS "hasWorkbook",
            (SELECT to_jsonb(counted) FROM (SELECT ${ROW_COUNTS}
              WHERE r.filing_id = filings.filing_id) AS counted) AS counts,
            ${resultRows('filings.filing_id', 'filings.state')} AS rows, ${standingOf('filings.filing_id')} AS standing, ${MS('filings.changed_at')} AS "movedAt",
            ${lineOf({ filingId: 'filings.filing_id', mode: 'filings.mode', state: 'filings.state', dueAt: 'filings.due_at' })} AS line
       FROM filings WHERE filing_id = $1`,
    [filingId],
  );
  const [found] = rows;
  if (!found) throw new FilingMissing(filingId);
  const { said, line, ...standing } = found;
  return { ...standing, words: openWords(said), queue: placeIn(line, filingId) };
}
