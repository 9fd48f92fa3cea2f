import type { BulkColumn, ColumnField } from '../../domain/columns';
import { BULK_COLUMNS, columnOfHeader, normaliseHeader } from '../../domain/columns';
import type { Finding } from '../../domain/finding';
import { errorAt, warningAt } from '../../domain/rules-draft';
import { quoted } from '../../domain/rules-words';
import { columnLetter } from './addresses';

/** Headers of the two columns that annotating adds; they stand side by side, which tells them from a user's own. */
export const STATUS_HEADER = 'Status';
export const ERRORS_HEADER = 'Errors';

export interface ColumnAt {
  column: BulkColumn;
  /** From 1. */
  index: number;
  letter: string;
  header: string;
}

export interface Headers {
  columns: Map<ColumnField, ColumnAt>;
  /** Columns that the service does not know and ignores. */
  unknown: { letter: string; header: string }[];
  /** Where the Status and Errors columns of an earlier run are. */
  status?: { index: number };
  findings: Finding[];
}

/**
 * Finds the columns in the header row, row 1 (spec: "Bulk Excel row columns": by name, case and punctuation ignored).
 * @param texts the texts of row 1 by column number, with holes where a cell has none
 */
export function readHeaders(texts: readonly string[]): Headers {
  const headers: Headers = { columns: new Map(), unknown: [], findings: [] };
  const own = ownColumns(texts);
  if (own !== undefined) headers.status = { index: own };
  texts.forEach((header, index) => {
    if (own === undefined || (index !== own && index !== own + 1)) placeHeader(headers, header, index);
  });
  for (const { header, field } of BULK_COLUMNS.filter(
    ({ need, field: name }) => need === 'mandatory' && !headers.columns.has(name),
  )) {
    headers.findings.push(
      errorAt(
        1,
        field,
        'missing_column',
        `Required column ${quoted(header)} (${field}) is missing. Add it to row 1, with a value in every row.`,
      ),
    );
  }
  return headers;
}

function placeHeader(headers: Headers, header: string, index: number): void {
  const letter = columnLetter(index);
  const column = columnOfHeader(header);
  if (!column) {
    headers.unknown.push({ letter, header });
    headers.findings.push({
      ...warningAt(
        1,
        null,
        'unknown_column',
        `Column ${letter} ${quoted(header)} is not a column of the bulk upload and is not filed.`,
      ),
      column: letter,
    });
  } else {
    const earlier = headers.columns.get(column.field);
    if (!earlier) headers.columns.set(column.field, { column, index, letter, header });
    else {
      const message = `Columns ${earlier.letter} and ${letter} are both ${quoted(column.header)}. Remove one, so that it is clear which value is filed.`;
      headers.findings.push({ ...errorAt(1, column.field, 'duplicate_header', message), column: letter });
    }
  }
}

/** A Status header directly followed by an Errors header; the last such pair is ours, as annotating writes at the end. */
function ownColumns(texts: readonly string[]): number | undefined {
  let own: number | undefined;
  texts.forEach((header, index) => {
    if (normaliseHeader(header) === 'status' && normaliseHeader(texts[index + 1] ?? '') === 'errors') own = index;
  });
  return own;
}
