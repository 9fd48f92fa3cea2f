import { compareAmounts, subtractAmounts, sumAmounts } from '../../domain/money';
import { issueDay, sameIrm } from '../exporters/irms';
import type { Queryable } from '../pool';
import type { SubmissionKey } from '../../domain/filing/attempt';

/** The smallest unit in which the service counts amounts. */
const SMALLEST_UNIT = '0.01';

interface Asked extends SubmissionKey {
  /** The row that fetch-details shows a certificate for, and the certificate's day of issue (DDMMYYYY). */
  position: number;
  eBRCDate: string | null;
  /** Every row of the submission that a certificate is shown for in the same look. */
  matched: readonly number[];
  /** Whether the settle window is over: what was filed and is not shown by then was not filed. */
  windowOver: boolean;
}

/** The first send of a submission that a snapshot was taken before, as `sent`; $1 is the filing, $2 the submission. */
const SENT = `sent AS (
    SELECT a.marked_at, s.taken_at, s.balances FROM attempts a JOIN snapshots s USING (snapshot_id)
     WHERE a.filing_id = $1 AND a.submission = $2 AND a.marked_at IS NOT NULL ORDER BY a.number LIMIT 1)`;

interface Filed {
  amount: string;
  sentAt: Date | null;
  /** When it was certified; null: it has no outcome. */
  certifiedAt: Date | null;
}

interface Reading {
  at: Date;
  available: string;
}

const UNREAD = 'the balance of its IRM was not read between the issue of the certificate and the look that shows it';

/**
 * Why an IRM's balance does not bear out a certificate of a row; null where it does. It has to be read after the issue
 * and before the look that shows it, and to have fallen by these rows and what was certified on it since. Within the
 * settle window every other row that was sent on it counts too: it may be what used the balance.
 */
export async function contradictedByBalance(db: Queryable, asked: Asked): Promise<string | null> {
  const { irmNumber, at, before, now } = await balanceAround(db, asked);
  if (at === null || before === null || now === null) return UNREAD;
  const filed = await filedOnIrm(db, asked);
  for (const { reading, since, counted } of await comparisons(db, asked, { at, available: before }, filed)) {
    const grown = subtractAmounts(reading.available, now);
    const needed = sumAmounts(counted.map(({ amount }) => amount));
    if (compareAmounts(sumAmounts([grown, SMALLEST_UNIT]), needed) < 0)
      return `the balance of IRM ${irmNumber} fell by ${grown} since ${since}, and ${needed} would have to be filed on it`;
  }
  return null;
}

/**
 * The readings to compare the balance with, and what has to have used it since. Of a row on its way at the snapshot's
 * reading nobody knows whether that shows it: the newest reading that comes between no row's send and its outcome is
 * compared too, and since the snapshot's own only what was sent after it.
 */
async function comparisons(
  db: Queryable,
  asked: Asked,
  snapshot: Reading,
  filed: readonly Filed[],
): Promise<{ reading: Reading; since: string; counted: Filed[] }[]> {
  const outcomeAfter = (at: Date) => filed.filter(({ certifiedAt }) => certifiedAt === null || certifiedAt > at);
  const onTheirWay = (at: Date) =>
    outcomeAfter(at).filter(({ sentAt, certifiedAt }) => certifiedAt !== null && (sentAt === null || sentAt < at));
  const uncertain = new Set(onTheirWay(snapshot.at));
  const strict = { reading: snapshot, since: 'the send', counted: outcomeAfter(snapshot.at) };
  if (uncertain.size === 0) return [strict];
  const certain = (await earlierReadings(db, asked, snapshot.at)).find(({ at }) => onTheirWay(at).length === 0);
  if (!certain) return [strict];
  return [
    { ...strict, counted: strict.counted.filter((row) => !uncertain.has(row)) },
    { reading: certain, since: 'an earlier reading', counted: outcomeAfter(certain.at) },
  ];
}

/**
 * What speaks against an absence: an IRM of rows without a certificate fell since the first send by as much as the
 * smallest of them, and no certificate accounts for it. One of a row on its way at the first reading, or from after the
 * last, does not. Or the balances are not known from before the send, or were not read since the `window`. null:
 * nothing. However little is left: a correction may take another IRM.
 */
