/** The certify gate: the only place that gives a row its certificate, and records how it was proven. */
import { matchCertificates } from '../../domain/reconciliation/certificate-matching';
import { filingDateInKolkata } from '../../domain/dates';
import { OPEN_ROW_STATES, type RowState } from '../../domain/filing/states';
import { irmNumberOf } from '../exporters/irms';
import { unclaimedCertificates } from '../certificates/certificates';
import { candidateRows, countOpenRows } from '../rows/filing-rows';
import { updateQuestionsOfEnded } from '../rows/row-takeover';
import type { Queryable } from '../pool';
import { settleSubmission } from '../submissions/submissions';
import { lineageSend } from './absence';
import { closeOpenAttempts, lockAttempts } from './attempts';
import { contradictedByBalance } from './balance-evidence';
import { holdAsSent } from './held-rows';
import { writeVerdict } from './verdict';
import type { SubmissionKey } from '../../domain/filing/attempt';

export interface NamedCertificate {
  position: number;
  eBRCNumber: string;
  eBRCDate: string | null;
}

/** A certificate that was named for a row, and why the row does not get it. */
export interface Contradiction {
  position: number;
  eBRCNumber: string;
  why: string;
}

interface CertifiedPart extends SubmissionKey {
  exporterId: string;
  at: Date;
}

/**
 * Certifies rows by the status record of their own request. @returns the certificates that rows did not get, and why
 * @param fits for a request that a person named, see {@link fitsOfNamed}
 */
export async function certifyByRecord(
  client: Queryable,
  { records: named, fits, ...part }: CertifiedPart & { records: readonly NamedCertificate[]; fits?: Fits },
): Promise<Contradiction[]> {
  const records = fits ? named.filter(({ position }) => fits.has(position)) : named;
  if (records.length === 0) return [];
  const { filingId, submission, at } = part;
  const misfit = ({ position }: NamedCertificate) => fits?.get(position) ?? null;
  const fitting = records.filter((record) => misfit(record) === null);
  await holdWhereReleased(client, part, fitting);
  const { before } = await lineageSend(client, { filingId, submission });
  const old = new Set(before);
  const fresh = fitting.filter(({ eBRCNumber }) => !old.has(eBRCNumber));
  const claimed = await claim(client, { ...part, adoption: 'record', certificates: fresh });
  if (claimed.size === records.length) return [];
  const certified = await certifiedAs(client, filingId, submission);
  const held = new Map(certified.map(({ position, eBRCNumber }) => [position, eBRCNumber]));
  return records.flatMap((record): Contradiction[] => {
    const { position, eBRCNumber } = record;
    if (claimed.has(position) || held.get(position) === eBRCNumber) return [];
    const why = old.has(eBRCNumber)
      ? 'it existed before the filing was sent'
      : held.has(position)
        ? `the row is certified as ${held.get(position)}`
        : (misfit(record) ?? 'another row has it');
    return [{ position, eBRCNumber, why: `${why} (seen at ${at.toISOString()})` }];
  });
}

/** By position: why the named certificate is not the row's; null: it is, or belongs to a row. Absent: not known yet. */
export type Fits = ReadonlyMap<number, string | null>;

const OTHER_DETAILS =
  'its details are of another document, date, amount or currency, or perhaps of another IRM of the same number';
const NAMED_NOT_OURS = 'two persons said that it is another filing’s';

/**
 * Compares details, because a named request's record has no amounts and may mean another row of the same document.
 * Nothing names an AD code: where the IRM's number is known under another one too, only persons tell them apart.
 */
