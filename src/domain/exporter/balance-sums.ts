/** What rows may map of their IRMs: the balance as last read, less what other filings hold of it. */
import { comparableDate, irmKey, sameText } from '../identity';
import type { MappingRow } from '../filing/mapping';
import { compareAmounts, formatAmount, isMore, subtractAmounts, sumAmounts } from '../money';
import { filingName } from '../names';
import { errorAt, type Finding } from '../rules/finding';
import { rowThatExceeds } from '../rules/file';
import { listed } from '../rules/value-messages';
import { groupBy } from '../values';

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
  /** When the reading of the balance began, ms since the epoch. */
  readAt: number;
  /** Complete lists of the IRMs lack it: it has no balance. */
  missing?: boolean;
}

/** The amount that rows of one of our filings take, or may take, from an IRM. */
export interface Hold {
  filingId: string;
  reference: string;
  n: number;
  /** Of the filing. */
  state: string;
  irmKey: string;
  irmDt: string;
  irmAdCode: string;
  amount: string;
  /** `planned`: reserved, and not sent yet. */
  kind: 'planned' | 'sent' | 'certified';
  /** When its rows got their certificates, ms since the epoch; null: they have none. */
  certifiedAt: number | null;
}

/** What mapped amounts are taken from: an IRM record, several together, or an IRM as rows state it (`readAt` null). */
export type Account = Pick<HeldIrm, 'irmNumber' | 'currency' | 'amount' | 'available'> & { readAt: number | null };

export type RowsOfIrm = [MappingRow, ...MappingRow[]];

/** Why an account does not cover the rows mapped from it. */
export interface Shortage {
  /** It would cover them but for what others have sent, whose outcomes decide. */
  waits: boolean;
  finding: Finding;
  /** When the newest certificate came that was counted beside the balance; a later reading includes it. */
  certifiedAt: number | null;
}

/** The accounts that do not cover the rows mapped from them. */
export function judgeBalances(
  rows: readonly MappingRow[],
  irms: readonly HeldIrm[],
  holds: readonly Hold[],
): Shortage[] {
  const recordsByIrm = groupBy(irms, (irm) => irmKey(irm.irmNumber));
  const holdsByIrm = groupBy(holds, (hold) => hold.irmKey);
  return [...groupBy(rows, ({ mapping }) => irmKey(mapping.irmNumber))].flatMap(([irm, group]) => {
    const records = (recordsByIrm.get(irm) ?? []).filter(({ missing }) => !missing);
    const held = holdsByIrm.get(irm) ?? [];
    const accounts: { mine: MappingRow[]; account: Account; holds: Hold[] }[] = records.map((record) => ({
      mine: group.filter(({ mapping }) => recordsFor(mapping, records).includes(record)),
      account: record,
      holds: holdsOf(record, records, held),
    }));
    const others = group.filter(({ mapping }) => recordsFor(mapping, records).length === 0);
    // A row that fits no record may be of any: then all rows together must not exceed all records together.
    if (others.length > 0) accounts.push({ mine: group, account: togetherOf(group, records), holds: [...held] });
    return accounts.flatMap(({ mine: [first, ...more], account, holds: on }) =>
      first ? judgeAccount([first, ...more], account, on) : [],
    );
  });
}

function judgeAccount(group: RowsOfIrm, account: Account, holds: readonly Hold[]): Shortage[] {
  const { amount, available, irmNumber, currency } = account;
  const total = sumAmounts(group.map(({ mapping }) => mapping.mappedIRMAmountFCC));
  const short = (code: string, limit: string, say: string, more: Partial<Shortage> = {}): Shortage[] => {
    const message = `${formatAmount(total)} ${currency} is mapped of IRM ${irmNumber}, ${say}`;
    const finding = errorAt(rowThatExceeds(group, limit), 'mappedIRMAmountFCC', code, message);
    return [{ waits: false, certifiedAt: null, finding, ...more }];
  };
  if (amount !== null && isMore(total, amount, currency))
    return short(
      'over_remittance',
      amount,
      `more than the remittance of ${formatAmount(amount)}. Lower the mapped amounts.`,
    );
  // Unknown: nothing can be compared, which is warned of.
  if (available === null) return [];
  if (isMore(total, available, currency))
    return short(
      'over_balance',
      available,
      `more than the ${formatAmount(available)} still available. Lower the mapped amounts.`,
    );
  const counted = pendingHolds(holds, account);
  const left = (of: readonly Hold[]) => subtractAmounts(available, sumAmounts(of.map((hold) => hold.amount)));
  const free = left(counted);
  if (!isMore(total, free, currency)) return [];
  const certified = counted.flatMap(({ certifiedAt }) => certifiedAt ?? []);
  const waits = !isMore(total, left(counted.filter(({ kind }) => kind !== 'sent')), currency);
  const say = `but ${named(counted)} ${counted.length > 1 ? 'hold' : 'holds'} part of the ${formatAmount(available)} available, which leaves ${formatAmount(atLeastZero(free))}. Wait for that outcome, or lower the mapped amounts.`;
  const [shortage] = short('balance_held', free, say, {
    waits,
    certifiedAt: certified.length > 0 ? Math.max(...certified) : null,
  });
  return shortage ? [{ ...shortage, finding: { ...shortage.finding, filingId: counted[0]?.filingId } }] : [];
}

