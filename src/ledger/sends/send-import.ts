import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { renewEpoch } from '../events/feed';
import { partsOfAttemptId } from '../../domain/filing/attempt';
import { withConnection, type Connection } from '../pool';
import { LedgerUnavailableError } from '../unavailable';
import { closeFiled, closeVoided } from './conclusion';
import { importSend } from './import-send';
import { NOBODY, voidRecord } from './send-record';
import {
  assertPrimary,
  compareSends,
  createOrRead,
  noteWhole,
  readSend,
  storeIdOf,
  type Comparison,
  type SendStore,
} from './sends';

export interface ImportedSends {
  /** Filings of which a send was brought back; their outcome is unknown until evidence settles it. */
  filings: string[];
  /** Sends that were brought back. */
  sends: number;
  /** Numbers whose record cannot be read, so that their sends cannot be brought back. */
  unreadable: number[];
}

/** Held for a whole import: one importer at a time. */
const IMPORTER_LOCK = 4_203_001;
const IMPORTER_WAITS_MS = 20_000;
const IMPORTER_LOOKS_MS = 250;
/** A suspended worker may write its record during the import; then there is one more to import. */
const ROUNDS = 20;

/**
 * Brings back the sends that the store has and the ledger does not know: rows live and unknown, missing filings
 * rebuilt. The ledger's numbers continue above them, and numbers that nobody can use any more get a void record. May
 * run several times; while another one runs, it waits for that.
 * @param mayHaveLost whether the store may lack sends that the ledger has seen there
 * @throws LedgerUnavailableError while another import takes longer
 */
export async function importSends(
  pool: pg.Pool,
  store: SendStore,
  { at, by, mayHaveLost = false }: { at: Date; by: string; mayHaveLost?: boolean },
): Promise<ImportedSends> {
  for (const giveUpAt = performance.now() + IMPORTER_WAITS_MS; ;) {
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
    await sleep(IMPORTER_LOOKS_MS);
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
    // Gaps first: an import that ends half-way is repeated only while sends are unknown.
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

/**
 * Gives a void record to the numbers without one that nobody may use any more: of closed attempts, and of nobody. Where
 * sends were lost, also to those that are marked: what they were decided on is not what the ledger says afterwards.
 * @returns how many
 */
async function fillGaps(
  connection: Connection,
  store: SendStore,
  { compared: { listed, unknown, identity }, at }: { compared: Comparison; at: Date },
): Promise<number> {
  const { ledgerId } = identity;
  const { rows } = await connection.query<{ n: string; attemptId: string | null; sender: string | null }>(
    `SELECT n, s.attempt_id AS "attemptId", s.sender
       FROM ledger_identity, generate_series(sends_seen + 1, send_number) AS n LEFT JOIN sends s ON s.number = n
       LEFT JOIN attempts a USING (attempt_id)
      WHERE $1 OR a.verdict IS DISTINCT FROM 'marked' ORDER BY n`,
    [unknown.length > 0],
  );
  const filed = new Set(listed);
  const gaps = rows.filter(({ n }) => !filed.has(Number(n)));
  for (const { n, attemptId, sender } of gaps) {
    const record = voidRecord({ ledgerId, number: Number(n), sender: sender ?? NOBODY, attemptId, at });
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
