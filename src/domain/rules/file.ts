/** Rules between the rows of one filing. */
import { errorAt, warningAt, type Finding } from './finding';
import { allowDuplicate } from './duplicates';
import { groupBy } from '../values';
import { MAX_FILING_BYTES, MAX_FILING_ROWS } from '../service/limits';
import { utf8Bytes } from '../text';
import { billKey, comparableDate, comparableText, documentKey, irmIdentity, irmKey } from '../identity';
import {
  type Amount,
  amountText,
  canonicalAmount,
  compareAmounts,
  isAmount,
  isMore,
  isSameAmount,
  sumAmounts,
} from '../money';
import type { Mapping } from '../filing/mapping';
import type { FilingDate } from '../dates';
import { hasValue, type UncheckedRow } from './fields';
import { listed, TOO_MUCH_TEXT } from './value-messages';
import { isUploadType } from './columns';

export interface FileContext {
  /** The filing's upload type; if left out, the rows only have to agree with each other. */
  uploadType?: number;
  /** Rows (by `row`) that may repeat a mapping; they get a warning instead of an error. */
  permitted?: ReadonlySet<number>;
  /** Today in India; without it no date is compared with today. */
  today?: FilingDate;
  /** Of a message only the first errors are listed; those of a workbook are all written into its cells. */
  isMessage?: boolean;
}

/** Checks the number of rows and bytes. @returns the finding, or null */
export function checkSize(unchecked: readonly Pick<UncheckedRow, 'row' | 'mapping' | 'extra'>[]): Finding | null {
  const beyond = unchecked[MAX_FILING_ROWS];
  if (beyond) return tooManyRows(unchecked.length, beyond.row);
  let bytes = 0;
  for (const { mapping, extra } of unchecked) {
    for (const value of [mapping, extra]) bytes += value === undefined ? 0 : utf8Bytes(JSON.stringify(value));
    if (bytes > MAX_FILING_BYTES) return errorAt(null, null, 'too_much_text', TOO_MUCH_TEXT);
  }
  return null;
}

/** @param cutAt the first row beyond those of one filing */
export function tooManyRows(rows: number, cutAt: number): Finding {
  const message = `A filing has at most ${MAX_FILING_ROWS} rows; this one has ${rows}. Cut it at row ${cutAt}: file that row and those after it as another filing.`;
  return errorAt(cutAt, null, 'too_many_rows', message);
}

export function checkFile(unchecked: readonly UncheckedRow[], context: FileContext): Finding[] {
  return [
    ...checkUploadTypes(unchecked, context),
    ...checkSerials(unchecked),
    ...checkDuplicates(unchecked, context),
    ...checkRemittances(unchecked),
    ...checkDocuments(unchecked),
  ];
}

function checkUploadTypes(unchecked: readonly UncheckedRow[], { uploadType }: FileContext): Finding[] {
  const typed = unchecked.filter((row) => isUploadType(row.mapping.uploadType ?? 0) && !row.failed.has('uploadType'));
  const expected = uploadType ?? typed[0]?.mapping.uploadType;
  const reason = uploadType === undefined ? `row ${typed[0]?.row} has ${expected}` : `this filing is ${expected}`;
  return typed
    .filter(({ mapping }) => mapping.uploadType !== expected)
    .map(({ row, mapping }) => {
      const message = `uploadType ${mapping.uploadType} differs: ${reason}. File each upload type on its own.`;
      return errorAt(row, 'uploadType', 'upload_type_differs', message);
    });
}

function checkSerials(unchecked: readonly UncheckedRow[]): Finding[] {
  const first = new Map<number, number>();
  return unchecked.flatMap((row) => {
    const serial = row.mapping.serialNo;
    if (serial === undefined || row.failed.has('serialNo')) return [];
    const holder = first.get(serial);
    if (holder !== undefined) {
      const message = `serialNo ${serial} is used already by row ${holder}. Give every row a number of its own.`;
      return [errorAt(row.row, 'serialNo', 'duplicate_serial', message)];
    }
    first.set(serial, row.row);
    if (serial >= 1 && serial <= MAX_FILING_ROWS) return [];
    const message = `serialNo ${serial} is outside 1 to ${MAX_FILING_ROWS}, the authority's range. Renumber the rows from 1.`;
    return [warningAt(row.row, 'serialNo', 'serial_range', message)];
  });
}

