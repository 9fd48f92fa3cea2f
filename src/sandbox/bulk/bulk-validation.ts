import { Decimal } from 'decimal.js';
import { readWorkbookDate } from '../authority/calendar';
import { BULK_COLUMNS, type BulkColumn, type CellContent, type SheetRow } from './bulk-sheet';
import type { CellError } from '../http/problem';
import {
  DIRECT_EXPORT,
  NOT_A_SHIPPING_BILL,
  UPLOAD_TYPES,
  isShippingBillNumber,
  itemOf,
  type PushItem,
} from '../endpoints/push-message';
import type { SavedIrm } from '../authority/world';

const MAX_ROWS = 999;

/** A cell that was read: its value in the form of the JSON message, or why it has none. */
type Reading = { value: string | null } | { error: string };

/**
 * Validates a bulk workbook (spec: "Validation rules"), which passes in full or not at all.
 * @param uploadType 101 has the shipping bill rule
 * @param held saved IRMs, which mapped sums are checked against
 */
export function validateBulk(
  rows: readonly SheetRow[],
  uploadType: string,
  held: readonly SavedIrm[],
): { items: PushItem[]; errors: CellError[] } {
  if (rows.length > MAX_ROWS) {
    const message = `The file has ${rows.length} data rows; at most ${MAX_ROWS} are allowed`;
    return { items: [], errors: [{ row: rows[MAX_ROWS]?.row ?? 0, field: 'file', message }] };
  }
  if (rows.length === 0) {
    return { items: [], errors: [{ row: 2, field: 'file', message: 'The file has no data rows' }] };
  }
  const errors: CellError[] = [];
  const read = rows.map((row) => ({ row: row.row, values: readRow(row, uploadType, errors) }));
  errors.push(...checkSums(read, held, errors));
  errors.sort((a, b) => a.row - b.row);
  return { items: errors.length > 0 ? [] : read.map(({ values }) => toItem(values)), errors };
}

type Values = Map<string, string | null>;

function readRow({ row, cells }: SheetRow, uploadType: string, errors: CellError[]): Values {
  const values: Values = new Map();
  for (const column of BULK_COLUMNS) {
    const reading = readCell(column, cells.get(column.field) ?? { text: '', isDate: false });
    const checked = 'error' in reading ? reading : checkRules(column.field, reading.value, values, uploadType);
    if ('error' in checked) errors.push({ row, field: column.field, message: checked.error });
    else values.set(column.field, checked.value);
  }
  return values;
}

function readCell(column: BulkColumn, { text, isDate }: CellContent): Reading {
  const { field, kind } = column;
  if (text === '') return column.mandatory ? { error: `Required field ${field} is missing` } : { value: null };
  switch (kind) {
    case 'date': {
      const date = isDate ? text : readWorkbookDate(text);
      return date === null ? { error: invalidDate(field, text) } : { value: date };
    }
    case 'yesNo':
      return /^[yn]$/i.test(text)
        ? { value: text.toUpperCase() }
        : { error: `Invalid yesno value "${text}" for ${field}. Expected Y or N` };
    case 'whole':
      return !isDate && /^\d+$/.test(text) ? { value: text } : { error: invalidNumber(field, text) };
    case 'amount':
      return !isDate && /^\d+(\.\d+)?$/.test(text) ? { value: text } : { error: invalidNumber(field, text) };
    default:
      return { value: text };
  }
}

/** Rules that look at other columns of the row; those stand to the left in the template and were read before. */
function checkRules(field: string, value: string | null, row: Values, uploadType: string): Reading {
  if (field === 'uploadType' && !UPLOAD_TYPES.some((code) => Number(code) === Number(value))) {
    return { error: `Invalid uploadType value "${value}". Expected ${UPLOAD_TYPES.join(', ')}` };
  }
  if (field === 'sbCumInvoiceNumber') {
    const direct = uploadType === DIRECT_EXPORT || Number(row.get('uploadType')) === Number(DIRECT_EXPORT);
    if (direct && value !== null && !isShippingBillNumber(value)) return { error: NOT_A_SHIPPING_BILL };
  }
  if (field === 'gstinInvoiceNumber' || field === 'gstinInvoiceDate') {
    const available = row.get('isGstAvail');
    if (available === 'Y' && value === null) return { error: `Required field ${field} is missing` };
    if (available === 'N' && value !== null) return { error: `${field} must be empty when isGstAvail is N` };
  }
  return { value };
}

