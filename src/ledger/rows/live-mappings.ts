import { createHash } from 'node:crypto';
import { allowDuplicate, type PermittedDuplicate } from '../../domain/rules/duplicates';
import type { FilingState } from '../../domain/filing/states';
import type { Finding } from '../../domain/rules/finding';
import { groupBy } from '../../domain/group-by';
import type { Mapping, MappingRow } from '../../domain/filing/mapping';
import { mappingIdentity } from '../../domain/identity';
import { listed } from '../../domain/rules/value-messages';
import type { Queryable } from '../pool';

/** A live row that holds a mapping. */
interface Holder {
  fingerprint: string;
  ordinal: number;
  filingId: string;
  reference: string;
  state: FilingState;
  madeAt: Date;
}

/** A row's claim on its mapping: the fingerprint, its ordinal among the live rows, and why it may be a second one. */
export interface MappingClaim {
  fingerprint: string;
  ordinal: number;
  permit: { reason: string; besides: string[] } | null;
}

/** The claims of a filing's rows, in their order, or the findings that refuse them. */
export type ClaimJudgement = { claims: MappingClaim[]; findings: [] } | { claims: null; findings: Finding[] };

/**
 * Decides whether rows may claim their mappings. A second live row of a mapping must be permitted by its row, and only
 * beside the holders that were named: those that the permission names, or those that an earlier refusal has named. A
 * refusal names the holders, records that it did, and gives the option that lets only the refused rows pass.
 */
export async function judgeClaims(
  db: Queryable,
  {
    partyId,
    rows,
    permitted,
  }: { partyId: number; rows: readonly MappingRow[]; permitted: readonly PermittedDuplicate[] },
): Promise<ClaimJudgement> {
  const fingerprints = rows.map(({ mapping }) => fingerprintOf(partyId, mapping));
  const holdersOf = groupBy(await liveHolders(db, fingerprints), ({ fingerprint }) => fingerprint);
  const named = await namedBefore(db, fingerprints);
  const permits = new Map(permitted.map((permit) => [permit.row, permit]));

  const next = new Map([...holdersOf].map(([fingerprint, [top]]) => [fingerprint, top.ordinal + 1]));
  const claims: MappingClaim[] = [];
  const refused: { row: MappingRow; holders: Holder[] }[] = [];
  const seconds: number[] = [];
  for (const [position, row] of rows.entries()) {
    const fingerprint = fingerprints[position] ?? '';
    const ordinal = next.get(fingerprint) ?? 0;
    next.set(fingerprint, ordinal + 1);
    if (ordinal === 0) {
      claims.push({ fingerprint, ordinal, permit: null });
      continue;
    }
    seconds.push(row.row);
    const holders = holdersOf.get(fingerprint) ?? [];
    const permit = permits.get(row.row);
    const allowed = new Set(permit?.besides ?? named.get(fingerprint));
    if (permit && holders.every(({ filingId }) => allowed.has(filingId))) {
      const besides = [...new Set(holders.map(({ filingId }) => filingId))];
      claims.push({ fingerprint, ordinal, permit: { reason: permit.reason, besides } });
    } else {
      refused.push({ row, holders });
    }
  }
  if (refused.length === 0) return { claims, findings: [] };
  await rememberNamed(
    db,
    refused.flatMap(({ holders }) => holders),
  );
  return { claims: null, findings: refused.map(({ row, holders }) => refusal(row, holders, allowDuplicate(seconds))) };
}

/**
 * Rows of a filing that are still to be sent although another filing holds their mapping, and neither was permitted
 * beside the other: their parties turned out to be one after both were recorded.
 */
export async function collidingClaims(db: Queryable, filingId: string): Promise<Finding[]> {
  const { rows } = await db.query<Holder & Pick<MappingRow, 'row' | 'mapping'>>(
    `SELECT r.source_row AS row, r.mapping, o.fingerprint, o.ordinal, f.filing_id AS "filingId", f.reference, f.state,
            f.made_at AS "madeAt"
       FROM filing_rows r
       JOIN filing_rows o ON o.fingerprint = r.fingerprint AND o.live AND o.filing_id <> r.filing_id
       JOIN filings f ON f.filing_id = o.filing_id
      WHERE r.filing_id = $1 AND r.live AND r.submitted_at IS NULL
        AND o.filing_id <> ALL (coalesce(r.permit_besides, '{}')) AND r.filing_id <> ALL (coalesce(o.permit_besides, '{}'))
      ORDER BY r.position`,
    [filingId],
  );
  const option = allowDuplicate(rows.map(({ row }) => row));
  return rows.map(({ row, mapping, ...holder }) => refusal({ row, mapping }, [holder], option));
}

