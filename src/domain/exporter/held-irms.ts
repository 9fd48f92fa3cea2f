/** The held records of IRMs, and the lookup of the records that a mapping refers to. */
import { comparableDate } from '../identity';

/**
 * An IRM as the ledger holds it. Dates are DDMMYYYY or null, amounts exact decimal text in `currency`, null where
 * unknown.
 */
export interface HeldIrm {
  irmNumber: string;
  irmAdCode: string;
  irmIfscCode: string;
  issueDate: string | null;
  remittanceDate: string | null;
  currency: string;
  purpose: string;
  /** The full remittance. */
  amount: string | null;
  /** The amount that the service reported as available at `readAt`. */
  available: string | null;
  status: string | null;
  /** When the balance was read from the service, milliseconds since the epoch. */
  readAt: number;
}

/**
 * The held records that a mapping may refer to, among those of its number and AD code: the records with `irmDt` as
 * issue date or, if there are none, as remittance date. Several if the records differ in nothing that is compared; none
 * if no record has the date.
 */
export function recordsOf<T extends Pick<HeldIrm, 'issueDate' | 'remittanceDate'>>(
  irmDt: string,
  sameIdentity: readonly T[],
): T[] {
  const date = comparableDate(irmDt);
  const issued = sameIdentity.filter((irm) => irm.issueDate === date);
  return issued.length > 0 ? issued : sameIdentity.filter((irm) => irm.remittanceDate === date);
}
