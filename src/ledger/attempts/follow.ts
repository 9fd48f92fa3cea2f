/** Applies the status records of a filing's requests to its rows. */
import { type Certificate, dayOf } from '../../domain/filing/certificate';
import { numberKey } from '../../domain/filing/follow';
import {
  type FollowedRequest,
  type Outcomes,
  outcomesOf,
  type Problem,
  type RowChange,
  type RowWithOutcome,
} from '../../domain/filing/outcomes';
import { counted } from '../../domain/text';
import { closeFinding, keyOfFinding, openFinding } from '../findings';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import { CERTIFICATE, certifyRows, ROW_FACTS } from './certify';
import type { LockedFiling } from '../filings/lock';
import { addEvent } from '../filings/move';

/** A request with its last record, as the ledger stores it. */
type Followed = FollowedRequest & { ended: boolean; erroredEmpty: boolean };

/**
 * Judges the records of all requests of a filing: certifies rows whose certificate's details were read and do not
 * contradict, and rejects those that its own request reports Errored where nothing speaks against that. Requires the
 * filing's lock; repeating it changes nothing.
 */
export async function applyRecords(client: Queryable, filing: LockedFiling): Promise<{ changed: boolean }> {
  const { requests, open } = await readFollowed(client, filing);
  if (requests.length === 0) return { changed: false };
  const rows = await readRows(client, filing);
  const certificates = await readCertificates(client, filing, requests);
  const outcomes = outcomesOf(filing.iec, requests, rows, certificates);
  const { changed, rejected } = await changeRows(client, filing, [...outcomes.changes.values()]);
  const { certified, adopted } = await certify(client, filing, rows, outcomes);
  const moved = await changeAttempts(client, filing, requests, outcomes, adopted > 0);
  await report(client, filing, outcomes, open);
  if (certified > 0)
    await addEvent(client, filing, { kind: 'certified', text: `${counted(certified, 'row')} certified` });
  if (rejected > 0)
    await addEvent(client, filing, { kind: 'rejected', text: `${counted(rejected, 'row')} rejected by the authority` });
  return { changed: moved || changed + certified > 0 };
}

/** Its requests with a record that still matters, the attempt that may have been filed first; and its open findings. */
async function readFollowed(client: Queryable, { filingId }: LockedFiling) {
  const { rows } = await client.query<Followed & { open: string[] }>(
    `SELECT number, verdict, request_id AS "requestId", request_from = 'person' AS named, record, ${MS('marked_at')} AS "markedAt",
            ended_at IS NOT NULL AS ended, coalesce(denied_since = marked_at, false) AS "erroredEmpty",
            EXISTS (SELECT FROM attempts o WHERE o.filing_id = a.filing_id AND o.number <> a.number
              AND (o.verdict = 'not_filed' OR o.request_id IS NOT NULL)) AS beside,
            ARRAY(SELECT key FROM findings f WHERE f.filing_id = a.filing_id AND f.kind = 'record_contradicts' AND f.closed_at IS NULL) AS open
       FROM attempts a
      WHERE filing_id = $1 AND record IS NOT NULL AND request_id IS NOT NULL AND (ended_at IS NULL
        OR EXISTS (SELECT FROM filing_rows r WHERE r.filing_id = $1 AND r.state = 'sent'))
      ORDER BY verdict IN ('unknown', 'accepted') DESC, number`,
    [filingId],
  );
  return { requests: rows, open: new Set(rows[0]?.open) };
}

async function readRows(client: Queryable, { filingId, mode, iec }: LockedFiling): Promise<RowWithOutcome[]> {
  const { rows } = await client.query<Omit<RowWithOutcome, 'irmDates'> & { irmDates: string[] | null }>(
    `SELECT ${ROW_FACTS}, r.state, r.certified_by AS "certifiedBy", coalesce(r.ebrc_number, r.record_number) AS number,
            (SELECT array_agg(DISTINCT d) FROM irms i JOIN exporters e USING (exporter_id)
               CROSS JOIN unnest(ARRAY[i.issue_date, i.remittance_date]) AS d
              WHERE e.mode = $2 AND e.iec = $3 AND i.irm_key = r.irm_key AND i.remittance_date IS NOT NULL
                AND r.mapping ->> 'irmDt' IN (i.issue_date, i.remittance_date)) AS "irmDates"
       FROM filing_rows r WHERE r.filing_id = $1 ORDER BY r.position`,
    [filingId, mode, iec],
  );
  return rows.map((row) => ({ ...row, irmDates: row.irmDates?.flatMap((date) => dayOf(date) ?? []) ?? null }));
}

/** The stored details of the certificates that records name, by their numbers. */
async function readCertificates(
  client: Queryable,
  { mode, iec }: LockedFiling,
  requests: readonly Followed[],
): Promise<Map<string, Certificate>> {
  const numbers = requests.flatMap(({ record }) =>
    record.ebrcBulkGenStatusLst.flatMap(({ eBRCNumber }) => (eBRCNumber?.trim() ? [eBRCNumber.trim()] : [])),
  );
  if (numbers.length === 0) return new Map();
  const { rows } = await client.query<Certificate>(
    `SELECT ${CERTIFICATE} FROM certificates c WHERE c.mode = $1 AND c.iec = $2 AND c.ebrc_number = ANY ($3)`,
    [mode, iec, [...new Set([...numbers, ...numbers.map(numberKey)])]],
  );
  return new Map(rows.map((certificate) => [numberKey(certificate.number), certificate]));
}

