/** Checks a recorded filing before it is sent. */
import type { Finding } from '../../domain/rules/finding';
import type { Queryable } from '../pool';
import type { LockedFiling } from './lock';

/** Sets the IEC of a filing and of its rows once the exporter's is known. Errors: the company holds a mapping already. */
export function assignIec(_client: Queryable, _filing: LockedFiling): Promise<Finding[]> {
  throw new Error('not written yet');
}

/** What speaks against a filing, by the ledger and the last readings. */
export function checkFiling(_client: Queryable, _filing: LockedFiling): Promise<Finding[]> {
  throw new Error('not written yet');
}
