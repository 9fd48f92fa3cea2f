/** What is known of an absence, for the release gate and the send gate: certificates, looks, and the settle window. */
import { certificatesBefore } from '../certificates/snapshots';
import type { Queryable } from '../pool';
import { lockAttempts, type AttemptRow } from './attempts';
import { PUT_BACK_TOGETHER } from './held-rows';
import type { SubmissionKey } from '../../domain/filing/attempt';

interface Rows extends SubmissionKey {
  /** Left out: every live row of the submission without a certificate. */
  positions?: readonly number[];
}

/** Every identity in the lineages of the rows, as `named`; $1 filing, $2 submission, $3 positions or null. */
const NAMED = `mine AS (
    SELECT * FROM filing_rows WHERE filing_id = $1 AND submission = $2 AND ebrc_number IS NULL
       AND (live OR $3::int[] IS NOT NULL) AND ($3::int[] IS NULL OR position = ANY($3))),
  lineage AS (SELECT m.position AS of, r.* FROM mine m JOIN filing_rows r USING (lineage)),
  named AS (SELECT DISTINCT of, party_id, document_key, document_on, bill_key FROM lineage)`;

/** The first mark of the lineages, and the certificates that existed before it, as `first`. */
const FIRST = `first AS (
    SELECT a.marked_at, a.snapshot_id FROM attempts a WHERE a.marked_at IS NOT NULL
       AND (a.filing_id, a.submission) IN (SELECT filing_id, submission FROM lineage)
     ORDER BY a.marked_at LIMIT 1)`;

export interface LineageSend {
  firstMarkAt: Date | null;
  /** From when on certificates count: a day before that. */
  from: Date | null;
  /** Certificate numbers that existed before the first send; null where nothing was read then. */
  before: string[] | null;
}

/** The send that certificates of a submission's rows can come from: the first of their lineages. */
export async function lineageSend(db: Queryable, { filingId, submission, positions }: Rows): Promise<LineageSend> {
  const { rows } = await db.query<LineageSend>(
    `WITH ${NAMED}, ${FIRST}
     SELECT f.marked_at AS "firstMarkAt", f.marked_at - interval '1 day' AS from,
            CASE WHEN s.listed IS NOT NULL THEN ${certificatesBefore('s')} END AS before
       FROM first f LEFT JOIN snapshots s USING (snapshot_id)`,
    [filingId, submission, positions ?? null],
  );
  return rows[0] ?? { firstMarkAt: null, from: null, before: null };
}

/** Whether certificate `c` agrees with a row's document (date equal or unknown) or bill, unless another's. */
export const agrees = (named: string): string =>
  `((c.document_key = ${named}.document_key
       AND (c.document_on IS NULL OR ${named}.document_on IS NULL OR c.document_on = ${named}.document_on))
     OR (${named}.bill_key <> '' AND c.bill_key = ${named}.bill_key))
   AND NOT EXISTS (SELECT FROM filing_rows h WHERE h.party_id = c.party_id AND h.ebrc_number = c.ebrc_number
     AND h.adoption = 'record' AND NOT h.disputed)`;

/** Certificates that agree with rows in any identity of their lineage and did not exist before its first send. */
export async function agreeingCertificates(
  db: Queryable,
  { filingId, submission, positions, from, before }: Rows & Pick<LineageSend, 'from' | 'before'>,
) {
  const { rows } = await db.query<{ row: number; eBRCNumber: string }>(
    `WITH ${NAMED}
     SELECT DISTINCT m.source_row AS row, c.ebrc_number AS "eBRCNumber"
       FROM named n JOIN mine m ON m.position = n.of CROSS JOIN LATERAL (
         SELECT d.* FROM certificates d WHERE d.party_id = n.party_id AND d.document_key = n.document_key
         UNION ALL
         SELECT b.* FROM certificates b WHERE b.party_id = n.party_id AND b.bill_key = n.bill_key AND b.bill_key <> '') AS c
      WHERE ${agrees('n')} AND NOT c.ebrc_number = ANY($5)
        AND (c.issued_on IS NULL OR $4::timestamptz IS NULL OR c.issued_on >= ($4::timestamptz AT TIME ZONE 'Asia/Kolkata')::date)
      ORDER BY 1, 2`,
    [filingId, submission, positions ?? null, from, before ?? []],
  );
  return rows;
}

/** The newest complete look of a party that began at or after `since` and covers the days from `from` on. */
export async function completeLook(
  db: Queryable,
  { exporterId, since, from }: { exporterId: string; since: Date; from: Date },
): Promise<number | null> {
  const { rows } = await db.query<{ lookId: number }>(
    `SELECT look_id::float8 AS "lookId" FROM looks WHERE party_id = (SELECT party_id FROM exporters WHERE exporter_id = $1)
        AND complete AND began_at >= $2 AND from_date <= ($3::timestamptz AT TIME ZONE 'Asia/Kolkata')::date
        AND to_date >= (began_at AT TIME ZONE 'Asia/Kolkata')::date
      ORDER BY began_at DESC LIMIT 1`,
    [exporterId, since, from],
  );
  return rows[0]?.lookId ?? null;
}