/** Stores what records say of sent rows, and rejects those that are Errored for good: one statement for all rows. */
async function changeRows(client: Queryable, { filingId }: LockedFiling, changes: readonly RowChange[]) {
  if (changes.length === 0) return { changed: 0, rejected: 0 };
  const { rows } = await client.query<{ changed: number; rejected: number }>(
    `WITH changed AS (
       UPDATE filing_rows r SET record_status = v.status, record_number = v.number, errors = coalesce(v.errors, r.errors),
          state = CASE WHEN v.reject THEN 'rejected' ELSE r.state END,
          freed_at = CASE WHEN v.reject THEN clock_timestamp() ELSE r.freed_at END,
          settled_at = CASE WHEN v.reject THEN clock_timestamp() ELSE r.settled_at END
         FROM jsonb_to_recordset($2::jsonb) AS v (position int, status text, number text, errors jsonb, reject boolean)
        WHERE r.filing_id = $1 AND r.position = v.position AND r.state = 'sent'
          AND (v.reject OR (r.record_status, r.record_number, r.errors) IS DISTINCT FROM (v.status, v.number, coalesce(v.errors, r.errors)))
        RETURNING r.state)
     SELECT count(*)::int AS changed, count(*) FILTER (WHERE state = 'rejected')::int AS rejected FROM changed`,
    [filingId, JSON.stringify(changes)],
  );
  return rows[0] ?? { changed: 0, rejected: 0 };
}

async function certify(
  client: Queryable,
  filing: LockedFiling,
  rows: readonly RowWithOutcome[],
  { byRecord, byDetails, problems }: Outcomes,
): Promise<{ certified: number; adopted: number }> {
  const recorded = await certifyRows(client, filing, byRecord, 'record');
  const adopted = await certifyRows(client, filing, byDetails, 'details');
  const byPosition = new Map(rows.map(({ position, row }) => [position, row]));
  for (const { position, number } of [...byRecord, ...byDetails]) {
    if (recorded.has(position) || adopted.has(position)) continue;
    const row = byPosition.get(position) ?? null;
    const text = `Certificate ${number}, which a request reports for row ${row}, is another row's.`;
    problems.set(String(position), { text, row, number });
  }
  return { certified: recorded.size + adopted.size, adopted: adopted.size };
}

/**
 * Notes which requests have an outcome for every row. One that is Errored without a list counts as denied since its
 * attempt began, whatever its later polls say, until it has a list.
 */
async function changeAttempts(
  client: Queryable,
  { filingId }: LockedFiling,
  requests: readonly Followed[],
  { ended, erroredEmpty }: Outcomes,
  adopted: boolean,
): Promise<boolean> {
  const same = requests.every(
    (each) => each.erroredEmpty === erroredEmpty.includes(each.number) && (each.ended || !ended.includes(each.number)),
  );
  if (same && !adopted) return false;
  await client.query(
    `UPDATE attempts SET ended_at = CASE WHEN number = ANY ($2) THEN coalesce(ended_at, clock_timestamp()) ELSE ended_at END,
        denied_since = CASE WHEN number = ANY ($3) THEN marked_at WHEN denied_since = marked_at THEN NULL ELSE denied_since END,
        reason = CASE WHEN $4 AND verdict = 'unknown' THEN 'its certificates were found by its request' ELSE reason END,
        verdict = CASE WHEN $4 AND verdict = 'unknown' THEN 'accepted' ELSE verdict END
      WHERE filing_id = $1 AND record IS NOT NULL`,
    [filingId, ended, erroredEmpty, adopted],
  );
  return true;
}

/** Opens a finding for each problem and other IEC, and closes those of problems that are none any more. */
async function report(
  client: Queryable,
  { mode, iec, exporterId, filingId, reference }: LockedFiling,
  { problems, otherIecs }: Outcomes,
  open: ReadonlySet<string>,
): Promise<void> {
  const about = { mode, iec, exporterId, filingId };
  for (const other of otherIecs) {
    const text = `A request of ${reference} names IEC ${other}, and its exporter has ${iec}.`;
    await openFinding(client, { ...about, kind: 'iec_differs', subject: exporterId, text });
  }
  const prefix = keyOfFinding({ iec, kind: 'record_contradicts', subject: `${filingId}/` });
  const found = new Map<string, Problem>([...problems].map(([subject, problem]) => [`${prefix}${subject}`, problem]));
  for (const [key, { text, row, number }] of found) {
    if (open.has(key)) continue;
    const subject = `${filingId}/${key.slice(prefix.length)}`;
    await openFinding(client, { ...about, kind: 'record_contradicts', subject, text, row, eBRCNumber: number });
  }
  for (const key of open) {
    if (found.has(key) || !key.startsWith(prefix)) continue;
    const subject = `${filingId}/${key.slice(prefix.length)}`;
    await closeFinding(client, { mode, iec, kind: 'record_contradicts', subject }, 'the record and the row agree');
  }
}
