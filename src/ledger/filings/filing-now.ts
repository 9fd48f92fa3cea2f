/** A filing as its run, its lists and the UI see it, read in one statement: state, questions, counts, rows, stages. */
import type { FilingResult } from '../../domain/contracts';
import type { KnownSend } from '../../domain/filing/attempt';
import type { QueuePlace } from '../../domain/filing/view';
import { errorsInShort } from '../../domain/service/request-status';
import { HAS_REQUEST, type AttemptRow } from '../gates/attempts';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import { QUESTION_COLUMNS, standingOf } from '../questions/questions';
import { lineOf, placeIn, stateSince, type InLine } from '../questions/waiting';
import { resultRows, ROW_COUNTS } from '../rows/filing-rows';
import type { RequestRecord } from '../submissions/requests';
import type { SubmissionRecord } from '../submissions/submissions';
import { openWords, type OpenWords, unjudgedWords } from '../submissions/words';
import { FilingMissing, HEAD_COLUMNS, IS_ASKED, type FilingHead } from './filings';

export interface SubmissionStage extends Pick<SubmissionRecord, 'submission' | 'rowCount' | 'state'> {
  requests: (Pick<RequestRecord, 'requestId' | 'source' | 'state' | 'ackStatus' | 'dgftAckId'> & {
    /** When it was submitted, which its age counts from; epoch ms. */
    since: number;
  })[];
  /** The error details of its acknowledgement. */
  ackErrors: string[];
  /** The attempt that is in doubt, open or accepted; null: there is none. */
  attempt:
    | (Pick<AttemptRow, 'attemptId' | 'number' | 'verdict'> & {
        /** The service refused a later attempt, so the submission is not sent again. */
        refusedSince: boolean;
      })
    | null;
  attempts: number;
}

/** A filing after its last move. */
export interface FilingNow extends Pick<
  FilingHead,
  'seq' | 'state' | 'dueAt' | 'waitsFor' | 'asks' | 'late' | 'asked'
> {
  /** When it entered its state; epoch ms. */
  since: number;
  /** The kind and the text of the move's event. */
  kind: string;
  text: string;
  /** The questions that facts ask about it, whatever its state. */
  standing: string | null;
  counts: FilingResult['counts'];
  /** Its first rows; null in states that show none. */
  rows: FilingResult['rows'] | null;
  submissions: SubmissionStage[];
  /** Its place among the filings that wait for calls to the service; null: it waits for something else. */
  queue: QueuePlace | null;
  /** When the authority's answer is expected, epoch ms; absent if no status was asked for. */
  expectedAt?: number;
}

/** A filing as its workflow holds it: ids, counts, stages, and the rows of its result. */
export interface OpenedFiling extends FilingHead, Omit<FilingNow, 'kind' | 'text'> {
  /** What was, or may have been, sent. */
  sends: KnownSend[];
  /** What persons requested and no run has carried out yet. */
  words: OpenWords;
  /** When collecting its certificates began; epoch ms. */
  collectingSince: number | null;
  /** Whether it came as a workbook that findings can be written into. */
  hasWorkbook: boolean;
}

const stagesOf = (filingId: string) =>
  `(SELECT coalesce(jsonb_agg(jsonb_build_object('submission', s.submission, 'rowCount', s.row_count, 'state', s.state,
    'requests', (SELECT coalesce(jsonb_agg(jsonb_build_object('requestId', q.request_id, 'source', q.source, 'state', q.state,
        'dgftAckId', q.dgft_ack_id, 'ackStatus', q.ack_status, 'since', ${MS('q.since')}) ORDER BY q.source = 'named', q.since), '[]')
       FROM requests q WHERE q.filing_id = s.filing_id AND q.submission = s.submission AND q.state <> 'not_ours'),
    'ackErrors', (SELECT a.answer->'errorDetails' FROM attempts a WHERE a.filing_id = s.filing_id AND a.submission = s.submission
       AND a.answer_status < 300 ORDER BY a.number DESC LIMIT 1),
    'attempts', (SELECT coalesce(max(a.number), 0) FROM attempts a WHERE a.filing_id = s.filing_id AND a.submission = s.submission),
    'attempt', (SELECT jsonb_build_object('attemptId', a.attempt_id, 'number', a.number, 'verdict', a.verdict, 'refusedSince',
         EXISTS (SELECT FROM attempts l WHERE l.filing_id = s.filing_id AND l.submission = s.submission AND l.number > a.number
           AND l.verdict = 'refused')) FROM attempts a
       WHERE a.filing_id = s.filing_id AND a.submission = s.submission AND a.verdict IN ('open', 'marked', 'accepted')
       ORDER BY ${HAS_REQUEST}, a.verdict = 'open', a.number DESC LIMIT 1)
    ) ORDER BY s.submission), '[]')
  FROM submissions s WHERE s.filing_id = ${filingId})`;