/** IRM and document of a row, as the fingerprint of its mapping has them; undefined while one is missing. */
function mappingKey({ mapping: { irmNumber, sbCumInvoiceNumber } }: UncheckedRow): string | undefined {
  if (!isFilled(irmNumber) || !isFilled(sbCumInvoiceNumber)) return undefined;
  return JSON.stringify([irmKey(irmNumber), documentKey(sbCumInvoiceNumber)]);
}

/** What tells two rows of one mapping apart. */
function tellingKey({ mapping: { billNo, mappedIRMAmountFCC: amount } }: UncheckedRow): string {
  return JSON.stringify([billKey(billNo ?? null), isAmount(amount) ? canonicalAmount(amount) : null]);
}

/** Rows of one mapping stand beside each other where bill number or amount differ; rows that are all equal do not. */
function checkDuplicates(unchecked: readonly UncheckedRow[], { permitted = new Set() }: FileContext): Finding[] {
  const groups = [...groupBy(unchecked, mappingKey).values()].filter((group) => group.length > 1);
  const repeats = groups.flatMap((group) =>
    [...groupBy(group, tellingKey).values()].flatMap(([first, ...others]) => others.map((row) => ({ row, first }))),
  );
  const equal = new Set(repeats.map(({ row }) => row));
  const beside = groups.flatMap(([first, ...others]) =>
    others.flatMap((row) => (equal.has(row) ? [] : { row, first })),
  );
  const rows = repeats.map(({ row }) => row.row);
  return [
    ...beside.map(({ row, first }) => {
      const message = `This row maps the same IRM to the same document as row ${first.row}, with another amount or bill number. Check that both are meant: each gets a certificate.`;
      return warningAt(row.row, null, 'mapping_beside', message);
    }),
    ...repeats.map(({ row, first }) => {
      const message = `This row maps the same IRM to the same document with the same amount and bill number as row ${first.row}, which mints a second certificate.`;
      if (permitted.has(row.row)) return warningAt(row.row, null, 'duplicate_mapping', message);
      const option = allowDuplicate(rows);
      const advice = `Remove one of them, or correct the amount or bill number; where both are meant (equal tranches), give --allow-duplicate ${option}.`;
      return { ...errorAt(row.row, null, 'duplicate_mapping', `${message} ${advice}`), allowDuplicate: option };
    }),
  ];
}

function isFilled(text: unknown): text is string {
  return typeof text === 'string' && hasValue(text);
}

/** A row's IRM with its date: without the held records, another date may mean another IRM. */
function irmAndDate({ mapping: { irmNumber, irmAdCode, irmDt } }: UncheckedRow): string | undefined {
  if (!isFilled(irmNumber) || !isFilled(irmAdCode) || !isFilled(irmDt)) return undefined;
  return `${irmIdentity({ irmNumber, irmAdCode })} ${comparableDate(irmDt)}`;
}

function hasMappedAmount({ mapping }: UncheckedRow): boolean {
  return isAmount(mapping.mappedIRMAmountFCC);
}

/** The sum of the mapped amounts. */
function totalOf(group: readonly UncheckedRow[]): Amount {
  const amounts = group.map((row) => row.mapping.mappedIRMAmountFCC ?? 0);
  return amounts.length === 1 ? (amounts[0] ?? 0) : sumAmounts(amounts);
}

/** The row at which the running sum first exceeds the limit: the one that a person has to check. */
export function rowThatExceeds(
  rows: readonly { row: number; mapping: Partial<Mapping> }[],
  limit: string | number,
): number | null {
  let sum = '0';
  for (const { row, mapping } of rows) {
    sum = sumAmounts([sum, mapping.mappedIRMAmountFCC ?? 0]);
    if (compareAmounts(sum, limit) > 0) return row;
  }
  return rows.at(-1)?.row ?? null;
}

