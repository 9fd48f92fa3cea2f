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
import { namesIrm, type SavedIrm } from '../authority/world';

const MAX_ROWS = 999;

/** A cell that was read: its value in the form of the JSON message, or why it has none. */
type Reading = { value: string | null } | { error: string };

/** The values of a row by JSON field name; a cell that was not read has none. */
type Values = Map<string, string | null>;

interface ReadRow {
  row: number;
  values: Values;
}

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
  errors.push(...checkSums(read, held));
  errors.sort((a, b) => a.row - b.row);
  return { items: errors.length > 0 ? [] : read.map(({ values }) => toItem(values)), errors };
}

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

function readCell({ field, kind, mandatory }: BulkColumn, { text, isDate }: CellContent): Reading {
  if (text === '') return mandatory ? { error: `Required field ${field} is missing` } : { value: null };
  switch (kind) {
    case 'date': {
      const date = readWorkbookDate(text);
      return date === null ? { error: invalidDate(field, text) } : { value: date };
    }
    case 'yesNo':
      return /^[yn]$/i.test(text)
        ? { value: text.toUpperCase() }
        : { error: `Invalid yesno value "${text}" for ${field}. Expected Y or N` };
    case 'whole':
    case 'amount': {
      const form = kind === 'whole' ? /^\d+$/ : /^\d+(\.\d+)?$/;
      const isNumber = !isDate && form.test(text);
      return isNumber ? { value: text } : { error: `Invalid number value "${text}" for ${field}. Expected digits` };
    }
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

/** Mapped amounts are summed per IRM; the row at which a sum first passes its limit is reported. */
function checkSums(rows: readonly ReadRow[], held: readonly SavedIrm[]): CellError[] {
  const byIrm = new Map<string, { rows: ReadRow[]; irm: SavedIrm | undefined }>();
  for (const each of rows) {
    const [irmNumber, irmAdCode, irmDt] = ['irmNumber', 'irmAdCode', 'irmDt'].map((field) => each.values.get(field));
    if (!irmNumber || !irmAdCode || !irmDt) continue;
    const irm = held.find(({ record }) => namesIrm({ irmNumber, irmAdCode, irmDt }, record));
    const key = irm?.id ?? [irmNumber, irmAdCode, irmDt].join('|');
    const known = byIrm.get(key) ?? { rows: [], irm };
    known.rows.push(each);
    byIrm.set(key, known);
  }
  return [...byIrm.values()].flatMap((group) => firstBeyondLimit(group.rows, group.irm) ?? []);
}

function firstBeyondLimit(rows: readonly ReadRow[], irm: SavedIrm | undefined): CellError | undefined {
  const remittances = rows.flatMap(({ values }) => values.get('irmRemitAmtFCC') ?? []);
  if (remittances.length === 0) return undefined;
  const remittance = Decimal.max(...remittances);
  const limit = Decimal.min(remittance, irm?.record.available ?? remittance);
  let sum = new Decimal(0);
  const beyond = rows.find(({ values }) => {
    sum = sum.plus(values.get('mappedIRMAmountFCC') ?? 0);
    return sum.greaterThan(limit) && values.has('mappedIRMAmountFCC');
  });
  if (!beyond) return undefined;
  const what = limit.lessThan(remittance) ? 'amount still available' : 'remittance amount';
  const irmNumber = beyond.values.get('irmNumber');
  const message = `Mapped amounts of IRM ${irmNumber} add up to more than the ${what} ${limit.toFixed(2)}`;
  return { row: beyond.row, field: 'mappedIRMAmountFCC', message };
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