/** Mapped amounts are summed per IRM; the row at which the sum first passes a limit is reported, once for each. */
function checkSums(
  rows: readonly { row: number; values: Values }[],
  held: readonly SavedIrm[],
  errors: readonly CellError[],
): CellError[] {
  const failed = new Set(errors.map(({ row, field }) => `${row} ${field}`));
  const sums = limitsOf(rows, held);
  const found: CellError[] = [];
  for (const { row, values } of rows) {
    const sum = sums.get(keyOf(values) ?? '');
    const mapped = values.get('mappedIRMAmountFCC');
    if (!sum || mapped === undefined || mapped === null) continue;
    sum.mapped = sum.mapped.plus(mapped);
    const limit = Decimal.min(sum.remittance, sum.available ?? sum.remittance);
    if (sum.reported || sum.mapped.lessThanOrEqualTo(limit) || failed.has(`${row} mappedIRMAmountFCC`)) continue;
    sum.reported = true;
    const what = limit.lessThan(sum.remittance) ? 'amount still available' : 'remittance amount';
    found.push({
      row,
      field: 'mappedIRMAmountFCC',
      message: `Mapped amounts of IRM ${values.get('irmNumber')} add up to more than the ${what} ${limit.toFixed(2)}`,
    });
  }
  return found;
}

/** Each IRM of the file with its remittance and its held balance, of which nothing is mapped yet. */
function limitsOf(rows: readonly { values: Values }[], held: readonly SavedIrm[]) {
  const sums = new Map<
    string,
    { mapped: Decimal; remittance: Decimal; available: Decimal | null; reported: boolean }
  >();
  for (const { values } of rows) {
    const key = keyOf(values);
    const remittance = values.get('irmRemitAmtFCC');
    if (key === null || remittance === undefined || remittance === null) continue;
    const sum = sums.get(key) ?? {
      mapped: new Decimal(0),
      remittance: new Decimal(0),
      available: null,
      reported: false,
    };
    sum.remittance = Decimal.max(sum.remittance, remittance);
    sum.available ??= heldAvailable(values, held);
    sums.set(key, sum);
  }
  return sums;
}

/** An IRM number recurs under a different AD code or date; the branch is no part of it (spec: "Saved IRM record"). */
function keyOf(values: Values): string | null {
  const parts = ['irmNumber', 'irmAdCode', 'irmDt'].map((field) => values.get(field));
  return parts.every((part) => typeof part === 'string') ? parts.join('|') : null;
}

function heldAvailable(values: Values, held: readonly SavedIrm[]): Decimal | null {
  const irm = held.find(
    ({ record }) =>
      record.irmNumber === values.get('irmNumber') &&
      record.remittanceAdCode === values.get('irmAdCode') &&
      [record.irmIssueDate, record.remittanceDate].includes(values.get('irmDt') ?? ''),
  );
  return irm ? new Decimal(irm.record.available) : null;
}

/** A valid row as a push item; optional columns that a push item lacks are dropped. */
function toItem(values: Values): PushItem {
  return itemOf((field, kind) => {
    const text = values.get(field);
    return kind === 'whole' || kind === 'amount' ? Number(text) : text;
  });
}

function invalidDate(field: string, text: string): string {
  return (
    `Invalid date value "${text}" for ${field}. Expected a date as DD/MM/YYYY, DD-MM-YYYY, DDMMYYYY, YYYY-MM-DD, ` +
    'or a real Excel date cell'
  );
}

function invalidNumber(field: string, text: string): string {
  return `Invalid number value "${text}" for ${field}. Expected digits`;
}