/** Checks mapped amounts per IRM against the remittance that the rows state (spec: bulk-upload, Mapping). */
function checkRemittances(unchecked: readonly UncheckedRow[]): Finding[] {
  return [...groupBy(unchecked, irmAndDate).values()].flatMap((all) => {
    const group = all.filter(hasMappedAmount);
    const stated = all
      .map((row) => row.mapping.irmRemitAmtFCC)
      .filter((amount) => amount !== undefined && isAmount(amount));
    const remittance = stated[0];
    if (remittance === undefined) return [];
    const findings: Finding[] = [];
    const { irmFCC } = all[0].mapping;
    const other = all.find(
      ({ mapping }) => isAmount(mapping.irmRemitAmtFCC) && !isSameAmount(mapping.irmRemitAmtFCC, remittance, irmFCC),
    );
    if (other) {
      const message = `This row gives another remittance amount than row ${all[0].row} for the same IRM. Write the same amount in both.`;
      findings.push(warningAt(other.row, 'irmRemitAmtFCC', 'remittance_differs', message));
    }
    const largest = stated.reduce((a, b) => (compareAmounts(a, b) >= 0 ? a : b));
    const total = totalOf(group);
    if (isMore(total, largest, irmFCC)) {
      const message = `Mapped amounts of this IRM add up to ${amountText(total, irmFCC)} (${group.length === 1 ? 'row' : 'rows'} ${listed(group.map(({ row }) => row))}), more than the remittance of ${amountText(largest, irmFCC)}. Lower them.`;
      findings.push(errorAt(rowThatExceeds(group, largest), 'mappedIRMAmountFCC', 'over_remittance', message));
    }
    return findings;
  });
}

/** Checks what rows of one document should share. These rules are only published, so violations are warnings. */
function checkDocuments(unchecked: readonly UncheckedRow[]): Finding[] {
  const groups = groupBy(
    unchecked.filter(hasMappedAmount),
    ({ mapping: { sbCumInvoiceNumber, sbCumInvoiceDate, portCode } }) =>
      sbCumInvoiceNumber && sbCumInvoiceDate
        ? JSON.stringify([
            comparableText(sbCumInvoiceNumber),
            comparableDate(sbCumInvoiceDate),
            comparableText(portCode ?? ''),
          ])
        : undefined,
  );
  return [...groups.values()].flatMap((group) => [...checkDocumentValue(group), ...checkClubbing(group)]);
}

function checkDocumentValue(group: readonly UncheckedRow[]): Finding[] {
  const { sbCumInvoiceValueinFCC: value, sbCumInvoiceFCC: currency } = group[0]?.mapping ?? {};
  const sameCurrency = group.every(({ mapping }) => mapping.irmFCC === mapping.sbCumInvoiceFCC);
  const total = totalOf(group);
  if (!isAmount(value) || !sameCurrency || !isMore(total, value, currency)) return [];
  const message = `Mapped amounts of this document add up to ${amountText(total, currency)}, more than its value of ${amountText(value, currency)}. Check the amounts.`;
  return [warningAt(rowThatExceeds(group, value), 'mappedIRMAmountFCC', 'over_document_value', message)];
}

const CLUBBED = [
  ['irmFCC', 'currency'],
  ['irmIfscCode', 'bank'],
] as const;

function checkClubbing(group: readonly UncheckedRow[]): Finding[] {
  const [first, ...others] = group;
  if (!first) return [];
  const findings = CLUBBED.flatMap(([field, what]) => {
    const shared = first.mapping[field];
    const other = others.find(
      ({ mapping }) => mapping[field] !== undefined && shared !== undefined && mapping[field] !== shared,
    );
    if (!other) return [];
    const message = `The IRMs of this document differ in their ${what} (row ${first.row}). Remittances for one document usually share it: check both.`;
    return [warningAt(other.row, field, 'clubbed_irms_differ', message)];
  });
  const codes = group.map(({ mapping }) => mapping.irmPurposeCode);
  const purposes = new Set(codes.filter((code) => code && code !== 'P0103'));
  if (purposes.size < 2) return findings;
  const message = `The IRMs of this document have the purposes ${listed([...purposes].map(String))}. Only P0103 may be mixed with another: check them.`;
  return [...findings, warningAt(group.at(-1)?.row ?? null, 'irmPurposeCode', 'clubbed_purposes', message)];
}
