import { createHash } from 'node:crypto';
import { allowDuplicate, type PermittedDuplicate } from '../../domain/rules/duplicates';
import type { FilingState } from '../../domain/filing/states';
import { errorAt, type Finding } from '../../domain/rules/finding';
import { groupBy } from '../../domain/values';
import type { Mapping, MappingRow } from '../../domain/filing/mapping';
import { filingName } from '../../domain/names';
import { mappingIdentity } from '../../domain/identity';
import { IS_IN_DOUBT } from '../gates/attempts';
import { listed } from '../../domain/rules/value-messages';
import type { Queryable } from '../pool';

/** SQL: whether row `o` is in doubt, as a submitted row is once its answer can no longer come, or named no request. */
const IN_DOUBT = `(o.state IN ('unknown', 'abandoned_after_send') OR (o.state = 'submitted' AND EXISTS
  (SELECT FROM attempts a WHERE a.filing_id = o.filing_id AND a.submission = o.submission
    AND ${IS_IN_DOUBT}
    AND (a.verdict = 'accepted' OR a.reason IS NOT NULL OR a.marked_at + (coalesce(a.timeout_ms, 0) + 30000) * interval '1 ms' < clock_timestamp()))))`;

/** SQL: columns of a {@link Holder}, from row `o` of filing `f`. */
const HOLDER_COLUMNS = `f.filing_id AS "filingId", f.reference, f.n, f.state, f.made_at AS "madeAt",
            o.state = 'certified' AS certified, ${IN_DOUBT} AS "inDoubt"`;

/** A live row that holds a mapping, its own or one of its lineage. */
interface Holder {
  fingerprint: string;
  ordinal: number;
  filingId: string;
  reference: string;
  n: number;
  state: FilingState;
  madeAt: Date;
  /** Whether this row has its certificate, whatever the state of its filing. */
  certified: boolean;
  /** Whether the row's outcome is unknown or it was abandoned after the send, so it may still become a certificate. */
  inDoubt: boolean;
}

/** A row's claim on the mappings of its lineage, and why it is permitted beside other rows. */
export interface MappingClaim {
  fingerprint: string;
  /** Null: the row starts a new lineage. */
  lineage: string | null;
  held: { fingerprint: string; ordinal: number }[];
  permit: { reason: string; besides: string[] } | null;
}

/**
 * Decides whether rows may claim their mappings and those that they take over. A second live row needs a permission
 * beside the holders that were named, and one by two persons beside a row in doubt or abandoned after the send.
 */
export async function judgeClaims(
  db: Queryable,
  args: {
    partyId: number;
    rows: readonly MappingRow[];
    permitted: readonly PermittedDuplicate[];
    /** What each row takes over, if anything. */
    predecessors?: readonly ({ lineage: string; fingerprints: string[] } | null)[];
  },
): Promise<{ claims: MappingClaim[]; findings: [] } | { claims: null; findings: Finding[] }> {
  const { partyId, rows, permitted, predecessors = [] } = args;
  const wanted = rows.map(({ mapping }, position) => [
    ...new Set([fingerprintOf(partyId, mapping), ...(predecessors[position]?.fingerprints ?? [])]),
  ]);
  const found = await liveHolders(db, wanted.flat());
  const holdersOf = groupBy(found, ({ fingerprint }) => fingerprint);
  const permits = found.length === 0 ? new Map<string, Permit>() : await readPermits(db, wanted.flat());
  const permitByRow = new Map(permitted.map((permit) => [permit.row, permit]));

  const next = new Map([...holdersOf].map(([fingerprint, [top]]) => [fingerprint, top.ordinal + 1]));
  const claims: MappingClaim[] = [];
  const refused: { row: MappingRow; holders: Holder[] }[] = [];
  const seconds: number[] = [];
  for (const [position, row] of rows.entries()) {
    const fingerprints = wanted[position] ?? [];
    const held = fingerprints.map((fingerprint) => ({ fingerprint, ordinal: next.get(fingerprint) ?? 0 }));
    for (const { fingerprint, ordinal } of held) next.set(fingerprint, ordinal + 1);
    const claim = { fingerprint: fingerprints[0] ?? '', lineage: predecessors[position]?.lineage ?? null, held };
    if (held.every(({ ordinal }) => ordinal === 0)) {
      claims.push({ ...claim, permit: null });
      continue;
    }
    const holders = fingerprints.flatMap((fingerprint) => holdersOf.get(fingerprint) ?? []);
    const permit = permitByRow.get(row.row);
    if (permit && holders.every((holder) => mayStandBeside(holder, permit, permits))) {
      const besides = [...new Set(holders.map(({ filingId }) => filingId))];
      for (const key of new Set(holders.map(permitKey))) {
        const permit = permits.get(key);
        if (permit) permit.left -= 1;
      }
      claims.push({ ...claim, permit: { reason: permit.reason, besides } });
    } else {
      refused.push({ row, holders });
    }
    if (!holders.some(({ inDoubt }) => inDoubt)) seconds.push(row.row);
  }
  if (refused.length === 0) return { claims, findings: [] };
  await rememberNamed(
    db,
    refused.flatMap(({ holders }) => holders.filter(({ inDoubt }) => !inDoubt)),
  );
  return { claims: null, findings: refused.map(({ row, holders }) => refusal(row, holders, allowDuplicate(seconds))) };
}

