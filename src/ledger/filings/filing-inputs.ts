import { createHash } from 'node:crypto';
import type { Finding } from '../../domain/rules/finding';
import type { MappingRow } from '../../domain/filing/mapping';
import type { Queryable } from '../pool';
import { canonicalContent } from '../../domain/identity';
import { type PermittedDuplicate, permittedRows } from '../../domain/rules/duplicates';

export interface SavedInput {
  rows: MappingRow[];
  sourceKind: 'json' | 'workbook';
  sourceName?: string | null;
  /** The caller's workbook in the document store, which findings are written back into. */
  sourceDocument?: string | null;
  warnings?: Finding[];
}

/** Stores rows once per content, because 999 rows are 500 KB, too much for a workflow input. @returns the reference */
export async function saveInput(db: Queryable, input: SavedInput): Promise<string> {
  const { inputRef, saved } = inputToSave(input);
  await db.query(savesInput('$1::jsonb'), [saved]);
  return inputRef;
}

/** An input in the form that {@link savesInput} stores, and its reference. */
export function inputToSave({ rows, sourceKind, sourceName = null, sourceDocument = null, ...input }: SavedInput) {
  const inputRef = sha256(JSON.stringify([sourceKind, sourceDocument, JSON.stringify(rows)]));
  const source = { source_kind: sourceKind, source_name: sourceName, source_document: sourceDocument };
  const stored = { input_ref: inputRef, rows, row_count: rows.length, ...source, warnings: input.warnings ?? [] };
  return { inputRef, saved: JSON.stringify(stored) };
}

/** SQL that stores an input of {@link inputToSave}, given as a jsonb expression; null stores nothing. */
export const savesInput = (input: string): string =>
  `INSERT INTO filing_inputs (input_ref, rows, row_count, source_kind, source_name, source_document, warnings)
     SELECT i.* FROM jsonb_to_record(${input}) AS i (input_ref text, rows jsonb, row_count int, source_kind text, source_name text,
       source_document text, warnings jsonb) WHERE i.input_ref IS NOT NULL
     ON CONFLICT (input_ref) DO UPDATE SET warnings = EXCLUDED.warnings, created_at = now()`;

/** An input without its rows; null if this ledger does not hold it. */
export async function readInputHead(db: Queryable, inputRef: string) {
  const { rows } = await db.query<{ rowCount: number; sourceDocument: string | null }>(
    'SELECT row_count AS "rowCount", source_document AS "sourceDocument" FROM filing_inputs WHERE input_ref = $1',
    [inputRef],
  );
  return rows[0] ?? null;
}

export async function readInput(db: Queryable, inputRef: string): Promise<SavedInput | null> {
  const { rows } = await db.query<SavedInput>(
    `SELECT rows, source_kind AS "sourceKind", source_name AS "sourceName", source_document AS "sourceDocument", warnings
       FROM filing_inputs WHERE input_ref = $1`,
    [inputRef],
  );
  return rows[0] ?? null;
}

export function contentHashOf(content: Parameters<typeof canonicalContent>[0]): string {
  return sha256(canonicalContent(content));
}

/** A reference derived from the content and the permitted duplicates, so that the same file finds its filing. */
export function referenceOf(contentHash: string, permitted: readonly PermittedDuplicate[] = []): string {
  const rows = [...permittedRows(permitted)].sort((a, b) => a - b);
  return (rows.length === 0 ? contentHash : sha256(JSON.stringify([contentHash, rows]))).slice(0, 16);
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
