import {
  INVOICE_FIELDS,
  isExtraField,
  normaliseHeader,
  BUILT_IN_TEMPLATE,
  type ColumnField,
  type BulkTemplate,
} from '../domain/rules/columns';
import { errorAt, oncePerCell, warningAt, type Finding } from '../domain/rules/finding';
import type { ExtraValues, MappingRow } from '../domain/filing/mapping';
import { completeRow, emptyMapping, type UncheckedRow } from '../domain/rules/fields';
import { templateUnknown } from '../domain/rules/optional-fields';
import { hiddenByMerge, missing, quoted } from '../domain/rules/value-messages';
import { type CellContent, type CellContext, cellContent, cellContext } from './sheet/cell-content';
import { aboutColumns, aboutRows, aboutSheets, MergedCells } from './sheet/about-sheet';
import { columnLetter } from './sheet/addresses';
import { GENERAL } from './sheet/number-format';
import { cellValue, extraValue } from './sheet/cell-value';
import { type OpenSheet, openWorkbook } from './sheet/open-workbook';
import {
  withSheetHeaders,
  isOurs,
  readHeaders,
  type ColumnAt,
  type Headers,
  type OptionalColumn,
  type OwnColumn,
} from './sheet/headers';
import { type WorkbookLimits, WORKBOOK_LIMITS, WorkbookRefused } from './ooxml/limits';
import type { RawCell, RawRow } from './sheet/sheet-rows';
import { textsOf, strayRow } from './sheet/filled-rows';

export { WorkbookRefused } from './ooxml/limits';
export { TEMPLATE_UNKNOWN } from '../domain/rules/optional-fields';
export { withSheetHeaders, type ColumnAt } from './sheet/headers';

export interface WorkbookReading {
  rows: MappingRow[];
  /** All filled rows with the values that could be read, on which the rules run. */
  unchecked: UncheckedRow[];
  /** Rows of the template that nobody filled in: all their invoice columns are empty. They are left out. */
  untouched: readonly number[];
  /** Findings of the reading: about cells, columns or the file. */
  findings: Finding[];
  columns: ReadonlyMap<ColumnField, ColumnAt>;
  /** Template columns that are sent, under their label, if a row fills them. */
  optionalColumns: readonly OptionalColumn[];
  /** The user's own columns, which are not sent. */
  ownColumns: readonly OwnColumn[];
  /** Values of the Status column of an earlier check or filing, by row; empty without one. */
  statuses: ReadonlyMap<number, string>;
}

export interface ReadOptions {
  limits?: Partial<WorkbookLimits>;
  /** Labels of the service's template; default: assumed labels. */
  template?: BulkTemplate;
}

/**
 * Reads the first sheet of a bulk workbook (spec: "POST /genebrc/bulk-upload", validation rules) within limits, with
 * one finding per failing cell. An unreadable file gives one finding without a row.
 * @param source path or bytes
 * @throws only errors of the file system
 */
export async function readWorkbook(
  source: string | Buffer,
  { limits = {}, template = BUILT_IN_TEMPLATE }: ReadOptions = {},
): Promise<WorkbookReading> {
  const bounds = { ...WORKBOOK_LIMITS, ...limits };
  try {
    const opened = await openWorkbook(source, bounds);
    const reading = readSheet(opened.first, template);
    const findings = [...(await aboutSheets(opened, bounds)), ...reading.findings];
    return { ...reading, findings };
  } catch (error) {
    if (!(error instanceof WorkbookRefused)) throw error;
    return nothingRead(error);
  }
}

/** The reading of a file that was refused. */
export const nothingRead = ({ code, message }: WorkbookRefused): WorkbookReading => ({
  ...NOTHING,
  findings: [errorAt(null, null, code, message)],
});

/** A cell's value before it is in a file; dates are midnight in UTC. */
export type NewCell = string | number | Date | null;

/** Reads rows that are not in a file yet, headers first, as if they came from a workbook. */
export function readCells(
  rows: readonly (readonly NewCell[])[],
  { limits = {}, template = BUILT_IN_TEMPLATE }: ReadOptions = {},
): WorkbookReading {
  const raw = rows.map((cells, index): RawRow => ({
    number: index + 1,
    hidden: false,
    cells: cells.flatMap(rawCellOf),
  }));
  const { texts } = { ...WORKBOOK_LIMITS, ...limits };
  const context = cellContext({ strings: [], formatOf: () => GENERAL, date1904: false, texts });
  const sheet = { rows: () => raw.values(), merged: [], hidesColumn: () => false };
  return readSheet({ name: 'rows', sheet, context }, template);
}

