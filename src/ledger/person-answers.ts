import { partsOfAttemptId, type AttemptState } from '../domain/attempt';
import { planAgain } from './attempts';
import { lockFiling } from './filing-lock';
import { readRows, settleRows } from './filing-rows';
import type { Queryable } from './pool';
import { moveSubmission } from './submissions';

/** What came of a person's word that nothing of an attempt was filed. */
export type NotFiledOutcome =
  /** The attempt is closed and its rows are planned again. */
  | { outcome: 'resend' }
  /** Some rows have their certificate, so it was filed: the others wait for a correction. */
  | { outcome: 'freed'; freed: number }
  /** It cannot be so. */
  | { outcome: 'contradicted'; why: string };

/**
 * A person has looked and says that nothing of this attempt was filed. A submission is accepted or refused as a whole, so
 * where one of its rows has a certificate it was filed, and sending it again would file that row twice: then the word is
 * taken for the rows without one. The word is about one attempt: given again, or late, it touches no other one.
 * Must run in a transaction.
 */
export async function closeByPerson(
  client: Queryable,
  { attemptId, by, note, at }: { attemptId: string; by: string; note: string; at: Date },
): Promise<NotFiledOutcome> {
  const { filingId, submission, number } = partsOfAttemptId(attemptId);
  const filing = await lockFiling(client, filingId);
  if (!filing) return contradicted(`filing ${filingId} is not in this ledger`);
  const { rows: attempts } = await client.query<{ id: string; state: AttemptState; requestId: string | null }>(
    `SELECT attempt_id AS id, state, CASE WHEN state = 'answered' THEN answer->>'requestId' END AS "requestId" FROM attempts
      WHERE filing_id = $1 AND submission = $2 ORDER BY number FOR UPDATE`,
    [filingId, submission],
  );
  const answered = attempts.find(({ requestId }) => requestId !== null);
  if (answered)
    return contradicted(
      `the service answered attempt ${answered.id} with request ${answered.requestId}, so it was filed`,
    );
  const own = attempts.find(({ id }) => id === attemptId);
  if (own?.state === 'not_sent') return { outcome: 'resend' };
  if (filing.ended) return contradicted(`the filing has ended as ${filing.state}`);
  if (own?.state === 'open') return contradicted(`attempt ${attemptId} has not been sent yet`);
  const reason = `not filed, says ${by}: ${note}`;
  const freed = await freeBesideCertified(client, { filingId, submission, exporterId: filing.exporterId, reason, at });
  if (freed !== null) return { outcome: 'freed', freed };
  // Also for an attempt that the ledger has lost: a worker that still holds it finds it closed.
  await client.query(
    `INSERT INTO attempts AS a (attempt_id, filing_id, submission, number, state, reason, closed_at)
     VALUES ($1, $2, $3, $4, 'not_sent', $5, $6)
     ON CONFLICT (attempt_id) DO UPDATE SET state = 'not_sent', reason = $5, closed_at = $6`,
    [attemptId, filingId, submission, number, reason, at],
  );
  await planAgain(client, attemptId);
  return { outcome: 'resend' };
}

/** The rows without a certificate are to be corrected, where another row has one. @returns how many; null where none has. */
async function freeBesideCertified(
  client: Queryable,
  {
    filingId,
    submission,
    exporterId,
    reason,
    at,
  }: { filingId: string; submission: number; exporterId: string; reason: string; at: Date },
): Promise<number | null> {
  const rows = await readRows(client, filingId, submission);
  if (!rows.some((row) => row.state === 'certified')) return null;
  const open = rows.filter((row) => row.state === 'unknown' || row.state === 'submitted');
  const verdicts = open.map(({ position }) => ({ position, outcome: 'errored' as const, errors: [reason] }));
  await settleRows(client, { filingId, exporterId, verdicts, at });
  await moveSubmission(client, { filingId, submission, state: 'settled', at });
  return rows.filter((row) => row.errors.includes(reason)).length + open.length;
}

const contradicted = (why: string): NotFiledOutcome => ({ outcome: 'contradicted', why });
