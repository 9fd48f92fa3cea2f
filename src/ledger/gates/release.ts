/**
 * The release gate: the only place that judges an attempt as not filed, frees rows, and takes a release back.
 * docs/protocol.md says what each ground needs.
 */
import { NOT_FILED, partsOfAttemptId } from '../../domain/filing/attempt';
import type { AttemptVerdict, StoredAnswer, SubmissionKey } from '../../domain/filing/attempt';
import type { Queryable } from '../pool';
import { giveRowsBack } from '../rows/row-takeover';
import { askAbout } from '../questions/questions';
import { acknowledgeSubmission, addRequest, lockRequests, readRequests, settleIfDone } from '../submissions/requests';
import { doubtRows } from '../submissions/lost-time';
import { settleSubmission } from '../submissions/submissions';
import { closeOpenAttempts, insertAttempt, isInDoubt, lockAttempts, requestOf, type AttemptRow } from './attempts';
import { anyRow, freeRows, holdAsSent, planAgain, SENT, withdrawReleases, type Release } from './held-rows';
import { writeVerdict } from './verdict';

/**
 * Judges an attempt as unsent. The proof is that it is open (`unmarked`), that the number of its send is void, or that
 * the execution that marked it (`sender`) wrote nothing. Requires the filing's lock. @returns whether it was judged so
 */
export function judgeUnsent(
  client: Queryable,
  { proof, ...of }: { attemptId: string; proof: 'unmarked' | 'void' | { sender: string }; reason: string; at: Date },
): Promise<boolean> {
  const from: AttemptVerdict[] = proof === 'unmarked' ? ['open'] : ['open', 'marked'];
  const ofSender = typeof proof === 'object' ? proof.sender : undefined;
  return judgeNotFiled(client, { ...of, verdict: 'unsent', from, ofSender });
}

/** Judges an attempt as refused, by a documented refusal that `sender` read. Requires the filing's lock. */
export const judgeRefused = (
  client: Queryable,
  { sender, ...of }: { attemptId: string; sender: string; reason: string; answer?: StoredAnswer; at: Date },
): Promise<boolean> => judgeNotFiled(client, { ...of, verdict: 'refused', from: ['open', 'marked'], ofSender: sender });

/** Writes the verdict and plans the submission again; rows that another attempt's request rejected may now be freed. */
async function judgeNotFiled(client: Queryable, verdict: Parameters<typeof writeVerdict>[1]): Promise<boolean> {
  if (!(await writeVerdict(client, verdict))) return false;
  const { attemptId, at } = verdict;
  await releaseRejected(client, { ...partsOfAttemptId(attemptId), at });
  await planAgain(client, attemptId);
  return true;
}

/**
 * Frees the rows of submissions that will not be sent: one that was refused, or all (null). A submission keeps its rows
 * if an attempt may be at the service. Requires the filing's lock.
 * @returns submissions that a refusal does not free, because an earlier attempt was judged absent and may be filed
 */
export async function releaseUnfiled(
  client: Queryable,
  of: {
    filingId: string;
    submission: number | null;
    state: 'needs_correction' | 'withdrawn';
    reason: string;
    at: Date;
  },
): Promise<{ doubtful: number[] }> {
  const { filingId, submission: refused, state, reason, at } = of;
  const { rows: submissions } = await client.query<{ submission: number }>(
    `SELECT submission FROM submissions WHERE filing_id = $1 AND ($2::int IS NULL OR submission = $2)
        AND state IN ('planned', 'acknowledged') ORDER BY submission`,
    [filingId, refused],
  );
  const doubtful: number[] = [];
  for (const { submission } of submissions) {
    await closeOpenAttempts(client, { filingId, submission, reason: 'its rows were released', at });
    const attempts = await lockAttempts(client, filingId, submission);
    if (!attempts.every(({ verdict }) => NOT_FILED.includes(verdict))) continue;
    const last = attempts.at(-1);
    const absent = attempts.find(({ verdict }) => verdict === 'absent');
    // The service may have refused the resend because the attempt that was judged absent had been filed.
    if (refused !== null && last?.verdict === 'refused' && absent) {
      const why = 'a later attempt was refused: perhaps because this one was filed';
      await writeVerdict(client, { attemptId: absent.attemptId, from: ['absent'], verdict: 'marked', reason: why, at });
      await withdrawReleases(client, { filingId, submission, why, at });
      await doubtRows(client, { filingId, submissions: [submission], at });
      doubtful.push(submission);
      continue;
    }
    const ofLast = last?.verdict === 'refused' ? 'refused' : last ? 'unsent' : 'never_attempted';
    const ground = absent ? 'absent' : ofLast;
    const release: Release = { filingId, submission, ground, attemptId: last?.attemptId, reason, at };
    await freeRows(client, { release, state, from: ['planned'] });
    const certified = await anyRow(client, { filingId, submission }, `state = 'certified'`);
    await settleSubmission(client, { filingId, submission, state: certified ? 'settled' : 'released', at });
  }
  await giveRowsBack(client, filingId);
  return { doubtful };
}