function mayStandBeside(holder: Holder, { besides }: PermittedDuplicate, permits: ReadonlyMap<string, Permit>) {
  const permit = permits.get(permitKey(holder));
  if (besides && !besides.includes(holder.filingId)) return false;
  if (holder.inDoubt) return (permit?.left ?? 0) > 0;
  return besides !== undefined || (permit?.named ?? false);
}

const permitKey = ({ fingerprint, filingId }: Pick<Holder, 'fingerprint' | 'filingId'>) => `${fingerprint} ${filingId}`;

/** SQL: rows `r`, and each row `o` of another filing that holds the same mapping without a permission. */
const COLLIDING = `filing_rows r JOIN held_mappings h USING (filing_id, position)
       JOIN held_mappings t ON t.fingerprint = h.fingerprint AND t.filing_id <> h.filing_id
       JOIN filing_rows o ON o.filing_id = t.filing_id AND o.position = t.position
        AND o.filing_id <> ALL (coalesce(r.permit_besides, '{}')) AND r.filing_id <> ALL (coalesce(o.permit_besides, '{}'))`;

/** Refuses unsent rows whose mapping another filing holds too without a permission, as after parties were merged. */
export async function collidingClaims(db: Queryable, filingId: string): Promise<Finding[]> {
  const { rows } = await db.query<Holder & Pick<MappingRow, 'row' | 'mapping'>>(
    `SELECT DISTINCT ON (r.position, f.filing_id) r.source_row AS row, r.mapping, t.fingerprint, t.ordinal,
            ${HOLDER_COLUMNS}
       FROM ${COLLIDING} JOIN filings f ON f.filing_id = o.filing_id
      WHERE r.filing_id = $1 AND r.submitted_at IS NULL ORDER BY r.position, f.filing_id`,
    [filingId],
  );
  const option = allowDuplicate(rows.map(({ row }) => row));
  return rows.map(({ row, mapping, ...holder }) => refusal({ row, mapping }, [holder], option));
}

/** The filing that also holds a submission's mapping without a permission, as after a merge or an import; or null. */
export async function holderBeside(db: Queryable, filingId: string, submission: number): Promise<string | null> {
  const { rows } = await db.query<{ filingId: string }>(
    `SELECT o.filing_id AS "filingId" FROM ${COLLIDING}
      WHERE r.filing_id = $1 AND r.submission = $2 ORDER BY o.filing_id LIMIT 1`,
    [filingId, submission],
  );
  return rows[0]?.filingId ?? null;
}

async function liveHolders(db: Queryable, fingerprints: string[]): Promise<Holder[]> {
  const { rows } = await db.query<Holder>(
    `SELECT h.fingerprint, h.ordinal, ${HOLDER_COLUMNS}
       FROM held_mappings h JOIN filing_rows o USING (filing_id, position) JOIN filings f USING (filing_id)
      WHERE h.fingerprint = ANY($1) ORDER BY h.ordinal DESC`,
    [fingerprints],
  );
  return rows;
}

/** SQL: how many live rows with the mapping of permission `p` were already permitted beside its filing. */
const PERMITTED_BESIDE = `(SELECT count(*)::int FROM held_mappings h JOIN filing_rows o USING (filing_id, position)
  WHERE h.fingerprint = p.fingerprint AND p.filing_id = ANY(o.permit_besides))`;

interface Permit {
  /** How many more rows may be filed beside a holder in doubt, as two persons permitted. */
  left: number;
  named: boolean;
}