/** SQL columns for {@link FilingNow} without its last move; the place in the queue is unprocessed, in `line`. */
export const nowColumns = (of: Record<'filingId' | 'mode' | 'state' | 'dueAt', string>): string =>
  `(SELECT to_jsonb(counted) FROM (SELECT ${ROW_COUNTS} WHERE r.filing_id = ${of.filingId}) AS counted) AS counts,
   ${resultRows(of.filingId, of.state)} AS rows, ${standingOf(of.filingId)} AS standing,
   ${stagesOf(of.filingId)} AS submissions, ${stateSince(of.filingId, of.state)} AS since, ${lineOf(of)} AS line`;

export type NowRow = Pick<FilingNow, 'counts' | 'rows' | 'standing'> & {
  submissions: (Omit<SubmissionStage, 'ackErrors'> & { ackErrors: unknown[] | null })[];
  /** Null: no move into its state is on record. */
  since: number | null;
  line: InLine[] | null;
};

export const nowOf = ({ counts, rows, standing, submissions, line }: NowRow, filingId: string) => ({
  counts,
  rows,
  standing,
  submissions: submissions.map((stage) => ({ ...stage, ackErrors: errorsInShort(stage.ackErrors ?? []) })),
  queue: placeIn(line, filingId),
});

const OF_FILINGS = nowColumns({
  filingId: 'filings.filing_id',
  mode: 'filings.mode',
  state: 'filings.state',
  dueAt: 'filings.due_at',
});

/** A filing after its last move, or after the move of `step`. @throws FilingMissing */
export async function readNow(db: Queryable, filingId: string, step?: string): Promise<FilingNow> {
  type Moved = Omit<FilingNow, keyof NowRow | 'queue' | 'since'> & NowRow & { last: boolean; changedAt: number };
  const { rows } = await db.query<Moved>(
    `SELECT e.seq::int AS seq, e.state, e.kind, e.text, filings.seq = e.seq AS last, waits_for AS "waitsFor",
            ${MS('due_at')} AS "dueAt", ${MS('changed_at')} AS "changedAt", ${QUESTION_COLUMNS}, ${IS_ASKED} AS asked, ${OF_FILINGS}
       FROM filings CROSS JOIN LATERAL (
         SELECT seq, state, kind, text FROM filing_events WHERE filing_id = $1 AND seq IS NOT NULL AND (step = $2 OR seq = filings.seq)
         UNION ALL SELECT filings.seq, filings.state, '', ''
          ORDER BY seq, text DESC LIMIT 1) AS e
      WHERE filing_id = $1`,
    [filingId, step ?? null],
  );
  const [found] = rows;
  if (!found) throw new FilingMissing(filingId);
  const { seq, state, kind, text, last, changedAt, since, dueAt, waitsFor, asks, late, asked } = found;
  const moved = { seq, state, kind, text, since: since ?? changedAt };
  const afterMove = last
    ? { dueAt, waitsFor, asks, late, asked }
    : { dueAt: null, waitsFor: null, asks: null, late: null, asked: false };
  const now = nowOf(found, filingId);
  return { ...moved, ...afterMove, ...now, queue: last ? now.queue : null };
}

/** A filing as a run needs it to continue. @throws FilingMissing */
export async function readStanding(db: Queryable, filingId: string): Promise<Omit<OpenedFiling, 'sends'>> {
  type Found = FilingHead & NowRow & Pick<OpenedFiling, 'collectingSince' | 'hasWorkbook'>;
  const { rows } = await db.query<Found & { unjudged: Parameters<typeof openWords>[0]; changedAt: number }>(
    `SELECT ${HEAD_COLUMNS}, ${unjudgedWords('filings.filing_id')} AS unjudged, ${MS('changed_at')} AS "changedAt",
            (SELECT ${MS('min(e.at)')} FROM filing_events e
              WHERE e.filing_id = filings.filing_id AND e.kind = 'collecting') AS "collectingSince",
            coalesce((SELECT i.source_document IS NOT NULL FROM filing_inputs i
              WHERE i.input_ref = filings.input_ref), false) AS "hasWorkbook", ${OF_FILINGS}
       FROM filings WHERE filing_id = $1`,
    [filingId],
  );
  const [found] = rows;
  if (!found) throw new FilingMissing(filingId);
  const { unjudged, changedAt, line: _, ...standing } = found;
  return { ...standing, ...nowOf(found, filingId), since: found.since ?? changedAt, words: openWords(unjudged) };
}