export async function fitsOfNamed(
  db: Queryable,
  { filingId, submission, records }: SubmissionKey & { records: readonly NamedCertificate[] },
): Promise<Fits> {
  const { byTwo } = await readNotOurs(db, { filingId, submission });
  const { rows } = await db.query<{ position: number; eBRCNumber: string; fits: boolean }>(
    `SELECT v.position, v."eBRCNumber", c.filing_id IS NOT NULL OR (c.match_key IS NOT DISTINCT FROM r.match_key AND NOT EXISTS (
              SELECT FROM irms i WHERE i.exporter_id = r.exporter_id AND ${irmNumberOf('i.irm_key')} = ${irmNumberOf('r.irm_key')}
                 AND i.irm_key <> r.irm_key)) AS fits
       FROM jsonb_to_recordset($2::jsonb) AS v (position int, "eBRCNumber" text)
       JOIN filing_rows r ON r.filing_id = $1 AND r.position = v.position
       JOIN certificates c ON c.party_id = r.party_id AND c.ebrc_number = v."eBRCNumber"
      WHERE c.filing_id IS NOT NULL OR c.detail IS NOT NULL`,
    [filingId, JSON.stringify(records)],
  );
  const why = (number: string, fits: boolean) =>
    byTwo.includes(number) ? NAMED_NOT_OURS : fits ? null : OTHER_DETAILS;
  return new Map(rows.map(({ position, eBRCNumber, fits }) => [position, why(eBRCNumber, fits)]));
}

/** Takes releases back where a freed row has a certificate: an attempt that was judged absent becomes accepted. */
async function holdWhereReleased(
  client: Queryable,
  { filingId, submission, at }: CertifiedPart,
  records: readonly NamedCertificate[],
): Promise<void> {
  const positions = records.map(({ position }) => position);
  const { rowCount } = await client.query(
    `SELECT FROM filing_rows r WHERE filing_id = $1 AND submission = $2 AND position = ANY($3)
        AND (NOT live OR (state = 'planned' AND EXISTS (SELECT FROM attempts a
          WHERE a.filing_id = r.filing_id AND a.submission = r.submission AND a.verdict = 'absent'))) LIMIT 1`,
    [filingId, submission, positions],
  );
  if (!rowCount) return;
  const attempts = await lockAttempts(client, filingId, submission);
  const absent = attempts.findLast(({ verdict }) => verdict === 'absent');
  if (absent) {
    const { attemptId } = absent;
    const reason = 'a certificate of it came later';
    await closeOpenAttempts(client, { filingId, submission, reason, at });
    await writeVerdict(client, { attemptId, from: ['absent'], verdict: 'accepted', reason, at });
  }
  const sent = attempts.flatMap(({ markedAt }) => markedAt?.getTime() ?? []);
  const sentAt = sent.length > 0 ? new Date(Math.max(...sent)) : at;
  await holdAsSent(client, { filingId, submission, positions, sentAt, at });
}

/** Certifies rows by fetch-details, only on positive evidence. Requires the filing's lock. */
export async function certifyByDetails(client: Queryable, part: CertifiedPart & { settleMs: number }) {
  const { filingId, submission, at } = part;
  const { from, before } = await lineageSend(client, { filingId, submission });
  const nothing = { adopted: [], ambiguous: [], contradicted: [] };
  const found = from && before ? await adoptByDetails(client, part, from, before) : nothing;
  if (found.adopted.length > 0) await updateQuestionsOfEnded(client, filingId);
  const openRows = await countOpenRows(client, filingId, submission);
  if (openRows === 0) await settleSubmission(client, { filingId, submission, state: 'settled', at });
  return { ...found, openRows };
}

async function adoptByDetails(
  client: Queryable,
  { settleMs, ...part }: CertifiedPart & { settleMs: number },
  from: Date,
  before: readonly string[],
) {
  const { filingId, submission, exporterId } = part;
  const rows = await candidateRows(client, { filingId, submission, exporterId });
  const entries = await unclaimedCertificates(client, exporterId);
  const issuedFrom = filingDateInKolkata(from.getTime());
  const { byTwo, byOne } = await readNotOurs(client, part);
  const excluded = new Set([...before, ...byTwo]);
  const { matches, ambiguous } = matchCertificates(rows, entries, { excluded, issuedFrom });
  const balances = await contradictedByBalance(client, { ...part, matches, settleMs });
  const agreed: NamedCertificate[] = [];
  const contradicted: Contradiction[] = [];
  for (const match of matches) {
    const { position, eBRCNumber } = match;
    const why = byOne.has(eBRCNumber) ? 'somebody says that it is another filing’s' : (balances.get(position) ?? null);
    if (why === null) agreed.push(match);
    else contradicted.push({ position, eBRCNumber, why });
  }
  if (agreed.length > 0) await holdWhereReleased(client, part, agreed);
  const claimed = await claim(client, { ...part, adoption: 'details', certificates: agreed });
  const adopted = agreed.flatMap(({ position, eBRCNumber }) =>
    claimed.has(position) ? [{ position, eBRCNumber }] : [],
  );
  return { adopted, ambiguous, contradicted };
}

