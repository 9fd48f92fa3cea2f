/**
 * The release gate: the only place that judges an attempt as not filed, and that frees rows. Each ground says what has
 * to be proven; without it nothing is freed. Taking a release back is part of it.
 *
 * - never_attempted: the submission never had an attempt.
 * - unsent: nothing was written (unmarked and closed, a void file, a worker that says so of its own mark).
 * - refused: a documented refusal of the service. It frees rows only where no other attempt is absent.
 * - rejected: a request id of one of our own answers reports the row Errored, every record accounted for, and every
 *   other request and attempt of the submission has ended without it, and without a certificate for it.
 * - absent: a person, or the service, says that it was not filed; the settle window is over; a complete look that began
 *   after it shows no certificate that agrees (release-absent.ts). Two persons stand in for what a look cannot show.
 */
import { NOT_FILED, partsOfAttemptId, type StoredAnswer } from '../../domain/filing/attempt';
import type { Queryable } from '../pool';
import { readRequests, settleIfDone } from '../submissions/requests';
import { settleSubmission } from '../submissions/submissions';
import { closeOpenAttempts, isInDoubt, lockAttempts, requestOf } from './attempts';
import { freeRows, giveBackIfAllFree, holdAsSent, planAgain, SENT, withdraw } from './held-rows';
import type { Freed, Ground } from './held-rows';
import { writeVerdict } from './verdict';

/**
 * Judges an attempt as unsent. `unmarked`: an attempt that is open, so that whoever holds it finds the fence closed.
 * `sender`: its own execution says that nothing was written under its mark; it cannot judge the mark of another one.
 * `void`: the number of its send is void, so nothing was and nothing will be written. Must run in a transaction that
 * holds the filing's lock.
 * @returns whether it was judged so
 */
export async function judgeUnsent(
  client: Queryable,
  {
    attemptId,
    proof,
    reason,
    at,
  }: { attemptId: string; proof: 'unmarked' | 'void' | { sender: string }; reason: string; at: Date },
): Promise<boolean> {
  const judged = await writeVerdict(client, {
    attemptId,
    from: proof === 'unmarked' ? ['open'] : ['open', 'marked'],
    verdict: 'unsent',
    reason,
    at,
    ...(typeof proof === 'object' && { ofSender: proof.sender }),
  });
  if (judged) await afterNotFiled(client, attemptId, at);
  return judged;
}

/**
 * Judges an attempt as refused, by a documented refusal. `sender`: the execution that read the answer. Must run in a
 * transaction that holds the filing's lock.
 * @returns whether it was judged so
 */
export async function judgeRefused(
  client: Queryable,
  {
    attemptId,
    sender,
    reason,
    answer,
    at,
  }: { attemptId: string; sender: string; reason: string; answer?: StoredAnswer; at: Date },
): Promise<boolean> {
  const judged = await writeVerdict(client, {
    attemptId,
    from: ['open', 'marked'],
    verdict: 'refused',
    reason,
    answer,
    at,
    ofSender: sender,
  });
  if (judged) await afterNotFiled(client, attemptId, at);
  return judged;
}

/** The submission goes again; where another attempt was accepted, what its request rejected may be free by now. */
async function afterNotFiled(client: Queryable, attemptId: string, at: Date): Promise<void> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  await releaseRejected(client, { filingId, submission, at });
  await planAgain(client, attemptId);
}

/**
 * Frees the rows of submissions that will not be sent: a refused one (`submission`), one that a check of ours refuses,
 * or everything of a filing that was never sent (`submission` null). A submission with an attempt that is, or may be,
 * at the service keeps its rows. Must run in a transaction that holds the filing's lock.
 * @returns submissions whose refusal does not free them, because an earlier attempt was judged absent: the refusal may
 * be the proof that it was filed
 */
export async function releaseUnfiled(
  client: Queryable,
  {
    filingId,
    submission,
    state,
    reason,
    at,
  }: { filingId: string; submission: number | null; state: Freed; reason: string; at: Date },
): Promise<{ doubtful: number[] }> {
  const { rows: submissions } = await client.query<{ submission: number }>(
    `SELECT submission FROM submissions WHERE filing_id = $1 AND ($2::int IS NULL OR submission = $2)
        AND state IN ('planned', 'acknowledged') ORDER BY submission`,
    [filingId, submission],
  );
  const doubtful: number[] = [];
  for (const each of submissions) {
    await closeOpenAttempts(client, { filingId, submission: each.submission, reason: 'its rows were released', at });
    const attempts = await lockAttempts(client, filingId, each.submission);
    if (!attempts.every(({ verdict }) => NOT_FILED.includes(verdict))) continue;
    const last = attempts.at(-1);
    const absent = attempts.find(({ verdict }) => verdict === 'absent');
    // A refusal that ends the submission, after an attempt that was judged absent: perhaps because it was filed.
    if (submission !== null && last?.verdict === 'refused' && absent) {
      await reopenDoubt(
        client,
        absent.attemptId,
        'a later attempt was refused: perhaps because this one was filed',
        at,
      );
      doubtful.push(each.submission);
      continue;
    }
    const ground: Ground = absent
      ? 'absent'
      : last?.verdict === 'refused'
        ? 'refused'
        : last
          ? 'unsent'
          : 'never_attempted';
    const release = { filingId, submission: each.submission, ground, attemptId: last?.attemptId, reason, at };
    await freeRows(client, { release, state, from: ['planned'] });
    const { rowCount: certified } = await client.query(
      `SELECT FROM filing_rows WHERE filing_id = $1 AND submission = $2 AND state = 'certified' LIMIT 1`,
      [filingId, each.submission],
    );
    const end = certified ? 'settled' : 'released';
    await settleSubmission(client, { filingId, submission: each.submission, state: end, at });
  }
  await giveBackIfAllFree(client, filingId);
  return { doubtful };
}