function rawCellOf(value: NewCell, index: number): RawCell[] {
  const at = { column: index + 1, style: 0 };
  if (value === null) return [];
  if (value instanceof Date) return [{ ...at, type: 'd', data: value.toISOString().slice(0, 10) }];
  return [{ ...at, type: typeof value === 'number' ? '' : 'inlineStr', data: String(value) }];
}

const NOTHING: WorkbookReading = {
  rows: [],
  unchecked: [],
  untouched: [],
  findings: [],
  columns: new Map(),
  optionalColumns: [],
  ownColumns: [],
  statuses: new Map(),
};

function readSheet({ name, sheet, context }: OpenSheet, template: BulkTemplate): WorkbookReading {
  const rows = sheet.rows();
  let next = rows.next();
  const headers = readHeaders(!next.done && next.value.number === 1 ? textsOf(next.value, context) : [], template);
  if (headers.columns.size === 0) {
    const message = `Row 1 of the first worksheet (${name}) has none of the columns. Put the headers of the template into row 1 of the first worksheet.`;
    return { ...NOTHING, findings: [errorAt(1, null, 'no_header', message)] };
  }
  const found: Finding[] = [];
  const all: UncheckedRow[] = [];
  const hidden: number[] = [];
  const statuses = new Map<number, string>();
  const reader = new RowReader(headers, context, template);
  for (next = rows.next(); !next.done; next = rows.next()) {
    const row = next.value;
    const read = reader.read(row);
    if (!read) continue;
    if (read.unchecked) all.push(read.unchecked);
    found.push(...read.findings);
    if (read.status !== undefined) statuses.set(row.number, read.status);
    if (row.hidden) hidden.push(row.number);
  }
  const merged = new MergedCells(sheet.merged);
  const untouched = reader.untouched(merged);
  const isFiled = ({ row }: { row: number | null }) => row === null || !untouched.has(row);
  const unchecked = all.filter(isFiled);
  const findings = [
    ...headers.findings,
    ...merged.headers(headers.columns.values()),
    ...[...found, ...reader.mergedCells(merged)].filter(isFiled),
    ...aboutColumns([...headers.columns.values()].filter(({ index }) => sheet.hidesColumn(index))),
    ...aboutRows(unchecked, { hidden: hidden.filter((row) => !untouched.has(row)), untouched: [...untouched] }),
  ];
  if (template.learnedAt === null) findings.push(...templateUnknown(unchecked, reader.ownFilled()));
  return {
    unchecked,
    untouched: [...untouched],
    rows: unchecked.map(completeRow).filter((row) => row !== undefined),
    findings: withSheetHeaders(oncePerCell(findings), headers.columns),
    columns: headers.columns,
    optionalColumns: headers.optional,
    ownColumns: headers.own,
    statuses,
  };
}

const isInvoiceField = (field: string): boolean =>
  (INVOICE_FIELDS as readonly string[]).includes(field) || field.startsWith('gstin');

interface CellAt {
  field: string;
  /** Column, from 1. */
  index: number;
}

class RowReader {
  private readonly missingColumns: ReadonlySet<string>;
  private readonly filed: ReadonlySet<number>;
  /** While the template is unknown: the user's columns in which no value was seen yet. */
  private readonly ownEmpty: Map<number, OwnColumn>;
  private readonly ownSeen: OwnColumn[] = [];
  /** Filled cells, and empty mandatory ones. Whether a merged range covers them is known once all rows were read. */
  private readonly cells: { row: number; failed: Set<string>; filled: CellAt[]; empty: CellAt[] }[] = [];

  constructor(
    private readonly headers: Headers,
    private readonly context: CellContext,
    template: BulkTemplate,
  ) {
    const undecided = template.learnedAt === null ? headers.own : [];
    // No template has a column without letters or digits.
    this.ownEmpty = new Map(
      undecided
        .filter(({ header }) => normaliseHeader(header) !== '' && !isOurs(header))
        .map((column) => [column.index, column]),
    );
    this.filed = new Set([...headers.columns.values(), ...headers.optional].map(({ index }) => index));
    this.missingColumns = new Set(
      headers.findings.filter(({ code }) => code === 'missing_column').map(({ field }) => field ?? ''),
    );
  }

