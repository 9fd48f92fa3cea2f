/** Applies what readings showed to a filing whose outcome is unknown: adoptions, and evidence against "not filed". */
import { evidenceOf } from '../../domain/filing/evidence';
import { type Doubt, type IrmUse, judgeReading, type KnownCertificate, type SentRow } from '../../domain/filing/settle';
import { filingName } from '../../domain/names';
import { CANCELLED_STATUS } from '../../domain/rules/preflight';
import { counted } from '../../domain/text';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import { CERTIFICATE, certifyRows, ROW_FACTS } from './certify';
import type { LockedFiling } from '../filings/lock';
import { addEvent } from '../filings/move';

/** An attempt in doubt, with the newest readings of its company. */
interface AttemptInDoubt extends Pick<
  Doubt,
  'firstMark' | 'firstDay' | 'read' | 'refusal' | 'requests' | 'openRequests'
> {
  number: number;
  verdict: 'unknown' | 'accepted';
  /** When the newest whole reading of certificates began; null: there was none. */
  wholeAt: number | null;
  /** When the newest whole reading of IRMs after the settle time began; null: there was none. */
  irmsAt: number | null;
  /** Since when certificates may have used a balance: the earliest balance before the attempt, or the first mark. */
  since: Date;
}

/**
 * Judges the filing's attempt in doubt: `unknown`, or accepted without an outcome. Rows that certificates and balances
 * prove are certified, and what speaks against "not filed" is stored. Requires the filing's lock; repeating it changes
 * nothing. `settleAfterMs`: the settle time of this process; the longer one of it and the sender's counts.
 */
export async function applyReadings(
  client: Queryable,
  filing: LockedFiling,
  own: { settleAfterMs?: number } = {},
): Promise<{ adopted: number }> {
  if (filing.closed || filing.iec === null) return { adopted: 0 };
  const attempt = await attemptInDoubt(client, filing, own.settleAfterMs ?? 0);
  if (!attempt) return { adopted: 0 };
  const certificates = await certificatesSince(client, filing, attempt.since);
  const { rows, others } = await sentRows(client, filing, certificates);
  if (rows.length === 0) return { adopted: 0 };
  const irms = await irmUses(client, filing, attempt);
  const { adoptions, evidence } = judgeReading({ ...attempt, rows, others, certificates, irms });
  const adopted = (await certifyRows(client, filing, adoptions, 'details')).size;
  const readAt = attempt.wholeAt === null ? null : new Date(attempt.wholeAt).toISOString();
  await client.query(
    `UPDATE attempts SET evidence = $3, judged_at = clock_timestamp(),
        verdict = CASE WHEN $4 THEN 'accepted' ELSE verdict END, reason = CASE WHEN $4 THEN 'its certificates were found' ELSE reason END
      WHERE filing_id = $1 AND number = $2`,
    [
      ...[filing.filingId, attempt.number, JSON.stringify(evidenceOf(evidence, readAt))],
      adopted > 0 && attempt.verdict === 'unknown',
    ],
  );
  if (adopted > 0) {
    const text = `${counted(adopted, 'certificate')} found that ${adopted === 1 ? 'is its row’s' : 'are its rows’'} by content and balance`;
    await addEvent(client, filing, { kind: 'adopted', text });
  }
  return { adopted };
}

/** SQL: whether a settle time of attempt `a` was over when reading `g` began, by its clock and its beat. */
const AFTER_SETTLING = `g.began_at >= a.marked_at + greatest(a.settle_ms, $2) * interval '1 ms' AND g.beat >= a.beat + a.settle_beats`;

/** SQL: whether record `a.record` reports anything as Errored. */
const REPORTS_ERRORED = `coalesce(lower(btrim(a.record ->> 'processingStatus')) = 'errored' OR jsonb_path_exists(a.record,
  '$.ebrcBulkGenStatusLst[*].processingStatus ? (@ like_regex "^\\\\s*errored\\\\s*$" flag "i")'), false)`;

