/** The held records of IRMs, and which of them a mapping means. */
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
  /** The whole remittance. */
  amount: string | null;
  /** What the service said was still available at `readAt`. */
  available: string | null;
  status: string | null;
  /** When the balance was read from the service, milliseconds since the epoch. */
  readAt: number;
}

/**
 * The held records that a mapping's IRM may be, among those of its number and AD code: `irmDt` is the issue date or,
 * where no issue date fits, the remittance date. Several where the records differ in nothing that is compared; none
 * where no record has the date.
 */
export function recordsOf<T extends Pick<HeldIrm, 'issueDate' | 'remittanceDate'>>(
  irmDt: string,
  sameIdentity: readonly T[],
): T[] {
  const date = comparableDate(irmDt);
  const issued = sameIdentity.filter((irm) => irm.issueDate === date);
  return issued.length > 0 ? issued : sameIdentity.filter((irm) => irm.remittanceDate === date);
}
