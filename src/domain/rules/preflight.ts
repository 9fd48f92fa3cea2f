import { isFilingDate, isoFromFilingDate } from '../dates';
import { warningAt, type Finding } from './finding';
import { checkSums, type Account, type Hold, recordsOf, type HeldIrm, type RowsOfIrm } from '../exporter/balance-sums';
import { groupBy } from '../values';
import { comparableDate, irmIdentity, sameText } from '../identity';
import type { MappingRow } from '../filing/mapping';
import { amountText, compareAmounts, formatAmount, isSameAmount, sumAmounts } from '../money';
import { listed } from './value-messages';

/**
 * Checks mapped amounts against the held IRM records: the remittance, and the balance less our live filings. If several
 * records fit a row, each must cover the amount; if none fits, all with its number and AD code count together.
 */
export function checkBalances(
  rows: readonly MappingRow[],
  irms: readonly HeldIrm[],
  holds: readonly Hold[],
): Finding[] {
  const recordsByIrm = groupBy(irms, irmIdentity);
  const holdsByIrm = groupBy(holds, (hold) => hold.irmKey);
  const findings = [...groupBy(rows, ({ mapping }) => irmIdentity(mapping))].flatMap(([irm, group]) =>
    checkIrm(group, recordsByIrm.get(irm) ?? [], holdsByIrm.get(irm) ?? [], irms),
  );
  // Drop repeats: if several records fit a row, each gives the same finding.
  return [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()];
}

function checkIrm(group: RowsOfIrm, records: readonly HeldIrm[], holds: readonly Hold[], all: readonly HeldIrm[]) {
  const findings: Finding[] = [];
  const fitting = new Map(group.map((row) => [row, recordsOf(row.mapping.irmDt, records)]));
  for (const record of records) {
    const [first, ...others] = group.filter((row) => fitting.get(row)?.includes(record));
    if (!first) continue;
    const mine: RowsOfIrm = [first, ...others];
    findings.push(...checkRecord(mine, record), ...checkSums(mine, record, holdsOf(record, records, holds)));
  }
  for (const [row, ...others] of groupBy(group, ({ mapping }) => comparableDate(mapping.irmDt)).values()) {
    const fits = fitting.get(row) ?? [];
    if (fits.length === 0) findings.push(unknownIrm(row, all));
    if (fits.length > 1) findings.push(ambiguousIrm([row, ...others], fits));
  }
  if ([...fitting.values()].some((fits) => fits.length === 0)) {
    findings.push(...checkSums(group, togetherOf(group, records), holds));
  }
  return findings;
}

/** The holds that count against a record: its own, and those that fit no held record and may be any record's. */
export function holdsOf<R extends HeldIrm, H extends Pick<Hold, 'irmDt'>>(
  record: R,
  records: readonly R[],
  holds: readonly H[],
): H[] {
  return holds.filter((hold) => {
    const fits = recordsOf(hold.irmDt, records);
    return fits.length === 0 || fits.includes(record);
  });
}