/** Certificates that persons named as not ours: `byTwo` persons, for good, or by one, until a second person does. */
async function readNotOurs(db: Queryable, { filingId, submission }: SubmissionKey) {
  const { rows } = await db.query<{ number: string; byTwo: boolean }>(
    `WITH own AS (SELECT DISTINCT l.filing_id, l.submission FROM filing_rows m JOIN filing_rows l USING (lineage)
         WHERE m.filing_id = $1 AND m.submission = $2)
     SELECT unnest(not_ours) AS number, true AS "byTwo" FROM releases JOIN own USING (filing_id, submission)
     UNION
     SELECT unnest(not_ours), false FROM words w WHERE filing_id IN (SELECT filing_id FROM own)
        AND (SELECT bool_and(outcome = 'stands') FROM word_judgements j WHERE j.word_id = w.word_id)`,
    [filingId, submission],
  );
  const numbers = (byTwo: boolean) => rows.flatMap((row) => (row.byTwo === byTwo ? [row.number] : []));
  return { byTwo: numbers(true), byOne: new Set(numbers(false)) };
}

/** Named certificates in the ledger's spelling, and why a row cannot have one. Requires the filing's lock. */
export async function judgeNamed(
  client: Queryable,
  { filingId, certificates }: { filingId: string; certificates: readonly NamedCertificate[] },
): Promise<{ certificates: NamedCertificate[]; contradictions: Contradiction[] }> {
  const { rows } = await client.query<NamedCertificate & { held: string | null; taken: boolean }>(
    `SELECT v.position, coalesce(c.ebrc_number, v.number) AS "eBRCNumber", c.ebrc_date AS "eBRCDate", r.ebrc_number AS held,
            coalesce((c.filing_id, c.position) <> (r.filing_id, r.position), false)
              OR count(*) OVER (PARTITION BY coalesce(c.ebrc_number, upper(v.number))) > 1 AS taken
       FROM (SELECT position, btrim("eBRCNumber") AS number FROM jsonb_to_recordset($2::jsonb) AS v (position int, "eBRCNumber" text)) AS v
       JOIN filing_rows r ON r.filing_id = $1 AND r.position = v.position
       LEFT JOIN certificates c ON c.party_id = r.party_id AND upper(c.ebrc_number) = upper(v.number)`,
    [filingId, JSON.stringify(certificates)],
  );
  const contradictions = rows.flatMap(({ position, eBRCNumber, held, taken }): Contradiction[] => {
    if (held !== null && held !== eBRCNumber) return [{ position, eBRCNumber, why: `the row is certified as ${held}` }];
    return taken ? [{ position, eBRCNumber, why: 'another row has it' }] : [];
  });
  const spelled = rows.map(({ position, eBRCNumber, eBRCDate }) => ({ position, eBRCNumber, eBRCDate }));
  return { certificates: spelled, contradictions };
}

/** Certifies rows on the word of two persons. @returns the certificates that rows did not get, and why */
export async function certifyByPersons(
  client: Queryable,
  { certificates, ...part }: CertifiedPart & { certificates: readonly NamedCertificate[] },
): Promise<Contradiction[]> {
  await holdWhereReleased(client, part, certificates);
  const claimed = await claim(client, { ...part, adoption: 'persons', certificates });
  const { filingId, submission, at } = part;
  if ((await countOpenRows(client, filingId, submission)) === 0)
    await settleSubmission(client, { filingId, submission, state: 'settled', at });
  const why = 'another row has it, or the row has its outcome';
  const left = certificates.filter(({ position }) => !claimed.has(position));
  return left.map(({ position, eBRCNumber }) => ({ position, eBRCNumber, why }));
}

