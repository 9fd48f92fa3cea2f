/** Reserves the balances of a filing's IRMs. */
import type { Hold } from '../../domain/exporter/balance-sums';
import type { Finding } from '../../domain/rules/finding';
import type { Mode } from '../../domain/names';
import type { Queryable } from '../pool';
import type { LockedFiling } from './lock';

export interface Reservation {
  /**
   * `short`: only through what others have sent, so that their outcomes decide: wait. `stale`: the balances must be read
   * afresh before it can be refused.
   */
  outcome: 'reserved' | 'short' | 'stale' | 'refused';
  findings: Finding[];
}

/** Requires the locks of the IRMs and of the filing. */
export function reserveBalances(_client: Queryable, _filing: LockedFiling): Promise<Reservation> {
  throw new Error('not written yet');
}

/** What a company's rows hold of these IRMs, without those of `exceptFiling`. */
export function holdsOn(
  _db: Queryable,
  _of: { mode: Mode; iec: string | null; exporterId: string; irmKeys: readonly string[]; exceptFiling?: string | null },
): Promise<Hold[]> {
  throw new Error('not written yet');
}
