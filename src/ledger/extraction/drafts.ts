import type { DraftRow } from '../../domain/drafts/cells';
import { MAPPING_FIELDS, type MappingField, type MappingRow } from '../../domain/filing/mapping';
import type { Queryable } from '../pool';

interface KeptRow {
  values: Partial<Record<MappingField, string | number | null>>;
  documents: string[];
}

/** A cell that a person changed: the drafted and the filed value. */
interface Edit {
  field: MappingField;
  drafted: string | number | null;
  filed: string | number | null;
}

/** The sources of a filed row. */
export interface RowOrigin {
  row: number;
  draftId: string;
  documents: string[];
  edits: Edit[];
}

/** Stores a draft. */
export async function saveDraft(
  db: Queryable,
  { draftId, exporterId, rows, by }: { draftId: string; exporterId: string; rows: readonly DraftRow[]; by: string },
): Promise<void> {
  const kept = rows.map(({ cells, documents }): KeptRow => ({
    values: Object.fromEntries(Object.entries(cells).map(([field, cell]) => [field, cell?.value ?? null])),
    documents,
  }));
  await db.query('INSERT INTO drafts (draft_id, exporter_id, rows, made_by) VALUES ($1, $2, $3, $4)', [
    draftId,
    exporterId,
    JSON.stringify(kept),
    by,
  ]);
}

/** Drafted rows have this in their column `Draft Row`: the draft and the row in it, from 1. */
const DRAFT_ROW = /^([0-9a-f-]{36})\/(\d{1,4})$/;

/**
 * Records the documents and the edits that the submitted rows come from. Rows that name no draft of the ledger are left
 * out; if the same content is submitted again, its first record is kept.
 * @param drafted the column `Draft Row`, by Excel row
 */
export async function saveRowOrigins(
  db: Queryable,
  { inputRef, rows, drafted }: { inputRef: string; rows: readonly MappingRow[]; drafted: ReadonlyMap<number, string> },
): Promise<void> {
  const named = rows.flatMap(({ row, mapping }) => {
    const [, draftId, number] = DRAFT_ROW.exec(drafted.get(row) ?? '') ?? [];
    return draftId === undefined ? [] : [{ row, mapping, draftId, draftRow: Number(number) }];
  });
  if (named.length === 0) return;
  const { rows: drafts } = await db.query<{ draftId: string; rows: KeptRow[] }>(
    'SELECT draft_id AS "draftId", rows FROM drafts WHERE draft_id = ANY($1)',
    [[...new Set(named.map(({ draftId }) => draftId))]],
  );
  const known = new Map(drafts.map((draft) => [draft.draftId, draft.rows]));
  const origins = named.flatMap(({ row, mapping, draftId, draftRow }) => {
    const kept = known.get(draftId)?.[draftRow - 1];
    return kept ? [{ row, draftId, draftRow, documents: kept.documents, edits: editsOf(kept.values, mapping) }] : [];
  });
  await db.query(
    `INSERT INTO row_origins (input_ref, source_row, draft_id, draft_row, documents, edits)
     SELECT $1, o.row, o."draftId", o."draftRow", o.documents, o.edits
       FROM jsonb_to_recordset($2::jsonb) AS o (row int, "draftId" text, "draftRow" int, documents jsonb, edits jsonb)
     ON CONFLICT DO NOTHING`,
    [inputRef, JSON.stringify(origins)],
  );
}

function editsOf(drafted: KeptRow['values'], mapping: MappingRow['mapping']): Edit[] {
  const fields = (Object.keys(MAPPING_FIELDS) as MappingField[]).filter((field) => field !== 'serialNo');
  return fields.flatMap((field) => {
    const [before, after] = [drafted[field] ?? null, mapping[field]];
    return String(before ?? '') === String(after ?? '') ? [] : [{ field, drafted: before, filed: after }];
  });
}

/** The sources of a filing's rows; empty if it was not made from a draft. */
export async function readRowOrigins(db: Queryable, filingId: string): Promise<RowOrigin[]> {
  const { rows } = await db.query<RowOrigin>(
    `SELECT o.source_row AS row, o.draft_id AS "draftId", o.documents, o.edits
       FROM row_origins o JOIN filings f USING (input_ref) WHERE f.filing_id = $1 ORDER BY o.source_row`,
    [filingId],
  );
  return rows;
}
