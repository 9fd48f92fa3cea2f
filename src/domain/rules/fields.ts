/** Rules about one value at a time (spec: "Push message", item fields). */
import { mixesAlphabets, valueReadsAsFormula, withoutHidden } from '../text';
import { isFilingDate } from '../dates';
import { errorAt, warningsAt, type Finding } from './finding';
import { FIELD_NAMES, MAPPING_FIELDS, NULLABLE_FIELDS } from '../filing/mapping';
import type { MappingField, ExtraValues, Mapping, MappingRow } from '../filing/mapping';
import { isPlainNumber } from '../identity';
import { decimalsOf, fitsCurrency, isFilable, roundedDown } from '../money';
import {
  UNWRITABLE,
  controlCharacter,
  invalidDate,
  invalidNumber,
  invalidText,
  invalidYesNo,
  missing,
  quoted,
} from './value-messages';
import { DIRECT_EXPORT, UPLOAD_TYPES, isUploadType } from './columns';

/** Forms from the authority's annexure. Only second-hand copies are public, so a mismatch is only a warning. */
const FORMS: Partial<Record<MappingField, { fits: RegExp; say: string }>> = {
  irmIfscCode: {
    fits: /^[A-Z]{4}0[A-Z0-9]{6}$/,
    say: 'An IFSC has 11 characters: four letters, a zero, six letters or digits',
  },
  irmAdCode: {
    fits: /^\d{7}$/,
    say: 'The AD code of an IRM has 7 digits; where the bank quotes 14, use the form of the IRM record, and keep leading zeros',
  },
  irmNumber: onOneLine(50, 'An IRM number has at most 50 characters'),
  irmFCC: { fits: /^[A-Z]{3}$/, say: 'A currency code has three capital letters, such as USD' },
  sbCumInvoiceFCC: { fits: /^[A-Z]{3}$/, say: 'A currency code has three capital letters, such as USD' },
  irmPurposeCode: { fits: /^P\d{4}$/, say: 'A purpose code is a P and four digits, such as P0102' },
  sbCumInvoiceNumber: onOneLine(20, 'The authority takes document numbers of at most 20 characters'),
  billNo: onOneLine(20, 'The authority takes bill numbers of at most 20 characters'),
  portCode: onOneLine(6, 'A port code has at most 6 characters'),
  gstinInvoiceNumber: {
    fits: /^[A-Za-z0-9][A-Za-z0-9/-]{0,15}$/,
    say: 'A GST invoice number has at most 16 letters, digits, - or /',
  },
};

/** A text of at most `length` visible characters, because a line break inside a number is a mistake. */
function onOneLine(length: number, say: string): { fits: RegExp; say: string } {
  const fits = new RegExp(`^[^\\p{Cc}\\p{Cf}]{1,${length}}$`, 'u');
  return { fits, say: `${say}, without line breaks, tabs or invisible characters` };
}

/** A long number as a spreadsheet shows and exports it in a narrow column. */
const SHORTENED = /^\d(?:[.,]\d+)?E\+\d{1,3}$/i;

/** What a formula without a result, or a column that is too narrow, leaves in a text. */
const ERROR_VALUE = /^#(?:N\/A|REF!|VALUE!|NAME\?|DIV\/0!|NUM!|NULL!|SPILL!|CALC!|#+)$/i;
/** What programs add to a value: the mark of a text, and the decimal of a whole number. */
const ADDED = /^'|^\d+\.0$/;

/** Purpose codes that the authority's published rules exclude from certificates. */
const EXCLUDED_PURPOSES: ReadonlySet<string> = new Set(['P0101', 'P0108']);

/** Checks presence, type and form of every field of a row. */
export function checkFields(row: UncheckedRow): Finding[] {
  return FIELD_NAMES.filter((field) => !row.failed.has(field)).flatMap((field) => {
    const value = row.mapping[field];
    if (hasValue(value)) return checkValue(row, field, value);
    return NULLABLE_FIELDS.has(field) ? [] : [errorAt(row.row, field, 'missing', missing(field, hintOf(field, row)))];
  });
}

/** A hint for a missing port code: the spec requires one in every row, but explains it only for shipping bills. */
function hintOf(field: MappingField, { mapping: { uploadType } }: UncheckedRow): string {
  if (field !== 'portCode' || !uploadType || uploadType === DIRECT_EXPORT || !isUploadType(uploadType)) return '';
  return `${UPLOAD_TYPES[uploadType]} (${uploadType}) needs one too, and the specification does not say which. Write that of your earlier filings of this type, or ask the service`;
}

function checkValue({ row, mapping }: UncheckedRow, field: MappingField, value: unknown): Finding[] {
  switch (MAPPING_FIELDS[field]) {
    case 'integer':
      return checkInteger(row, field, value);
    case 'amount':
      return checkAmount(row, field, value, mapping[field === 'sbCumInvoiceValueinFCC' ? 'sbCumInvoiceFCC' : 'irmFCC']);
    case 'date':
      return isFilingDate(value) ? [] : [errorAt(row, field, 'invalid_date', invalidDate(field, value))];
    case 'yesNo':
      return value === 'Y' || value === 'N' ? [] : [errorAt(row, field, 'invalid_yes_no', invalidYesNo(field, value))];
    case 'text':
      return checkText(row, field, value);
  }
}

/** The ledger stores integers with 32 bits. */
const LARGEST_INTEGER = 999_999_999;

function checkInteger(row: number, field: MappingField, value: unknown): Finding[] {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > LARGEST_INTEGER) {
    const message = invalidNumber(field, value, 'Write a whole number of at most nine digits.');
    return [errorAt(row, field, 'invalid_number', message)];
  }
  if (field === 'uploadType' && !isUploadType(value)) {
    const known = Object.entries(UPLOAD_TYPES).map(([code, name]) => `${code} (${name})`);
    const message = `Upload type ${value} does not exist. Use ${known.join(', ')}.`;
    return [errorAt(row, field, 'unknown_upload_type', message)];
  }
  return [];
}

