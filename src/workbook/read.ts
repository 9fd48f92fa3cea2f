import type { ColumnField } from '../domain/rules/columns';
import type { BulkTemplate } from '../domain/service/bulk-template';
import { BUILT_IN_TEMPLATE } from '../domain/service/bulk-template';
import { columnOfHeader, isExtraField, normaliseHeader } from '../domain/rules/columns';
import { errorAt, oncePerCell, warningAt, type Finding } from '../domain/rules/finding';
import type { ExtraValues, MappingRow } from '../domain/filing/mapping';
import { completeRow, emptyMapping, type UncheckedRow } from '../domain/rules/unchecked-row';
import { hiddenByMerge, listed, missing, quoted } from '../domain/rules/value-messages';
import type { CellContent, CellContext } from './sheet/cell-content';
import { cellContent } from './sheet/cell-content';
import { columnLetter } from './sheet/addresses';
import { cellValue, extraValue } from './sheet/cell-value';
import type { OpenSheet } from './sheet/first-sheet';
import type { ColumnAt, Headers, OptionalColumn, OwnColumn } from './sheet/headers';
import { readHeaders } from './sheet/headers';
import type { WorkbookLimits } from './ooxml/limits';
import { WORKBOOK_LIMITS } from './ooxml/limits';
import { MAX_ROWS_PER_SUBMISSION } from '../domain/service/limits';
import { MergedCells } from './sheet/merged-cells';
import { WorkbookRefused } from './ooxml/refused';
import type { RawRow } from './sheet/sheet-rows';
import { textsOf } from './sheet/filled-rows';
import { openWorkbook } from './sheet/open-workbook';

export { WorkbookRefused } from './ooxml/refused';
export type { ColumnAt } from './sheet/headers';

/** The content of a workbook before any rule is applied. */
export interface WorkbookReading {
  sheetName: string | null;
  /** Rows in which every cell could be read. */
  rows: MappingRow[];
  /** All rows that are not blank, with the values that could be read; the rules run on these. */
  unchecked: UncheckedRow[];
  /** Findings of reading: invalid cells, columns, the file. */
  findings: Finding[];
  columns: ReadonlyMap<ColumnField, ColumnAt>;
  /** Columns that are sent under the label of the template if a row fills them. */
  optionalColumns: readonly OptionalColumn[];
  /** The user's own columns, which are not sent. */
  ownColumns: readonly OwnColumn[];
  /** The Status column of an earlier check or filing, by row; empty if the workbook has none. */
  statuses: ReadonlyMap<number, string>;
}

export interface ReadOptions {
  limits?: Partial<WorkbookLimits>;
  /** The labels of the service's template; default: assumed labels. */
  template?: BulkTemplate;
}

/**
 * Reads the first worksheet of a bulk workbook (spec: "POST /genebrc/bulk-upload", validation rules): headers by name
 * in row 1, blank rows skipped, each failing cell once. A file that cannot, or must not, be read gives one finding
 * without a row. Limited in memory and time for any input.
 *
 * @param source a path, or the bytes of the file
 * @throws only errors of the file system, such as a missing path
 */
export async function readWorkbook(
  source: string | Buffer,
  { limits = {}, template = BUILT_IN_TEMPLATE }: ReadOptions = {},
): Promise<WorkbookReading> {
  const bounds = { ...WORKBOOK_LIMITS, ...limits };
  try {
    const { first } = await openWorkbook(source, bounds);
    return { sheetName: first.name, ...readSheet(first, template) };
  } catch (error) {
    if (!(error instanceof WorkbookRefused)) throw error;
    return { ...NOTHING, findings: [errorAt(null, null, error.code, error.message)] };
  }
}

const NOTHING: WorkbookReading = {
  sheetName: null,
  rows: [],
  unchecked: [],
  findings: [],
  columns: new Map(),
  optionalColumns: [],
  ownColumns: [],
  statuses: new Map(),
};

function readSheet({ name, sheet, context }: OpenSheet, template: BulkTemplate): Omit<WorkbookReading, 'sheetName'> {
  const rows = sheet.rows();
  let next = rows.next();
  const headers = readHeaders(!next.done && next.value.number === 1 ? textsOf(next.value, context) : [], template);
  if (headers.columns.size === 0) {
    const message = `Row 1 of the first worksheet (${name}) has none of the columns. Put the headers of the template into row 1 of the first worksheet.`;
    return { ...NOTHING, findings: [errorAt(1, null, 'no_header', message)] };
  }
  const findings = [...headers.findings];
  const unchecked: UncheckedRow[] = [];
  const hidden: number[] = [];
  const statuses = new Map<number, string>();
  const reader = new RowReader(headers, context, template);
  for (next = rows.next(); !next.done; next = rows.next()) {
    const row = next.value;
    const read = reader.read(row);
    if (!read) continue;
    unchecked.push(read.unchecked);
    findings.push(...read.findings);
    if (read.status !== undefined) statuses.set(row.number, read.status);
    if (row.hidden) hidden.push(row.number);
  }
  findings.push(...reader.mergedCells(new MergedCells(sheet.merged)), ...aboutRows(unchecked, hidden));
  if (template.learnedAt === null) findings.push(...aboutTemplate(unchecked, reader.ownFilled()));
  return {
    unchecked,
    rows: unchecked.map(completeRow).filter((row) => row !== undefined),
    findings: withColumns(oncePerCell(findings), headers.columns),
    columns: headers.columns,
    optionalColumns: headers.optional,
    ownColumns: headers.own,
    statuses,
  };
}

