import { partsOfAttemptId, type AttemptState } from '../../domain/filing/attempt';
import { personKey } from '../../domain/person';
import { closeOpenAttempts, planAgain } from './attempts';
import { lockFiling } from '../filings/filing-lock';
import { certificatesToRead, lostTimeCertificates, PUT_BACK_TOGETHER } from './lost-time';
import { moveRows, readRows, settleRows } from '../rows/filing-rows';
import type { Queryable } from '../pool';
import { holdAsSent } from '../rows/row-revival';
import { moveSubmission, submissionOfRequest } from './submissions';

/** More certificates than these are in the evidence, not in the answer. */
const CERTIFICATES_NAMED = 5;

/** Outcome of a person's statement that nothing of an attempt was filed. */
export type NotFiledOutcome =
  /** The attempt is closed and its rows are planned again. */
  | { outcome: 'resend' }
  /** Some rows have their certificate, so the submission was filed: the others wait for a correction. */
  | { outcome: 'freed'; freed: number }
  /** The statement is refused. */
  | { outcome: 'contradicted'; why: string };

/** A person's statement that nothing of an attempt was filed. */
export interface NotFiledAnswer {
  attemptId: string;
  /**
   * The mark that the statement is about, ms since the epoch: after a restore the same attempt can be sent once more.
   * Null: none was shown.
   */
  markedAt: number | null;
  by: string;
  note: string;
  at: Date;
  /** The absence of certificates proves nothing before this time has passed, counted from the mark. */
  settleAfterMs: number;
  /** The failure of our own last query of the service; null if it succeeded. */
  lookFailed: string | null;
  /** The statement was made although the service cannot be queried. */
  unseen: boolean;
}

/**
 * Applies a person's statement that nothing of this attempt was filed. A submission is accepted or refused as a whole.
 * So if one of its rows has a certificate, it was filed, and sending it again would file that row twice; the statement
 * then applies only to the rows without a certificate. It concerns one attempt: repeated, or late, it affects no other
 * attempt. It counts only after the settle window, and only while the service can be queried; otherwise two different
 * people have to make it. Must run in a transaction.
 */
