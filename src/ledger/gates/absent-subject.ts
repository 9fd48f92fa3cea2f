/** Whether an attempt, or a request, can be judged as absent at all, and what the service says of it. */
import { MAYBE_FILED } from '../../domain/filing/attempt';
import type { Queryable } from '../pool';
import { isInDoubt, requestOf, type AttemptRow } from './attempts';

/** What is said to have filed nothing: an attempt in doubt, or a request and the rows that it was to file. */
export type AbsentSubject =
  { attemptId: string } | { requestId: string; filingId: string; submission: number; positions?: readonly number[] };

export type Absence =
  /** The submission may be sent again. */
  | { outcome: 'again' }
  /** Rows were freed: another row of it was certified, a request is about it, or a refusal ended it. */
  | { outcome: 'freed'; freed: number[] }
  | { outcome: 'refused'; code: 'too_early' | 'look' | 'agrees' | 'used' | 'unfinished' | 'not_in_doubt'; why: string };

/** What is known of the subject; refused where it was filed, or where something else has to be judged first. */
export async function stateOfSubject(
  client: Queryable,
  args: {
    subject: AbsentSubject;
    filingId: string;
    submission: number;
    attempts: readonly AttemptRow[];
    settleMs: number;
    at: Date;
  },
): Promise<
  | {
      /** The attempt that a request answers, where the subject is one. */
      attemptId: string | null;
      /** When the service first said so, and last. */
      statementSince: Date | null;
      statementAt: Date | null;
    }
  | Extract<Absence, { outcome: 'refused' }>
> {
  const { subject, filingId, submission, attempts, settleMs, at } = args;
  const { rows: requests } = await client.query<{
    requestId: string;
    attemptId: string | null;
    state: string;
    source: string;
    statement: string | null;
    since: Date | null;
    at: Date | null;
  }>(
    `SELECT request_id AS "requestId", attempt_id AS "attemptId", state, source, statement, statement_since AS since, statement_at AS at
       FROM requests WHERE filing_id = $1 AND submission = $2 FOR UPDATE`,
    [filingId, submission],
  );
  // One that the service denied through its own window is over for the others: two would block each other.
  const deniedThrough = (since: Date | null) => since !== null && since.getTime() <= at.getTime() - settleMs;
  if ('attemptId' in subject) {
    const own = attempts.find(({ attemptId }) => attemptId === subject.attemptId);
    if (own?.verdict === 'open') return refused('not_in_doubt', `attempt ${own.attemptId} has not been sent yet`);
    const request = own && requestOf(own, requests);
    if (request)
      return refused(
        'not_in_doubt',
        `the service answered attempt ${subject.attemptId} with request ${request.requestId}, so it was filed`,
      );
    const followed = requests.find(({ state, since }) => state === 'followed' && !deniedThrough(since));
    if (followed)
      return refused('unfinished', `request ${followed.requestId} of the submission is still being asked about`);
    if (own && !MAYBE_FILED.includes(own.verdict))
      return refused('not_in_doubt', `attempt ${own.attemptId} is ${own.verdict}: there is nothing to answer`);
    return { attemptId: null, statementSince: null, statementAt: null };
  }
  const own = requests.find(({ requestId }) => requestId === subject.requestId);
  if (!own || own.state === 'not_ours')
    return refused('not_in_doubt', `request ${subject.requestId} is not one of the submission`);
  const other = requests.find(
    (each) => each.requestId !== own.requestId && each.state === 'followed' && !deniedThrough(each.since),
  );
  if (other) return refused('unfinished', `request ${other.requestId} of the submission is still being asked about`);
  // A person named this request as that of the attempt in doubt: what becomes of it decides on both.
  const named = own.source === 'named';
  const [doubt, second] = attempts.filter((each) => each.attemptId !== own.attemptId && isInDoubt(each, requests));
  if (doubt && (second || !named))
    return refused('unfinished', `attempt ${doubt.attemptId} of the submission is in doubt too`);
  if (own.state === 'followed' && own.statement === null)
    return refused('unfinished', `request ${own.requestId} has no outcome yet: the service still processes it`);
  const attemptId = own.attemptId ?? doubt?.attemptId ?? null;
  return { attemptId, statementSince: own.since, statementAt: own.at };
}

export const refused = (
  code: Extract<Absence, { outcome: 'refused' }>['code'],
  why: string,
): Extract<Absence, { outcome: 'refused' }> => ({ outcome: 'refused', code, why });