export async function unexplainedUse(
  db: Queryable,
  { filingId, submission, positions, window }: SubmissionKey & { positions?: readonly number[]; window: Date },
): Promise<string | null> {
  // A remittance that takes the same number later adds to no balance of the snapshot: as many records count as it has.
  const { rows } = await db.query<{
    irmNumber: string;
    unexplained: boolean;
    measured: boolean;
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
                LATERAL (SELECT CASE WHEN bool_and(e->>'available' IS NOT NULL) THEN sum((e->>'available')::numeric) END AS available,
                                coalesce(min((e->>'readAt')::timestamptz), s.taken_at) AS read_at,
                                count(*) AS records
                           FROM jsonb_array_elements(s.balances) AS e WHERE e->>'irmKey' = o.irm_key) AS b,
                LATERAL (SELECT CASE WHEN bool_and(i.available IS NOT NULL AND i.read_at > s.marked_at) THEN sum(i.available) END AS available,
                                min(i.read_at) AS read_at
                           FROM (SELECT available, read_at, row_number() OVER (ORDER BY first_seen_at, ${issueDay('issue_date')}) AS nth FROM irms
                                  WHERE exporter_id = o.exporter_id AND ${sameIrm('irm_key', 'o.irm_key')}) AS i
                          WHERE i.nth <= b.records) AS n),
       used AS (
         SELECT k.*, (SELECT coalesce(sum(c.mapped_amount), 0) FROM filing_rows c
                       WHERE c.party_id = k.party_id AND ${sameIrm('c.irm_key', 'k.irm_key')} AND c.state = 'certified'
                         AND c.submitted_at >= k.since AND c.settled_at <= k.until) AS certified FROM known k)
     SELECT irm_number AS "irmNumber", unexplained, before IS NOT NULL AS measured, fell::text, certified::text FROM used CROSS JOIN LATERAL (
         SELECT coalesce(fell - certified + $4::numeric >= smallest, false) AS unexplained) AS judged
      WHERE unexplained OR before IS NULL OR coalesce(until < $5, true)
      ORDER BY unexplained DESC, 1 LIMIT 1`,
    [filingId, submission, positions ?? null, SMALLEST_UNIT, window],
  );
  const [used] = rows;
  if (!used) return (await isUnmeasured(db, { filingId, submission })) ? UNMEASURED : null;
  const { irmNumber, unexplained, measured, fell, certified } = used;
  if (!unexplained)
    return `the balance of IRM ${irmNumber} was not read ${measured ? `since ${window.toISOString()}` : 'before the send'}`;
  return `the balance of IRM ${irmNumber} fell by ${fell} since the send, and certificates account for ${certified} of it`;
}

const UNMEASURED = 'the balances from before the send are not known';

/** Whether a submission was sent without a snapshot of the balances, or perhaps was, in a lost time. */
async function isUnmeasured(db: Queryable, { filingId, submission }: SubmissionKey): Promise<boolean> {
  const { rows } = await db.query<{ unmeasured: boolean }>(
    `WITH ${SENT} SELECT NOT EXISTS (SELECT FROM sent) AND EXISTS (SELECT FROM attempts
        WHERE filing_id = $1 AND submission = $2 AND marked_at IS NOT NULL) AS unmeasured`,
    [filingId, submission],
  );
  return rows[0]?.unmeasured ?? false;
}

/** The balance in the snapshot before the send, and as it is now where that was read at a time that counts. */
async function balanceAround(
  db: Queryable,
  { filingId, submission, position, eBRCDate }: Asked,
): Promise<{ irmNumber: string; at: Date | null; before: string | null; now: string | null }> {
  const { rows } = await db.query<{ irmNumber: string; at: Date; before: string | null; now: string | null }>(
    `WITH row AS (SELECT * FROM filing_rows WHERE filing_id = $1 AND position = $3),
       ${SENT},
       known AS (
         SELECT sum((b->>'available')::numeric) AS available, min((b->>'readAt')::timestamptz) AS read_at
           FROM row r, sent s, jsonb_array_elements(s.balances) AS b WHERE b->>'irmKey' = r.irm_key),
       look AS (SELECT max(began_at) AS at FROM looks WHERE complete AND party_id = (SELECT party_id FROM row))
     SELECT r.mapping->>'irmNumber' AS "irmNumber", coalesce(k.read_at, s.taken_at) AS at, k.available::text AS before,
            (SELECT CASE WHEN bool_and(i.available IS NOT NULL AND i.read_at > s.marked_at AND i.read_at <= look.at
                       AND (i.read_at AT TIME ZONE 'Asia/Kolkata')::date >= to_date($4, 'DDMMYYYY')) THEN sum(i.available)::text END
               FROM irms i, look WHERE i.exporter_id = r.exporter_id AND ${sameIrm('i.irm_key', 'r.irm_key')}) AS now
       FROM row r, sent s, known k`,
    [filingId, submission, position, eBRCDate !== null && /^\d{8}$/.test(eBRCDate) ? eBRCDate : '01011970'],
  );
  return rows[0] ?? { irmNumber: '', at: null, before: null, now: null };
}

/** What counts as filed on the row's IRM: certified, a row that a certificate is shown for now, or perhaps filed. */
async function filedOnIrm(db: Queryable, { filingId, position, matched, windowOver }: Asked): Promise<Filed[]> {
  const { rows } = await db.query<Filed>(
    `SELECT o.mapped_amount::text AS amount, o.submitted_at AS "sentAt",
            CASE WHEN o.state = 'certified' THEN o.settled_at END AS "certifiedAt"
       FROM filing_rows o JOIN filing_rows r ON r.filing_id = $1 AND r.position = $2 AND o.party_id = r.party_id
                                            AND ${sameIrm('o.irm_key', 'r.irm_key')}
      WHERE o.state = 'certified' OR (o.filing_id = $1 AND o.position = ANY($3))
         OR (NOT $4 AND o.ebrc_number IS NULL AND o.live AND o.submitted_at IS NOT NULL)`,
    [filingId, position, matched, windowOver],
  );
  return rows;
}

/** What the row's IRM had before `until`, newest first: the sum of its records, from when each of them was known. */
async function earlierReadings(db: Queryable, { filingId, position }: Asked, until: Date): Promise<Reading[]> {
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