/** The window of this process, or of the sender whose window was longer. */
export const longestWindow = (attempts: readonly AttemptRow[], settleMs: number): number =>
  Math.max(settleMs, ...attempts.map((each) => each.settleMs ?? 0));

/** The end of the settle window: after the last mark, and after what the service says was first said. */
export async function windowEnd(
  client: Queryable,
  of: { attempts: readonly AttemptRow[]; settleMs: number; statementSince?: Date | null },
): Promise<Date> {
  const { attempts, settleMs, statementSince } = of;
  const longest = longestWindow(attempts, settleMs);
  const begun = [...attempts.map(({ markedAt }) => markedAt), statementSince];
  const ends = begun.flatMap((from) => (from ? [from.getTime() + longest] : []));
  const { rows } = await client.query<{ after: Date | null }>(
    'SELECT certificates_after AS after FROM ledger_identity',
  );
  const restored = attempts.some(({ reason }) => reason === PUT_BACK_TOGETHER) ? rows[0]?.after?.getTime() : null;
  return new Date(Math.max(restored ?? 0, ...ends));
}

/** Whether the window of a submission that was sent is over, for what does not show by then. */
export async function windowIsOver(
  client: Queryable,
  { filingId, submission, settleMs, at }: SubmissionKey & { settleMs: number; at: Date },
): Promise<boolean> {
  const attempts = await lockAttempts(client, filingId, submission);
  return attempts.some(({ markedAt }) => markedAt !== null) && at >= (await windowEnd(client, { attempts, settleMs }));
}

/** What was in the way of the party's last look, for people. */
export async function lastProblem(client: Queryable, exporterId: string): Promise<string> {
  const { rows } = await client.query<{ problem: string | null }>(
    `SELECT problem FROM looks WHERE party_id = (SELECT party_id FROM exporters WHERE exporter_id = $1)
      ORDER BY began_at DESC LIMIT 1`,
    [exporterId],
  );
  return rows[0]?.problem ? ` (${rows[0].problem})` : '';
}

/** An older look, or two persons' word in its place, does not count at the send. */
const LOOK_COUNTS_MS = 24 * 60 * 60_000;

export interface AbsenceToConfirm {
  /** A complete look of the last day has to begin after this and cover the days from `from` on; ms since the epoch. */
  since: number;
  from: number;
  looked: boolean;
  /** Certificates that agree and that no two persons named as another filing's. */
  agreeing: string[];
}

/** What still has to be known since a row's document was released as absent; null: nothing, or it never was. */
export async function absenceToConfirm(
  db: Queryable,
  { filingId, submission, at }: Omit<Rows, 'positions'> & { at: Date },
): Promise<AbsenceToConfirm | null> {
  const counts = new Date(at.getTime() - LOOK_COUNTS_MS);
  const { rows } = await db.query<{ exporterId: string; since: Date; from: Date; unseen: boolean; notOurs: string[] }>(
    `WITH ${NAMED}
     SELECT max(x.exporter_id) AS "exporterId", max(l.released_at) AS since, min(coalesce(l.certificates_from, l.released_at)) AS from,
            coalesce(max(l.released_at) FILTER (WHERE l.unseen AND (l.filing_id, l.submission) IN (SELECT filing_id, submission FROM lineage))
              > greatest(max(l.released_at) FILTER (WHERE NOT l.unseen), $4), false) AS unseen, coalesce(jsonb_agg(DISTINCT named_by_two) FILTER (WHERE named_by_two IS NOT NULL
              AND (l.filing_id, l.submission) IN (SELECT filing_id, submission FROM lineage)), '[]') AS "notOurs"
       FROM releases l JOIN filing_rows x ON x.filing_id = l.filing_id AND x.submission = l.submission
       LEFT JOIN LATERAL unnest(l.not_ours) AS named_by_two ON true
      WHERE l.ground = 'absent'
        AND EXISTS (SELECT FROM named n WHERE n.party_id = x.party_id AND n.document_key = x.document_key)
     HAVING count(*) > 0`,
    [filingId, submission, null, counts],
  );
  const [found] = rows;
  if (!found) return null;
  const { exporterId, since, from, unseen, notOurs } = found;
  const send = await lineageSend(db, { filingId, submission });
  const agreeing = await agreeingCertificates(db, { filingId, submission, from, before: send.before });
  const lookSince = new Date(Math.max(since.getTime(), counts.getTime()));
  const looked = unseen || (await completeLook(db, { exporterId, since: lookSince, from })) !== null;
  const named = new Set(notOurs);
  const open = [...new Set(agreeing.map(({ eBRCNumber }) => eBRCNumber))].filter((number) => !named.has(number));
  return looked && open.length === 0 ? null : { since: since.getTime(), from: from.getTime(), looked, agreeing: open };
}