  /** Reads a row; undefined for a blank one. Our own Status and Errors columns do not count as filled. */
  read({ number, cells }: RawRow): { unchecked?: UncheckedRow; findings: Finding[]; status?: string } | undefined {
    const contents: CellContent[] = [];
    let blank = true;
    let status: string | undefined;
    const statusColumn = this.headers.status?.index ?? Number.NaN;
    for (const cell of cells) {
      // Other columns matter only while the row may be blank; decoding them all would need too much memory.
      const undecided = this.ownEmpty.get(cell.column);
      if (!blank && cell.column !== statusColumn && !undecided && !this.filed.has(cell.column)) continue;
      const content = cellContent(cell, this.context);
      if (undecided && content.kind !== 'blank') {
        this.ownEmpty.delete(cell.column);
        this.ownSeen.push(undecided);
      }
      if (cell.column === statusColumn && content.kind === 'text') status = content.text;
      if (content.kind === 'blank' || cell.column === statusColumn || cell.column === statusColumn + 1) continue;
      contents[cell.column] = content;
      blank = false;
    }
    if (blank) return undefined;
    const stray = strayRow(contents, this.headers, number);
    const read = stray ? { findings: [stray] } : this.readFields(contents, number);
    return { ...read, ...(status === undefined ? {} : { status }) };
  }

  /** Rows that nobody filled in. A row with a merged invoice cell is not one: somebody may have meant to fill it in. */
  untouched(merged: MergedCells): ReadonlySet<number> {
    const rows = this.cells.filter(({ row, filled, empty }) => {
      if (filled.some(({ field }) => isInvoiceField(field))) return false;
      const invoice = empty.filter(({ field }) => isInvoiceField(field));
      if (invoice.length < INVOICE_FIELDS.length) return false;
      const hintOf = merged.hintsOf(row);
      return invoice.every(({ index }) => hintOf(index) === undefined);
    });
    return new Set(rows.map(({ row }) => row));
  }

  /** Headers of filled columns of which only the template tells whether they are sent. */
  ownFilled(): string[] {
    return this.ownSeen
      .sort((a, b) => a.index - b.index)
      .map(({ letter, header }) => `column ${letter} ${quoted(header)}`);
  }

  /** Findings about cells that a merged range covers, empty or with a hidden value. */
  mergedCells(merged: MergedCells): Finding[] {
    return this.cells.flatMap(({ row, failed, filled, empty }) => {
      const hintOf = merged.hintsOf(row);
      const covered = (cells: readonly CellAt[], message: (field: string, hint: string) => string): Finding[] =>
        cells.flatMap(({ field, index }) => {
          const hint = hintOf(index);
          if (hint === undefined || failed.has(field)) return [];
          failed.add(field);
          return [{ ...errorAt(row, field, 'merged_cell', message(field, hint)), column: columnLetter(index) }];
        });
      return [...covered(filled, hiddenByMerge), ...covered(empty, missing)];
    });
  }

  private readFields(contents: readonly CellContent[], row: number): { unchecked: UncheckedRow; findings: Finding[] } {
    const findings: Finding[] = [];
    const mapping = emptyMapping();
    const extra: ExtraValues = {};
    const failed = new Set(this.missingColumns);
    const filled: CellAt[] = [];
    const empty: CellAt[] = [];
    this.cells.push({ row, failed, filled, empty });
    for (const [field, { column, index }] of this.headers.columns) {
      const content = contents[index];
      if (content === undefined || content.kind === 'blank') {
        if (column.need === 'mandatory') empty.push({ field, index });
        continue;
      }
      filled.push({ field, index });
      const read = cellValue(field, column.kind, content);
      if (!('value' in read)) {
        findings.push(errorAt(row, field, read.code, read.message));
        continue;
      }
      if (read.warning) findings.push(warningAt(row, field, read.warning.code, read.warning.message));
      if (!isExtraField(field)) mapping[field] = read.value;
      // N is preset by the template and is what a filing without the column means, so it does not count as filled.
      else if (read.value !== 'N') extra[column.header] = read.value;
    }
    for (const { label, index, letter } of this.headers.optional) {
      const content = contents[index];
      if (content === undefined || content.kind === 'blank') continue;
      filled.push({ field: label, index });
      const read = extraValue(label, content);
      if ('value' in read) extra[label] = read.value;
      else findings.push({ ...errorAt(row, label, read.code, read.message), column: letter });
    }
    for (const { severity, field } of findings) if (severity === 'error' && field !== null) failed.add(field);
    // Each value was read by the kind of its field in Mapping.
    return { unchecked: { row, mapping, failed, ...(Object.keys(extra).length > 0 ? { extra } : {}) }, findings };
  }
}