/**
 * The holds that a balance may not show yet: all but certificates from before its reading. An amount that rows state
 * (`readAt` null) may be what remained, so it may show any certificate.
 */
export function pendingHolds<H extends Pick<Hold, 'kind' | 'certifiedAt'>>(
  holds: readonly H[],
  { readAt }: { readAt: number | null },
): H[] {
  return holds.filter(
    ({ kind, certifiedAt }) => kind !== 'certified' || (readAt !== null && (certifiedAt ?? Infinity) >= readAt),
  );
}

/** The holds that count against a record: its own, and those that fit no record and may be any record's. */
export function holdsOf<R extends NamedIrm, H extends Pick<Hold, 'irmDt' | 'irmAdCode'>>(
  record: R,
  records: readonly R[],
  holds: readonly H[],
): H[] {
  return holds.filter((hold) => {
    const fits = recordsFor(hold, records);
    return fits.length === 0 || fits.includes(record);
  });
}

type NamedIrm = Pick<HeldIrm, 'issueDate' | 'remittanceDate' | 'irmAdCode'>;

/** {@link recordsOf}, and of several those with the mapping's AD code. After a bank merger none may have it. */
export function recordsFor<T extends NamedIrm>(
  { irmDt, irmAdCode }: { irmDt: string; irmAdCode: string },
  sameNumber: readonly T[],
): T[] {
  const dated = recordsOf(irmDt, sameNumber);
  const ofBank = dated.length > 1 ? dated.filter((irm) => sameText(irm.irmAdCode, irmAdCode)) : dated;
  return ofBank.length > 0 ? ofBank : dated;
}

/** The records of one number that a mapping may name: those with its date as issue date, else as remittance date. */
export function recordsOf<T extends Pick<HeldIrm, 'issueDate' | 'remittanceDate'>>(
  irmDt: string,
  sameNumber: readonly T[],
): T[] {
  const date = comparableDate(irmDt);
  const issued = sameNumber.filter((irm) => irm.issueDate === date);
  return issued.length > 0 ? issued : sameNumber.filter((irm) => irm.remittanceDate === date);
}

/** All records of a number together, or, without one, what rows state. */
function togetherOf(group: readonly MappingRow[], records: readonly HeldIrm[]): Account {
  const [first] = records;
  const [row] = group;
  const irmNumber = row?.mapping.irmNumber ?? '';
  if (!first) {
    const stated = group.map(({ mapping }) => mapping.irmRemitAmtFCC);
    const largest = String(stated.reduce((a, b) => Math.max(a, b), 0));
    return { irmNumber, currency: row?.mapping.irmFCC ?? '', amount: largest, available: largest, readAt: null };
  }
  const total = (parts: readonly (string | null)[]): string | null => {
    const known = parts.filter((part) => part !== null);
    return known.length === parts.length ? sumAmounts(known) : null;
  };
  return {
    irmNumber,
    currency: first.currency,
    amount: total(records.map(({ amount }) => amount)),
    available: total(records.map(({ available }) => available)),
    readAt: Math.min(...records.map(({ readAt }) => readAt)),
  };
}

function named(holds: readonly Hold[]): string {
  const texts = holds.map(({ filingId, state, ...filing }) => `${filingName(filing)} (${state}, ${filingId})`);
  const filings = [...new Set(texts)];
  return `${filings.length > 1 ? 'filings' : 'filing'} ${listed(filings, 5)}`;
}

function atLeastZero(amount: string): string {
  return compareAmounts(amount, 0) < 0 ? '0' : amount;
}
