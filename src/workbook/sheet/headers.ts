import {
  type BulkTemplate,
  BUILT_IN_TEMPLATE,
  optionalLabel,
  type BulkColumn,
  type ColumnField,
  BULK_COLUMNS,
  columnOfHeader,
  headerOf,
  isNamed,
  normaliseHeader,
} from '../../domain/rules/columns';
import { errorAt, warningAt, type Finding } from '../../domain/rules/finding';
import { quoted } from '../../domain/rules/value-messages';
import { columnLetter } from './addresses';

/** Headers of the two columns that annotating adds. They are adjacent, which tells them from a user's own. */
export const STATUS_HEADER = 'Status';
export const ERRORS_HEADER = 'Errors';

/** Headers of two columns after them, if rows have certificates. */
export const NUMBER_HEADER = 'eBRC Number';
export const DATE_HEADER = 'eBRC Date';

/** Headers of the columns that our templates add for the reader. */
export const REMITTER_HEADER = 'Remitter (not sent)';
export const FREE_HEADER = 'Free balance (not sent)';
const OUR_HEADERS: ReadonlySet<string> = new Set([NUMBER_HEADER, DATE_HEADER].map(normaliseHeader));
const NOT_SENT = /notsent$/u;

/** Whether an unsent column is known to be one of ours. */
export const isOurs = (header: string): boolean =>
  OUR_HEADERS.has(normaliseHeader(header)) || NOT_SENT.test(normaliseHeader(header));

/** A column that neither the specification nor the template names. */
export interface OwnColumn {
  /** Column number, from 1. */
  index: number;
  letter: string;
  header: string;
}

export interface ColumnAt extends OwnColumn {
  column: BulkColumn;
}

/** A column of the template that JSON messages do not have. */
export interface OptionalColumn extends OwnColumn {
  /** As spelled in the template. */
  label: string;
}

export interface Headers {
  columns: Map<ColumnField, ColumnAt>;
  /** Columns that are sent under the template's label, in the order of the sheet. */
  optional: OptionalColumn[];
  /** The user's own columns, which are not sent. */
  own: OwnColumn[];
  /** Position of an earlier run's Status column; Errors follows it. */
  status?: { index: number };
  findings: Finding[];
}

const FIELD = new RegExp(`\\b(?:${BULK_COLUMNS.map(({ field }) => field).join('|')})\\b`, 'gu');

/** Findings in the sheet's terms: with column letters, and headers instead of field names. */
export function withSheetHeaders(findings: readonly Finding[], columns: ReadonlyMap<string, ColumnAt>): Finding[] {
  return findings.map((finding) => {
    const letter = finding.column ?? (finding.field === null ? undefined : columns.get(finding.field)?.letter);
    // A message has field names, and no columns.
    const nameOf = (field: string) => (columns.size > 0 ? headerOf(field) : field);
    const message = finding.message.replace(
      FIELD,
      (field) => columns.get(field)?.header.trim() ?? nameOf(field) ?? field,
    );
    return { ...finding, message, ...(letter === undefined ? {} : { column: letter }) };
  });
}

/** Maximum number of the user's own columns that are reported one by one. */
const MAX_OWN_COLUMNS = 50;

/** Finds the columns in row 1 by name (spec: "Bulk Excel row columns"). @param texts by column number (sparse) */
export function readHeaders(texts: readonly string[], template: BulkTemplate = BUILT_IN_TEMPLATE): Headers {
  const headers: Headers = { columns: new Map(), optional: [], own: [], findings: [] };
  const status = statusColumn(texts);
  if (status !== undefined) headers.status = { index: status };
  texts.forEach((header, index) => {
    if (status === undefined || (index !== status && index !== status + 1)) place(headers, header, index, template);
  });
  for (const { header, field } of BULK_COLUMNS.filter(
    ({ need, field: name }) => need === 'mandatory' && !headers.columns.has(name),
  )) {
    const message = `Required column ${quoted(header)} is missing. Add it to row 1, with a value in every row.`;
    headers.findings.push(errorAt(1, field, 'missing_column', message));
  }
  const unlisted = headers.own.length - MAX_OWN_COLUMNS;
  if (unlisted > 0)
    headers.findings.push(warningAt(1, null, 'unknown_column', `${unlisted} more columns are not sent either.`));
  return headers;
}

function place(headers: Headers, header: string, index: number, template: BulkTemplate): void {
  const letter = columnLetter(index);
  const column = columnOfHeader(header);
  if (column && isNamed(column)) {
    const earlier = headers.columns.get(column.field);
    if (!earlier) headers.columns.set(column.field, { column, index, letter, header });
    else headers.findings.push(repeatedHeader(column.field, column.header, earlier.letter, letter));
    return;
  }
  const label = optionalLabel(template, header);
  if (label !== undefined) {
    const earlier = headers.optional.find((column) => column.label === label);
    if (!earlier) headers.optional.push({ label, index, letter, header });
    else headers.findings.push(repeatedHeader(label, label, earlier.letter, letter));
    return;
  }
  headers.own.push({ index, letter, header });
  if (headers.own.length > MAX_OWN_COLUMNS || isOurs(header)) return;
  const message =
    template.learnedAt === null
      ? `Column ${letter} ${quoted(header)} is none of those that the specification names. Only a column of the service's template, which has not been read yet, is sent.`
      : `Column ${letter} ${quoted(header)} is no column of the service's template: it stays in your workbook and is not sent.`;
  headers.findings.push({ ...warningAt(1, null, 'unknown_column', message), column: letter });
}

function repeatedHeader(field: string, label: string, earlier: string, letter: string): Finding {
  const message = `Columns ${earlier} and ${letter} are both ${quoted(label)}. Remove one, so that it is clear which value is filed.`;
  return { ...errorAt(1, field, 'duplicate_header', message), column: letter };
}

/** A Status header directly before Errors. The last such pair is ours, because annotating appends. */
function statusColumn(texts: readonly string[]): number | undefined {
  let own: number | undefined;
  texts.forEach((header, index) => {
    if (normaliseHeader(header) === 'status' && normaliseHeader(texts[index + 1] ?? '') === 'errors') own = index;
  });
  return own;
}