async function reopenDoubt(client: Queryable, attemptId: string, reason: string, at: Date): Promise<void> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  await writeVerdict(client, { attemptId, from: ['absent'], verdict: 'marked', reason, at });
  await withdraw(client, { filingId, submission, why: reason, at });
  await client.query(
    `UPDATE filing_rows SET state = 'unknown', submitted_at = coalesce(submitted_at, $3)
      WHERE filing_id = $1 AND submission = $2 AND live AND state = 'planned'`,
    [filingId, submission, at],
  );
}

/**
 * Takes back what was judged of an attempt, as a person names a request that the service has: its rows are held
 * meanwhile. Must run in a transaction that holds the filing's lock.
 */
export async function holdForRequest(
  client: Queryable,
  { attemptId, requestId, at }: { attemptId: string; requestId: string; at: Date },
): Promise<void> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const attempts = await lockAttempts(client, filingId, submission);
  const own = attempts.find((each) => each.attemptId === attemptId);
  const { rowCount: freed } = await client.query(
    'SELECT FROM filing_rows WHERE filing_id = $1 AND submission = $2 AND NOT live LIMIT 1',
    [filingId, submission],
  );
  if (own?.verdict !== 'absent' && !freed) return;
  const reason = `it is said to be request ${requestId}`;
  await closeOpenAttempts(client, { filingId, submission, except: attemptId, reason, at });
  if (own) {
    const verdict = requestOf(own, await readRequests(client, filingId, submission)) ? 'accepted' : 'marked';
    await writeVerdict(client, { attemptId, from: ['absent'], verdict, reason, at });
  }
  await holdAsSent(client, { filingId, submission, sentAt: own?.markedAt ?? at, at });
}

/**
 * Frees the rows that the authority rejected: one of our own requests reports them Errored, and nothing else of the
 * submission can have filed them, because every request has ended and no attempt is in doubt. Called whenever a request
 * ends or an attempt is judged. Must run in a transaction that holds the filing's lock.
 * @returns the positions of the rows that were freed now
 */
export async function releaseRejected(
  client: Queryable,
  { filingId, submission, at }: { filingId: string; submission: number; at: Date },
): Promise<number[]> {
  const { rows: requests } = await client.query<{
    requestId: string;
    attemptId: string | null;
    source: string;
    state: string;
    errored: { position: number; errors: string[] }[];
    contradicted: number[];
  }>(
    `SELECT request_id AS "requestId", attempt_id AS "attemptId", source, state, errored, contradicted FROM requests
      WHERE filing_id = $1 AND submission = $2 ORDER BY since, request_id FOR UPDATE`,
    [filingId, submission],
  );
  if (requests.some(({ state }) => state === 'followed')) return [];
  const rejected = new Map<number, string[]>();
  for (const { source, errored } of requests) {
    if (source === 'named') continue;
    for (const { position, errors } of errored) rejected.set(position, errors);
  }
  // A request names a certificate for the row that it cannot have: one of the two records is wrong.
  for (const { contradicted } of requests) for (const position of contradicted) rejected.delete(position);
  if (rejected.size === 0) return [];
  const attempts = await lockAttempts(client, filingId, submission);
  if (attempts.some((each) => each.verdict === 'open' || isInDoubt(each, requests))) return [];
  const own = requests.find(({ source, errored }) => source !== 'named' && errored.length > 0);
  const release = {
    filingId,
    submission,
    ground: 'rejected' as const,
    requestId: own?.requestId,
    attemptId: own?.attemptId ?? undefined,
    at,
  };
  const freed = await freeRows(client, { release, state: 'needs_correction', errors: rejected, from: SENT });
  const { rows: left } = await client.query(
    'SELECT FROM filing_rows WHERE filing_id = $1 AND submission = $2 AND live LIMIT 1',
    [filingId, submission],
  );
  if (left.length === 0) {
    for (const { attemptId, verdict } of attempts) {
      if (verdict !== 'accepted') continue;
      await writeVerdict(client, { attemptId, from: ['accepted'], verdict: 'rejected', at });
    }
  }
  if (freed.length > 0) await settleIfDone(client, { filingId, submission, at });
  return freed;
}
