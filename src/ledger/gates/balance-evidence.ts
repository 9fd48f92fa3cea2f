import { compareAmounts, subtractAmounts, sumAmounts } from '../../domain/money';
import { issueDay, sameIrm } from '../exporters/irms';
import type { Queryable } from '../pool';
import type { SubmissionKey } from '../../domain/filing/attempt';
import { IS_CANDIDATE } from '../rows/filing-rows';
import { IS_DENIED } from '../submissions/requests';
import { COVERS_DAYS_SINCE, WINDOW_END } from './absence';

/** The smallest unit in which the service counts amounts. */
const SMALLEST_UNIT = '0.01';

interface Asked extends SubmissionKey {
  /** The rows of the submission that one look shows certificates for. */
  matches: readonly { position: number; eBRCNumber: string }[];
  /** The settle window: a row that no certificate is shown for by the end of its own was not filed. */
  settleMs: number;
  at: Date;
}

/**
 * SQL: `sent` is the submission's first send with a snapshot from before it, else its first one. $1: filing, $2:
 * submission.
 */
const SENT = `sent AS (
    SELECT a.marked_at, s.taken_at, s.balances FROM attempts a LEFT JOIN snapshots s USING (snapshot_id)
     WHERE a.filing_id = $1 AND a.submission = $2 AND a.marked_at IS NOT NULL
     ORDER BY s.snapshot_id IS NULL, a.number LIMIT 1)`;

/** SQL: whether change `c` is of IRM record `i`. */
const IS_CHANGE_OF = `(c.exporter_id, c.irm_number, c.ad_code, c.ifsc_code, c.issue_date)
  = (i.exporter_id, i.irm_number, i.ad_code, i.ifsc_code, i.issue_date)`;

/** SQL: whether a certificate is issued, as only such ones are taken for a use of a balance. */
const isIssued = (certificate: string): string => `upper(btrim(${certificate}.status)) = 'ISSUED'`;

interface Filed {
  amount: string;
  sentAt: Date | null;
  /** When the row was certified; null: it has no outcome. */
  certifiedAt: Date | null;
}

interface Reading {
  at: Date;
  available: string;
}

/** An IRM of matched rows, with its balance in the snapshot before the send. */
interface MatchedIrm {
  partyId: number;
  exporterId: string;
  irmKey: string;
  irmNumber: string;
  positions: number[];
  at: Date | null;
  before: string | null;
  /** Null: it was not read between the issue of the certificates and the look that shows them, or tells nothing. */
  now: string | null;
}

const UNREAD =
  'the balance of its IRM was not read between the issue of the certificate and the look that shows it, or tells nothing because the remittance was amended or cancelled since the send';

/**
 * Why balances contradict rows' certificates, by position; without an entry they do not. The balance of the rows' IRM
 * must have been read between the issue of the certificates and the look that shows them, and must have fallen by the
 * matched rows and all that was certified on the IRM since. Every other sent row counts too within its settle window,
 * while its request is processed, or if another certificate fits it, because it may have used the balance.
 */
export async function contradictedByBalance(db: Queryable, asked: Asked): Promise<Map<number, string>> {
  const contradictions = new Map<number, string>();
  // Once an IRM: once a row, a thousand rows would hold the filing's lock for half a minute.
  for (const irm of await matchedIrms(db, asked)) {
    const why = await contradiction(db, asked, irm);
    if (why !== null) for (const position of irm.positions) contradictions.set(position, why);
  }
  return contradictions;
}

async function contradiction(db: Queryable, asked: Asked, irm: MatchedIrm): Promise<string | null> {
  const { irmNumber, at, before, now } = irm;
  if (at === null || before === null || now === null) return UNREAD;
  const filed = await filedOnIrm(db, asked, irm);
  for (const { reading, since, counted } of await comparisons(db, irm, { at, available: before }, filed)) {
    const grown = subtractAmounts(reading.available, now);
    const needed = sumAmounts(counted.map(({ amount }) => amount));
    if (compareAmounts(sumAmounts([grown, SMALLEST_UNIT]), needed) < 0)
      return `the balance of IRM ${irmNumber} fell by ${grown} since ${since}, and ${needed} would have to be filed on it`;
  }
  return null;
}

