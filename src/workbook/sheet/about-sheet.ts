/** Findings about a sheet as a whole. */
import { errorAt, warningAt, type Finding } from '../../domain/rules/finding';
import type { UncheckedRow } from '../../domain/rules/fields';
import { listed, quoted } from '../../domain/rules/value-messages';
import { type WorkbookLimits, WorkbookRefused } from '../ooxml/limits';
import { columnLetter, placeOf } from './addresses';
import { textsOf } from './filled-rows';
import { readHeaders, type ColumnAt, type OwnColumn } from './headers';
import type { openWorkbook } from './open-workbook';
import { SheetRows } from './sheet-rows';

/** Warns about hidden columns that are filed. */
export function aboutColumns(hidden: readonly OwnColumn[]): Finding[] {
  const [first] = hidden;
  if (first === undefined) return [];
  const message =
    hidden.length > 1
      ? `Columns ${listed(hidden.map(({ letter }) => letter))} are hidden but are filed like the others. Show them to check them.`
      : `Column ${first.letter} is hidden but is filed like the others. Show it to check it.`;
  return [warningAt(null, null, 'hidden_columns', message)];
}

export function aboutRows(
  unchecked: readonly UncheckedRow[],
  { hidden, untouched }: { hidden: readonly number[]; untouched: readonly number[] },
): Finding[] {
  const findings: Finding[] = [];
  if (untouched.length > 0 && unchecked.length > 0) {
    const rows = untouched.length > 1 ? `Rows ${listed(untouched)} are` : `Row ${untouched[0]} is`;
    const message = `${rows} left out: the invoice columns are empty. Fill them in to file the remittance.`;
    findings.push(warningAt(null, null, 'untouched_rows', message));
  }
  if (unchecked.length === 0) {
    const empty =
      untouched.length > 0
        ? `The invoice columns of all rows are empty (${untouched.length}). Fill in the rows that are to be filed.`
        : 'The first worksheet has headers but no rows. Fill in one row per mapping, from row 2 on.';
    findings.push(errorAt(null, null, 'no_rows', empty));
  }
  const [first] = hidden;
  if (first !== undefined) {
    const message =
      hidden.length > 1
        ? `Rows ${listed(hidden)} are hidden but are filed like the others. Show them to check them, or delete them.`
        : `Row ${first} is hidden but is filed like the others. Show it to check it, or delete it.`;
    findings.push(warningAt(first, null, 'hidden_rows', message));
  }
  return findings;
}

type Opened = Awaited<ReturnType<typeof openWorkbook>>;

/** Only the first worksheet is filed, which may not be the one that a person looks at. */
export async function aboutSheets(opened: Opened, limits: WorkbookLimits): Promise<Finding[]> {
  const [first, ...others] = opened.directory.sheets;
  if (first?.hidden) {
    const message = `The first worksheet (${first.name}) is hidden, and it is the one that is filed. Show it and check it, or delete it.`;
    return [errorAt(null, null, 'hidden_sheet', message)];
  }
  const filled: string[] = [];
  for (const { name, part, hidden } of others) {
    if (!hidden && (await hasMappings(opened, part, limits))) filled.push(quoted(name));
  }
  if (filled.length === 0) return [];
  const message = `Only the first worksheet is filed, not the rows of ${listed(filled)}. File each in a workbook of its own.`;
  return [warningAt(null, null, 'further_sheets', message)];
}

/** Whether the sheet has the mandatory headers and a row below them. */
async function hasMappings({ source, first }: Opened, part: string, limits: WorkbookLimits): Promise<boolean> {
  let isHeader = true;
  try {
    const bytes = await source.bytes(part);
    for (const row of bytes ? new SheetRows(bytes, limits).rows() : []) {
      if (!isHeader) return true;
      const { findings } = readHeaders(row.number === 1 ? textsOf(row, first.context) : []);
      if (findings.some(({ code }) => code === 'missing_column')) return false;
      isHeader = false;
    }
  } catch (error) {
    // A sheet that cannot be read is not filed either.
    if (!(error instanceof WorkbookRefused)) throw error;
  }
  return false;
}

/**
 * A merged range shows only its first cell. Copying that value to every row would count an amount twice, so covered
 * cells are empty, and a hint says why.
 */
export class MergedCells {
  private readonly ranges;

  constructor(references: readonly string[]) {
    this.ranges = references.map((reference) => {
      const [first = '', last = ''] = reference.split(':');
      const [[top, left], [bottom, right]] = [placeOf(first), placeOf(last)];
      return { left, top, right, bottom };
    });
  }

  /** Headers that a merged range covers: a person does not see which column is which. */
  headers(columns: Iterable<ColumnAt>): Finding[] {
    const hintOf = this.hintsOf(1);
    return [...columns]
      .filter(({ index }) => hintOf(index) !== undefined)
      .map(({ column: { field }, letter, header }) => {
        const message = `The header ${quoted(header)} is not shown: cells of row 1 are merged. Unmerge them, with one header in each column.`;
        return { ...errorAt(1, field, 'merged_cell', message), column: letter };
      });
  }

  /** A row's hints: what to do about a covered cell, by column; undefined if the cell is not covered. */
  hintsOf(row: number): (column: number) => string | undefined {
    const across = this.ranges.filter(({ top, bottom }) => row >= top && row <= bottom);
    return (column) => {
      const range = across.find(({ left, right }) => column >= left && column <= right);
      if (range === undefined || (range.left === column && range.top === row)) return undefined;
      const first = `${columnLetter(range.left)}${range.top}`;
      return `the cell is merged into ${first}; unmerge the cells and write the value in every row`;
    };
  }
}
