import { errorAt, warningAt, type Finding } from '../rules/finding';
import type { MappingRow } from '../filing/mapping';
import { compareAmounts, formatAmount, subtractAmounts, sumAmounts } from '../money';
import { rowThatExceeds } from '../rules/file';
import { listed } from '../rules/value-messages';
import { comparableDate } from '../identity';

/** The amount that one of our live filings takes, or may take, from an IRM. */
export interface Hold {
  filingId: string;
  reference: string;
  state: string;
  /** `irmIdentity` of the mapping that holds it, and the date that it gives the IRM. */
  irmKey: string;
  irmDt: string;
  amount: string;
  /** Null while it is not submitted. */
  submittedAt: number | null;
  outcomeKnown: boolean;
  /** When its certificates were known; null: there are none (yet). */
  certifiedAt: number | null;
}

/** The source of mapped amounts: a held IRM, several of them, or what rows state about one, read at no time. */
export type Account = Pick<HeldIrm, 'irmNumber' | 'currency' | 'amount' | 'available'> & { readAt: number | null };

export type RowsOfIrm = [MappingRow, ...MappingRow[]];

/**
 * Checks the amounts mapped from one account. A hold that cannot be in the balance yet blocks; one submitted before the
 * read only warns, as does an unknown value.
 */
export function checkSums(group: RowsOfIrm, irm: Account, holds: readonly Hold[]): Finding[] {
  const total = sumAmounts(group.map(({ mapping }) => mapping.mappedIRMAmountFCC));
  const refuse = (code: string, limit: string, say: string): Finding[] => {
    const message = `${formatAmount(total)} ${irm.currency} is mapped of IRM ${irm.irmNumber}, ${say}`;
    return [errorAt(rowThatExceeds(group, limit), 'mappedIRMAmountFCC', code, message)];
  };
  const { amount, available } = irm;
  if (amount !== null && compareAmounts(total, amount) > 0) {
    const say = `more than the remittance of ${formatAmount(amount)}. Lower the mapped amounts.`;
    return refuse('over_remittance', amount, say);
  }
  if (available === null) {
    const message = `The service does not say how much of IRM ${irm.irmNumber} is available: its balance cannot be checked. Compare it with the bank advice.`;
    return [warningAt(group[0].row, 'mappedIRMAmountFCC', 'irm_amount_unknown', message)];
  }
  if (compareAmounts(total, available) > 0) {
    const say = `more than the ${formatAmount(available)} still available. Lower the mapped amounts, or refresh the IRMs.`;
    return refuse('over_balance', available, say);
  }
  const outside = holds.filter((hold) => !mayBeInBalance(hold, irm));
  const free = subtractAmounts(available, sumAmounts(outside.map(({ amount }) => amount)));
  if (compareAmounts(total, free) > 0) {
    const advice = outside.every(isCertified)
      ? 'It is certified, and newer than the reading of the balance: refresh the IRMs'
      : 'Wait for that outcome';
    const say = `but ${named(outside)} ${outside.length > 1 ? 'hold' : 'holds'} part of the ${formatAmount(available)} available, which leaves ${formatAmount(atLeastZero(free))}. ${advice}, or lower the mapped amounts.`;
    return refuse('balance_held', free, say).map((finding) => ({ ...finding, ...filingOf(outside) }));
  }
  const doubtful = doubtfulHolds(holds, irm);
  const surelyFree = subtractAmounts(free, sumAmounts(doubtful.map(({ amount }) => amount)));
  if (compareAmounts(total, surelyFree) <= 0) return [];
  const message = `The balance of IRM ${irm.irmNumber} may not show ${named(doubtful)} yet; without it ${formatAmount(atLeastZero(surelyFree))} ${irm.currency} is left. Refresh the IRMs before filing.`;
  const row = rowThatExceeds(group, surelyFree);
  return [{ ...warningAt(row, 'mappedIRMAmountFCC', 'balance_maybe_held', message), ...filingOf(doubtful) }];
}

/** Only one submitted before the read, of known outcome. A stated remittance may be the remaining balance. */
function mayBeInBalance(hold: Hold, { readAt }: Account): boolean {
  if (readAt === null) return hold.certifiedAt !== null;
  return hold.submittedAt !== null && hold.outcomeKnown && hold.submittedAt <= readAt;
}

/** Holds that may or may not be in the balance; certified ones are in it where the utilised part covers them all. */
function doubtfulHolds(holds: readonly Hold[], irm: Account): Hold[] {
  const earlier = holds.filter((hold) => mayBeInBalance(hold, irm));
  if (irm.amount === null || irm.available === null) return earlier;
  const certified = sumAmounts(earlier.filter(isCertified).map(({ amount }) => amount));
  const utilised = subtractAmounts(irm.amount, irm.available);
  return compareAmounts(certified, utilised) <= 0 ? earlier.filter((hold) => !isCertified(hold)) : earlier;
}

/** Holds not certain to be in a balance: a certificate known at the read is in it, filings under way are not. */
export function pendingHolds(holds: readonly Hold[], irm: Account): Hold[] {
  const { readAt } = irm;
  const known = ({ certifiedAt }: Hold) => certifiedAt !== null && readAt !== null && certifiedAt <= readAt;
  return [
    ...holds.filter((hold) => !mayBeInBalance(hold, irm)),
    ...doubtfulHolds(holds, irm).filter((hold) => !known(hold)),
  ];
}

const isCertified = ({ certifiedAt }: Hold): boolean => certifiedAt !== null;

function named(holds: readonly Hold[]): string {
  const filings = new Map(holds.map((hold) => [hold.filingId, `${hold.reference} (${hold.state}, ${hold.filingId})`]));
  return `${filings.size > 1 ? 'filings' : 'filing'} ${listed([...filings.values()], 5)}`;
}

function filingOf(holds: readonly Hold[]): { filingId?: string } {
  return holds[0] ? { filingId: holds[0].filingId } : {};
}

function atLeastZero(amount: string): string {
  return compareAmounts(amount, 0) < 0 ? '0' : amount;
}

/** Dates are DDMMYYYY or null, amounts exact decimal text in `currency`, null where unknown. */
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

/** The held records that a mapping may refer to: by issue date, else by remittance date. Several: alike. */
export function recordsOf<T extends Pick<HeldIrm, 'issueDate' | 'remittanceDate'>>(
  irmDt: string,
  sameIdentity: readonly T[],
): T[] {
  const date = comparableDate(irmDt);
  const issued = sameIdentity.filter((irm) => irm.issueDate === date);
  return issued.length > 0 ? issued : sameIdentity.filter((irm) => irm.remittanceDate === date);
}
