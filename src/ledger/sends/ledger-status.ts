import type { Queryable } from '../pool';
import { compareSends, readIdentity, SendStoreError, storeIdOf, type SendStore } from './sends';

/** Whether the ledger agrees with the document store that counts its sends. */
export interface LedgerStatus {
  ledgerId: string;
  /** Number of the ledger's last send. */
  sendNumber: number;
  /** Up to this number the store is known to have the record of every send: comparisons begin above it. */
  comparedTo: number;
  /** Number of the newest send in the store; null: there is none, or the store cannot be read. */
  newestInStore: number | null;
  /** Sends that the store has and the ledger does not know. */
  unknownSends: number;
  storeId: string | null;
  /** Whether the ledger knows every send, in the store that has them. */
  whole: boolean;
  /** The problem, and what to do; null if there is none. */
  problem: string | null;
  /** Until then, and until its certificates are read after it, no exporter's filings are sent; null: nothing waits. */
  filingsWaitUntil: string | null;
}

/** Compares the ledger with the store, without changing anything. */
export async function readLedgerStatus(db: Queryable, store: SendStore): Promise<LedgerStatus> {
  const { ledgerId, sendNumber, storeId, seen } = await readIdentity(db);
  const known = { ledgerId, sendNumber, storeId, comparedTo: seen, filingsWaitUntil: await filingsWaitUntil(db) };
  try {
    const { unknown, listed } = await compareSends(db, store, { storeId: await storeIdOf(store) });
    const newest = listed.at(-1) ?? (seen > 0 ? seen : null);
    const problem =
      unknown.length > 0 ? 'The ledger was put back to an earlier state. Run: ebrc ledger restored' : null;
    return { ...known, newestInStore: newest, unknownSends: unknown.length, whole: problem === null, problem };
  } catch (error) {
    if (!(error instanceof SendStoreError)) throw error;
    return { ...known, newestInStore: null, unknownSends: 0, whole: false, problem: error.message };
  }
}

async function filingsWaitUntil(db: Queryable): Promise<string | null> {
  const { rows } = await db.query<{ until: Date | null }>(
    'SELECT certificates_after AS until FROM ledger_identity WHERE certificates_after IS NOT NULL',
  );
  return rows[0]?.until?.toISOString() ?? null;
}
