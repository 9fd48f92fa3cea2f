/** The look of a sheet with bulk columns, on the screen and on paper. */
import type { Cell, CellValue, DataValidation, PaperSize, Style, Workbook, Worksheet } from 'exceljs';
import { type BulkColumn, columnOfHeader, UPLOAD_TYPES } from '../domain/rules/columns';
import type { FieldKind } from '../domain/filing/mapping';
import { MAX_FILING_ROWS } from '../domain/service/limits';
import { columnLetter } from './sheet/addresses';

/** Number formats of whole columns. Text keeps leading zeros, and keeps `1-2` from becoming a date. */
const FORMATS: Readonly<Record<FieldKind, string>> = {
  text: '@',
  yesNo: '@',
  date: 'dd/mm/yyyy',
  amount: '#,##0.00',
  integer: '0',
};

export const HEADER_ALIGNMENT = { vertical: 'middle', wrapText: true } as const;
const HEADER_FILLS = { mandatory: 'FFDDEBF7', conditional: 'FFFFF2CC', optional: 'FFEDEDED' } as const;
const LAST_ROW = MAX_FILING_ROWS + 1;

/** Column width for a value that is not filled in yet. */
const EMPTY_WIDTH = 14;
const MAX_WIDTH = 40;
/** Height of four lines, because headers wrap in columns that are as narrow as their values. */
const HEADER_HEIGHT = 60;
/** On fewer pages the 39 columns would be unreadable on A4. */
const PAGES_WIDE = 3;
export const A4: PaperSize.A4 = 9;
const MARGINS = { left: 0.3, right: 0.3, top: 0.4, bottom: 0.5, header: 0.2, footer: 0.2 };

/** Adds formats, drop-downs, header help, a frozen header and page set-up. @returns the bytes of the workbook */
export async function finishBulkSheet(workbook: Workbook, sheet: Worksheet): Promise<Buffer> {
  const texts: string[] = [];
  sheet.getRow(1).eachCell((cell, index) => {
    texts[index] = cell.text;
  });
  for (const [index, text] of texts.entries()) {
    const column = columnOfHeader(text ?? '');
    if (!column) continue;
    const letter = columnLetter(index);
    formatColumn(sheet, index, column);
    const header = sheet.getCell(1, index);
    header.style = headerStyle(column);
    header.note = `${column.help}\n${NEEDS[column.need]}`;
    const rule = validation(column);
    if (rule) validationsOf(sheet).add(`${letter}2:${letter}${LAST_ROW}`, rule);
  }
  sheet.getRow(1).height = HEADER_HEIGHT;
  sheet.views = [{ state: 'frozen', xSplit: 1, ySplit: 1 }];
  const irmNumber = texts.findIndex((text) => columnOfHeader(text ?? '')?.field === 'irmNumber');
  // Every printed page begins with the IRM number, by which people know the row.
  const titles = irmNumber === -1 ? undefined : `${columnLetter(irmNumber)}:${columnLetter(irmNumber)}`;
  sheet.pageSetup = {
    ...{ paperSize: A4, orientation: 'landscape', margins: MARGINS, showGridLines: true },
    ...{ fitToPage: true, fitToWidth: PAGES_WIDE, fitToHeight: 0 },
    ...{ printTitlesRow: '1:1', ...(titles && { printTitlesColumn: titles }) },
  };
  sheet.headerFooter = { oddFooter: '&L&F&RPage &P of &N' };
  return Buffer.from(await workbook.xlsx.writeBuffer());
}

/** exceljs has types for the rules of single cells only; one rule per range avoids an object per cell. */
function validationsOf(sheet: Worksheet): { add(range: string, rule: DataValidation): void } {
  return (sheet as unknown as { dataValidations: { add(range: string, rule: DataValidation): void } }).dataValidations;
}

const NEEDS: Readonly<Record<BulkColumn['need'], string>> = {
  mandatory: 'Needed in every row.',
  conditional: 'Needed where Is GST Avail is Y, empty where it is N.',
  optional: 'May stay empty.',
};

function formatColumn(sheet: Worksheet, index: number, { kind, header }: BulkColumn): void {
  const column = sheet.getColumn(index);
  const numFmt = FORMATS[kind];
  column.width = widthOf(sheet, index, header, kind === 'text' || kind === 'amount' ? EMPTY_WIDTH : undefined);
  // New objects, because exceljs shares style objects between cells.
  column.style = { ...column.style, numFmt };
  column.eachCell((cell: Cell) => {
    cell.style = { ...cell.style, numFmt };
  });
}

function headerStyle({ need }: BulkColumn): Partial<Style> {
  return {
    font: { bold: true },
    fill: { type: 'pattern', pattern: 'solid', fgColor: { argb: HEADER_FILLS[need] } },
    alignment: HEADER_ALIGNMENT,
  };
}

/** A column's drop-down or number rule. Dates get none, because it would refuse dates written as text. */
function validation({ field, kind, help }: BulkColumn): DataValidation | undefined {
  const list = (values: string, name: string): DataValidation => ({
    type: 'list',
    allowBlank: true,
    formulae: [`"${values}"`],
    showErrorMessage: true,
    errorTitle: name,
    error: `Choose one of ${values}.`,
    showInputMessage: true,
    promptTitle: name,
    prompt: help,
  });
  if (kind === 'yesNo') return list('Y,N', 'Y or N');
  if (field === 'uploadType') return list(Object.keys(UPLOAD_TYPES).join(','), 'Upload type');
  if (kind !== 'amount') return undefined;
  return {
    type: 'decimal',
    operator: 'greaterThanOrEqual',
    formulae: [0],
    allowBlank: true,
    showErrorMessage: true,
    errorTitle: 'Amount',
    error: 'Write digits, without separators or currency signs.',
  };
}

/** The width for a column's values, and for the longest word of its header, which wraps. */
export function widthOf(sheet: Worksheet, index: number, header: string, narrowest = 10): number {
  let longest = Math.max(...header.split(' ').map(({ length }) => length));
  sheet.getColumn(index).eachCell(({ value, text }, row) => {
    if (row > 1) longest = Math.max(longest, shownLength(value, text));
  });
  return Math.min(Math.max(longest + 2, narrowest), MAX_WIDTH);
}

/** Shared, because a format per cell takes longer than the rest of its column. */
const AMOUNT = new Intl.NumberFormat('en', { minimumFractionDigits: 2 });

function shownLength(value: CellValue, text: string): number {
  if (typeof value === 'number') return AMOUNT.format(value).length;
  return value instanceof Date ? 10 : text.length;
}
