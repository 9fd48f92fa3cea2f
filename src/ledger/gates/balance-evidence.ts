import { compareAmounts, subtractAmounts, sumAmounts } from '../../domain/money';
import { issueDay, sameIrm } from '../exporters/irms';
import type { Queryable } from '../pool';
import type { SubmissionKey } from '../../domain/filing/attempt';
import { PUT_BACK_TOGETHER } from './held-rows';

/** The smallest unit in which the service counts amounts. */
const SMALLEST_UNIT = '0.01';

interface Asked extends SubmissionKey {
  /** The rows of the submission that one look shows certificates for, with their issue dates (DDMMYYYY). */
  matches: readonly { position: number; eBRCNumber: string; eBRCDate: string | null }[];
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

interface Filed {
  amount: string;
  sentAt: Date | null;
  /** When the row was certified; null: it has no outcome. */
  certifiedAt: Date | null;
  /** The certificates without a row that fit it, if it counts because of them alone. */
  fitting: string[] | null;
}

interface Reading {
  at: Date;
  available: string;
}

const UNREAD = 'the balance of its IRM was not read between the issue of the certificate and the look that shows it';

/**
 * Why balances contradict rows' certificates, by position; a row without an entry: they do not. The balance of its IRM
 * must have been read between the certificate's issue and the look that shows it, and must have fallen by the matched
 * rows and all that was certified on the IRM since. Every other sent row counts too within its settle window, while its
 * request is processed, or if another certificate fits it, because it may have used the balance.
 */
export async function contradictedByBalance(db: Queryable, asked: Asked): Promise<Map<number, string>> {
  const contradictions = new Map<number, string>();
  const numbers = new Map(asked.matches.map(({ position, eBRCNumber }) => [position, eBRCNumber]));
  // By IRM and issue date: reading all of them for each of a thousand rows holds the filing's lock for half a minute.
  for (const { positions, irmNumber, at, before, now } of await balancesAround(db, asked)) {
    if (at === null || before === null || now === null) {
      for (const position of positions) contradictions.set(position, UNREAD);
      continue;
    }
    const irm = { filingId: asked.filingId, position: positions[0]! };
    const filed = await filedOnIrm(db, { ...asked, ...irm });
    const balances = { ...irm, irmNumber, snapshot: { at, available: before }, now };
    const why = await contradiction(db, { ...balances, filed });
    for (const position of positions) {
      const fitsAnother = ({ fitting }: Filed) => fitting?.some((number) => number !== numbers.get(position)) ?? true;
      const others = filed.filter(fitsAnother);
      const found = others.length === filed.length ? why : await contradiction(db, { ...balances, filed: others });
      if (found !== null) contradictions.set(position, found);
    }
  }
  return contradictions;
}

interface IrmRow {
  /** One of its rows. */
  filingId: string;
  position: number;
}

async function contradiction(
  db: Queryable,
  {
    irmNumber,
    now,
    ...compared
  }: IrmRow & { irmNumber: string; snapshot: Reading; now: string; filed: readonly Filed[] },
): Promise<string | null> {
  for (const { reading, since, counted } of await comparisons(db, compared)) {
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
  { snapshot, filed, ...irm }: IrmRow & { snapshot: Reading; filed: readonly Filed[] },
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
 * smallest of them, and no certificate accounts for it (those of rows sent before the first reading, certified after
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
    /** The balance rose, or fell by less than was certified, or the remittance was amended. */
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
         SELECT o.*, b.available AS before, b.available - n.available AS fell, b.read_at AS since, n.read_at AS until
           FROM open o, sent s,
                LATERAL (SELECT CASE WHEN bool_and(available IS NOT NULL) THEN sum(available) END AS available,
                                coalesce(max(read_at), s.taken_at) AS read_at, count(*) AS records FROM (
                           SELECT (e->>'available')::numeric AS available, (e->>'readAt')::timestamptz AS read_at
                             FROM jsonb_array_elements(s.balances) AS e WHERE e->>'irmKey' = o.irm_key
                           UNION ALL
                           SELECT c.available, c.seen_at FROM irms i, LATERAL (
                             SELECT available, seen_at FROM irm_changes c
                              WHERE (c.exporter_id, c.irm_number, c.ad_code, c.ifsc_code, c.issue_date)
                                = (i.exporter_id, i.irm_number, i.ad_code, i.ifsc_code, i.issue_date) AND c.seen_at <= s.marked_at
                              ORDER BY seen_at DESC, change_id DESC LIMIT 1) AS c
                            WHERE s.balances IS NULL AND i.exporter_id = o.exporter_id AND ${sameIrm('i.irm_key', 'o.irm_key')}) AS e) AS b,
                LATERAL (SELECT CASE WHEN bool_and(i.available IS NOT NULL AND i.read_at > s.marked_at) THEN sum(i.available) END AS available,
                                min(i.read_at) AS read_at
                           FROM (SELECT available, read_at, row_number() OVER (ORDER BY first_seen_at, ${issueDay('issue_date')}) AS nth FROM irms
                                  WHERE exporter_id = o.exporter_id AND ${sameIrm('irm_key', 'o.irm_key')}) AS i
                          WHERE i.nth <= b.records) AS n),
       used AS (
         SELECT k.*, (SELECT coalesce(sum(c.mapped_amount), 0) FROM filing_rows c
                       WHERE c.party_id = k.party_id AND ${sameIrm('c.irm_key', 'k.irm_key')} AND c.state = 'certified'
                         AND c.submitted_at >= k.since AND c.settled_at <= k.until
                         AND NOT EXISTS (SELECT FROM certificates t WHERE t.party_id = c.party_id AND t.ebrc_number = c.ebrc_number
                           AND upper(btrim(t.status)) <> 'ISSUED')) AS certified FROM known k)
     SELECT irm_number AS "irmNumber", unexplained, before IS NOT NULL AS measured, rose, fell::text, certified::text
       FROM used CROSS JOIN LATERAL (
         SELECT coalesce(fell - certified + $4::numeric >= smallest, false) AS unexplained,
                coalesce(fell + $4 < certified, false) OR EXISTS (SELECT FROM (
                  SELECT c.seen_at, c.what, c.available > lag(c.available) OVER (PARTITION BY c.ad_code, c.ifsc_code, c.issue_date
                           ORDER BY c.seen_at, c.change_id) AS higher
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
  if (rose) return `${balance} tells nothing: since the send it rose, or the remittance was amended`;
  return `${balance} was not read ${measured ? `since ${window.toISOString()}` : 'before the send'}`;
}

interface Around {
  positions: number[];
  irmNumber: string;
  at: Date | null;
  before: string | null;
  now: string | null;
}

/**
 * The balances in the snapshot before the send, and `now` if read between the certificates' issue and the last look, of
 * the matches of each IRM and issue date.
 */
async function balancesAround(db: Queryable, { filingId, submission, matches }: Asked): Promise<Around[]> {
  const { rows } = await db.query<Around>(
    `WITH ${SENT},
       match AS (
         SELECT r.irm_key, r.exporter_id, m.issued, min(r.mapping->>'irmNumber') AS irm_number, array_agg(r.position) AS positions
           FROM (SELECT position, CASE WHEN "eBRCDate" ~ '^\\d{8}$' THEN to_date("eBRCDate", 'DDMMYYYY') ELSE '1970-01-01' END AS issued
                   FROM jsonb_to_recordset($3::jsonb) AS v (position int, "eBRCDate" text)) AS m
           JOIN filing_rows r ON r.filing_id = $1 AND r.position = m.position GROUP BY r.irm_key, r.exporter_id, m.issued),
       look AS (
         SELECT max(began_at) AS at FROM looks
          WHERE complete AND party_id = (SELECT party_id FROM filing_rows WHERE filing_id = $1 LIMIT 1))
     SELECT m.positions, m.irm_number AS "irmNumber", coalesce(k.read_at, s.taken_at) AS at, k.available::text AS before,
            (SELECT CASE WHEN bool_and(i.available IS NOT NULL AND i.read_at > s.marked_at AND i.read_at <= look.at
                       AND (i.read_at AT TIME ZONE 'Asia/Kolkata')::date >= m.issued) THEN sum(i.available)::text END
               FROM irms i, look WHERE i.exporter_id = m.exporter_id AND ${sameIrm('i.irm_key', 'm.irm_key')}) AS now
       FROM match m LEFT JOIN sent s ON true CROSS JOIN LATERAL (
         SELECT sum((b->>'available')::numeric) AS available, min((b->>'readAt')::timestamptz) AS read_at
           FROM jsonb_array_elements(s.balances) AS b WHERE b->>'irmKey' = m.irm_key) AS k`,
    [filingId, submission, JSON.stringify(matches)],
  );
  return rows;
}

/** SQL: a settle window of row `o` is not over. $4: this process's window in ms, $5: now, $6: PUT_BACK_TOGETHER. */
const IN_WINDOW = `EXISTS (SELECT FROM attempts a, ledger_identity l
  WHERE a.filing_id = o.filing_id AND a.submission = o.submission AND $5 < greatest(
    a.marked_at + greatest(a.settle_ms, $4) * interval '1 ms', CASE WHEN a.reason = $6 THEN l.certificates_after END))`;

/** SQL: a request of row `o`, in another submission than row `r`, is followed, and nothing is said against it. */
const PROCESSED_BESIDE = `EXISTS (SELECT FROM requests q
  WHERE q.filing_id = o.filing_id AND q.submission = o.submission AND q.state = 'followed' AND q.statement IS NULL
    AND (q.filing_id, q.submission) <> (r.filing_id, r.submission))`;

/** SQL: the certificates that no row has and that fit row `o`. */
const FITTING = `(SELECT array_agg(c.ebrc_number) FROM certificates c
  WHERE c.party_id = o.party_id AND c.document_key = o.document_key AND c.match_key = o.match_key AND c.filing_id IS NULL
    AND upper(btrim(c.status)) = 'ISSUED'
    AND c.issued_on >= ((o.submitted_at - interval '1 day') AT TIME ZONE 'Asia/Kolkata')::date)`;

/** The rows that count as filed on the row's IRM: certified, matched, or (within their window) perhaps filed. */
async function filedOnIrm(
  db: Queryable,
  { filingId, position, matches, settleMs, at }: Asked & IrmRow,
): Promise<Filed[]> {
  const matched = matches.map((match) => match.position);
  const { rows } = await db.query<Filed>(
    `SELECT o.mapped_amount::text AS amount, o.submitted_at AS "sentAt",
            CASE WHEN o.state = 'certified' THEN o.settled_at END AS "certifiedAt", f.fitting
       FROM filing_rows r JOIN filing_rows o ON o.party_id = r.party_id AND ${sameIrm('o.irm_key', 'r.irm_key')}
            CROSS JOIN LATERAL (SELECT CASE WHEN o.state <> 'certified' AND NOT (o.filing_id = $1 AND o.position = ANY($3))
              AND NOT ${IN_WINDOW} AND NOT ${PROCESSED_BESIDE} THEN coalesce(${FITTING}, '{}') END AS fitting) AS f
      WHERE r.filing_id = $1 AND r.position = $2 AND f.fitting IS DISTINCT FROM '{}'
        AND (o.state = 'certified' OR (o.filing_id = $1 AND o.position = ANY($3))
             OR (o.ebrc_number IS NULL AND o.live AND o.submitted_at IS NOT NULL))`,
    [filingId, position, matched, settleMs, at, PUT_BACK_TOGETHER],
  );
  return rows;
}

/** Balances of the row's IRM before `until`, newest first: sums over its records, since all of them were known. */
async function earlierReadings(db: Queryable, { filingId, position }: IrmRow, until: Date): Promise<Reading[]> {
  const { rows } = await db.query<Reading>(
    `WITH record AS (
         SELECT i.exporter_id, i.irm_number, i.ad_code, i.ifsc_code, i.issue_date FROM irms i
           JOIN filing_rows r ON r.filing_id = $1 AND r.position = $2 AND i.exporter_id = r.exporter_id
                             AND ${sameIrm('i.irm_key', 'r.irm_key')}),
       change AS (SELECT * FROM irm_changes JOIN record USING (exporter_id, irm_number, ad_code, ifsc_code, issue_date)),
       reading AS (SELECT DISTINCT seen_at AS at FROM change WHERE seen_at < $3)
     SELECT at, sum(available)::text AS available
       FROM reading, record, LATERAL (
         SELECT c.available FROM change c
          WHERE (c.ad_code, c.ifsc_code, c.issue_date) = (record.ad_code, record.ifsc_code, record.issue_date) AND c.seen_at <= at
          ORDER BY c.seen_at DESC, c.change_id DESC LIMIT 1) AS known
      GROUP BY at HAVING count(known.available) = (SELECT count(*) FROM record) ORDER BY at DESC`,
    [filingId, position, until],
  );
  return rows;
}
