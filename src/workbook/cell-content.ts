import type { Cell } from 'exceljs';
import { ValueType } from 'exceljs';
import type { FilingDate } from '../domain/dates';
import { filingDateFromIso } from '../domain/dates';

/** What a cell holds, as a person sees it; the program that wrote it no longer matters here. */
export type CellContent =
  | { kind: 'blank' }
  | { kind: 'text'; text: string }
  /** `zeros` is the width of a format such as `0000000`, which shows leading zeros that the number lacks. */
  | { kind: 'number'; value: number; zeros: number }
  | { kind: 'date'; date: FilingDate }
  | { kind: 'boolean'; shown: 'TRUE' | 'FALSE' }
  /** Nothing usable: `shown` is what the cell shows, `hint` says what to do. */
  | { kind: 'unusable'; shown: string; hint: string };

const BLANK: CellContent = { kind: 'blank' };

/** Blanks that programs and web pages put into cells: no-break and narrow spaces become plain, invisible ones go. */
export function cleanText(text: string): string {
  return text
    .replace(/[\u00a0\u2007\u202f]/g, ' ')
    .replace(/[\u200b\u200c\u200d\u2060\ufeff]/g, '')
    .trim();
}

export function cellContent(cell: Cell): CellContent {
  switch (cell.type) {
    case ValueType.String:
    case ValueType.RichText:
      return textContent(textOf(cell.value));
    case ValueType.Hyperlink:
      return textContent(cell.text);
    case ValueType.Number:
      return {
        kind: 'number',
        value: asExcelCounts(Number(cell.value)),
        zeros: /^0+$/.exec(cell.numFmt ?? '')?.[0].length ?? 0,
      };
    case ValueType.Date:
      return dateContent(cell.value);
    case ValueType.Boolean:
      return { kind: 'boolean', shown: cell.value === true ? 'TRUE' : 'FALSE' };
    case ValueType.Error:
      return {
        kind: 'unusable',
        shown: textOf(cell.value),
        hint: 'The cell shows an error. Correct its formula, or write the value.',
      };
    case ValueType.Formula:
      return {
        kind: 'unusable',
        shown: 'a formula',
        hint: 'The formula has no stored result. Open the workbook in Excel and save it, or write the value.',
      };
    default:
      return BLANK;
  }
}

function textContent(raw: string): CellContent {
  const text = cleanText(raw);
  return text === '' ? BLANK : { kind: 'text', text };
}

/** Plain text, the joined runs of rich text, or the word of an error value. */
function textOf(value: Cell['value']): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  if ('richText' in value) return value.richText.map((run) => run.text).join('');
  return 'error' in value ? value.error : '';
}

/**
 * Spreadsheets calculate and show 15 digits; the file holds the binary number behind them. Without this an amount from a
 * formula (1234.5600000000001) would seem to have too many decimals.
 */
function asExcelCounts(value: number): number {
  return Number(value.toPrecision(15));
}

/** The day of a date cell. exceljs gives midnight UTC of the day that the cell shows; a time of day is dropped. */
function dateContent(value: Cell['value']): CellContent {
  const valid = value instanceof Date && !Number.isNaN(value.getTime());
  const iso = valid ? value.toISOString().slice(0, 10) : '';
  try {
    return { kind: 'date', date: filingDateFromIso(iso) };
  } catch {
    return { kind: 'unusable', shown: iso, hint: 'The cell holds no date of this calendar. Write the date again.' };
  }
}
