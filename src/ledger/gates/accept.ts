/** An acceptance: it may follow any other verdict, and takes a release back. */
import { partsOfAttemptId, type AttemptVerdict, type StoredAnswer } from '../../domain/filing/attempt';
import type { Queryable } from '../pool';
import { acknowledgeSubmission, addRequest } from '../submissions/requests';
import { askAbout } from '../questions/questions';
import { closeOpenAttempts, insertAttempt, type AttemptRow } from './attempts';
import { anyRow, holdAsSent } from './held-rows';
import { writeVerdict } from './verdict';

const ANY: readonly AttemptVerdict[] = ['open', 'marked', 'unsent', 'refused', 'rejected', 'absent', 'accepted'];

/**
 * Judges an attempt as accepted, and adds its request; freed rows hold their mappings again. Must run in a transaction
 * that holds the filing's lock.
 * @param attempts of the submission, locked
 */
export async function acceptAttempt(
  client: Queryable,
  args: { attemptId: string; attempts: readonly AttemptRow[]; answer: StoredAnswer; late: boolean; at: Date },
): Promise<void> {
  const { attemptId, attempts, answer, late, at } = args;
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const before = attempts.find((each) => each.attemptId === attemptId);
  const reason = `attempt ${attemptId} was accepted after all`;
  if (attempts.some((each) => each.verdict === 'open' && each !== before))
    await closeOpenAttempts(client, { filingId, submission, except: attemptId, reason, at });
  // An attempt that is missing because the ledger was put back to an earlier state is recorded with its answer.
  if (!before) await insertAttempt(client, attemptId);
  await writeVerdict(client, { attemptId, from: ANY, verdict: 'accepted', answer, at });
  const sentAt = before?.markedAt ?? at;
  // Rows of an attempt in doubt may have been freed too: by what was said of a request that a person had named.
  const freed = await anyRow(client, { filingId, submission }, 'NOT live');
  if (before?.verdict !== 'marked' || freed) await holdAsSent(client, { filingId, submission, sentAt, at });
  await acknowledgeSubmission(client, filingId, submission);
  const { requestId, dgftAckId, ackStatus, warnings } = answer;
  if (!requestId) return;
  const source = late ? 'acknowledged_late' : 'acknowledged';
  const request = { filingId, submission, requestId, source, attemptId, dgftAckId, ackStatus, warnings } as const;
  const added = { ...request, since: sentAt };
  const holder = await addRequest(client, added);
  const elsewhere = holder.filingId !== filingId || holder.submission !== submission;
  if (elsewhere && (await takeFromNamed(client, { ...request, at }))) await addRequest(client, added);
}

/** A person may have named the request for another send: the answer says whose it is. @returns whether one was taken */
async function takeFromNamed(
  client: Queryable,
  of: { filingId: string; submission: number; requestId: string; attemptId: string; at: Date },
): Promise<boolean> {
  const { filingId, submission, requestId, attemptId, at } = of;
  const { rows } = await client.query<{ filingId: string }>(
    `UPDATE requests o SET state = 'not_ours', ended_at = coalesce(o.ended_at, $4) FROM submissions s
      WHERE s.filing_id = $1 AND s.submission = $2 AND o.mode = s.mode AND o.customer_id = s.customer_id
        AND lower(o.request_id) = lower($3) AND o.source = 'named' AND o.state <> 'not_ours'
        AND (o.filing_id, o.submission) <> (s.filing_id, s.submission) RETURNING o.filing_id AS "filingId"`,
    [filingId, submission, requestId, at],
  );
  for (const { filingId: other } of rows) {
    const text = `Request ${requestId}, which was named for this filing, is the one of attempt ${attemptId}: look at what came of it.`;
    await askAbout(client, { filingId: other, kind: 'request_taken', text, until: 'fact', key: requestId, at });
  }
  return rows.length > 0;
}
