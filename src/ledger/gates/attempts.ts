/** The attempts of a submission as the gates judge them. */
import { MAYBE_FILED, partsOfAttemptId, type AttemptVerdict, type StoredAnswer } from '../../domain/filing/attempt';
import { sameId } from '../../domain/identity';
import { sqlWords, type Queryable } from '../pool';
import type { RequestRecord } from '../submissions/requests';
import { writeVerdict } from './verdict';

export interface AttemptRow {
  attemptId: string;
  number: number;
  verdict: AttemptVerdict;
  markedAt: Date | null;
  reason: string | null;
  answer: StoredAnswer | null;
}

export async function lockAttempts(client: Queryable, filingId: string, submission: number): Promise<AttemptRow[]> {
  const { rows } = await client.query<AttemptRow>(
    `SELECT attempt_id AS "attemptId", number, verdict, marked_at AS "markedAt", reason, answer
       FROM attempts WHERE filing_id = $1 AND submission = $2 ORDER BY number FOR UPDATE`,
    [filingId, submission],
  );
  return rows;
}

/** Records an attempt as open, unless the ledger has it. */
export async function insertAttempt(client: Queryable, attemptId: string): Promise<void> {
  const { filingId, submission, number } = partsOfAttemptId(attemptId);
  await client.query(
    'INSERT INTO attempts (attempt_id, filing_id, submission, number) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
    [attemptId, filingId, submission, number],
  );
}

/** SQL: whether the answer to attempt `a` named a request of its submission. See {@link requestOf}. */
export const HAS_REQUEST = `EXISTS (SELECT FROM requests o WHERE o.filing_id = a.filing_id AND o.submission = a.submission
  AND (o.attempt_id = a.attempt_id OR lower(o.request_id) = lower(a.answer->>'requestId')))`;

/** SQL: whether attempt `a` is, or may be, at the service. See {@link MAYBE_FILED}. */
export const IS_MAYBE_FILED = `a.verdict IN (${sqlWords(MAYBE_FILED)})`;

/** SQL: whether attempt `a` is in doubt. See {@link isInDoubt}. */
export const IS_IN_DOUBT = `(a.verdict = 'marked' OR (a.verdict = 'accepted' AND NOT ${HAS_REQUEST}))`;

/** The request that an attempt's answer named: its own, or another attempt's if the service answered both alike. */
export function requestOf<R extends Pick<RequestRecord, 'requestId' | 'attemptId'>>(
  { attemptId, answer }: Pick<AttemptRow, 'attemptId' | 'answer'>,
  requests: readonly R[],
): R | undefined {
  const named = answer?.requestId;
  return (
    requests.find((request) => request.attemptId === attemptId) ??
    requests.find(({ requestId }) => named && sameId(requestId, named))
  );
}

/** Whether an attempt is in doubt: marked, or accepted without a request, which says no more than a lost answer. */
export const isInDoubt = (attempt: AttemptRow, requests: readonly RequestRecord[]): boolean =>
  attempt.verdict === 'marked' || (attempt.verdict === 'accepted' && !requestOf(attempt, requests));

/** Closes the open attempts of a filing, or of one submission, so that they can no longer be sent. */
export async function closeOpenAttempts(
  client: Queryable,
  of: { filingId: string; submission?: number; except?: string; reason: string; at: Date },
): Promise<void> {
  const { filingId, submission, except, reason, at } = of;
  const { rows } = await client.query<{ attemptId: string }>(
    `SELECT attempt_id AS "attemptId" FROM attempts WHERE filing_id = $1 AND ($2::int IS NULL OR submission = $2)
        AND verdict = 'open' AND attempt_id IS DISTINCT FROM $3 ORDER BY attempt_id`,
    [filingId, submission, except],
  );
  for (const { attemptId } of rows) {
    await writeVerdict(client, { attemptId, from: ['open'], verdict: 'unsent', reason, at });
  }
}
