/** Reserving a filing's balances: by a step of its own, or with the reading of the balances. */
import type { Finding } from '../../domain/rules/finding';
import { saveBalanceFindings } from '../../ledger/filings/filing-notes';
import { reserveBalances as reserveInLedger } from '../../ledger/rows/balance-reservation';
import type { ActivityDependencies } from '../dependencies';
import { DIFFERS, hold, recordMove, type Left, type MoveArgs } from './moves';

/** Findings beyond this number stay in the ledger: a payload has limits. */
export const FINDINGS_IN_RESULT = 50;

export interface ReserveArgs {
  filingId: string;
  /** The moves that the run knew of, for a step that may be late: nothing is recorded where there are others. */
  seq?: number;
  /** Where the filing goes if the balances hold. */
  move?: MoveArgs;
}

export interface Reserved extends Left {
  /** Of the balances; none were reserved then. */
  errors: Finding[];
}

/**
 * Checks the balances under the IRMs' locks and reserves them; errors are recorded with the filing. With `move`, the
 * filing goes there in the same transaction where they hold.
 */
export function reserveBalances(
  { pool, clock }: Pick<ActivityDependencies, 'pool' | 'clock'>,
  { filingId, seq, move }: ReserveArgs,
): Promise<Reserved> {
  const at = new Date(clock());
  return reserveInLedger(pool, { filingId, at }, async (client, findings) => {
    const errors = findings.filter((finding) => finding.severity === 'error').slice(0, FINDINGS_IN_RESULT);
    const save = () => saveBalanceFindings(client, filingId, findings);
    if (move && errors.length === 0) return { ...(await recordMove(client, move, at, save)), errors };
    if (seq !== undefined && (await hold(client, { filingId, seq })) === 'differs') return { ...DIFFERS, errors };
    await save();
    return { filing: null, errors };
  });
}
