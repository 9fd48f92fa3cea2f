/** The caller's reference as the idempotency key of a filing, and what a correction files again. */
import { sameId } from '../../domain/identity';
import { filingName, type Mode } from '../../domain/names';
import { errorAt, type Finding } from '../../domain/rules/finding';
import { takeFreed, mappingKeysOf, type FreedMapping } from '../../domain/rules/mappings';
import type { MappingRow } from '../../domain/filing/mapping';
import { CANCELLED, ROW_OF_CERTIFICATE } from '../certificates/certificates';
import { ISO } from '../paging';
import type { Queryable } from '../pool';
import { FilingMissing, lockFiling, type LockedFiling } from './lock';

/** What names a filing, and tells its content. */
export interface Named {
  mode: Mode;
  reference: string;
  n: number;
  /** The filing that it corrects; every number but the first is a correction. */
  corrects: string | null;
  exporterId: string;
  contentHash: string;
}

export type Judged = { outcome: 'standing'; filingId: string } | { outcome: 'refused'; findings: Finding[] };

interface Standing {
  filingId: string;
  n: number;
  exporterId: string;
  contentHash: string;
  state: string;
  madeAt: string;
  last: number;
}

/** What stands under the reference means for this filing; null: it is new. */
export async function judgeReference(client: Queryable, named: Named): Promise<Judged | null> {
  const { reference, n, corrects } = named;
  const before = await standingUnder(client, named);
  if (before?.n === n) {
    const same = before.contentHash === named.contentHash && sameId(before.exporterId, named.exporterId);
    return same ? { outcome: 'standing', filingId: before.filingId } : refused(referenceTaken(reference, before));
  }
  const next = (before?.last ?? 0) + 1;
  if (n === next && n > 1 === (corrects !== null)) return null;
  const name = filingName({ reference, n });
  const text =
    before === null
      ? `Nothing was filed under reference ${reference} yet: it begins with number 1, and corrects nothing.`
      : `${name} is not the next filing of its reference: that is number ${next}, a correction of rows that were freed (ebrc correct ${reference} FILE).`;
  return refused({
    ...errorAt(null, 'n', 'wrong_number', `${text}`),
    ...(before && { filingId: before.filingId }),
  });
}

/** The filing with this number under the reference, or else the last one; null: there is none. */
export async function standingUnder(
  db: Queryable,
  { mode, reference, n }: Pick<Named, 'mode' | 'reference' | 'n'>,
): Promise<Standing | null> {
  const { rows } = await db.query<Standing>(
    `SELECT filing_id AS "filingId", n, exporter_id AS "exporterId", content_hash AS "contentHash", state,
            ${ISO('made_at')} AS "madeAt", max(n) OVER () AS last
       FROM filings WHERE mode = $1 AND reference = $2 ORDER BY n = $3 DESC, n DESC LIMIT 1`,
    [mode, reference, n],
  );
  return rows[0] ?? null;
}

/** The refusal of other content under a reference and number that a filing already has. */
export function referenceTaken(
  reference: string,
  { filingId, n, state, madeAt }: Pick<Standing, 'filingId' | 'n' | 'state' | 'madeAt'>,
): Finding {
  const text = `Reference ${filingName({ reference, n })} belongs to filing ${filingId} with other content (state ${state}, made ${madeAt}). Use another reference, or, where rows of it were freed, \`ebrc correct\`.`;
  return { ...errorAt(null, 'reference', 'reference_taken', text), filingId };
}

const refused = (finding: Finding): Judged => ({ outcome: 'refused', findings: [finding] });

/** A row that a correction may file again. */
export interface FreedRow extends FreedMapping {
  serialNo: number;
}

/**
 * The rows of a filing that no other filing corrects, and that have freed their mapping or (`which`) whose certificate
 * was cancelled. Those still hold theirs: it goes again only beside them, which two persons let pass.
 */
export async function freedRows(
  db: Queryable,
  filingId: string,
  which: 'freed' | 'cancelled' = 'freed',
): Promise<FreedRow[]> {
  const { rows } = await db.query<FreedRow>(
    `SELECT position, (mapping->>'serialNo')::int AS "serialNo", irm_key AS irm, document_key AS document, bill_key AS bill,
            trim_scale(amount)::text AS amount, beside, beside_reason AS reason
       FROM filing_rows r WHERE filing_id = $1 AND corrected_by IS NULL
        AND ${which === 'freed' ? 'NOT held' : `EXISTS (SELECT FROM certificates c WHERE ${ROW_OF_CERTIFICATE} AND ${CANCELLED})`}
      ORDER BY position`,
    [filingId],
  );
  return rows;
}

/** Locks the filing that is corrected. @returns it with the rows that may be, or why it cannot be corrected */
export async function lockCorrected(
  client: Queryable,
  { mode, reference, corrects, exporterId }: Named & { corrects: string },
): Promise<{ filing: LockedFiling; freed: FreedRow[]; cancelled: FreedRow[] } | { refusal: Finding }> {
  const refusal = (text: string) => ({
    refusal: { ...errorAt(null, 'corrects', 'not_correctable', text), filingId: corrects },
  });
  const filing = await lockFiling(client, corrects).catch((error: unknown) => {
    if (error instanceof FilingMissing) return null;
    throw error;
  });
  if (filing?.mode !== mode || filing.reference !== reference)
    return refusal(`Filing ${corrects} is none of reference ${reference}, so this cannot correct it.`);
  if (!sameId(filing.exporterId, exporterId))
    return refusal(`Filing ${corrects} is of exporter ${filing.exporterId}: a correction has the same one.`);
  const freed = await freedRows(client, corrects);
  const cancelled = await freedRows(client, corrects, 'cancelled');
  if (freed.length + cancelled.length > 0) return { filing, freed, cancelled };
  return refusal(
    `No row of filing ${corrects} (state ${filing.state}) waits for a correction: they are on their way or certified, or another filing corrects them. See \`ebrc show ${reference}\`.`,
  );
}

/**
 * The freed rows that a correction stands for, by their positions: those with its mappings, those with its serial
 * numbers, then one for each row that is left. Whatever it leaves may be corrected by another one.
 */
export function correctedPositions(rows: readonly MappingRow[], freed: readonly FreedRow[]): number[] {
  const taken: (FreedRow | undefined)[] = takeFreed(
    rows.map(({ mapping }) => mappingKeysOf(mapping)),
    freed,
  ).map((row) => freed.find(({ position }) => position === row?.position));
  const left = freed.filter((row) => !taken.includes(row));
  for (const suits of [(row: MappingRow, free: FreedRow) => row.mapping.serialNo === free.serialNo, () => true]) {
    for (const [position, row] of rows.entries()) {
      const found = taken[position] ? -1 : left.findIndex((free) => suits(row, free));
      if (found >= 0) taken[position] = left.splice(found, 1)[0];
    }
  }
  return taken.flatMap((row) => row?.position ?? []);
}