/**
 * The readings to compare the balance with, and the rows that must have used it since each. The snapshot's reading may
 * or may not include a row that was on its way at that time, so that row is left out. It is counted from the newest
 * reading that falls between no row's send and its outcome.
 */
async function comparisons(
  db: Queryable,
  irm: MatchedIrm,
  snapshot: Reading,
  filed: readonly Filed[],
): Promise<{ reading: Reading; since: string; counted: Filed[] }[]> {
  const outcomeAfter = (at: Date) => filed.filter(({ certifiedAt }) => certifiedAt === null || certifiedAt > at);
  const onTheirWay = (at: Date) =>
    outcomeAfter(at).filter(({ sentAt, certifiedAt }) => certifiedAt !== null && (sentAt === null || sentAt < at));
  const uncertain = new Set(onTheirWay(snapshot.at));
  const strict = { reading: snapshot, since: 'the send', counted: outcomeAfter(snapshot.at) };
  if (uncertain.size === 0) return [strict];
  const certain = (await earlierReadings(db, irm, snapshot.at)).find(({ at }) => onTheirWay(at).length === 0);
  if (!certain) return [strict];
  return [
    { ...strict, counted: strict.counted.filter((row) => !uncertain.has(row)) },
    { reading: certain, since: 'an earlier reading', counted: outcomeAfter(certain.at) },
  ];
}

/**
 * Why balances speak against an absence: an IRM of rows without a certificate fell since the first send by at least the
 * smallest of them, and no certificate accounts for it (those of rows sent before that send, certified after
 * the last, or cancelled since, do not). Or the balance was not read before the send, or not since `window`, or
 * something was given back since, which may hide a use. A send without a snapshot is compared with the last reading
 * before it. null: nothing speaks against the absence.
 */
