import type pg from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { renewEpoch } from '../events';
import { partsOfAttemptId } from '../../domain/filing/attempt';
import { withConnection, type Connection, type Queryable } from '../pool';
import { LedgerUnavailableError } from '../unavailable';
import { closeFiled, closeVoided } from './conclusion';
import { NOBODY, voidRecord, type SendRecord } from './send-record';
import { assertPrimary, compareSends, createOrRead, noteWhole, readSend, storeIdOf } from './sends';
import type { Comparison, SendStore } from './sends';
import { lockFiling } from '../filings/filing-lock';
import { LOST_MOVES, writeMove } from '../filings/filing-progress';
import { closeOpenAttempts, insertAttempt } from '../gates/attempts';
import { holdInDoubt } from '../gates/held-rows';
import { judgeUnsent } from '../gates/release';
import { MARK_LOCK } from '../gates/send';
import { writeVerdict } from '../gates/verdict';
import { SENT_BEFORE } from '../submissions/known-sends';
import { lockForRebuild, rebuildFiling, rebuildSnapshot } from './send-rebuild';

export interface ImportedSends {
  /** Filings with an imported send; their outcome is unknown until evidence settles it. */
  filings: string[];
  sends: number;
  /** Numbers whose record cannot be read, so that their sends cannot be imported. */
  unreadable: number[];
}

/** Advisory lock for a whole import: one importer at a time. */
const IMPORTER_LOCK = 4_203_001;
const IMPORTER_TIMEOUT_MS = 20_000;
const IMPORTER_RETRY_MS = 250;
/** Rounds of an import at most; a further one is needed when a suspended worker writes its record meanwhile. */
const ROUNDS = 20;

/**
 * Imports the sends that the store has and the ledger does not know: their rows become unknown, and missing filings are
 * rebuilt. May be repeated; waits while another import runs.
 * @param mayHaveLost whether the store may lack sends that the ledger has seen there
 */
export async function importSends(
  pool: pg.Pool,
  store: SendStore,
  { at, by, mayHaveLost = false }: { at: Date; by: string; mayHaveLost?: boolean },
): Promise<ImportedSends> {
  for (const giveUpAt = performance.now() + IMPORTER_TIMEOUT_MS; ;) {
    const imported = await withConnection(pool, async (connection) => {
      const { rows } = await connection.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
        IMPORTER_LOCK,
      ]);
      if (!rows[0]?.locked) return null;
      try {
        return await importAll(connection, store, { at, by, mayHaveLost });
      } finally {
        await connection.query('SELECT pg_advisory_unlock($1)', [IMPORTER_LOCK]);
      }
    });
    if (imported) return imported;
    if (performance.now() > giveUpAt) {
      throw new LedgerUnavailableError('import', true, new Error('sends are being imported by another process'));
    }
    await sleep(IMPORTER_RETRY_MS);
  }
}

async function importAll(
  connection: Connection,
  store: SendStore,
  { at, by, mayHaveLost }: { at: Date; by: string; mayHaveLost: boolean },
): Promise<ImportedSends> {
  const result: ImportedSends = { filings: [], sends: 0, unreadable: [] };
  await renewEpoch(connection);
  for (let round = 0; round < ROUNDS; round += 1) {
    const storeId = await storeIdOf(store);
    const compared = await compareSends(connection, store, { storeId, mayHaveLost });
    assertPrimary(compared);
    await noteWhole(connection, compared);
    const { identity, listed, unknown } = compared;
    const highest = listed.at(-1) ?? 0;
    await connection.query('UPDATE ledger_identity SET send_number = $1 WHERE send_number < $1', [highest]);
    // Fill gaps first, because an interrupted import is repeated only while sends are unknown.
    let changed = await fillGaps(connection, store, { compared, at });
    result.unreadable = [];
    for (const number of unknown) {
      const record = await readSend(store, identity.ledgerId, number);
      if (record === null) {
        result.unreadable.push(number);
        continue;
      }
      changed += 1;
      const filingId = await connection.transaction((client) => importSend(client, record, { at, by }));
      if (filingId === null) continue;
      result.sends += 1;
      if (!result.filings.includes(filingId)) result.filings.push(filingId);
    }
    if (changed === 0) return result;
  }
  return result;
}

