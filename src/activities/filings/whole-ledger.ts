/** Steps that rely on what the ledger holds of the past: made only while it is whole. */
import { ApplicationFailure } from '@temporalio/activity';
import type pg from 'pg';
import type { ErrorKind } from '../../domain/service/error-kinds';
import type { LockedFiling } from '../../ledger/filings/filing-lock';
import { concludeOnWholeLedger, type Marks } from '../../ledger/sends/conclusion';
import { importSends } from '../../ledger/sends/send-import';
import { LedgerPutBack, readSend, SendStoreError } from '../../ledger/sends/sends';
import { refusal } from '../application-failure';
import { now, type Deps } from '../dependencies';
import type { Held } from '../../ledger/filings/filing-progress';
import { DIFFERS, hold, type Decided, type Differs } from './moves';

/** What was lost in a failover was sent moments ago; anything older is a restore, of which a person must know. */
const FAILOVER_GAP_MS = 10 * 60_000;

type Needs = Pick<Deps, 'pool' | 'documents' | 'clock' | 'logger'>;

/**
 * Runs a step in one transaction, under the filing's lock, on a whole ledger; a failover's few lost sends are brought
 * back.
 * @param judged the marked attempt (null: all) that is closed first where nothing was written under it
 */
export async function onWholeLedger<T>(
  deps: Needs,
  filingId: string,
  work: (client: pg.PoolClient, filing: LockedFiling | null) => Promise<T>,
  judged?: Pick<Marks, 'attemptId'>,
): Promise<T> {
  const { pool, documents } = deps;
  const about = { filingId, ...(judged && { judged: { ...judged, at: now(deps) } }) };
  const step = () => concludeOnWholeLedger(pool, documents, about, work);
  try {
    return await step().catch(async (error: unknown) => {
      if (!(error instanceof LedgerPutBack) || !(await bringFailoverGapBack(deps, error))) throw error;
      return step();
    });
  } catch (error) {
    throw ledgerFailure(error)?.thrown ?? error;
  }
}

/** As {@link onWholeLedger}, of a step that a run decided on, unless the ledger holds other moves by now. */
export function onHeldWhole<T>(
  deps: Needs,
  { filingId, seq }: Decided,
  work: (client: pg.PoolClient, held: Held, at: Date) => Promise<T>,
  judged?: Pick<Marks, 'attemptId'>,
): Promise<T | Differs> {
  const unlessMoved = async (client: pg.PoolClient, filing: LockedFiling | null) => {
    const held = await hold(client, { filingId, seq }, filing);
    return held === 'differs' ? DIFFERS : work(client, held, now(deps));
  };
  return onWholeLedger(deps, filingId, unlessMoved, judged);
}

/** What a step that found the ledger put back, or its store in trouble, fails with; null for any other error. */
export function ledgerFailure(error: unknown): { kind: ErrorKind; message: string; thrown: Error } | null {
  const kind =
    error instanceof LedgerPutBack
      ? 'ledger_put_back'
      : error instanceof SendStoreError
        ? 'documents_unavailable'
        : null;
  if (kind === null || !(error instanceof Error)) return null;
  return { kind, message: error.message, thrown: refusal(kind, error.message) };
}

/** Whether a step of {@link onWholeLedger} failed with what its workflow waits out. */
export const isWaitForLedger = (error: unknown): boolean =>
  error instanceof ApplicationFailure && (error.type === 'ledger_put_back' || error.type === 'documents_unavailable');

/** @returns whether it was a failover's gap, and was brought back. */
async function bringFailoverGapBack({ pool, documents, clock, logger }: Needs, error: LedgerPutBack): Promise<boolean> {
  const now = clock();
  for (const number of error.unknown) {
    const record = await readSend(documents, error.ledgerId, number);
    if (!record || !(now - Date.parse(record.at) < FAILOVER_GAP_MS)) return false;
  }
  const imported = await importSends(pool, documents, { at: new Date(now), by: 'worker' });
  logger.warn(
    { imported: imported.sends, filings: imported.filings.length },
    'the database lost sends in a failover; they were brought back from the document store',
  );
  return true;
}
