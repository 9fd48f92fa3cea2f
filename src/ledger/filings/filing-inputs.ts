import { createHash } from 'node:crypto';
import type { Finding } from '../../domain/rules/finding';
import type { MappingRow } from '../../domain/filing/mapping';
import type { Queryable } from '../pool';
import { canonicalContent, type FilingContent } from '../../domain/identity';
import { type PermittedDuplicate, permittedRows } from '../../domain/rules/duplicates';

export interface SavedInput {
  rows: MappingRow[];
  sourceKind: 'json' | 'workbook';
  sourceName?: string | null;
  /** Name in the document store of the caller's own workbook, which findings are written back into. */
  sourceDocument?: string | null;
  warnings?: Finding[];
}

/** Stores rows once per content and returns their reference: 999 rows are 500 KB, too much for workflow inputs. */
export async function saveInput(db: Queryable, input: SavedInput): Promise<string> {
  const { inputRef, saved } = inputToSave(input);
  await db.query(savesInput('$1::jsonb'), [saved]);
  return inputRef;
}

/** An input as {@link savesInput} stores it, and its reference. */
export function inputToSave({ rows, sourceKind, sourceName = null, sourceDocument = null, ...input }: SavedInput) {
  const inputRef = sha256(JSON.stringify([sourceKind, sourceDocument, JSON.stringify(rows)]));
  const source = { source_kind: sourceKind, source_name: sourceName, source_document: sourceDocument };
  const stored = { input_ref: inputRef, rows, row_count: rows.length, ...source, warnings: input.warnings ?? [] };
  return { inputRef, saved: JSON.stringify(stored) };
}

/** The SQL that stores an {@link inputToSave}, which is jsonb in SQL; null: nothing. */
export const savesInput = (input: string): string =>
  `INSERT INTO filing_inputs (input_ref, rows, row_count, source_kind, source_name, source_document, warnings)
     SELECT i.* FROM jsonb_to_record(${input}) AS i (input_ref text, rows jsonb, row_count int, source_kind text, source_name text,
       source_document text, warnings jsonb) WHERE i.input_ref IS NOT NULL
     ON CONFLICT (input_ref) DO UPDATE SET warnings = EXCLUDED.warnings, created_at = now()`;

/** What is known of an input without its rows, or null if this ledger does not hold it. */
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

export function contentHashOf(content: FilingContent): string {
  return sha256(canonicalContent(content));
}

/** The reference made from content, so that the same file finds its filing. Permitted duplicates are part of it. */
export function referenceOf(contentHash: string, permitted: readonly PermittedDuplicate[] = []): string {
  const rows = [...permittedRows(permitted)].sort((a, b) => a - b);
  return (rows.length === 0 ? contentHash : sha256(JSON.stringify([contentHash, rows]))).slice(0, 16);
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
