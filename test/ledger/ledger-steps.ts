/** Steps on the ledger in one call, for tests that need rows, attempts and submissions in a state. */
import { partsOfAttemptId, type AttemptReading, type StoredAnswer } from '../../src/domain/filing/attempt';
import type { StatusVerdict } from '../../src/domain/service/request-status';
import { lockFiling } from '../../src/ledger/filings/filing-lock';
import { FilingMissing } from '../../src/ledger/filings/filings';
import { acceptAttempt } from '../../src/ledger/gates/release';
import { lockAttempts } from '../../src/ledger/gates/attempts';
import { certifyByRecord } from '../../src/ledger/gates/certify';
import { judgeRefused, judgeUnsent, releaseUnfiled } from '../../src/ledger/gates/release';
import { markSending as mark, type Mark } from '../../src/ledger/gates/send';
import type { Queryable } from '../../src/ledger/pool';
import { readAttempt as readLocked, openAttempt as openLocked } from '../../src/ledger/submissions/attempts';
import type { OpenedAttempt } from '../../src/ledger/submissions/attempts';

/** Sets the mark of an attempt whose balances were checked. */
export async function markSending(
  client: Queryable,
  args: { attemptId: string; sender: string; payloadHash: string; at: Date; settleMs?: number; timeoutMs?: number },
): Promise<Mark> {
  const { filingId, submission } = partsOfAttemptId(args.attemptId);
  await lockFiling(client, filingId);
  await client.query('UPDATE filing_rows SET checked = true WHERE filing_id = $1 AND submission = $2', [
    filingId,
    submission,
  ]);
  return mark(client, { settleMs: 0, timeoutMs: 0, ...args });
}

/** What the execution of an attempt reports: that nothing was written, or, with a status, that it was refused. */
export async function closeNotSent(
  client: Queryable,
  {
    attemptId,
    sender,
    reason,
    answer,
    at,
  }: { attemptId: string; sender: string; reason: string; answer?: StoredAnswer; at: Date },
): Promise<void> {
  await lockFiling(client, partsOfAttemptId(attemptId).filingId);
  if (answer?.status === undefined) await judgeUnsent(client, { attemptId, proof: { sender }, reason, at });
  else await judgeRefused(client, { attemptId, sender, reason, answer, at });
}

/** Opens a submission's next attempt. */
export async function openAttempt(
  client: Queryable,
  { filingId, ...of }: { filingId: string; submission: number; at: Date },
): Promise<OpenedAttempt> {
  const filing = await lockFiling(client, filingId);
  if (!filing) throw new FilingMissing(filingId);
  const opened = await openLocked(client, filing, of);
  if (!opened) throw new Error('The run has gone on without the step.');
  return opened;
}

/** Reads what became of an attempt. */
export async function readAttempt(
  client: Queryable,
  args: { attemptId: string; refused?: { reason: string; sender: string }; at: Date },
): Promise<AttemptReading> {
  return readLocked(client, await lockFiling(client, partsOfAttemptId(args.attemptId).filingId), args);
}

type Freed = { filingId: string; state: 'needs_correction' | 'withdrawn'; at: Date };

/** Frees the rows of one submission of which nothing was filed. */
export const releaseRows = (client: Queryable, freed: Freed & { submission: number }) =>
  releaseUnfiled(client, { ...freed, reason: 'released' });

/** Frees everything of a filing that was never sent. */
export const releaseUnsent = (client: Queryable, freed: Freed) =>
  releaseUnfiled(client, { ...freed, submission: null, reason: 'released' });

/** Stores an acceptance. */
export async function adoptAnswer(
  client: Queryable,
  { attemptId, answer, at }: { attemptId: string; answer: StoredAnswer; at: Date },
): Promise<void> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  await lockFiling(client, filingId);
  const attempts = await lockAttempts(client, filingId, submission);
  await acceptAttempt(client, { attemptId, attempts, answer, late: false, at });
}

/** Ends a submission, and its requests. */
export async function moveSubmission(
  client: Queryable,
  { filingId, submission, at }: { filingId: string; submission: number; at: Date },
): Promise<void> {
  await client.query(
    `WITH ended AS (UPDATE requests SET state = 'ended', ended_at = $3, processing_status = 'Processed' WHERE filing_id = $1 AND submission = $2)
     UPDATE submissions SET state = 'settled', terminal_at = $3 WHERE filing_id = $1 AND submission = $2`,
    [filingId, submission, at],
  );
}

/** Settles rows as their request's record does: certified by it, or rejected. */
export async function settleRows(
  client: Queryable,
  {
    filingId,
    exporterId,
    verdicts,
    at,
  }: { filingId: string; exporterId: string; verdicts: StatusVerdict['rows']; at: Date },
): Promise<void> {
  const { rows } = await client.query<{ position: number; submission: number }>(
    'SELECT position, submission FROM filing_rows WHERE filing_id = $1',
    [filingId],
  );
  for (const submission of new Set(rows.map((row) => row.submission))) {
    const own = new Set(rows.filter((row) => row.submission === submission).map(({ position }) => position));
    const records = verdicts.flatMap((row) => (row.outcome === 'certified' && own.has(row.position) ? [row] : []));
    await certifyByRecord(client, { filingId, submission, exporterId, records, at });
    for (const row of verdicts) {
      if (row.outcome !== 'errored' || !own.has(row.position)) continue;
      await client.query(
        `WITH released AS (INSERT INTO releases (filing_id, submission, ground, released_at) VALUES ($1, $2, 'rejected', $4)
            RETURNING release_id)
         UPDATE filing_rows SET release_id = released.release_id, state = 'needs_correction', errors = $5, settled_at = $4
           FROM released WHERE filing_id = $1 AND position = $3 AND state IN ('planned', 'submitted', 'unknown', 'abandoned_after_send')`,
        [filingId, submission, row.position, at, JSON.stringify(row.errors)],
      );
    }
  }
}