export async function unexplainedUse(
  db: Queryable,
  { filingId, submission, positions, window }: SubmissionKey & { positions?: readonly number[]; window: Date },
): Promise<string | null> {
  // A remittance that got the same number later is not in the snapshot: only as many records count as the snapshot has.
  const { rows } = await db.query<{
    irmNumber: string;
    unexplained: boolean;
    measured: boolean;
    /** The balance rose, was not told, or fell by less than was certified, or the remittance was amended. */
    rose: boolean;
    fell: string;
    certified: string;
  }>(
    `WITH ${SENT},
       open AS (
         SELECT irm_key, exporter_id, party_id, min(mapping->>'irmNumber') AS irm_number, min(mapped_amount) AS smallest
           FROM filing_rows WHERE filing_id = $1 AND submission = $2 AND ebrc_number IS NULL
            AND ($3::int[] IS NULL OR position = ANY($3)) GROUP BY irm_key, exporter_id, party_id),
       known AS (
         SELECT o.*, b.available AS before, b.available - n.available AS fell, b.read_at AS since, s.marked_at, n.read_at AS until
           FROM open o, sent s,
                LATERAL (SELECT CASE WHEN bool_and(available IS NOT NULL) THEN sum(available) END AS available,
                                coalesce(max(read_at), s.taken_at) AS read_at, count(*) AS records FROM (
                           SELECT (e->>'available')::numeric AS available, (e->>'readAt')::timestamptz AS read_at
                             FROM jsonb_array_elements(s.balances) AS e WHERE e->>'irmKey' = o.irm_key
                           UNION ALL
                           SELECT c.available, c.seen_at FROM irms i, LATERAL (
                             SELECT available, seen_at FROM irm_changes c
                              WHERE ${IS_CHANGE_OF} AND c.seen_at <= s.marked_at
                              ORDER BY seen_at DESC, change_id DESC LIMIT 1) AS c
                            WHERE s.balances IS NULL AND i.exporter_id = o.exporter_id AND ${sameIrm('i.irm_key', 'o.irm_key')}) AS e) AS b,
                LATERAL (SELECT CASE WHEN bool_and(i.available IS NOT NULL) THEN sum(i.available) END AS available,
                                min(i.read_at) AS read_at
                           FROM (SELECT available, read_at, row_number() OVER (ORDER BY first_seen_at, ${issueDay('issue_date')}) AS nth FROM irms
                                  WHERE exporter_id = o.exporter_id AND ${sameIrm('irm_key', 'o.irm_key')}) AS i
                          WHERE i.nth <= b.records) AS n),
       used AS (
         SELECT k.*, (SELECT coalesce(sum(c.mapped_amount), 0) FROM filing_rows c
                       WHERE c.party_id = k.party_id AND ${sameIrm('c.irm_key', 'k.irm_key')} AND c.state = 'certified'
                         AND c.submitted_at >= k.marked_at AND c.settled_at <= k.until
                         AND NOT EXISTS (SELECT FROM certificates t WHERE t.party_id = c.party_id AND t.ebrc_number = c.ebrc_number
                           AND NOT ${isIssued('t')})) AS certified FROM known k)
     SELECT irm_number AS "irmNumber", unexplained, before IS NOT NULL AS measured, rose, fell::text, certified::text
       FROM used CROSS JOIN LATERAL (
         SELECT coalesce(fell - certified + $4::numeric >= smallest, false) AS unexplained,
                coalesce(fell + $4 < certified, false) OR EXISTS (SELECT FROM (
                  SELECT c.seen_at, c.what, c.what <> 'first_seen' AND (c.available <= lag(c.available) OVER (
                           PARTITION BY c.ad_code, c.ifsc_code, c.issue_date ORDER BY c.seen_at, c.change_id)) IS NOT TRUE AS higher
                    FROM irms i JOIN irm_changes c USING (exporter_id, irm_number, ad_code, ifsc_code, issue_date)
                   WHERE i.exporter_id = used.exporter_id AND ${sameIrm('i.irm_key', 'used.irm_key')}) AS change
                 WHERE seen_at > since AND (higher OR what ~ 'amended')) AS rose) AS judged
      WHERE unexplained OR rose OR before IS NULL OR coalesce(until < $5, true)
      ORDER BY unexplained DESC, 1 LIMIT 1`,
    [filingId, submission, positions ?? null, SMALLEST_UNIT, window],
  );
  const [used] = rows;
  if (!used) return null;
  const { irmNumber, unexplained, measured, rose, fell, certified } = used;
  const balance = `the balance of IRM ${irmNumber}`;
  if (unexplained) return `${balance} fell by ${fell} since the send, and certificates account for ${certified} of it`;
  if (rose && measured) return `${balance} tells nothing: since the send it rose, or the remittance was amended`;
  return `${balance} was not read ${measured ? `since ${window.toISOString()}` : 'before the send'}`;
}

/** The IRMs of the matched rows, with the balance before the send and since the newest of their certificates. */
async function matchedIrms(db: Queryable, { filingId, submission, matches }: Asked): Promise<MatchedIrm[]> {
  const { rows } = await db.query<MatchedIrm>(
    `WITH ${SENT},
       irm AS (
         SELECT r.party_id, r.exporter_id, r.irm_key, min(r.mapping->>'irmNumber') AS irm_number, array_agg(r.position) AS positions,
                min(c.issued_on) AS first_issued, max(c.issued_on) AS last_issued
           FROM jsonb_to_recordset($3::jsonb) AS match (position int, "eBRCNumber" text)
           JOIN filing_rows r ON r.filing_id = $1 AND r.position = match.position
           JOIN certificates c ON c.party_id = r.party_id AND c.ebrc_number = match."eBRCNumber"
          GROUP BY r.party_id, r.exporter_id, r.irm_key)
     SELECT m.party_id AS "partyId", m.exporter_id AS "exporterId", m.irm_key AS "irmKey", m.irm_number AS "irmNumber", m.positions,
            coalesce(k.read_at, s.taken_at) AS at, k.available::text AS before,
            (SELECT CASE WHEN bool_and(i.available IS NOT NULL AND i.read_at > s.marked_at AND i.read_at <= look.at
                       AND (i.read_at AT TIME ZONE 'Asia/Kolkata')::date >= m.last_issued
                       AND NOT EXISTS (SELECT FROM irm_changes c WHERE ${IS_CHANGE_OF}
                         AND c.seen_at > coalesce(k.read_at, s.taken_at) AND c.what ~ 'amended|cancelled')) THEN sum(i.available)::text END
               FROM irms i, (SELECT max(began_at) AS at FROM looks l
                              WHERE party_id = m.party_id AND ${COVERS_DAYS_SINCE('m.first_issued')}) AS look
              WHERE i.exporter_id = m.exporter_id AND ${sameIrm('i.irm_key', 'm.irm_key')}) AS now
       FROM irm m LEFT JOIN sent s ON true CROSS JOIN LATERAL (
         SELECT sum((b->>'available')::numeric) AS available, min((b->>'readAt')::timestamptz) AS read_at
           FROM jsonb_array_elements(s.balances) AS b WHERE b->>'irmKey' = m.irm_key) AS k`,
    [filingId, submission, JSON.stringify(matches)],
  );
  return rows;
}