async function attemptInDoubt(
  client: Queryable,
  { filingId, mode, iec, reference, exporterId, asked }: LockedFiling,
  settleMs: number,
): Promise<AttemptInDoubt | null> {
  const { rows } = await client.query<AttemptInDoubt>(
    `WITH first AS (SELECT min(t.marked_at) AS at FROM attempts t JOIN filings f USING (filing_id)
         WHERE f.mode = $3 AND f.reference = $5 AND t.verdict <> 'not_sent')
     SELECT a.number, a.verdict, CASE WHEN a.answer_status BETWEEN 400 AND 499 THEN coalesce(a.answer ->> 'message', a.answer ->> 'kind') END AS refusal,
            ${MS('first.at')} AS "firstMark", ((first.at AT TIME ZONE 'Asia/Kolkata')::date - 1)::text AS "firstDay",
            ${MS('w.began_at')} AS "wholeAt", coalesce(w.after AND w.began_at >= clock_timestamp() - greatest(a.settle_ms, $2) * interval '1 ms', false) AS read,
            ${MS('i.began_at')} AS "irmsAt",
            least(first.at, (SELECT min((b.value ->> 'readAt')::timestamptz) FROM jsonb_each(a.balances) AS b)) AS since,
            (SELECT coalesce(jsonb_agg(jsonb_build_object('id', q.request_id, 'errored', q.errored) ORDER BY q.number), '[]')
               FROM (SELECT a.number, a.request_id, ${REPORTS_ERRORED} AS errored FROM attempts a WHERE a.filing_id = $1) AS q
              WHERE q.request_id IS NOT NULL) AS requests,
            (SELECT coalesce(jsonb_agg(jsonb_build_object('id', o.request_id, 'filing', f.reference) ORDER BY o.request_id), '[]')
               FROM attempts o JOIN filings f USING (filing_id)
              WHERE o.mode = $3 AND o.exporter_id = $6 AND o.filing_id <> $1 AND o.verdict = 'accepted' AND o.request_id IS NOT NULL
                AND o.ended_at IS NULL AND o.marked_at BETWEEN a.marked_at - greatest(a.settle_ms, $2) * interval '1 ms'
                AND a.marked_at + greatest(a.settle_ms, $2) * interval '1 ms') AS "openRequests"
       FROM attempts a JOIN filings own USING (filing_id) CROSS JOIN first
       LEFT JOIN LATERAL (SELECT g.began_at, ${AFTER_SETTLING} AS after FROM readings g
          WHERE g.mode = $3 AND g.iec = $4 AND g.whole ORDER BY g.began_at DESC LIMIT 1) AS w ON true
       LEFT JOIN LATERAL (SELECT g.began_at FROM readings g
          WHERE g.mode = $3 AND g.iec = $4 AND g.irms_whole AND ${AFTER_SETTLING} ORDER BY g.began_at DESC LIMIT 1) AS i ON true
      WHERE a.filing_id = $1 AND (a.verdict = 'unknown' OR (a.verdict = 'accepted' AND ($7 OR a.request_id IS NULL
        OR a.denied_since IS NOT NULL OR own.due_at <= clock_timestamp()
        OR (a.ended_at IS NOT NULL AND EXISTS (SELECT FROM filing_rows r WHERE r.filing_id = $1 AND r.state = 'sent' AND r.record_number IS NULL))
        OR EXISTS (SELECT FROM decisions d WHERE d.filing_id = $1 AND d.outcome IS NULL))))`,
    [filingId, settleMs, mode, iec, reference, exporterId, asked],
  );
  return rows[0] ?? null;
}

/** The company's certificates first seen since then that are nobody's, or of a document or bill of the reference. */
async function certificatesSince(
  client: Queryable,
  { mode, iec, reference }: LockedFiling,
  since: Date,
): Promise<KnownCertificate[]> {
  const { rows } = await client.query<KnownCertificate>(
    `WITH own AS MATERIALIZED (SELECT r.document_key, r.bill_key FROM filing_rows r JOIN filings f USING (filing_id)
         WHERE f.mode = $1 AND f.reference = $3),
       recent AS MATERIALIZED (SELECT ${CERTIFICATE} FROM certificates c WHERE c.mode = $1 AND c.iec = $2 AND c.first_seen_at >= $4),
       recorded AS MATERIALIZED (SELECT upper(btrim(r.record_number)) AS number FROM filing_rows r
         WHERE r.mode = $1 AND r.iec = $2 AND r.state = 'sent' AND r.record_number IS NOT NULL),
       held AS MATERIALIZED (SELECT h.ebrc_number AS number, h.certified_by FROM filing_rows h
         WHERE h.mode = $1 AND h.iec = $2 AND h.ebrc_number = ANY (ARRAY(SELECT number FROM recent)))
     SELECT * FROM (
       SELECT *, upper(number) IN (SELECT number FROM recorded)
                OR number IN (SELECT number FROM held WHERE certified_by = 'record') AS "byRecord",
              number NOT IN (SELECT number FROM held) AND upper(number) NOT IN (SELECT number FROM recorded) AS nobodys,
              "documentKey" IN (SELECT document_key FROM own) OR ("billKey" <> '' AND "billKey" IN (SELECT bill_key FROM own)) AS named
         FROM recent) AS known
      WHERE named OR nobodys ORDER BY number`,
    [mode, iec, reference, since],
  );
  return rows;
}

