/** Evidence that rows were not filed, for the release and send gates: certificates, looks, the settle window. */
import { certificatesBefore } from '../certificates/snapshots';
import type { Queryable } from '../pool';
import { PUT_BACK_TOGETHER } from './held-rows';
import type { SubmissionKey } from '../../domain/filing/attempt';

interface Rows extends SubmissionKey {
  /** Default: every live row of the submission that has no certificate. */
  positions?: readonly number[];
}

/** SQL: `named` is every identity in the lineages of the rows. $1: filing, $2: submission, $3: positions or null. */
const NAMED = `mine AS (
    SELECT * FROM filing_rows WHERE filing_id = $1 AND submission = $2 AND ebrc_number IS NULL
       AND (live OR $3::int[] IS NOT NULL) AND ($3::int[] IS NULL OR position = ANY($3))),
  lineage AS (SELECT m.position AS of, r.* FROM mine m JOIN filing_rows r USING (lineage)),
  named AS (SELECT DISTINCT of, party_id, document_key, document_on, bill_key FROM lineage)`;

/** SQL: `first` is the first mark of the lineages, with the snapshot that was taken before it. */
const FIRST = `first AS (
    SELECT a.marked_at, a.snapshot_id FROM attempts a WHERE a.marked_at IS NOT NULL
       AND (a.filing_id, a.submission) IN (SELECT filing_id, submission FROM lineage)
     ORDER BY a.marked_at LIMIT 1)`;

/** The first send in the lineages of a submission's rows: no certificate of theirs can be older. */
export async function lineageSend(db: Queryable, { filingId, submission, positions }: Rows) {
  const { rows } = await db.query<{
    firstMarkAt: Date | null;
    /** Certificates issued before this do not count: one day before the first mark. */
    from: Date | null;
    /** Certificate numbers that existed before the first send; null if they were not read then. */
    before: string[] | null;
  }>(
    `WITH ${NAMED}, ${FIRST}
     SELECT f.marked_at AS "firstMarkAt", f.marked_at - interval '1 day' AS from,
            CASE WHEN s.listed IS NOT NULL THEN ${certificatesBefore('s')} END AS before
       FROM first f LEFT JOIN snapshots s USING (snapshot_id)`,
    [filingId, submission, positions ?? null],
  );
  return rows[0] ?? { firstMarkAt: null, from: null, before: null };
}

/** SQL: whether certificate `c` has a row's document (date equal or unknown) or bill, and no row has it by record. */
export const agrees = (named: string): string =>
  `((c.document_key = ${named}.document_key
       AND (c.document_on IS NULL OR ${named}.document_on IS NULL OR c.document_on = ${named}.document_on))
     OR (${named}.bill_key <> '' AND c.bill_key = ${named}.bill_key))
   AND NOT EXISTS (SELECT FROM filing_rows h WHERE h.party_id = c.party_id AND h.ebrc_number = c.ebrc_number
     AND h.adoption = 'record' AND NOT h.disputed)`;