export function checkAmount(row: number, field: string, value: unknown, currency?: string): Finding[] {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
    const message = invalidNumber(field, value, 'Write an amount that is not negative.');
    return [errorAt(row, field, 'invalid_number', message)];
  }
  if (typeof currency === 'string' && !fitsCurrency(value, currency)) {
    const decimals = decimalsOf(currency);
    const message =
      decimals === 0
        ? `${field} ${value} has decimals, and ${currency.trim().toUpperCase()} has none. Write a whole number, as the bank did.`
        : `${field} ${value} has more than the ${decimals} decimals of ${quoted(currency)}. Round it as the bank did.`;
    return [errorAt(row, field, 'too_many_decimals', message)];
  }
  const isExact = isFilable(value, currency);
  return warningsAt(row, field, {
    amount_decimals: !isExact && `${field} ${value} has ${decimalsAdvice(value, currency)}`,
    amount_digits:
      isExact && value >= 1e14 && `${field} ${value} has more than 14 digits before the point. Check the amount.`,
    amount_zero: value === 0 && `${field} is 0. Check the amount, or remove the row.`,
  });
}

function decimalsAdvice(value: number, currency = ''): string {
  const code = currency.trim().toUpperCase();
  if (decimalsOf(code) === 2) return 'more than two decimals. Round it as the bank did.';
  return `more than two decimals. Banks give ${code} three, the authority takes two: write ${roundedDown(value, code)}, rounded down, because more than the remittance is refused.`;
}

/** The annexure's longest text has 50 characters; numbers in comparable form are keys of the ledger. */
const LONGEST_TEXT = 250;

function checkText(row: number, field: MappingField, value: unknown): Finding[] {
  if (typeof value !== 'string') {
    return [errorAt(row, field, 'invalid_text', invalidText(field, value, 'Write it as text, in quotes.'))];
  }
  if (UNWRITABLE.test(value) || withoutHidden(value) !== value)
    return [errorAt(row, field, 'control_character', controlCharacter(field, value))];
  if (value.length > LONGEST_TEXT) {
    const message = `${field} has ${value.length} characters. No field takes more than ${LONGEST_TEXT}.`;
    return [errorAt(row, field, 'text_too_long', message)];
  }
  if (SHORTENED.test(value.trim())) {
    const hint =
      'A spreadsheet shortened this number, and its last digits are lost. Format the cell as text and type the value again.';
    return [errorAt(row, field, 'lost_digits', invalidText(field, value, hint))];
  }
  if (ERROR_VALUE.test(value.trim())) {
    const hint = 'A spreadsheet shows this where it has no value to show. Write the value.';
    return [errorAt(row, field, 'error_value', invalidText(field, value, hint))];
  }
  if (field === 'sbCumInvoiceNumber' && !isPlainNumber(value)) {
    const message = `sbCumInvoiceNumber ${quoted(value)} has characters that are no letters A to Z, digits or signs of a plain keyboard, although they may look like them. Type it again.`;
    return [errorAt(row, field, 'document_characters', message)];
  }
  const form = FORMS[field];
  const named = `${field} ${quoted(value)}`;
  return warningsAt(row, field, {
    surrounding_blanks: value !== value.trim() && `${named} has blanks around it. Remove them.`,
    formula_text:
      valueReadsAsFormula(value) && `${named} reads as a formula in a spreadsheet. Check that it is the real value.`,
    added_characters:
      ADDED.test(value.trim()) &&
      `${named} has an apostrophe before it, or .0 behind it, as a program adds. Remove that.`,
    unusual_form:
      form !== undefined &&
      (!form.fits.test(value.trim())
        ? `${named} looks wrong. ${form.say}.`
        : mixesAlphabets(value) && `${named} mixes letters of two alphabets that look alike. Type it again.`),
    purpose_excluded:
      field === 'irmPurposeCode' &&
      EXCLUDED_PURPOSES.has(value) &&
      `Purpose ${value} is not certified by the authority's published rules. Ask the bank to correct the IRM's purpose.`,
  });
}

/** A row during its check; unreadable cells do not stop the check of the others. */
export interface UncheckedRow {
  /** Excel row of a workbook, `serialNo` (or position) of an item of a JSON message. */
  row: number;
  mapping: Partial<Mapping>;
  /** Fields that already have a finding; they get no second one. */
  failed: ReadonlySet<string>;
  extra?: ExtraValues;
}

export function uncheckedRow(row: MappingRow): UncheckedRow {
  return { ...row, failed: new Set() };
}

/** The mapping row if no field failed or is missing; otherwise undefined. */
export function completeRow({ row, mapping, failed, extra }: UncheckedRow): MappingRow | undefined {
  if (failed.size > 0 || !isWhole(mapping)) return undefined;
  return { row, mapping, ...(extra ? { extra } : {}) };
}

/** An empty mapping, with null in the fields that may stay empty. */
export function emptyMapping(): Record<string, unknown> {
  return Object.fromEntries([...NULLABLE_FIELDS].map((field) => [field, null]));
}

function isWhole(mapping: Partial<Mapping>): mapping is Mapping {
  return FIELD_NAMES.every((field) =>
    NULLABLE_FIELDS.has(field) ? mapping[field] !== undefined : hasValue(mapping[field]),
  );
}

/** Whether a cell or property has a value; blank text has none. */
export function hasValue(value: unknown): boolean {
  return value !== undefined && value !== null && !(typeof value === 'string' && value.trim() === '');
}