/** Permissions by fingerprint and filing. */
async function readPermits(db: Queryable, fingerprints: string[]): Promise<Map<string, Permit>> {
  const { rows } = await db.query<Permit & { fingerprint: string; filingId: string }>(
    `SELECT fingerprint, filing_id AS "filingId", by_persons - ${PERMITTED_BESIDE} AS left, named FROM permits p
      WHERE fingerprint = ANY($1)`,
    [fingerprints],
  );
  return new Map(rows.map(({ left, named, ...holder }) => [permitKey(holder), { left, named }]));
}

async function rememberNamed(db: Queryable, holders: readonly Holder[]): Promise<void> {
  await db.query(
    `INSERT INTO permits (fingerprint, filing_id, named)
     SELECT DISTINCT fingerprint, filing_id, true FROM unnest($1::text[], $2::text[]) AS refused (fingerprint, filing_id)
      ORDER BY 1, 2
     ON CONFLICT (fingerprint, filing_id) DO UPDATE SET named = true WHERE NOT permits.named`,
    [holders.map(({ fingerprint }) => fingerprint), holders.map(({ filingId }) => filingId)],
  );
}

/** The live rows of a filing whose outcome is not known, or that were abandoned after the send. */
export async function positionsInDoubt(db: Queryable, filingId: string): Promise<number[]> {
  const { rows } = await db.query<{ position: number }>(
    `SELECT position FROM filing_rows o WHERE filing_id = $1 AND live AND ${IN_DOUBT} ORDER BY position`,
    [filingId],
  );
  return rows.map(({ position }) => position);
}

/** Whether two persons have permitted a row beside each of these rows, and the permission is still unused. */
export async function isPermitted(db: Queryable, filingId: string, positions: readonly number[]): Promise<boolean> {
  const { rows } = await db.query<{ open: boolean }>(
    `SELECT coalesce(bool_and(coalesce((SELECT by_persons - ${PERMITTED_BESIDE} FROM permits p
         WHERE p.fingerprint = m.fingerprint AND p.filing_id = m.filing_id), 0) > 0), false) AS open
       FROM held_mappings m WHERE m.filing_id = $1 AND m.position = ANY($2)`,
    [filingId, positions],
  );
  return rows[0]?.open ?? false;
}

/** Records that two persons permit one more row beside each of these rows. */
export async function permitBeside(
  client: Queryable,
  { filingId, positions }: { filingId: string; positions: readonly number[] },
): Promise<void> {
  await client.query(
    `INSERT INTO permits (fingerprint, filing_id, by_persons)
     SELECT fingerprint, filing_id, ${PERMITTED_BESIDE} + count(*) FROM held_mappings p WHERE filing_id = $1 AND position = ANY($2)
      GROUP BY fingerprint, filing_id
     ON CONFLICT (fingerprint, filing_id) DO UPDATE SET by_persons = excluded.by_persons`,
    [filingId, positions],
  );
}

function refusal({ row, mapping }: MappingRow, holders: readonly Holder[], option: string): Finding {
  const { irmNumber, irmFCC, sbCumInvoiceNumber, mappedIRMAmountFCC } = mapping;
  const what = `IRM ${irmNumber} for document ${sbCumInvoiceNumber} with ${mappedIRMAmountFCC} ${irmFCC}`;
  const texts = holders.map(
    ({ filingId, reference, n, state, madeAt }) =>
      `filing ${filingId} (reference ${filingName({ reference, n })}, state ${state}, made ${madeAt.toISOString()})`,
  );
  const where = [...new Set(texts)];
  const already = where.length > 0 ? `is already in ${listed(where)}` : 'is in another row of this file too';
  const certified = holders.some((holder) => holder.certified);
  const then = certified ? 'it has its certificate, and filing it again makes a second one' : 'see `ebrc show` of it';
  const doubted = holders.filter(({ inDoubt }) => inDoubt).map(({ filingId }) => filingId);
  const pass =
    doubted.length > 0
      ? ` Its outcome is not known: it may be filed once more only after two persons have permitted it (ebrc permit ${doubted[0]} ROWS).`
      : '';
  return {
    ...errorAt(row, null, 'mapping_live', `${what} ${already}${where.length > 0 ? `: ${then}` : ''}.${pass}`),
    ...(holders[0] && { filingId: holders[0].filingId }),
    ...(doubted.length === 0 && { allowDuplicate: option }),
  };
}

/** A mapping's fingerprint: party, colon, hash. The prefix lets one statement move rows between parties. */
export function fingerprintOf(partyId: number, mapping: Mapping): string {
  return `${partyId}:${createHash('sha256').update(mappingIdentity(mapping)).digest('hex')}`;
}