/** The filing's sent rows without a certificate, and those of others that one of these certificates may be of. */
async function sentRows(
  client: Queryable,
  { filingId, mode, iec }: LockedFiling,
  certificates: readonly KnownCertificate[],
): Promise<Pick<Doubt, 'rows' | 'others'>> {
  const { rows } = await client.query<SentRow & { filingId: string; reference: string; n: number }>(
    `SELECT r.filing_id AS "filingId", f.reference, f.n, ${ROW_FACTS}, r.record_number IS NOT NULL AS recorded
       FROM filing_rows r JOIN filings f USING (filing_id)
      WHERE r.mode = $2 AND r.iec = $3 AND r.state = 'sent' AND (r.filing_id = $1 OR r.document_key = ANY ($4)
        OR (r.bill_key <> '' AND r.bill_key = ANY ($5))) ORDER BY r.filing_id, r.position`,
    [filingId, mode, iec, certificates.map((each) => each.documentKey), certificates.map((each) => each.billKey)],
  );
  const named = rows.map((row) => ({ ...row, filing: filingName(row) }));
  return {
    rows: named.filter((row) => row.filingId === filingId),
    others: named.filter((row) => row.filingId !== filingId),
  };
}

/**
 * What became of the IRMs of the filing's sent rows since the balances before the attempt. A row that was certified
 * after the last reading was on its way then. Amounts are of all records with the number that the clients list.
 */
async function irmUses(
  client: Queryable,
  { filingId, mode, iec }: LockedFiling,
  { number, irmsAt }: AttemptInDoubt,
): Promise<IrmUse[]> {
  const { rows } = await client.query<IrmUse>(
    `WITH used AS (
         SELECT r.irm_key, min(r.mapping ->> 'irmNumber') AS irm_number, (a.balances -> r.irm_key ->> 'available')::numeric AS before,
                coalesce((a.balances -> r.irm_key ->> 'readAt')::timestamptz, a.marked_at) AS before_at
           FROM filing_rows r JOIN attempts a ON a.filing_id = r.filing_id AND a.number = $4
          WHERE r.filing_id = $1 AND r.state = 'sent' GROUP BY r.irm_key, a.balances, a.marked_at),
       listed AS (SELECT i.* FROM irms i JOIN exporters e USING (exporter_id)
          WHERE e.mode = $2 AND e.iec = $3 AND i.irm_key IN (SELECT irm_key FROM used)),
       record AS (SELECT DISTINCT ON (irm_key, issue_date, ifsc_code, ad_code) * FROM listed
          ORDER BY irm_key, issue_date, ifsc_code, ad_code, read_at DESC),
       balance AS (SELECT u.irm_key, min(i.read_at) AS read_at,
            CASE WHEN bool_and(i.available IS NOT NULL) THEN sum(i.available) FILTER (WHERE i.missing_since IS NULL) END AS available,
            bool_or(coalesce(i.missing_since > u.before_at, false)) AS missing, bool_or(coalesce(i.status, '') ~* '${CANCELLED_STATUS}') AS cancelled
           FROM used u JOIN record i USING (irm_key) GROUP BY u.irm_key),
       change AS (SELECT i.irm_key, c.seen_at, c.what, c.available > lag(c.available) OVER (
              PARTITION BY c.exporter_id, c.irm_number, c.ad_code, c.ifsc_code, c.issue_date ORDER BY c.seen_at, c.change_id) AS higher
           FROM listed i JOIN irm_changes c USING (exporter_id, irm_number, ad_code, ifsc_code, issue_date)),
       changed AS (SELECT u.irm_key, bool_or(c.what ~ 'amended|first_seen|missing') AS amended, bool_or(c.what ~ 'cancelled') AS cancelled,
              bool_or(coalesce(c.higher, false)) AS rose
           FROM used u JOIN change c ON c.irm_key = u.irm_key AND c.seen_at > u.before_at GROUP BY u.irm_key),
       ours AS (SELECT u.irm_key,
            coalesce(sum(o.amount) FILTER (WHERE o.state = 'certified' AND o.settled_at > u.before_at AND o.settled_at <= b.read_at), 0) AS certified,
            array_agg(DISTINCT f.reference || CASE WHEN f.n > 1 THEN '#' || f.n ELSE '' END) FILTER (WHERE
              (o.state = 'sent' AND o.filing_id <> $1) OR (o.state = 'certified' AND o.settled_at > b.read_at)) AS others
           FROM used u LEFT JOIN balance b USING (irm_key)
           JOIN filing_rows o ON o.mode = $2 AND o.iec = $3 AND o.irm_key = u.irm_key JOIN filings f ON f.filing_id = o.filing_id
          GROUP BY u.irm_key)
     SELECT u.irm_key AS "irmKey", u.irm_number AS "irmNumber", u.before::text AS before, b.available::text AS now,
            coalesce(${MS('b.read_at')} >= $5::float8, false) AS "readAfter", coalesce(b.missing, true) AS missing,
            coalesce(b.cancelled, false) OR coalesce(c.cancelled, false) AS cancelled, coalesce(c.amended, false) AS amended,
            coalesce(c.rose, false) AS rose, o.certified::text AS certified, coalesce(o.others, '{}') AS others
       FROM used u LEFT JOIN balance b USING (irm_key) LEFT JOIN changed c USING (irm_key) LEFT JOIN ours o USING (irm_key)
      ORDER BY u.irm_key`,
    [filingId, mode, iec, number, irmsAt],
  );
  return rows;
}
