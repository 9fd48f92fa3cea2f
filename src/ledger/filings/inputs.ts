/** What callers handed in to be filed: stored once per content and maker, and named by a hash. */
import { createHash } from 'node:crypto';
import { canonicalContent } from '../../domain/identity';
import type { MappingRow } from '../../domain/filing/mapping';
import { permittedRows, type PermittedDuplicate } from '../../domain/rules/duplicates';
import type { Finding } from '../../domain/rules/finding';
import type { Queryable } from '../pool';

/** Who made a filing: a principal, or a claimed name. */
export interface Maker {
  principalId: string | null;
  name: string;
}

export interface SavedInput {
  rows: MappingRow[];
  sourceKind: 'json' | 'workbook';
  sourceName?: string | null;
  /** The caller's workbook in the document store, which findings are written back into. */
  sourceDocument?: string | null;
  warnings?: Finding[];
  /** The principal who handed it in, and answers for the filing; null: somebody without a token did. */
  maker?: Maker | null;
}

/**
 * Stores rows, because 999 rows are 500 KB, too much for a workflow input. The reference names the maker too: who hands
 * in the same content does not become the maker of somebody else's filing.
 * @returns the reference
 */
export async function saveInput(db: Queryable, input: SavedInput): Promise<string> {
  const { rows, sourceKind, sourceName = null, sourceDocument = null, warnings = [], maker = null } = input;
  const text = JSON.stringify(rows);
  const inputRef = sha256(JSON.stringify([sourceKind, sourceDocument, text, maker?.principalId ?? null]));
  await db.query(
    `INSERT INTO filing_inputs (input_ref, rows, row_count, source_kind, source_name, source_document, warnings, made_by, maker_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (input_ref) DO UPDATE SET warnings = excluded.warnings, created_at = now()`,
    [
      ...[inputRef, text, rows.length, sourceKind, sourceName, sourceDocument, JSON.stringify(warnings)],
      ...[maker?.name ?? null, maker?.principalId ?? null],
    ],
  );
  return inputRef;
}

/** An input without its rows; null if this ledger does not hold it. */
export async function readInputHead(db: Queryable, inputRef: string) {
  const { rows } = await db.query<{ rowCount: number; sourceDocument: string | null }>(
    'SELECT row_count AS "rowCount", source_document AS "sourceDocument" FROM filing_inputs WHERE input_ref = $1',
    [inputRef],
  );
  return rows[0] ?? null;
}

/** An input with its rows; null if this ledger does not hold it. */
export async function readInput(db: Queryable, inputRef: string): Promise<SavedInput | null> {
  const { rows } = await db.query<SavedInput>(
    `SELECT rows, source_kind AS "sourceKind", source_name AS "sourceName", source_document AS "sourceDocument", warnings,
            CASE WHEN maker_id IS NOT NULL THEN jsonb_build_object('principalId', maker_id, 'name', made_by) END AS maker
       FROM filing_inputs WHERE input_ref = $1`,
    [inputRef],
  );
  return rows[0] ?? null;
}

/** The hash of a filing's content, independent of row order and spelling. */
export function contentHashOf(content: Parameters<typeof canonicalContent>[0]): string {
  return sha256(canonicalContent(content));
}

/** A reference derived from the content and the permitted duplicates, so that the same file finds its filing. */
export function referenceOf(contentHash: string, permitted: readonly PermittedDuplicate[] = []): string {
  const rows = [...permittedRows(permitted)].sort((a, b) => a - b);
  return (rows.length === 0 ? contentHash : sha256(JSON.stringify([contentHash, rows]))).slice(0, 16);
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