/**
 * The filing of a live row with the mapping of one of a submission's rows, if neither was permitted beside the other;
 * null if there is none. Such rows occur when parties turn out to be one, or when sends are restored into a ledger.
 */
export async function holderBeside(db: Queryable, filingId: string, submission: number): Promise<string | null> {
  const { rows } = await db.query<{ filingId: string }>(
    `SELECT o.filing_id AS "filingId" FROM filing_rows r
       JOIN filing_rows o ON o.fingerprint = r.fingerprint AND o.live AND o.filing_id <> r.filing_id
      WHERE r.filing_id = $1 AND r.submission = $2 AND r.live
        AND o.filing_id <> ALL (coalesce(r.permit_besides, '{}')) AND r.filing_id <> ALL (coalesce(o.permit_besides, '{}'))
      ORDER BY o.filing_id LIMIT 1`,
    [filingId, submission],
  );
  return rows[0]?.filingId ?? null;
}

/** Live rows of these mappings, the highest ordinal first. */
async function liveHolders(db: Queryable, fingerprints: string[]): Promise<Holder[]> {
  const { rows } = await db.query<Holder>(
    `SELECT r.fingerprint, r.ordinal, f.filing_id AS "filingId", f.reference, f.state, f.made_at AS "madeAt"
       FROM filing_rows r JOIN filings f USING (filing_id)
      WHERE r.live AND r.fingerprint = ANY($1) ORDER BY r.ordinal DESC`,
    [fingerprints],
  );
  return rows;
}

async function namedBefore(db: Queryable, fingerprints: string[]): Promise<Map<string, string[]>> {
  const { rows } = await db.query<{ fingerprint: string; filingIds: string[] }>(
    `SELECT fingerprint, array_agg(filing_id) AS "filingIds" FROM named_holders
      WHERE fingerprint = ANY($1) GROUP BY fingerprint`,
    [fingerprints],
  );
  return new Map(rows.map(({ fingerprint, filingIds }) => [fingerprint, filingIds]));
}

async function rememberNamed(db: Queryable, holders: readonly Holder[]): Promise<void> {
  await db.query(
    `INSERT INTO named_holders (fingerprint, filing_id)
     SELECT DISTINCT fingerprint, filing_id FROM unnest($1::text[], $2::text[]) AS named (fingerprint, filing_id)
      ORDER BY 1, 2
     ON CONFLICT DO NOTHING`,
    [holders.map(({ fingerprint }) => fingerprint), holders.map(({ filingId }) => filingId)],
  );
}

function refusal({ row, mapping }: MappingRow, holders: readonly Holder[], option: string): Finding {
  const { irmNumber, sbCumInvoiceNumber, mappedIRMAmountFCC } = mapping;
  const what = `IRM ${irmNumber} for document ${sbCumInvoiceNumber} with ${mappedIRMAmountFCC}`;
  const where = holders.map(
    ({ filingId, reference, state, madeAt }) =>
      `filing ${filingId} (reference ${reference}, state ${state}, made ${madeAt.toISOString()})`,
  );
  const already = where.length > 0 ? `is already in ${listed(where)}` : 'is in another row of this file too';
  const show = where.length > 0 ? ' See `ebrc show` of it.' : '';
  return {
    severity: 'error',
    code: 'mapping_live',
    row,
    field: null,
    ...(holders[0] && { filingId: holders[0].filingId }),
    allowDuplicate: option,
    message: `${what} ${already}.${show} To file it once more on purpose, give --allow-duplicate ${option}.`,
  };
}

/**
 * The fingerprint of a party's mapping, which is unique among live rows: the party, a colon and the hash of the
 * mapping's identity. The party is readable in it, so that one statement can move rows to another party.
 */
function fingerprintOf(partyId: number, mapping: Mapping): string {
  return `${partyId}:${createHash('sha256').update(mappingIdentity(mapping)).digest('hex')}`;
}
