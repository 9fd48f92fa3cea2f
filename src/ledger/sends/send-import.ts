import type pg from 'pg';
import { partsOfAttemptId } from '../../domain/filing/attempt';
import type { FilingState } from '../../domain/filing/states';
import { closeOpenAttempts, planAgain } from '../submissions/attempts';
import { lockFiling } from '../filings/filing-lock';
import { LOST_MOVES, writeMove } from '../filings/filing-progress';
import { withTransaction, type Queryable } from '../pool';
import { holdAsSent } from '../rows/row-revival';
import { rebuildFiling, rebuildSnapshot } from './send-rebuild';
import { NOBODY, type SendRecord } from './send-record';
import { compareSends, createOrRead, readIdentity, voidRecord, type SendStore } from './sends';

export interface ImportedSends {
  /** Filings of which a send was brought back; their outcome is unknown until evidence settles it. */
  filings: string[];
  /** Sends that were brought back. */
  sends: number;
  /** Numbers whose record cannot be read, so that their sends cannot be brought back. */
  unreadable: number[];
}

/** Recorded for an attempt that was between its mark and its answer when sends were brought back. */
const UNDER_WAY = 'it was under way when sends were brought back into the ledger';
/** Serialises imports of one ledger. */
const IMPORT_LOCK = 4_203_001;
/** A suspended worker may write its record during the import; then there is one more to import. */
const ROUNDS = 20;

/**
 * Brings back the sends that the store has and the ledger does not know: rows live and unknown, missing filings
 * rebuilt. The ledger's numbers continue above them. May run several times, and concurrently.
 */
export async function importSends(
  pool: pg.Pool,
  store: SendStore,
  { at, by }: { at: Date; by: string },
): Promise<ImportedSends> {
  const result: ImportedSends = { filings: [], sends: 0, unreadable: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    const { found, unknown, seen } = await compareSends(pool, store);
    const readable = unknown.filter(({ record }) => record !== null);
    result.unreadable = unknown.filter(({ record }) => record === null).map(({ number }) => number);
    if (readable.length > 0) await invalidateMarks(pool);
    const highest = Math.max(0, ...found.map(({ number }) => number));
    await pool.query('UPDATE ledger_identity SET send_number = $1 WHERE send_number < $1', [highest]);
    for (const { record } of readable) {
      const filingId = record && (await withTransaction(pool, (client) => importSend(client, record, { at, by })));
      if (!filingId) continue;
      result.sends += 1;
      if (!result.filings.includes(filingId)) result.filings.push(filingId);
    }
    // Whoever marked before the marks were made invalid writes nothing: what it has not counted is given up, up to the
    // last number.
    const { sendNumber } = await readIdentity(pool);
    await fillGaps(pool, store, { from: seen + 1, to: readable.length > 0 ? sendNumber : highest, at });
    if (readable.length === 0) return result;
  }
  return result;
}

/**
 * Numbers without a record: whoever marked one, in this state of the ledger or in the lost one, must not write any
 * more. What this ledger marked and nobody counted is proven not to be sent.
 */
async function fillGaps(
  pool: pg.Pool,
  store: SendStore,
  { from, to, at }: { from: number; to: number; at: Date },
): Promise<void> {
  const { ledgerId } = await readIdentity(pool);
  const { rows } = await pool.query<{ n: string; attemptId: string | null; sender: string | null }>(
    `SELECT n, attempt_id AS "attemptId", sender FROM generate_series($1::bigint, $2::bigint) AS n
       LEFT JOIN sends ON number = n ORDER BY n`,
    [from, to],
  );
  for (const { n, attemptId, sender } of rows) {
    const record = voidRecord({ ledgerId, number: Number(n), sender: sender ?? NOBODY, attemptId, at });
    const stands = await createOrRead(store, record);
    if (!stands?.void || stands.sender !== record.sender) continue;
    await withTransaction(pool, async (client) => {
      if (sender === null) {
        await client.query('INSERT INTO sends (number, sender) VALUES ($1, $2) ON CONFLICT DO NOTHING', [n, NOBODY]);
      } else if (attemptId !== null) {
        await lockFiling(client, partsOfAttemptId(attemptId).filingId);
        await closeVoided(client, { attemptId, sender, at });
      }
    });
  }
}

/** An attempt whose only send was given up before it was counted. */
async function closeVoided(
  client: Queryable,
  { attemptId, sender, at }: { attemptId: string; sender: string; at: Date },
): Promise<void> {
  const { rowCount } = await client.query(
    `UPDATE attempts SET state = 'not_sent', reason = 'nothing was written: its send was never counted', closed_at = $3
      WHERE attempt_id = $1 AND state = 'sending' AND (reason IS NULL OR reason = $4)
        AND NOT EXISTS (SELECT FROM sends WHERE attempt_id = $1 AND sender <> $2)`,
    [attemptId, sender, at, UNDER_WAY],
  );
  if (rowCount) await planAgain(client, attemptId);
}

/**
 * No mark is valid after sends were brought back: whoever stands between its mark and its first byte writes nothing,
 * because what it was decided on is not what the ledger says now. Whoever has written has its record, and is settled.
 */
async function invalidateMarks(pool: pg.Pool): Promise<void> {
  await pool.query(`UPDATE attempts SET reason = $1 WHERE state = 'sending' AND reason IS NULL`, [UNDER_WAY]);
}

/** @returns the filing of the send; null if nothing had to be brought back. */
async function importSend(
  client: Queryable,
  record: SendRecord,
  { at, by }: { at: Date; by: string },
): Promise<string | null> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [IMPORT_LOCK]);
  const { rows } = await client.query<{ attemptId: string | null; sender: string }>(
    'SELECT attempt_id AS "attemptId", sender FROM sends WHERE number = $1',
    [record.number],
  );
  if (rows[0]?.sender === record.sender) return null;
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
        AND (state IN ('terminal', 'settled') OR (state = 'acknowledged' AND request_id IS NOT NULL))`,
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
    `UPDATE attempts SET state = 'not_sent', reason = 'its send number is another send''s', closed_at = $2
      WHERE attempt_id = $1 AND state = 'sending' AND NOT EXISTS (SELECT FROM sends WHERE attempt_id = $1)`,
    [attemptId, at],
  );
  if (rowCount) await planAgain(client, attemptId);
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
    `INSERT INTO attempts AS a (attempt_id, filing_id, submission, number, state, sender, sending_at, reason, late)
     VALUES ($1, $2, $3, $4, 'sending', $5, $6, $7, EXISTS (SELECT FROM attempts o WHERE o.filing_id = $2
       AND o.submission = $3 AND o.attempt_id <> $1 AND o.state <> 'not_sent' AND NOT o.late))
     ON CONFLICT (attempt_id) DO UPDATE SET state = 'sending', sender = $5, sending_at = greatest(a.sending_at, $6), reason = $7,
       late = excluded.late
       WHERE a.state <> 'answered'`,
    [
      attemptId,
      filingId,
      submission,
      number,
      record.sender,
      new Date(record.at),
      'it was sent before the ledger was put back to an earlier state',
    ],
  );
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