/** Adds the column letter to findings about a field of the workbook. */
export function withColumns(findings: readonly Finding[], columns: ReadonlyMap<string, ColumnAt>): Finding[] {
  return findings.map((finding) => {
    const letter = finding.field === null ? undefined : columns.get(finding.field)?.letter;
    return letter === undefined || finding.column !== undefined ? finding : { ...finding, column: letter };
  });
}

/** The code of the finding about filled columns that are sent or not, depending on a template that is not known yet. */
export const TEMPLATE_UNKNOWN = 'template_unknown';

/** Assumed labels may differ from the service's template, which may name further columns; it ignores all others. */
function aboutTemplate(unchecked: readonly UncheckedRow[], ownFilled: readonly string[]): Finding[] {
  const labels = new Set(unchecked.flatMap(({ extra = {} }) => Object.keys(extra)));
  const guessed = [...labels].filter((label) => columnOfHeader(label)?.field !== 'isThirdPartyExport');
  const filled = [...guessed, ...ownFilled];
  if (filled.length === 0) return [];
  const message = `Whether ${listed(filled)} can be sent is not known: the service's template has not been read yet, and it ignores columns of other names. Run \`ebrc template\` and check again.`;
  return [warningAt(null, null, TEMPLATE_UNKNOWN, message)];
}

function aboutRows(unchecked: readonly UncheckedRow[], hidden: readonly number[]): Finding[] {
  const findings: Finding[] = [];
  if (unchecked.length === 0) {
    findings.push(
      errorAt(
        null,
        null,
        'no_rows',
        'The first worksheet has headers but no rows. Fill in one row per mapping, from row 2 on.',
      ),
    );
  }
  if (unchecked.length > MAX_ROWS_PER_SUBMISSION) {
    const uploads = Math.ceil(unchecked.length / MAX_ROWS_PER_SUBMISSION);
    findings.push(
      warningAt(
        null,
        null,
        'several_submissions',
        `${unchecked.length} rows are more than the ${MAX_ROWS_PER_SUBMISSION} of one upload: they will be filed in ${uploads} submissions of one filing.`,
      ),
    );
  }
  const [first] = hidden;
  if (first !== undefined) {
    const rows = hidden.length > 1 ? `Rows ${listed(hidden)} are hidden but are` : `Row ${first} is hidden but is`;
    findings.push(
      warningAt(first, null, 'hidden_rows', `${rows} filed like the others. Show them to check them, or delete them.`),
    );
  }
  return findings;
}

/** A cell of a row that is filed. */
interface CellAt {
  field: string;
  /** Column, from 1. */
  index: number;
}

interface ReadRow {
  unchecked: UncheckedRow;
  findings: Finding[];
  status?: string;
}

class RowReader {
  private readonly missingColumns: ReadonlySet<string>;
  private readonly filed: ReadonlySet<number>;
  /** Until the template is known: the user's columns in which no cell with a value has been seen yet. */
  private readonly ownEmpty: Map<number, OwnColumn>;
  private readonly ownSeen: OwnColumn[] = [];
  /** Cells that a merged range may cover, known once all rows were read: filled ones and mandatory empty ones. */
  private readonly cells: { row: number; failed: Set<string>; filled: CellAt[]; empty: CellAt[] }[] = [];

  constructor(
    private readonly headers: Headers,
    private readonly context: CellContext,
    template: BulkTemplate,
  ) {
    const undecided = template.learnedAt === null ? headers.own : [];
    // No template names a column without letters or digits.
    this.ownEmpty = new Map(
      undecided.filter(({ header }) => normaliseHeader(header) !== '').map((each) => [each.index, each]),
    );
    this.filed = new Set([...headers.columns.values(), ...headers.optional].map(({ index }) => index));
    this.missingColumns = new Set(
      headers.findings.filter(({ code }) => code === 'missing_column').map(({ field }) => field ?? ''),
    );
  }

  /** Reads the row; undefined for a blank one. Our own Status and Errors columns do not count as filled. */
  read({ number, cells }: RawRow): ReadRow | undefined {
    const contents: CellContent[] = [];
    let blank = true;
    let status: string | undefined;
    const own = this.headers.status?.index ?? Number.NaN;
    for (const cell of cells) {
      // Other columns only matter while the row may be blank; decoding all of them would need too much memory.
      const undecided = this.ownEmpty.get(cell.column);
      if (!blank && cell.column !== own && !undecided && !this.filed.has(cell.column)) continue;
      const content = cellContent(cell, this.context);
      if (undecided && content.kind !== 'blank') {
        this.ownEmpty.delete(cell.column);
        this.ownSeen.push(undecided);
      }
      if (cell.column === own && content.kind === 'text') status = content.text;
      if (content.kind === 'blank' || cell.column === own || cell.column === own + 1) continue;
      contents[cell.column] = content;
      blank = false;
    }
    if (blank) return undefined;
    return { ...this.readFields(contents, number), ...(status === undefined ? {} : { status }) };
  }

  /** Headers of columns with values of which only the template can tell whether they are the user's own. */
  ownFilled(): string[] {
    return this.ownSeen
      .sort((a, b) => a.index - b.index)
      .map(({ letter, header }) => `column ${letter} ${quoted(header)}`);
  }

  /** Findings about cells that a merged range covers, empty or with a value that is not shown. */
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
      if (!('value' in read)) findings.push(errorAt(row, field, read.code, read.message));
      else if (!isExtraField(field)) mapping[field] = read.value;
      // N is the template's preset and the meaning of a filing without the column, so it does not count as filled.
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
