/** Input of the poll cadence: when recent requests were answered, and the ages of open ones. */
import {
  ANSWERS_USED,
  estimateAnswerTimes,
  OPEN_USED,
  type SeenAnswer,
  typicalAnswerMs,
  type Cadence,
} from '../../domain/filing/poll-cadence';
import type { Queryable } from '../pool';
import type { SubmissionKey } from '../../domain/filing/attempt';

export const recordsAnswer = (answer: string): string =>
  `INSERT INTO acknowledgement_times (filing_id, submission, mode, after_ms, took_ms, at)
     SELECT a.* FROM jsonb_to_record(${answer}) AS a (filing_id text, submission int, mode text, after_ms bigint, took_ms bigint,
       at timestamptz) WHERE a.filing_id IS NOT NULL ON CONFLICT (filing_id, submission) DO NOTHING`;

/** When polls saw the answer to a submission's request. */
export function answerToRecord({
  filingId,
  submission,
  mode,
  answer,
  at,
}: SubmissionKey & { mode: string; answer: SeenAnswer; at: Date }): string {
  const [after, took] = [answer.afterMs, answer.byMs].map((ms) => Math.max(0, Math.round(ms))) as [number, number];
  // If another request settles the submission, it was sent at another time, and the previous poll may precede the send.
  const times = { after_ms: Math.min(after, took), took_ms: took, at };
  return JSON.stringify({ filing_id: filingId, submission, mode, ...times });
}

export async function recordSeenAnswer(db: Queryable, of: Parameters<typeof answerToRecord>[0]): Promise<void> {
  await db.query(recordsAnswer('$1::jsonb'), [answerToRecord(of)]);
}

/** SQL: the newest answers of mode $1, as many as the cadence uses. */
const SEEN = `SELECT after_ms::float8 AS "afterMs", took_ms::float8 AS "byMs" FROM acknowledgement_times
  WHERE mode = $1 ORDER BY at DESC, filing_id, submission LIMIT ${ANSWERS_USED}`;

export async function readSeenAnswers(db: Queryable, mode: string): Promise<SeenAnswer[]> {
  const { rows } = await db.query<SeenAnswer>(SEEN, [mode]);
  return rows;
}

/** How long the authority probably takes, judged by recent answers. */
export async function expectedAnswerMs(db: Queryable, mode: string, cadence: Cadence): Promise<number> {
  return meanAnswerMs(await readSeenAnswers(db, mode), cadence);
}

const meanAnswerMs = (seen: SeenAnswer[], { poll }: Cadence): number =>
  estimateAnswerTimes(seen, [], typicalAnswerMs(poll)).meanMs;

/** The rows of a submission as sent, and how long the authority probably takes to acknowledge them. */
export async function readSentRows(
  db: Queryable,
  { filingId, submission, mode }: SubmissionKey & { mode: string },
  cadence: Cadence,
): Promise<{ sent: Record<string, unknown>[]; expectedMs: number }> {
  const { rows } = await db.query<{ sent: Record<string, unknown>[]; seen: SeenAnswer[] }>(
    `SELECT (SELECT coalesce(jsonb_agg(mapping || jsonb_build_object('serialNo', serial_no) ORDER BY position), '[]')
               FROM filing_rows WHERE filing_id = $2 AND submission = $3) AS sent,
            (SELECT coalesce(jsonb_agg(to_jsonb(s)), '[]') FROM (${SEEN}) AS s) AS seen`,
    [mode, filingId, submission],
  );
  const { sent, seen } = rows[0] ?? { sent: [], seen: [] };
  return { sent, expectedMs: meanAnswerMs(seen, cadence) };
}

/** SQL: the {@link PollLoad} of mode $1 at time $2. */
export const POLL_LOAD = `jsonb_build_object(
  'seen', (SELECT coalesce(jsonb_agg(to_jsonb(s)), '[]') FROM (${SEEN}) AS s),
  'openRequests', (SELECT count(*) FROM requests WHERE mode = $1 AND state = 'followed'),
  'openAgesMs', (SELECT coalesce(jsonb_agg(o.age), '[]') FROM (
     SELECT greatest(0, extract(epoch FROM $2::timestamptz - since) * 1000)::float8 AS age
       FROM requests WHERE mode = $1 AND state = 'followed' ORDER BY since DESC LIMIT ${OPEN_USED}) AS o))`;
