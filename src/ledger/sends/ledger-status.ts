import { partsOfAttemptId } from '../../domain/filing/attempt';
import { forEachLimited } from '../../domain/values';
import { movesUpTo } from '../filings/filing-evidence';
import { ISO } from '../paging';
import type { Queryable } from '../pool';
import { movesAtSend } from './send-record';
import { compareSends, readIdentity, readSend, SendStoreError, storeIdOf, type SendStore } from './sends';

export interface LedgerStatus {
  ledgerId: string;
  sendNumber: number;
  /** Up to this number the store is known to have the record of every send; comparisons start above it. */
  comparedTo: number;
  /** Number of the newest send in the store; null: there is none, or the store cannot be read. */
  newestInStore: number | null;
  unknownSends: number;
  storeId: string | null;
  /** Filings whose moves differ from those in a send's record, because somebody changed them afterwards. */
  rewritten: { filingId: string; sendNumber: number }[];
  /** Whether the ledger knows every send in its store. */
  whole: boolean;
  problem: string | null;
  /** An exporter's filings wait until its certificates were read after this time; null: none wait. */
  filingsWaitUntil: string | null;
}

/** How many of the newest sends have their filings' moves checked, because each costs a read of the store. */
const SENDS_WITH_MOVES = 1_000;
const READS_AT_ONCE = 16;

/** Compares the ledger with the store, without changing anything. */
export async function readLedgerStatus(db: Queryable, store: SendStore): Promise<LedgerStatus> {
  const { ledgerId, sendNumber, storeId, seen } = await readIdentity(db);
  const { rows } = await db.query<{ filingsWaitUntil: string | null }>(
    `SELECT ${ISO('certificates_after')} AS "filingsWaitUntil" FROM ledger_identity`,
  );
  const status = { ledgerId, sendNumber, storeId, comparedTo: seen, filingsWaitUntil: null, ...rows[0] };
  try {
    const { unknown, listed } = await compareSends(db, store, { storeId: await storeIdOf(store) });
    const newest = listed.at(-1) ?? (seen > 0 ? seen : null);
    const whole = unknown.length === 0;
    const rewritten = await rewrittenFilings(db, store, { ledgerId, newest: Math.min(sendNumber, newest ?? 0) });
    const problem = whole
      ? rewrittenText(rewritten)
      : 'The ledger was put back to an earlier state. Run: ebrc ledger restored';
    return { ...status, newestInStore: newest, unknownSends: unknown.length, whole, rewritten, problem };
  } catch (error) {
    if (!(error instanceof SendStoreError)) throw error;
    return { ...status, newestInStore: null, unknownSends: 0, rewritten: [], whole: false, problem: error.message };
  }
}

function rewrittenText(rewritten: LedgerStatus['rewritten']): string | null {
  const filings = [...new Set(rewritten.map(({ filingId }) => filingId))];
  if (filings.length === 0) return null;
  const few = filings.slice(0, 3).join(', ') + (filings.length > 3 ? ', …' : '');
  return `The history of ${filings.length} filings is not the one that their sends recorded (${few}): somebody changed the ledger. \`ebrc evidence FILING\` has both.`;
}

/** Checks the newest sends, except those of restored filings, which have lost the moves that their sends recorded. */
async function rewrittenFilings(
  db: Queryable,
  store: SendStore,
  { ledgerId, newest }: { ledgerId: string; newest: number },
): Promise<LedgerStatus['rewritten']> {
  const first = Math.max(1, newest - SENDS_WITH_MOVES + 1);
  const numbers = Array.from({ length: newest - first + 1 }, (_, index) => first + index);
  const heads: { filingId: string; sendNumber: number; seq: number; sha256: string }[] = [];
  await forEachLimited(numbers, READS_AT_ONCE, async (sendNumber) => {
    const record = await readSend(store, ledgerId, sendNumber);
    const head = record && movesAtSend(record);
    if (!head || record.attemptId === null) return;
    heads.push({ filingId: partsOfAttemptId(record.attemptId).filingId, sendNumber, ...head });
  });
  const { rows } = await db.query<{ filingId: string; sendNumber: number }>(
    `SELECT r."filingId", r."sendNumber"::float8 AS "sendNumber"
       FROM jsonb_to_recordset($1) AS r ("filingId" text, "sendNumber" bigint, seq bigint, sha256 text)
      WHERE NOT EXISTS (SELECT FROM filing_events e WHERE e.filing_id = r."filingId" AND e.kind IN ('imported', 'documents_restored'))
        AND ${movesUpTo('r."filingId"', 'r.seq')} ->> 'sha256' <> r.sha256
      ORDER BY r."sendNumber"`,
    [JSON.stringify(heads)],
  );
  return rows;
}
