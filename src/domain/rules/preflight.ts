import { isFilingDate, isoFromFilingDate } from '../dates';
/** Compares rows with the IRMs that the service listed. */
import { errorAt, warningAt, type Finding } from './finding';
import { recordsFor, recordsOf, type HeldIrm, type RowsOfIrm } from '../exporter/balance-sums';
import { groupBy } from '../values';
import { comparableDate, comparableText, irmKey, sameText } from '../identity';
import type { MappingRow } from '../filing/mapping';
import { amountText, formatAmount, isSameAmount } from '../money';
import { listed, quoted } from './value-messages';

/**
 * Compares rows with the IRM records that they name. A missing IRM and a number that is spelled unlike the record's are
 * errors; all else is the authority's to decide, and warns.
 */
export function compareIrms(rows: readonly MappingRow[], irms: readonly HeldIrm[]): Finding[] {
  const recordsByIrm = groupBy(irms, ({ irmNumber }) => irmKey(irmNumber));
  const findings = [...groupBy(rows, ({ mapping }) => irmKey(mapping.irmNumber))].flatMap(([irm, group]) =>
    compareIrm(group, recordsByIrm.get(irm) ?? [], irms),
  );
  // Drop repeats: if several records fit a row, each gives the same finding.
  return [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()];
}

function compareIrm(group: RowsOfIrm, records: readonly HeldIrm[], all: readonly HeldIrm[]): Finding[] {
  const findings = group.flatMap((row) => [...spelling(row, records), ...missingIrm(row, records)]);
  const listedOnes = records.filter(({ missing }) => !missing);
  const fitting = new Map(group.map((row) => [row, recordsFor(row.mapping, listedOnes)]));
  for (const record of listedOnes) {
    const [first, ...others] = group.filter((row) => fitting.get(row)?.includes(record));
    if (first) findings.push(...checkRecord([first, ...others], record));
  }
  const byName = groupBy(
    group,
    ({ mapping }) => `${comparableDate(mapping.irmDt)} ${comparableText(mapping.irmAdCode)}`,
  );
  for (const [row, ...others] of byName.values()) {
    const fits = fitting.get(row) ?? [];
    if (fits.length === 0 && missingIrm(row, records).length === 0) findings.push(unknownIrm(row, all));
    if (fits.length > 1) findings.push(ambiguousIrm([row, ...others], fits));
  }
  return findings;
}

/** Numbers that differ in zeros, case or blanks are one IRM here, but perhaps not for the authority. */
function spelling({ row, mapping: { irmNumber } }: MappingRow, records: readonly HeldIrm[]): Finding[] {
  const [held] = records;
  if (!held || records.some((record) => record.irmNumber === irmNumber)) return [];
  const message = `The IRM is held as ${quoted(held.irmNumber)}, this row says ${quoted(irmNumber)}. Write ${held.irmNumber}.`;
  return [errorAt(row, 'irmNumber', 'irm_number_spelling', message)];
}

/** An IRM that left the complete list was taken back, or amended under another number. */
function missingIrm({ row, mapping: { irmNumber, irmDt } }: MappingRow, records: readonly HeldIrm[]): Finding[] {
  const named = recordsOf(irmDt, records);
  const meant = named.length > 0 ? named : records;
  if (meant.length === 0 || meant.some(({ missing }) => !missing)) return [];
  const message = `The service does not list IRM ${irmNumber} any more. Ask the bank whether it was taken back; refresh the IRMs once it is listed again.`;
  return [errorAt(row, 'irmNumber', 'irm_missing', message)];
}

function unknownIrm({ row, mapping }: MappingRow, irms: readonly HeldIrm[]): Finding {
  const others = irms
    .filter((irm) => sameText(irm.irmNumber, mapping.irmNumber))
    .map((irm) => `AD code ${irm.irmAdCode}, dated ${datesOf(irm)}`);
  const hint =
    others.length > 0
      ? `That number is held with ${listed(others, 3)}: compare them`
      : 'Refresh the IRMs, or compare the number and date with the bank advice';
  const message = `No IRM ${mapping.irmNumber} with this date is held for the exporter. ${hint}.`;
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
  // Report the IRM's status and an unknown balance once, and copied values for each row that has them wrong.
  return [...statusFindings(group[0], irm), ...group.flatMap((row) => differences(row, irm))];
}

/** A status that reads as cancelled, for SQL too, in any case: `c`, or a word beginning with `cancel` (unspecified). */
export const CANCELLED_STATUS = '^\\s*c(ancel|\\s*$)';

export const isCancelled = ({ status }: Pick<HeldIrm, 'status'>): boolean =>
  new RegExp(CANCELLED_STATUS, 'i').test(status ?? '');

function statusFindings({ row }: MappingRow, irm: HeldIrm): Finding[] {
  const findings: Finding[] = [];
  if (isCancelled(irm)) {
    const message = `IRM ${irm.irmNumber} has the status ${irm.status}, which reads as cancelled. Ask the bank before filing.`;
    findings.push(warningAt(row, 'irmNumber', 'irm_cancelled', message));
  }
  if (irm.available === null) {
    const message = `The service does not say how much of IRM ${irm.irmNumber} is available: its balance cannot be checked. Compare it with the bank advice.`;
    findings.push(warningAt(row, 'mappedIRMAmountFCC', 'irm_amount_unknown', message));
  }
  return findings;
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