/** SQL: a request of row `o`, in a submission other than the matched rows', is followed, and not denied. */
const PROCESSED_BESIDE = `EXISTS (SELECT FROM requests q
  WHERE q.filing_id = o.filing_id AND q.submission = o.submission AND q.state = 'followed'
    AND NOT ${IS_DENIED} AND (q.filing_id, q.submission) <> ($1, $2))`;

/** SQL: a certificate that no row has, and that none of these matched rows would get ($8), fits row `o`. */
const HAS_ANOTHER = `EXISTS (SELECT FROM certificates c
  WHERE c.party_id = o.party_id AND c.document_key = o.document_key AND c.match_key = o.match_key AND c.filing_id IS NULL
    AND c.ebrc_number <> ALL ($8) AND ${isIssued('c')}
    AND c.issued_on >= (SELECT ((min(a.marked_at) - interval '1 day') AT TIME ZONE 'Asia/Kolkata')::date FROM attempts a
      WHERE a.filing_id = o.filing_id AND a.submission = o.submission))`;

/** The rows that count as filed on an IRM: certified, matched, or (within their window) perhaps filed. */
async function filedOnIrm(
  db: Queryable,
  { filingId, submission, matches, settleMs, at }: Asked,
  { partyId, irmKey, positions }: MatchedIrm,
): Promise<Filed[]> {
  const numbers = matches.flatMap(({ position, eBRCNumber }) => (positions.includes(position) ? [eBRCNumber] : []));
  const { rows } = await db.query<Filed>(
    `SELECT o.mapped_amount::text AS amount, o.submitted_at AS "sentAt",
            CASE WHEN o.state = 'certified' THEN o.settled_at END AS "certifiedAt"
       FROM filing_rows o WHERE o.party_id = $6 AND ${sameIrm('o.irm_key', '$7')}
        AND (o.state = 'certified' OR (o.filing_id = $1 AND o.position = ANY($4))
         OR (${IS_CANDIDATE} AND ($5 < ${WINDOW_END} OR ${PROCESSED_BESIDE} OR ${HAS_ANOTHER})))`,
    [filingId, submission, settleMs, positions, at, partyId, irmKey, numbers],
  );
  return rows;
}

/** Balances of an IRM before `until`, newest first: sums over its records, since all of them were known. */
async function earlierReadings(db: Queryable, { exporterId, irmKey }: MatchedIrm, until: Date): Promise<Reading[]> {
  const { rows } = await db.query<Reading>(
    `WITH record AS (
         SELECT exporter_id, irm_number, ad_code, ifsc_code, issue_date FROM irms
          WHERE exporter_id = $1 AND ${sameIrm('irm_key', '$2')}),
       change AS (SELECT * FROM irm_changes JOIN record USING (exporter_id, irm_number, ad_code, ifsc_code, issue_date)),
       reading AS (SELECT DISTINCT seen_at AS at FROM change WHERE seen_at < $3)
     SELECT at, sum(available)::text AS available
       FROM reading, record, LATERAL (
         SELECT c.available FROM change c
          WHERE (c.ad_code, c.ifsc_code, c.issue_date) = (record.ad_code, record.ifsc_code, record.issue_date) AND c.seen_at <= at
          ORDER BY c.seen_at DESC, c.change_id DESC LIMIT 1) AS known
      GROUP BY at HAVING count(known.available) = (SELECT count(*) FROM record) ORDER BY at DESC`,
    [exporterId, irmKey, until],
  );
  return rows;
}