/** Certificates that agree with an identity of the rows' lineages, are not in `before` and not older than `from`. */
export async function agreeingCertificates(
  db: Queryable,
  { filingId, submission, positions, from, before }: Rows & { from: Date | null; before: string[] | null },
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

/** SQL: whether look `l` is complete and covers all days since this one. */
export const COVERS_DAYS_SINCE = (day: string): string =>
  `(l.complete AND l.from_date <= ${day} AND l.to_date >= (l.began_at AT TIME ZONE 'Asia/Kolkata')::date)`;

/** The id of the party's newest complete look that began at or after `since` and covers all days since `from`. */
export async function completeLook(
  db: Queryable,
  { exporterId, since, from }: { exporterId: string; since: Date; from: Date },
): Promise<number | null> {
  const { rows } = await db.query<{ lookId: number }>(
    `SELECT look_id::float8 AS "lookId" FROM looks l WHERE party_id = (SELECT party_id FROM exporters WHERE exporter_id = $1)
        AND began_at >= $2 AND ${COVERS_DAYS_SINCE("($3::timestamptz AT TIME ZONE 'Asia/Kolkata')::date")}
      ORDER BY began_at DESC LIMIT 1`,
    [exporterId, since, from],
  );
  return rows[0]?.lookId ?? null;
}

/** SQL: the settle window of `o`'s submission in ms: $3, or its sender's if that was longer. */
const WINDOW_MS = `(SELECT greatest($3::float8, max(a.settle_ms), max(a.timeout_ms) FILTER (WHERE a.verdict = 'marked' AND a.reason IS NULL))
  FROM attempts a WHERE a.filing_id = o.filing_id AND a.submission = o.submission)`;

/** SQL: its end. It counts from the last mark, and a restore delays it; null: nothing was marked. */
export const WINDOW_END = `(SELECT greatest(max(a.marked_at) + ${WINDOW_MS} * interval '1 ms',
    max(l.certificates_after) FILTER (WHERE a.reason = '${PUT_BACK_TOGETHER}'))
  FROM attempts a, ledger_identity l WHERE a.filing_id = o.filing_id AND a.submission = o.submission)`;

export async function settleWindow(client: Queryable, of: SubmissionKey & { settleMs: number }) {
  const { filingId, submission, settleMs } = of;
  const { rows } = await client.query<{ ms: number; end: Date | null }>(
    `SELECT ${WINDOW_MS} AS ms, ${WINDOW_END} AS end FROM submissions o WHERE filing_id = $1 AND submission = $2`,
    [filingId, submission, settleMs],
  );
  return rows[0] ?? { ms: settleMs, end: null };
}

/** Why the party's last look was incomplete, in brackets for a message; empty if it was complete. */
export async function lastProblem(client: Queryable, exporterId: string): Promise<string> {
  const { rows } = await client.query<{ problem: string | null }>(
    `SELECT problem FROM looks WHERE party_id = (SELECT party_id FROM exporters WHERE exporter_id = $1)
      ORDER BY began_at DESC LIMIT 1`,
    [exporterId],
  );
  return rows[0]?.problem ? ` (${rows[0].problem})` : '';
}

/** The send gate accepts no look older than this, and no older statement of two persons in place of one. */
const LOOK_MAX_AGE_MS = 24 * 60 * 60_000;

/** What must be confirmed before rows whose document was once released as absent are sent; null: nothing. */
export async function absenceToConfirm(
  db: Queryable,
  { filingId, submission, at }: Omit<Rows, 'positions'> & { at: Date },
): Promise<{
  /** Epoch ms: a complete look of the last day must begin after `since` and cover all days since `from`. */
  since: number;
  from: number;
  looked: boolean;
  /** Agreeing certificates, except those that two persons named as another filing's. */
  agreeing: string[];
} | null> {
  const oldest = new Date(at.getTime() - LOOK_MAX_AGE_MS);
  const { rows } = await db.query<{
    exporterId: string;
    since: Date;
    from: Date;
    /** Whether two persons' newest `unseen` was said at this gate, not with the release; null: it is not newest. */
    atGate: boolean | null;
    notOurs: string[];
  }>(
    `WITH ${NAMED}
     SELECT max(x.exporter_id) AS "exporterId", max(l.released_at) AS since, min(coalesce(l.certificates_from, l.released_at)) AS from,
            CASE WHEN max(l.released_at) FILTER (WHERE own AND l.unseen) > greatest(max(l.released_at) FILTER (WHERE NOT (own AND l.unseen)), $4)
              THEN (array_agg(l.attempt_id IS NULL AND l.request_id IS NULL ORDER BY l.released_at DESC))[1] END AS "atGate",
            coalesce(jsonb_agg(DISTINCT named_by_two) FILTER (WHERE own AND named_by_two IS NOT NULL), '[]') AS "notOurs"
       FROM (SELECT *, (filing_id, submission) IN (SELECT filing_id, submission FROM lineage) AS own FROM releases) AS l
       JOIN filing_rows x ON x.filing_id = l.filing_id AND x.submission = l.submission
       LEFT JOIN LATERAL unnest(l.not_ours) AS named_by_two ON true
      WHERE l.ground = 'absent'
        AND EXISTS (SELECT FROM named n WHERE n.party_id = x.party_id AND n.document_key = x.document_key)
     HAVING count(*) > 0`,
    [filingId, submission, null, oldest],
  );
  const [found] = rows;
  if (!found) return null;
  const { exporterId, since, from, atGate, notOurs } = found;
  const send = await lineageSend(db, { filingId, submission });
  const agreeing = await agreeingCertificates(db, { filingId, submission, from, before: send.before });
  const lookSince = new Date(Math.max(since.getTime(), oldest.getTime()));
  const covering = (day: Date) => completeLook(db, { exporterId, since: lookSince, from: day });
  // What was said with the release counts only while no look is possible, as the one before each send shows.
  const looked =
    atGate === true || (await covering(from)) !== null || (atGate === false && (await covering(at)) === null);
  const named = new Set(notOurs);
  const unnamed = [...new Set(agreeing.map(({ eBRCNumber }) => eBRCNumber))].filter((number) => !named.has(number));
  return looked && unnamed.length === 0
    ? null
    : { since: since.getTime(), from: from.getTime(), looked, agreeing: unnamed };
}
