import { partsOfAttemptId } from '../../domain/filing/attempt';
import type { FilingState } from '../../domain/filing/states';
import { lockFiling } from '../filings/filing-lock';
import { LOST_MOVES, writeMove } from '../filings/filing-progress';
import type { Queryable } from '../pool';
import { closeOpenAttempts } from '../gates/attempts';
import { holdAsSent } from '../gates/held-rows';
import { judgeUnsent } from '../gates/release';
import { MARK_LOCK } from '../gates/send';
import { writeVerdict } from '../gates/verdict';
import { lockForRebuild, rebuildFiling, rebuildSnapshot } from './send-rebuild';
import type { SendRecord } from './send-record';

/**
 * Brings one send back into the ledger. Must run in a transaction.
 * @returns the filing of the send; null if nothing had to be brought back
 */
export async function importSend(
  client: Queryable,
  record: SendRecord,
  { at, by }: { at: Date; by: string },
): Promise<string | null> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [MARK_LOCK]);
  // Whoever marked before this writes nothing that is not written yet: what it was decided on is not what the ledger
  // says now. Whoever has written has its record, and is settled.
  await client.query('UPDATE ledger_identity SET marks_lapsed_to = send_number');
  const { rows } = await client.query<{ attemptId: string | null; sender: string }>(
    'SELECT attempt_id AS "attemptId", sender FROM sends WHERE number = $1',
    [record.number],
  );
  if (rows[0]?.sender === record.sender) return null;
  if (record.content !== null) await lockForRebuild(client, record.content);
  if (rows[0]) await releaseNumber(client, { number: record.number, attemptId: rows[0].attemptId, at });
  if (record.void || record.attemptId === null || record.content === null) {
    await client.query('INSERT INTO sends (number, sender) VALUES ($1, $2)', [record.number, record.sender]);
    return null;
  }
  const known = await lockFiling(client, partsOfAttemptId(record.attemptId).filingId);
  const attemptId = await rebuildFiling(client, {
    content: record.content,
    attemptId: record.attemptId,
    known: known !== null,
  });
  const { filingId, submission } = partsOfAttemptId(attemptId);
  await restoreAttempt(client, { record, attemptId, at });
  await rebuildSnapshot(client, { content: record.content, attemptId });
  if (!(await isJudged(client, { filingId, submission }))) {
    await holdAsSent(client, { filingId, submission, sentAt: new Date(record.at), at });
    await client.query(
      `UPDATE filing_rows SET state = 'unknown' WHERE filing_id = $1 AND submission = $2 AND state = 'submitted'`,
      [filingId, submission],
    );
  }
  await recordImport(client, { filingId, attemptId, record, at, by });
  return filingId;
}

/**
 * Whether a run has reported a request that the ledger did not have: then that request decides on the rows, or has
 * decided.
 */
async function isJudged(
  client: Queryable,
  { filingId, submission }: { filingId: string; submission: number },
): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM submissions WHERE filing_id = $1 AND submission = $2
        AND (state = 'settled' OR EXISTS (SELECT FROM requests WHERE filing_id = $1 AND submission = $2 AND state = 'followed'))`,
    [filingId, submission],
  );
  return (rowCount ?? 0) > 0;
}

/**
 * A number that turns out to belong to another send: the sender that took it never writes under it. Its attempt is not
 * sent then, unless another send of it is known.
 */
async function releaseNumber(
  client: Queryable,
  { number, attemptId, at }: { number: number; attemptId: string | null; at: Date },
): Promise<void> {
  if (attemptId !== null) await lockFiling(client, partsOfAttemptId(attemptId).filingId);
  await client.query('DELETE FROM sends WHERE number = $1', [number]);
  if (attemptId === null) return;
  const { rowCount } = await client.query(
    `SELECT FROM attempts WHERE attempt_id = $1 AND verdict = 'marked' AND NOT EXISTS (SELECT FROM sends WHERE attempt_id = $1)`,
    [attemptId],
  );
  const reason = 'its send number is another send’s';
  if (rowCount) await judgeUnsent(client, { attemptId, proof: 'void', reason, at });
}

/**
 * The attempt is one of unknown outcome, marked by the sender that the store names; an answer that came meanwhile
 * stays. An earlier attempt that is sending stays so too: it may have been sent again since, by a run that did not know
 * of this one. What is waited for since a mark is waited for since the newest one.
 */
async function restoreAttempt(
  client: Queryable,
  { record, attemptId, at }: { record: SendRecord; attemptId: string; at: Date },
): Promise<void> {
  const { filingId, submission, number } = partsOfAttemptId(attemptId);
  await closeOpenAttempts(client, { filingId, submission, reason: `attempt ${attemptId} had been sent`, at });
  await client.query(
    `INSERT INTO attempts (attempt_id, filing_id, submission, number) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
    [attemptId, filingId, submission, number],
  );
  await writeVerdict(client, {
    attemptId,
    from: ['open', 'marked', 'unsent', 'refused', 'absent'],
    verdict: 'marked',
    reason: 'it was sent before the ledger was put back to an earlier state',
    at: new Date(record.at),
    mark: { sender: record.sender, settleMs: record.settleMs ?? null, timeoutMs: record.timeoutMs ?? null },
  });
  await client.query('INSERT INTO sends (number, attempt_id, sender) VALUES ($1, $2, $3)', [
    record.number,
    attemptId,
    record.sender,
  ]);
}

/** Records the import as an event and a question of the filing. */
async function recordImport(
  client: Queryable,
  imported: { filingId: string; attemptId: string; record: SendRecord; at: Date; by: string },
): Promise<void> {
  const { filingId, attemptId, record, at, by } = imported;
  const text =
    `Send ${record.number} (attempt ${attemptId}, ${record.at}) is in the document store, but the ledger had lost it: the ` +
    'ledger was put back to an earlier state. Whether it was filed is settled by its certificates.';
  const { filingId: _, ...parts } = partsOfAttemptId(attemptId);
  const { rows } = await client.query<{ seq: number; state: FilingState; ended: boolean }>(
    'SELECT seq::int AS seq, state, closed_at IS NOT NULL AS ended FROM filings WHERE filing_id = $1',
    [filingId],
  );
  const { seq = 0, state = 'outcome_unknown', ended = false } = rows[0] ?? {};
  const event = { kind: 'imported', who: by, text, data: { attemptId, number: record.number } };
  const known = ended || (await isJudged(client, { filingId, submission: parts.submission }));
  // As a move, so that a run that expects another state continues from here.
  const next = known ? state : ('outcome_unknown' as const);
  const note = { filingId, state: next, attention: text, needsAttention: true, at, event };
  await writeMove(client, { ...note, seq: seq + LOST_MOVES });
}