/** Row states that a certificate can still settle. */
export const UNSETTLED: readonly RowState[] = [...OPEN_ROW_STATES, 'abandoned_after_send'];

/** Claims each number for its row and certifies the row; nothing else does. @returns the certified positions */
async function claim(
  client: Queryable,
  args: Omit<CertifiedPart, 'submission'> & {
    adoption: 'record' | 'details' | 'persons';
    certificates: readonly NamedCertificate[];
  },
): Promise<ReadonlySet<number>> {
  const { filingId, exporterId, adoption, certificates, at } = args;
  if (certificates.length === 0) return new Set();
  const { rows: claims } = await client.query<{ position: number; number: string }>(
    `WITH open AS (
       SELECT r.party_id, r.filing_id, r.position, v."eBRCNumber" AS number, v."eBRCDate" AS issued
         FROM jsonb_to_recordset($2::jsonb) AS v (position int, "eBRCNumber" text, "eBRCDate" text)
         JOIN filing_rows r ON r.filing_id = $1 AND r.position = v.position AND r.live
          AND (r.state = ANY($5) OR (r.ebrc_number = v."eBRCNumber" AND r.adoption <> 'record'))
        ORDER BY r.position FOR UPDATE OF r
     )
     INSERT INTO certificates AS c (party_id, exporter_id, ebrc_number, ebrc_date, filing_id, position, first_seen_at,
        claimed_at)
     SELECT DISTINCT ON (number) party_id, $3, number, issued, filing_id, position, $4::timestamptz, clock_timestamp() FROM open
      ORDER BY number, position
     ON CONFLICT (party_id, ebrc_number) DO UPDATE SET filing_id = excluded.filing_id, position = excluded.position,
       ebrc_date = coalesce(c.ebrc_date, excluded.ebrc_date), claimed_at = coalesce(c.claimed_at, excluded.claimed_at)
      WHERE c.filing_id IS NULL OR (c.filing_id, c.position) = (excluded.filing_id, excluded.position)
     RETURNING c.position, c.ebrc_number AS number`,
    [filingId, JSON.stringify(certificates), exporterId, at, UNSETTLED],
  );
  const dates = new Map(certificates.map(({ eBRCNumber, eBRCDate }) => [eBRCNumber, eBRCDate]));
  const claimed = claims.map(({ position, number }) => ({ position, number, issued: dates.get(number) ?? null }));
  const { rows } = await client.query<{ position: number }>(
    `WITH certified AS (
       UPDATE filing_rows r SET state = 'certified', adoption = $5, ebrc_number = v.number, ebrc_date = coalesce(v.issued, r.ebrc_date),
          settled_at = CASE WHEN r.state = 'certified' THEN r.settled_at ELSE $3 END, errors = '[]'
         FROM jsonb_to_recordset($2::jsonb) AS v (position int, number text, issued text)
        WHERE r.filing_id = $1 AND r.position = v.position AND r.live
          AND (r.state = ANY($4) OR r.ebrc_number = v.number) RETURNING r.position, r.party_id, r.ebrc_number
     ), claimed AS (
       UPDATE questions q SET closed_at = $3 FROM certified c
        WHERE q.party_id = c.party_id AND q.key = 'theirs_not_ours|' || c.ebrc_number AND q.closed_at IS NULL
     )
     SELECT position FROM certified`,
    [filingId, JSON.stringify(claimed), at, UNSETTLED, adoption],
  );
  return new Set(rows.map(({ position }) => position));
}

/** The certificates of a submission's rows, optionally only those that were adopted in one way. */
export async function certifiedAs(client: Queryable, filingId: string, submission: number, adoption?: 'details') {
  const { rows } = await client.query<{ position: number; eBRCNumber: string }>(
    `SELECT position, ebrc_number AS "eBRCNumber" FROM filing_rows
      WHERE filing_id = $1 AND submission = $2 AND ebrc_number IS NOT NULL AND ($3::text IS NULL OR adoption = $3)
      ORDER BY position`,
    [filingId, submission, adoption ?? null],
  );
  return rows;
}
