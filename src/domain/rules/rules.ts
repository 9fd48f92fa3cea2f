/** Rules between the fields of one row (spec: "Push message", Rules; domain facts as warnings). */
import { firstErrors, oncePerCell, type Finding, errorAt, warningAt } from './finding';
import type { MappingRow, MappingField } from '../filing/mapping';
import { uncheckedRow, type UncheckedRow, hasValue, checkFields } from './fields';
import { type FileContext, checkFile, checkSize } from './file';
import { DIRECT_EXPORT, SOFTEX } from './columns';
import { checkOptional } from './optional-fields';
import { addDays, compareFilingDates, dayInWords, isFilingDate, type FilingDate } from '../dates';
import { missing, quoted } from './value-messages';

const GST_FIELDS = ['gstinInvoiceNumber', 'gstinInvoiceDate'] as const;
const IT_PURPOSES: ReadonlySet<string> = new Set(['P0802', 'P0803', 'P0807', 'P0103']);
const ADVANCE = 'P0103';

/** In a filing of Direct Export the shipping bill rule holds for every row. */
function checkRow(row: UncheckedRow, { uploadType, today }: FileContext): Finding[] {
  return [
    ...checkGst(row),
    ...checkDocument(row, uploadType),
    ...checkPurpose(row),
    ...checkCurrencies(row),
    ...checkToday(row, today),
    ...checkOptional(row),
  ];
}

const DATES = ['irmDt', 'sbCumInvoiceDate', 'gstinInvoiceDate'] as const;

/** A day that has not come yet is a mistyped month or year. */
function checkToday(row: UncheckedRow, today: FilingDate | undefined): Finding[] {
  if (today === undefined) return [];
  return DATES.flatMap((field) => {
    const date = readable(row, field);
    if (!date || !isBefore(today, date)) return [];
    const message = `${field} ${dayInWords(date)} is after today, ${dayInWords(today)} in India. Check the day, the month and the year.`;
    return [warningAt(row.row, field, 'date_in_future', message)];
  });
}

/** The field's value; undefined if it is missing or was already reported. */
function readable<F extends MappingField>(row: UncheckedRow, field: F): UncheckedRow['mapping'][F] {
  return row.failed.has(field) ? undefined : row.mapping[field];
}

function checkGst(row: UncheckedRow): Finding[] {
  const available = readable(row, 'isGstAvail');
  return GST_FIELDS.filter((field) => !row.failed.has(field)).flatMap((field) => {
    const filled = hasValue(row.mapping[field]);
    if (available === 'Y' && !filled) {
      return [errorAt(row.row, field, 'gst_missing', missing(field, 'it is needed because isGstAvail is Y'))];
    }
    if (available !== 'N' || !filled) return [];
    const message = `${field} must be empty because isGstAvail is N. Clear it, or set isGstAvail to Y.`;
    return [errorAt(row.row, field, 'gst_not_empty', message)];
  });
}

function checkDocument(row: UncheckedRow, filingType: number | undefined): Finding[] {
  if (readable(row, 'uploadType') !== DIRECT_EXPORT && filingType !== DIRECT_EXPORT) return [];
  const findings: Finding[] = [];
  const number = readable(row, 'sbCumInvoiceNumber');
  if (typeof number === 'string' && hasValue(number) && !/^(?!0+$)\d{1,7}$/.test(number)) {
    const message = `sbCumInvoiceNumber ${quoted(number)} is not a shipping bill number: digits only, at most 7, and not 0. Put the shipping bill number here and the exporter's invoice reference in billNo.`;
    findings.push(errorAt(row.row, 'sbCumInvoiceNumber', 'not_a_shipping_bill_number', message));
  }
  const port = readable(row, 'portCode');
  if (typeof port === 'string' && /^.{1,6}$/.test(port) && !/^IN[A-Z]{3}[12456B]$/.test(port)) {
    const message = `portCode ${quoted(port)} is not of the usual form, such as INNSA1 or INBOM4. Compare it with the shipping bill.`;
    findings.push(warningAt(row.row, 'portCode', 'unusual_port', message));
  }
  return findings;
}

function checkPurpose(row: UncheckedRow): Finding[] {
  const purpose = readable(row, 'irmPurposeCode');
  if (!purpose) return [];
  const findings: Finding[] = [];
  if (readable(row, 'uploadType') === SOFTEX && !IT_PURPOSES.has(purpose)) {
    const message = `Purpose ${quoted(purpose)} is unusual for Softex: ${[...IT_PURPOSES].join(', ')} are the published ones. Check it with the bank.`;
    findings.push(warningAt(row.row, 'irmPurposeCode', 'purpose_for_softex', message));
  }
  const documentDate = readable(row, 'sbCumInvoiceDate');
  const remittanceDate = readable(row, 'irmDt');
  if (purpose === ADVANCE && documentDate && remittanceDate && isBefore(documentDate, remittanceDate)) {
    const message = `The document is dated before the remittance, but ${ADVANCE} is an advance. Check the date, or the purpose with the bank.`;
    findings.push(warningAt(row.row, 'sbCumInvoiceDate', 'document_before_advance', message));
  } else if (documentDate && remittanceDate && isFarFrom(documentDate, remittanceDate)) {
    const message = `The document's date ${documentDate} (DDMMYYYY) is more than ten years from the remittance's, ${remittanceDate}. Check the year.`;
    findings.push(warningAt(row.row, 'sbCumInvoiceDate', 'dates_far_apart', message));
  }
  return findings;
}

function checkCurrencies(row: UncheckedRow): Finding[] {
  const irm = readable(row, 'irmFCC');
  const document = readable(row, 'sbCumInvoiceFCC');
  if (!irm || !document || irm.trim() === document.trim()) return [];
  const message = `The document is in ${quoted(document)}, the IRM in ${quoted(irm)}. Check that this is a real cross-currency settlement.`;
  return [warningAt(row.row, 'sbCumInvoiceFCC', 'cross_currency', message)];
}

const TEN_YEARS_DAYS = 3_653;

/** Detects a mistyped year, such as 2062. */
const isFarFrom = (a: string, b: string): boolean =>
  isFilingDate(a) &&
  isFilingDate(b) &&
  (isBefore(a, addDays(b, -TEN_YEARS_DAYS)) || isBefore(addDays(b, TEN_YEARS_DAYS), a));

/** False if one of them is no date, which is reported for its own field. */
function isBefore(a: string, b: string): boolean {
  return isFilingDate(a) && isFilingDate(b) && compareFilingDates(a, b) < 0;
}

/** Applies all rules to a filing's rows; rules from public material only warn. @returns each failing cell once */
export function checkRows(rows: readonly MappingRow[], context: FileContext = {}): Finding[] {
  return checkUncheckedRows(rows.map(uncheckedRow), context);
}

/** {@link checkRows} for rows with unreadable cells, which are not reported again. */
export function checkUncheckedRows(unchecked: readonly UncheckedRow[], context: FileContext = {}): Finding[] {
  // Report only the size then, because the other rules would go through all of the text.
  const tooLarge = checkSize(unchecked);
  if (tooLarge) return [tooLarge];
  const check = (row: UncheckedRow) => [...checkFields(row), ...checkRow(row, context)];
  if (!context.isMessage) return oncePerCell([...unchecked.flatMap(check), ...checkFile(unchecked, context)]);
  const found = firstErrors<Finding>();
  for (const row of unchecked) found.add(oncePerCell(check(row)));
  found.add(checkFile(unchecked, context));
  return oncePerCell(found.all());
}
