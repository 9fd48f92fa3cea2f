import { errorAt, warningAt, type Finding } from '../rules/finding';
import type { MappingRow } from '../filing/mapping';
import { compareAmounts, formatAmount, isMore, subtractAmounts, sumAmounts } from '../money';
import { rowThatExceeds } from '../rules/file';
import { listed } from '../rules/value-messages';
import { comparableDate } from '../identity';

/** The amount that one of our live filings takes, or may take, from an IRM. */
export interface Hold {
  filingId: string;
  reference: string;
  state: string;
  /** `irmIdentity` of the mapping that holds the amount, and the IRM date of that mapping. */
  irmKey: string;
  irmDt: string;
  amount: string;
  /** Null before it is submitted. */
  submittedAt: number | null;
  outcomeKnown: boolean;
  /** When its certificates became known; null: there are none yet. */
  certifiedAt: number | null;
}

/** What mapped amounts are taken from: a held IRM, several together, or an IRM as rows state it (`readAt` null). */
export type Account = Pick<HeldIrm, 'irmNumber' | 'currency' | 'amount' | 'available'> & { readAt: number | null };

export type RowsOfIrm = [MappingRow, ...MappingRow[]];

/**
 * Checks the amounts mapped from one account. A hold that cannot be in the balance yet causes an error; one that may be
 * in it, because it was submitted before the read, only a warning, as does an unknown balance.
 */
export function checkSums(group: RowsOfIrm, irm: Account, holds: readonly Hold[]): Finding[] {
  const total = sumAmounts(group.map(({ mapping }) => mapping.mappedIRMAmountFCC));
  const refuse = (code: string, limit: string, say: string): Finding[] => {
    const message = `${formatAmount(total)} ${irm.currency} is mapped of IRM ${irm.irmNumber}, ${say}`;
    return [errorAt(rowThatExceeds(group, limit), 'mappedIRMAmountFCC', code, message)];
  };
  const { amount, available } = irm;
  if (amount !== null && isMore(total, amount, irm.currency)) {
    const say = `more than the remittance of ${formatAmount(amount)}. Lower the mapped amounts.`;
    return refuse('over_remittance', amount, say);
  }
  if (available === null) {
    const message = `The service does not say how much of IRM ${irm.irmNumber} is available: its balance cannot be checked. Compare it with the bank advice.`;
    return [warningAt(group[0].row, 'mappedIRMAmountFCC', 'irm_amount_unknown', message)];
  }
  if (isMore(total, available, irm.currency)) {
    const say = `more than the ${formatAmount(available)} still available. Lower the mapped amounts, or refresh the IRMs.`;
    return refuse('over_balance', available, say);
  }
  const outside = holds.filter((hold) => !mayBeInBalance(hold, irm));
  const free = subtractAmounts(available, sumAmounts(outside.map(({ amount }) => amount)));
  if (isMore(total, free, irm.currency)) {
    const advice = outside.every(isCertified)
      ? 'It is certified, and newer than the reading of the balance: refresh the IRMs'
      : 'Wait for that outcome';
    const say = `but ${named(outside)} ${outside.length > 1 ? 'hold' : 'holds'} part of the ${formatAmount(available)} available, which leaves ${formatAmount(atLeastZero(free))}. ${advice}, or lower the mapped amounts.`;
    return refuse('balance_held', free, say).map((finding) => ({ ...finding, ...filingOf(outside) }));
  }
  const doubtful = doubtfulHolds(holds, irm);
  const surelyFree = subtractAmounts(free, sumAmounts(doubtful.map(({ amount }) => amount)));
  if (!isMore(total, surelyFree, irm.currency)) return [];
  const message = `The balance of IRM ${irm.irmNumber} may not show ${named(doubtful)} yet; without it ${formatAmount(atLeastZero(surelyFree))} ${irm.currency} is left. Refresh the IRMs before filing.`;
  const row = rowThatExceeds(group, surelyFree);
  return [{ ...warningAt(row, 'mappedIRMAmountFCC', 'balance_maybe_held', message), ...filingOf(doubtful) }];
}

/**
 * Whether the balance may include a hold: one submitted before the read, with a known outcome. An amount that rows
 * state may be the remaining balance, so it may include any certified hold.
 */
function mayBeInBalance(hold: Hold, { readAt }: Account): boolean {
  if (readAt === null) return hold.certifiedAt !== null;
  return hold.submittedAt !== null && hold.outcomeKnown && hold.submittedAt <= readAt;
}

/** Holds that may or may not be in the balance; certified ones are in it if the utilised amount covers them all. */
function doubtfulHolds(holds: readonly Hold[], irm: Account): Hold[] {
  const earlier = holds.filter((hold) => mayBeInBalance(hold, irm));
  if (irm.amount === null || irm.available === null) return earlier;
  const certified = sumAmounts(earlier.filter(isCertified).map(({ amount }) => amount));
  const utilised = subtractAmounts(irm.amount, irm.available);
  return compareAmounts(certified, utilised) <= 0 ? earlier.filter((hold) => !isCertified(hold)) : earlier;
}

/** Holds that are not certainly in a balance; a certificate known before the read is certainly in it. */
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

/** An IRM record from the service. Dates are DDMMYYYY, amounts exact decimal text in `currency`; null: unknown. */
export interface HeldIrm {
  irmNumber: string;
  irmAdCode: string;
  irmIfscCode: string;
  issueDate: string | null;
  remittanceDate: string | null;
  currency: string;
  purpose: string;
  amount: string | null;
  available: string | null;
  status: string | null;
  /** When the balance was read from the service, ms since the epoch. */
  readAt: number;
}

/** The held records that a mapping may refer to: those with its date as issue date, else as remittance date. */
export function recordsOf<T extends Pick<HeldIrm, 'issueDate' | 'remittanceDate'>>(
  irmDt: string,
  sameIdentity: readonly T[],
): T[] {
  const date = comparableDate(irmDt);
  const issued = sameIdentity.filter((irm) => irm.issueDate === date);
  return issued.length > 0 ? issued : sameIdentity.filter((irm) => irm.remittanceDate === date);
}
