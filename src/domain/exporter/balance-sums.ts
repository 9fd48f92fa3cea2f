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
 * Checks the amounts that a filing's rows map from one account. A hold that cannot be in the balance yet (not
 * submitted, of unknown outcome, or submitted after the balance was read) blocks and is named. A hold submitted before
 * the read may already be in the balance, so it only warns. Unknown values (an IRM without a remittance amount) are not
 * treated as 0: nothing can be checked then, and a warning says so.
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

/**
 * Only a filing that was submitted before the balance was read, with a known outcome, can be in that balance. The
 * remittance that rows state for an IRM without a record may be its remaining balance; then certified amounts may
 * already be deducted.
 */
function mayBeInBalance(hold: Hold, { readAt }: Account): boolean {
  if (readAt === null) return hold.certifiedAt !== null;
  return hold.submittedAt !== null && hold.outcomeKnown && hold.submittedAt <= readAt;
}

/**
 * Holds that may or may not be in the balance. A certified hold is not doubtful if the utilised part of the remittance
 * is large enough for all certified holds; otherwise every later use of a partly used IRM would cause a warning.
 */
function doubtfulHolds(holds: readonly Hold[], irm: Account): Hold[] {
  const earlier = holds.filter((hold) => mayBeInBalance(hold, irm));
  if (irm.amount === null || irm.available === null) return earlier;
  const certified = sumAmounts(earlier.filter(isCertified).map(({ amount }) => amount));
  const utilised = subtractAmounts(irm.amount, irm.available);
  return compareAmounts(certified, utilised) <= 0 ? earlier.filter((hold) => !isCertified(hold)) : earlier;
}

/**
 * The holds that are taken off a balance before it is called free: those that are not certain to be in it. A
 * certificate that was known when the balance was read is in it; filings that the authority still works on are not.
 */
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