/** Judges an attempt as accepted, and adds its request; freed rows hold their mappings again. */
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
  // After a restore the ledger may lack the attempt.
  if (!before) await insertAttempt(client, attemptId);
  await writeVerdict(client, { attemptId, verdict: 'accepted', answer, at });
  const sentAt = before?.markedAt ?? at;
  // Rows of an attempt in doubt can be free too, after a request that a person named was judged.
  const freed = await anyRow(client, { filingId, submission }, 'NOT live');
  if (before?.verdict !== 'marked' || freed) await holdAsSent(client, { filingId, submission, sentAt, at });
  await acknowledgeSubmission(client, filingId, submission);
  const { requestId, dgftAckId, ackStatus, warnings } = answer;
  if (!requestId) return;
  const source = late ? 'acknowledged_late' : 'acknowledged';
  const request = { filingId, submission, requestId, source, attemptId, dgftAckId, ackStatus, warnings } as const;
  const added = { ...request, since: sentAt };
  const holder = await addRequest(client, added);
  if (holder && (await takeFromNamed(client, { ...request, at }))) await addRequest(client, added);
}

/** Takes a request from the send that a person named it for: the answer says whose it is. @returns whether it did */
async function takeFromNamed(
  client: Queryable,
  of: SubmissionKey & { requestId: string; attemptId: string; at: Date },
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
    const text = `Request ${requestId}, which was named for this filing, belongs to attempt ${attemptId}: check what that means for this filing.`;
    await askAbout(client, { filingId: other, kind: 'request_taken', text, until: 'fact', key: requestId, at });
  }
  return rows.length > 0;
}

/** Takes back the judgement and the releases of an attempt, because a person names a request for it. */
export async function holdForRequest(
  client: Queryable,
  { attemptId, requestId, at }: { attemptId: string; requestId: string; at: Date },
): Promise<void> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const attempts = await lockAttempts(client, filingId, submission);
  const attempt = attempts.find((each) => each.attemptId === attemptId);
  const freed = await anyRow(client, { filingId, submission }, 'NOT live');
  if (attempt?.verdict !== 'absent' && !freed) return;
  const reason = `a person named request ${requestId} for it`;
  await closeOpenAttempts(client, { filingId, submission, except: attemptId, reason, at });
  if (attempt) {
    const verdict = requestOf(attempt, await readRequests(client, filingId, submission)) ? 'accepted' : 'marked';
    await writeVerdict(client, { attemptId, from: ['absent'], verdict, reason, at });
  }
  await holdAsSent(client, { filingId, submission, sentAt: attempt?.markedAt ?? at, at });
}

/**
 * Frees the rows that our own requests report as Errored, once every request has ended and no attempt is open or in
 * doubt. Call it whenever a request ends or an attempt is judged, under the filing's lock. @returns the freed positions
 */
export async function releaseRejected(
  client: Queryable,
  { filingId, submission, at }: SubmissionKey & { at: Date },
): Promise<number[]> {
  const requests = await lockRequests(client, filingId, submission);
  if (requests.some(({ state }) => state === 'followed')) return [];
  const rejected = new Map<number, string[]>();
  for (const { source, errored } of requests) {
    if (source === 'named') continue;
    for (const { position, errors } of errored) rejected.set(position, errors);
  }
  // If a request names a certificate that the row cannot have, one of the two records is wrong.
  for (const { contradicted } of requests) for (const position of contradicted) rejected.delete(position);
  if (rejected.size === 0) return [];
  const attempts = await lockAttempts(client, filingId, submission);
  if (attempts.some((each) => each.verdict === 'open' || isInDoubt(each, requests))) return [];
  const request = requests.find(({ source, errored }) => source !== 'named' && errored.length > 0);
  const { requestId, attemptId = null } = request ?? {};
  const release = { filingId, submission, ground: 'rejected' as const, requestId, attemptId, at };
  const freed = await freeRows(client, { release, state: 'needs_correction', errors: rejected, from: SENT });
  if (!(await anyRow(client, { filingId, submission }, 'live'))) {
    for (const { attemptId, verdict } of attempts) {
      if (verdict !== 'accepted') continue;
      await writeVerdict(client, { attemptId, from: ['accepted'], verdict: 'rejected', at });
    }
  }
  if (freed.length > 0) await settleIfDone(client, { filingId, submission, at });
  return freed;
}