/** Voids numbers without a record; those of marked attempts only if sends were lost, as then their basis is gone. */
async function fillGaps(
  connection: Connection,
  store: SendStore,
  { compared: { listed, unknown, identity }, at }: { compared: Comparison; at: Date },
): Promise<number> {
  const { ledgerId } = identity;
  const { rows } = await connection.query<{ n: number; attemptId: string | null; sender: string | null }>(
    `SELECT n::float8 AS n, s.attempt_id AS "attemptId", s.sender
       FROM ledger_identity, generate_series(sends_seen + 1, send_number) AS n LEFT JOIN sends s ON s.number = n
       LEFT JOIN attempts a USING (attempt_id)
      WHERE $1 OR a.verdict IS DISTINCT FROM 'marked' ORDER BY n`,
    [unknown.length > 0],
  );
  const filed = new Set(listed);
  const gaps = rows.filter(({ n }) => !filed.has(n));
  for (const { n, attemptId, sender } of gaps) {
    const record = voidRecord({ ledgerId, number: n, sender: sender ?? NOBODY, attemptId, at });
    const stands = await createOrRead(store, record);
    if (sender === null && stands?.sender === NOBODY) {
      await connection.query('INSERT INTO sends (number, sender) VALUES ($1, $2) ON CONFLICT DO NOTHING', [n, NOBODY]);
    }
    if (attemptId === null) continue;
    const marks = { filingId: partsOfAttemptId(attemptId).filingId, attemptId, at };
    await closeFiled(connection, store, marks, (client, _filing, voided) => closeVoided(client, marks, voided));
  }
  return gaps.length;
}

/** Imports one send. Requires a transaction. @returns its filing; null if nothing had to be restored */
async function importSend(client: Queryable, record: SendRecord, { at, by }: { at: Date; by: string }) {
  await client.query('SELECT pg_advisory_xact_lock($1)', [MARK_LOCK]);
  // Earlier marks lapse: a sender that has not written yet must not write, because its mark was decided on another
  // state of the ledger. A sender that has written has its record, so its send is imported.
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
  const inDoubt = await restoreAttempt(client, { record, attemptId, at });
  await rebuildSnapshot(client, { content: record.content, attemptId });
  if (inDoubt) await holdInDoubt(client, { filingId, submission, sentAt: new Date(record.at), at });
  await recordImport(client, { filingId, attemptId, record, at, by });
  return filingId;
}

/** Takes a number from its attempt, which was then not sent, unless another send of it is known. */
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
 * Marks the attempt as in doubt, unless it was answered meanwhile. Other marked attempts stay marked, because a run
 * that did not know of this one may have sent the submission again. @returns whether it is in doubt
 */
async function restoreAttempt(
  client: Queryable,
  { record, attemptId, at }: { record: SendRecord; attemptId: string; at: Date },
): Promise<boolean> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  await closeOpenAttempts(client, { filingId, submission, reason: `attempt ${attemptId} had been sent`, at });
  await insertAttempt(client, attemptId);
  const inDoubt = await writeVerdict(client, {
    attemptId,
    from: ['open', 'marked', 'unsent', 'refused', 'absent'],
    verdict: 'marked',
    reason: SENT_BEFORE,
    at: new Date(record.at),
    mark: { sender: record.sender, settleMs: record.settleMs ?? null, timeoutMs: record.timeoutMs ?? null },
  });
  await client.query('INSERT INTO sends (number, attempt_id, sender) VALUES ($1, $2, $3)', [
    record.number,
    attemptId,
    record.sender,
  ]);
  return inDoubt;
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
  const { seq = 0, state = 'outcome_unknown', ended = false } = (await lockFiling(client, filingId)) ?? {};
  const event = { kind: 'imported', who: by, text, data: { attemptId, number: record.number } };
  // If a run reported a request that the ledger did not have, that request decides on the rows.
  const { rowCount: judged } = await client.query(
    `SELECT FROM submissions WHERE filing_id = $1 AND submission = $2
        AND (state = 'settled' OR EXISTS (SELECT FROM requests WHERE filing_id = $1 AND submission = $2 AND state = 'followed'))`,
    [filingId, partsOfAttemptId(attemptId).submission],
  );
  const decided = ended || judged;
  // Recorded as a move, so that a run that expects another state continues from here.
  const next = decided ? state : ('outcome_unknown' as const);
  const note = { filingId, state: next, attention: text, needsAttention: true, at, event };
  await writeMove(client, { ...note, seq: seq + LOST_MOVES });
}