export async function closeByPerson(client: Queryable, word: NotFiledAnswer): Promise<NotFiledOutcome> {
  const { attemptId, by, note, at } = word;
  const { filingId, submission, number } = partsOfAttemptId(attemptId);
  const filing = await lockFiling(client, filingId);
  if (!filing) return contradicted(`filing ${filingId} is not in this ledger`);
  const { rows: attempts } = await client.query<{
    id: string;
    state: AttemptState;
    markedAt: Date | null;
    reason: string | null;
    requestId: string | null;
  }>(
    `SELECT attempt_id AS id, state, reason, sending_at AS "markedAt", CASE WHEN state = 'answered' THEN answer->>'requestId' END AS "requestId" FROM attempts
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
  if (own && (own.markedAt?.getTime() ?? null) !== word.markedAt)
    return contradicted(
      `attempt ${attemptId} was marked as sent at another time than the one that the answer is about`,
    );
  const early = tooEarly(word, own?.markedAt ?? null);
  if (early !== null) return contradicted(early);
  let why = word.lookFailed === null ? null : `the service cannot be looked at now (${word.lookFailed})`;
  if (own?.reason === PUT_BACK_TOGETHER) {
    const wait = await certificatesToRead(client, filing.exporterId);
    if (wait && at < wait.until) return contradicted(stillAppearing(wait.until));
    why ??= await lostTimeDoubt(client, { filingId, submission, read: wait === null });
  }
  const doubt = why === null ? null : await needsSecondPerson(client, filingId, word, why);
  if (doubt !== null) return contradicted(doubt);
  const reason = `not filed, says ${by}: ${note}`;
  const freed = await freeBesideCertified(client, { filingId, submission, exporterId: filing.exporterId, reason, at });
  if (freed !== null) return { outcome: 'freed', freed };
  // Also for an attempt that the ledger has lost: a worker that still holds it then finds it closed.
  await client.query(
    `INSERT INTO attempts AS a (attempt_id, filing_id, submission, number, state, reason, closed_at)
     VALUES ($1, $2, $3, $4, 'not_sent', $5, $6)
     ON CONFLICT (attempt_id) DO UPDATE SET state = 'not_sent', reason = $5, closed_at = $6`,
    [attemptId, filingId, submission, number, reason, at],
  );
  await planAgain(client, attemptId);
  return { outcome: 'resend' };
}

function tooEarly({ settleAfterMs, at }: NotFiledAnswer, markedAt: Date | null): string | null {
  const until = (markedAt?.getTime() ?? -Infinity) + settleAfterMs;
  return at.getTime() >= until ? null : stillAppearing(new Date(until));
}

const stillAppearing = (until: Date) =>
  `its certificates may still appear: wait for the end of the settle window at ${until.toISOString()}`;

/**
 * Why the certificates speak against it, of an attempt that may have been sent in the time that ledger and documents
 * have lost; null where they do not.
 */
async function lostTimeDoubt(
  client: Queryable,
  { filingId, submission, read }: { filingId: string; submission: number; read: boolean },
): Promise<string | null> {
  if (!read) return 'the certificates of the time that the restored ledger lost have not been read yet';
  const lost = await lostTimeCertificates(client, { filingId, submission });
  if (!lost || lost.agreeing.length === 0) return null;
  const numbers = [...new Set(lost.agreeing.map(({ eBRCNumber }) => eBRCNumber))].slice(0, CERTIFICATES_NAMED);
  return (
    `the authority certified rows like these since the backup (${numbers.join(', ')}). Look at the portal whether they are ` +
    'this filing’s (--as filed), and give the filing first whose they are'
  );
}

/** Why one person's word is not enough while something speaks against it; null when another person said the same. */
async function needsSecondPerson(
  client: Queryable,
  filingId: string,
  { attemptId, unseen, by }: NotFiledAnswer,
  why: string,
): Promise<string | null> {
  const { rows } = await client.query<{ who: string | null }>(
    `SELECT who FROM filing_events WHERE filing_id = $1 AND kind = 'resolve_refused'
        AND data ->> 'as' = 'not-filed' AND data ->> 'attemptId' = $2`,
    [filingId, attemptId],
  );
  const others = rows.filter(({ who }) => personKey(who) !== '' && personKey(who) !== personKey(by));
  if (unseen && others.length > 0) return null;
  const second = unseen
    ? `${by} is the first to say so; somebody else has to say it too, with --unseen`
    : 'try again when that is over, or let a second person say it with --unseen';
  return `${why}: ${second}`;
}

/**
 * Marks the rows without a certificate for correction, if another row has one. @returns how many; null if no row has a
 * certificate.
 */
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

/**
 * Applies the request id that a person found at the service for an attempt; the service must know it. The submission is
 * polled under it from then on, and rows that had been freed hold their mappings again. Repeating it changes nothing.
 * Must run in a transaction.
 * @returns why it is refused, or null
 */
export async function adoptRequestId(
  client: Queryable,
  { attemptId, requestId, at }: { attemptId: string; requestId: string; at: Date },
): Promise<string | null> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const filing = await lockFiling(client, filingId);
  if (!filing) return `filing ${filingId} is not in this ledger`;
  const holder = await submissionOfRequest(client, { filingId, requestId });
  if (holder?.filingId === filingId && holder.submission === submission) return null;
  if (holder) return `request ${requestId} is the one of filing ${holder.filingId}: look for the one of ${filingId}`;
  if (filing.ended) return `the filing has ended as ${filing.state}`;
  const { rows } = await client.query<{ state: AttemptState; markedAt: Date | null }>(
    'SELECT state, sending_at AS "markedAt" FROM attempts WHERE attempt_id = $1 FOR UPDATE',
    [attemptId],
  );
  const own = rows[0];
  if (own?.state === 'open' || own?.state === 'not_sent')
    return `attempt ${attemptId} is ${own.state}: nothing of it was sent`;
  await closeOpenAttempts(client, { filingId, submission, reason: `it was filed as request ${requestId}`, at });
  const sentAt = own?.markedAt ?? at;
  await client.query(
    `UPDATE submissions SET state = 'acknowledged', request_id = $3, poll_state = '{}', submitted_at = coalesce(submitted_at, $4)
      WHERE filing_id = $1 AND submission = $2`,
    [filingId, submission, requestId, sentAt],
  );
  await holdAsSent(client, { filingId, submission, sentAt, at });
  await moveRows(client, { filingId, submission, state: 'submitted' });
  return null;
}