/** The account of rows that fit no held record: all records of number and AD code together, or what rows state. */
function togetherOf(group: RowsOfIrm, records: readonly HeldIrm[]): Account {
  const { irmNumber, irmFCC: currency } = group[0].mapping;
  const [first] = records;
  if (!first) {
    const stated = group.map(({ mapping }) => mapping.irmRemitAmtFCC);
    const largest = stated.reduce((a, b) => (compareAmounts(a, b) >= 0 ? a : b));
    return { irmNumber, currency, amount: String(largest), available: String(largest), readAt: null };
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

function unknownIrm({ row, mapping }: MappingRow, irms: readonly HeldIrm[]): Finding {
  const others = irms
    .filter((irm) => sameText(irm.irmNumber, mapping.irmNumber))
    .map((irm) => `AD code ${irm.irmAdCode}, dated ${datesOf(irm)}`);
  const hint =
    others.length > 0
      ? `That number is held with ${listed(others, 3)}: compare them`
      : 'Refresh the IRMs, or compare the number, AD code and date with the bank advice';
  const message = `No IRM ${mapping.irmNumber} with this AD code and date is held for the exporter. ${hint}.`;
  return warningAt(row, 'irmNumber', 'irm_unknown', message);
}

function ambiguousIrm([{ mapping, row }, ...others]: RowsOfIrm, fits: readonly HeldIrm[]): Finding {
  const records = fits.map((irm) => `IFSC ${irm.irmIfscCode}, dated ${datesOf(irm)}`);
  const rows = others.length > 0 ? ` (rows ${listed([row, ...others.map((other) => other.row)])})` : '';
  const message = `IRM ${mapping.irmNumber} may be any of ${fits.length} held records (${listed(records, 3)})${rows}: the amount is held from each of them. Compare them with the bank advice.`;
  return warningAt(row, 'irmNumber', 'irm_ambiguous', message);
}

function datesOf({ issueDate, remittanceDate }: HeldIrm): string {
  const days = [issueDate, remittanceDate].map((date) => (isFilingDate(date) ? isoFromFilingDate(date) : 'unknown'));
  return [...new Set(days)].join(' and ');
}

function checkRecord(group: RowsOfIrm, irm: HeldIrm): Finding[] {
  // Report the IRM's status once, and copied values for each row that has them wrong.
  return [...statusFindings(group[0], irm), ...group.flatMap((row) => differences(row, irm))];
}

/** A status that reads as cancelled, for SQL too, in any case: `c`, or a word beginning with `cancel` (unspecified). */
export const CANCELLED_STATUS = '^\\s*c(ancel|\\s*$)';

export const isCancelled = ({ status }: Pick<HeldIrm, 'status'>): boolean =>
  new RegExp(CANCELLED_STATUS, 'i').test(status ?? '');

function statusFindings({ row }: MappingRow, irm: HeldIrm): Finding[] {
  if (!isCancelled(irm)) return [];
  const message = `IRM ${irm.irmNumber} has the status ${irm.status}, which reads as cancelled. Ask the bank before filing.`;
  return [warningAt(row, 'irmNumber', 'irm_cancelled', message)];
}

/** Values that a row copies from its IRM: field, property of the record, finding code, and the message's words. */
const COPIED = [
  ['irmAdCode', 'irmAdCode', 'irm_ad_code_differs', 'has the AD code', 'AD code'],
  ['irmIfscCode', 'irmIfscCode', 'irm_ifsc_differs', 'has the IFSC', 'IFSC'],
  ['irmFCC', 'currency', 'irm_currency_differs', 'is in', 'currency'],
  ['irmPurposeCode', 'purpose', 'irm_purpose_differs', 'has the purpose', 'purpose'],
] as const;

/** Compares a copied value. AD codes are compared exactly, because a missing leading zero is sent as written. */
const sameCopy = (field: (typeof COPIED)[number][0], held: string, copy: string): boolean =>
  field === 'irmAdCode' ? held.trim() === copy.trim() : sameText(held, copy);

/** Warnings where a row's copy of the IRM differs from the held record. */
function differences({ row, mapping }: MappingRow, irm: HeldIrm): Finding[] {
  const findings = COPIED.filter(
    ([field, held]) => irm[held] !== '' && !sameCopy(field, irm[held], mapping[field]),
  ).map(([field, held, code, has, what]) => {
    const message = `The held IRM ${has} ${irm[held]}, this row says ${mapping[field]}. Write the IRM's ${what}.`;
    return warningAt(row, field, code, message);
  });
  // Public sources disagree whether this is the whole remittance or its remaining balance, so both pass.
  const shown = (amount: string | null) => amountText(amount) ?? 'unknown amount';
  const known = [irm.amount, irm.available].filter((amount) => amount !== null);
  if (known.length > 0 && known.every((amount) => !isSameAmount(amount, mapping.irmRemitAmtFCC, irm.currency))) {
    const message = `irmRemitAmtFCC ${formatAmount(mapping.irmRemitAmtFCC)} is neither the held remittance of ${shown(irm.amount)} nor its balance of ${shown(irm.available)}. Write one of them.`;
    findings.push(warningAt(row, 'irmRemitAmtFCC', 'irm_amount_differs', message));
  }
  return findings;
}
