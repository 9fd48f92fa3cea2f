/** Compares the ledger with what the authority showed of a company; one statement over all rows per finding. */
import type pg from 'pg';
import type { ReconcileCheck } from '../../domain/reconciliation/findings';
import { CANCELLED, NOBODYS, ROW_OF_CERTIFICATE } from '../certificates/certificates';
import { companyOf } from '../../domain/identity';
import { THREE_DECIMALS } from '../../domain/money';
import { clientsOfCompany, type Company } from '../exporters/exporters';
import { withTransaction, type Queryable } from '../pool';
import { mergeFindings } from './findings';

export interface CompareArgs extends Company {
  /** The checks that ran; findings of other checks are neither opened nor closed. */
  checks: readonly ReconcileCheck[];
  /**
   * Days (YYYY-MM-DD, both included) whose certificates were listed by a reading begun at `readAt` (epoch ms). Where it
   * was not whole, what it showed is compared, and what it did not show proves nothing.
   */
  windows: readonly { from: string; to: string; readAt: number; whole: boolean }[];
  overdueAfterMs: number;
}

/** Opens new findings, renews existing ones and closes those that are gone. The same data again changes nothing. */
export async function compareCompany(pool: pg.Pool, args: CompareArgs) {
  return withTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7))', [
      `reconcile/${args.mode}/${companyOf(args)}`,
    ]);
    await client.query(CURRENT_FINDINGS);
    await client.query(READ_WINDOWS);
    await client.query(
      `INSERT INTO read_windows SELECT w."from"::date, w."to"::date, to_timestamp(w."readAt" / 1000), w.whole
         FROM jsonb_to_recordset($1::jsonb) AS w ("from" text, "to" text, "readAt" float8, whole boolean)`,
      [JSON.stringify(args.windows)],
    );
    for (const check of args.checks) await FIND[check](client, args);
    return mergeFindings(client, args);
  });
}

const CURRENT_FINDINGS = `CREATE TEMP TABLE current_findings (
  kind text NOT NULL, subject text NOT NULL, exporter_id text, ebrc_number text, filing_id text, source_row integer,
  irm_number text, on_date date, amount numeric, currency text, ours jsonb, theirs jsonb, reason text, key text
) ON COMMIT DROP`;

const READ_WINDOWS = `CREATE TEMP TABLE read_windows (from_date date, to_date date, read_at timestamptz, whole boolean) ON COMMIT DROP`;

const FIND: Readonly<Record<ReconcileCheck, (client: Queryable, args: CompareArgs) => Promise<void>>> = {
  certificates: findInCertificates,
  balances: findInBalances,
  documents: findInDocuments,
  filings: findInFilings,
};

/** SQL: row `r` as ours. */
const OUR_ROW = `CASE WHEN r.filing_id IS NOT NULL THEN jsonb_build_object('filingId', r.filing_id, 'row', r.source_row,
  'irmNumber', r.mapping->>'irmNumber', 'document', r.mapping->>'sbCumInvoiceNumber', 'documentDate', r.mapping->>'sbCumInvoiceDate',
  'amount', r.amount::text, 'currency', r.currency, 'eBRCNumber', r.ebrc_number, 'state', r.state) END`;

/** SQL: whether certificate `c` has another status than when it was first read. */
const ANOTHER_STATUS = 'upper(trim(c.status)) <> upper(trim(c.first_status))';

/** SQL: certificate `c` as the authority shows it. */
const THEIR_CERTIFICATE = `jsonb_build_object('eBRCNumber', c.ebrc_number, 'eBRCDate', c.ebrc_date, 'eBRCStatus', c.status,
  'brcUtilStatus', c.detail->>'brcUtilStatus', 'document', c.document_no, 'documentDate', c.document_date,
  'amount', c.amount::text, 'currency', c.currency)`;

/** SQL: the calendar day of a time. */
const dayOf = (time: string) => `(${time} AT TIME ZONE 'Asia/Kolkata')::date`;

/** SQL: certificates `c` of company ($1, $2) with what their reading showed (`v`), row `r` and filing `f`. */
const COVERED = `covered v JOIN certificates c ON c.mode = $1 AND c.iec = $2 AND c.ebrc_number = v.ebrc_number
  LEFT JOIN filing_rows r ON ${ROW_OF_CERTIFICATE} LEFT JOIN filings f ON f.filing_id = r.filing_id`;

const SAME_CURRENCY = 'upper(trim(coalesce(c.currency, r.currency))) = upper(trim(r.currency))';
/** Of three decimals the authority has two, rounded by whomever. */
const OTHER_AMOUNT = `CASE WHEN upper(trim(r.currency)) = ANY ('{${[...THREE_DECIMALS].join(',')}}') THEN abs(c.amount - r.amount) >= 0.01
  ELSE c.amount <> r.amount END`;

async function findInCertificates(client: Queryable, { mode, iec }: CompareArgs): Promise<void> {
  const insert = (select: string) => client.query(`INSERT INTO current_findings ${select}`, [mode, iec]);
  // Certificates whose day a reading covers, and whether that reading showed them.
  await client.query('CREATE TEMP TABLE covered (ebrc_number text, read_at timestamptz, seen boolean) ON COMMIT DROP');
  await client.query(
    `INSERT INTO covered SELECT c.ebrc_number, w.read_at, c.seen_at >= w.read_at
       FROM certificates c JOIN LATERAL (
         SELECT max(w.read_at) AS read_at FROM read_windows w
          WHERE coalesce(c.issued_on, ${dayOf('c.first_seen_at')}) BETWEEN w.from_date AND w.to_date
            AND (w.whole OR c.seen_at >= w.read_at)) w ON w.read_at IS NOT NULL
      WHERE c.mode = $1 AND c.iec = $2`,
    [mode, iec],
  );
  await client.query('ANALYZE covered');
  await insert(
    `SELECT 'ours_not_theirs', c.ebrc_number, coalesce(f.exporter_id, c.exporter_id), c.ebrc_number, r.filing_id, r.source_row,
            r.mapping->>'irmNumber', coalesce(c.issued_on, ${dayOf('c.first_seen_at')}), coalesce(r.amount, c.amount),
            coalesce(r.currency, c.currency), ${OUR_ROW}, NULL::jsonb,
            'fetch-details lists it no more; it last did on ' || to_char(c.seen_at AT TIME ZONE 'Asia/Kolkata', 'YYYY-MM-DD')
       FROM ${COVERED} WHERE NOT v.seen
     UNION ALL
     SELECT 'ours_not_theirs', r.ebrc_number, f.exporter_id, r.ebrc_number, r.filing_id, r.source_row, r.mapping->>'irmNumber',
            ${dayOf('r.settled_at')}, r.amount, r.currency, ${OUR_ROW}, NULL::jsonb, 'fetch-details never listed it'
       FROM filing_rows r JOIN filings f USING (filing_id)
      WHERE r.mode = $1 AND r.iec = $2 AND r.state = 'certified'
        AND NOT EXISTS (SELECT FROM certificates c WHERE ${ROW_OF_CERTIFICATE})
        AND EXISTS (SELECT FROM read_windows w WHERE ${dayOf('r.settled_at')} BETWEEN w.from_date AND w.to_date AND w.whole
                AND r.settled_at < w.read_at)`,
  );
  // A difference stays until a reading shows the certificate without it.
  await insert(
    `SELECT 'amount_differs', r.ebrc_number, f.exporter_id, r.ebrc_number, r.filing_id, r.source_row,
            r.mapping->>'irmNumber', c.issued_on, CASE WHEN ${SAME_CURRENCY} THEN abs(c.amount - r.amount) ELSE c.amount END,
            r.currency, ${OUR_ROW}, ${THEIR_CERTIFICATE},
            CASE WHEN ${SAME_CURRENCY} THEN 'filed ' || r.amount || ', certified ' || c.amount
                 ELSE 'filed in ' || r.currency || ', certified in ' || c.currency END
       FROM ${COVERED}
      WHERE r.state = 'certified' AND CASE WHEN ${SAME_CURRENCY} THEN ${OTHER_AMOUNT}
        ELSE upper(trim(c.currency)) <> upper(trim(r.mapping->>'sbCumInvoiceFCC')) END`,
  );
  // Another spelling (`ISSUED` for `Issued`) is not another status. One may be cancelled before its first reading. Once
  // a cancelled one is corrected, nothing is left to do.
  await insert(
    `SELECT 'status_changed', c.ebrc_number, coalesce(f.exporter_id, c.exporter_id), c.ebrc_number, r.filing_id, r.source_row,
            r.mapping->>'irmNumber', c.issued_on, c.amount, c.currency, jsonb_build_object('eBRCStatus', c.first_status),
            ${THEIR_CERTIFICATE},
            CASE WHEN ${ANOTHER_STATUS} THEN 'the status was ' || c.first_status || ' and is ' || c.status
                 ELSE 'the status is ' || c.status || ' since it was first read' END
       FROM ${COVERED} WHERE (${ANOTHER_STATUS} OR (r.state = 'certified' AND ${CANCELLED}))
        AND NOT (r.corrected_by IS NOT NULL AND ${CANCELLED})`,
  );
  // What is nobody's is a second one for a mapping, or somebody else's. Filings look for those of their sent rows.
  await insert(
    `SELECT k.kind, c.ebrc_number, c.exporter_id, c.ebrc_number, CASE WHEN o.certified THEN o.filing_id ELSE o.freed END, NULL, NULL,
            c.issued_on, c.amount, c.currency,
            CASE WHEN o.certified THEN jsonb_build_object('filed', o.filed, 'filingId', o.filing_id)
                 WHEN o.freed IS NOT NULL THEN jsonb_build_object('filingId', o.freed, 'state', 'released') END, ${THEIR_CERTIFICATE},
            CASE WHEN o.certified THEN 'document, date, amount and currency are those of a row that has its certificate already'
                 WHEN o.freed IS NOT NULL THEN 'document, date, amount and currency are those of a row that was sent and freed'
                 ELSE 'no row of ours has it' END
       FROM covered v JOIN certificates c ON c.mode = $1 AND c.iec = $2 AND c.ebrc_number = v.ebrc_number
       LEFT JOIN LATERAL (
         SELECT bool_or(r.state = 'certified') AS certified, bool_or(r.state = 'sent') AS open, count(*) FILTER (WHERE r.held) AS filed,
                min(r.filing_id) FILTER (WHERE r.state = 'certified') AS filing_id,
                min(r.filing_id) FILTER (WHERE NOT r.held AND r.sent_at IS NOT NULL) AS freed
           FROM filing_rows r
          WHERE r.mode = c.mode AND r.iec = c.iec AND r.document_key = c.document_key AND r.document_on = c.document_on
            AND r.amount = c.amount AND upper(trim(r.currency)) = upper(trim(c.currency))) o ON true
       CROSS JOIN LATERAL (SELECT CASE WHEN o.certified THEN 'duplicate_certificate' ELSE 'theirs_not_ours' END AS kind) k
      WHERE v.seen AND o.open IS NOT TRUE AND ${NOBODYS}`,
  );
  await insert(OVERDRAWN);
}

/**
 * SQL: documents of which more is certified and held than they are worth. A second certificate of a mapping is a
 * finding already, one of nobody's may still be that of a sent row, and persons let a duplicate pass: none is counted.
 */
const OVERDRAWN = `WITH ours AS (
    SELECT r.document_key, r.document_on, upper(trim(r.currency)) AS currency, min(r.mapping->>'sbCumInvoiceNumber') AS number,
           min(f.exporter_id) AS exporter_id, max((r.mapping->>'sbCumInvoiceValueinFCC')::numeric) AS value,
           coalesce(sum(r.amount) FILTER (WHERE (${CANCELLED}) IS NOT TRUE AND r.beside = '{}'), 0) AS held, bool_or(r.state = 'sent') AS sent,
           jsonb_agg(DISTINCT r.filing_id) AS filings
      FROM filing_rows r JOIN filings f USING (filing_id) LEFT JOIN certificates c ON ${ROW_OF_CERTIFICATE}
     WHERE r.mode = $1 AND r.iec = $2 AND r.held AND upper(trim(r.currency)) = upper(trim(r.mapping->>'sbCumInvoiceFCC'))
     GROUP BY r.document_key, r.document_on, upper(trim(r.currency))),
  elsewhere AS (
    SELECT c.document_key, c.document_on, upper(trim(c.currency)) AS currency, sum(c.amount) AS amount,
           jsonb_agg(c.ebrc_number ORDER BY c.ebrc_number) AS numbers
      FROM certificates c WHERE c.mode = $1 AND c.iec = $2 AND ${NOBODYS} AND NOT (${CANCELLED})
       AND NOT EXISTS (SELECT FROM current_findings d WHERE d.kind = 'duplicate_certificate' AND d.subject = c.ebrc_number)
     GROUP BY c.document_key, c.document_on, upper(trim(c.currency)))
  SELECT 'document_overdrawn', concat_ws('|', o.document_key, o.document_on, o.currency), o.exporter_id, NULL, NULL, NULL, NULL, NULL,
         t.taken - o.value, o.currency, jsonb_build_object('document', o.number, 'value', o.value::text, 'held', o.held::text, 'filings', o.filings),
         jsonb_build_object('certificates', coalesce(e.numbers, '[]'), 'amount', coalesce(e.amount, 0)::text),
         'document ' || o.number || ' is worth ' || o.value || ', ' || t.taken || ' is certified and held for it'
    FROM ours o LEFT JOIN elsewhere e USING (document_key, document_on, currency)
    CROSS JOIN LATERAL (SELECT o.held + CASE WHEN o.sent THEN 0 ELSE coalesce(e.amount, 0) END AS taken) t
   WHERE t.taken > o.value`;

/**
 * Compares an IRM's utilised amount with its certified rows. Sent rows may be counted already, and rows whose
 * certificate was cancelled may still be.
 */
async function findInBalances(client: Queryable, { mode, iec, exporterId }: CompareArgs): Promise<void> {
  await client.query(
    `WITH latest AS (
       SELECT DISTINCT ON (irm_key, issue_date, ad_code, ifsc_code) * FROM irms
        WHERE exporter_id IN ${clientsOfCompany('$1', '$2', '$3')} AND missing_since IS NULL
        ORDER BY irm_key, issue_date, ad_code, ifsc_code, read_at DESC),
     irm AS (
       SELECT irm_key, min(irm_number) AS irm_number, min(exporter_id) AS exporter_id, min(currency) AS currency,
              sum(utilized) AS utilized, sum(amount) AS amount, sum(available) AS available, min(read_at) AS read_at
         FROM latest GROUP BY irm_key HAVING bool_and(utilized IS NOT NULL)),
     ours AS (
       SELECT r.irm_key, coalesce(sum(r.amount) FILTER (WHERE r.state = 'certified' AND NOT ${CANCELLED}), 0) AS certified,
              coalesce(sum(r.amount) FILTER (WHERE r.state = 'certified' AND ${CANCELLED}), 0) AS cancelled,
              coalesce(sum(r.amount) FILTER (WHERE r.state = 'sent'), 0) AS in_flight,
              count(*) FILTER (WHERE r.state = 'certified' AND NOT ${CANCELLED}) AS certificates, max(r.settled_at) AS settled_at
         FROM filing_rows r LEFT JOIN certificates c ON ${ROW_OF_CERTIFICATE}
        WHERE r.mode = $1 AND r.iec = $2 AND r.held GROUP BY r.irm_key)
     INSERT INTO current_findings
     SELECT 'utilisation_differs', i.irm_key, i.exporter_id, NULL, NULL, NULL, i.irm_number, NULL,
            greatest(coalesce(o.certified, 0) - i.utilized, i.utilized - coalesce(o.certified + o.cancelled, 0)), i.currency,
            jsonb_build_object('certified', coalesce(o.certified, 0)::text, 'certificates', coalesce(o.certificates, 0),
              'cancelled', coalesce(o.cancelled, 0)::text, 'inFlight', coalesce(o.in_flight, 0)::text),
            jsonb_build_object('irmUtilizedAmt', i.utilized::text, 'irmAvailableAmt', i.available::text, 'remittanceFCCAmount', i.amount::text),
            'utilised ' || i.utilized || ', certified ' || coalesce(o.certified, 0)
       FROM irm i LEFT JOIN ours o USING (irm_key)
      WHERE (o.settled_at IS NULL OR o.settled_at < i.read_at)
        AND (i.utilized < coalesce(o.certified, 0) OR i.utilized > coalesce(o.certified + o.cancelled + o.in_flight, 0))`,
    [mode, iec, exporterId],
  );
}

/** Reports the last check of the document store. A filing that is still collecting misses nothing yet. */
async function findInDocuments(client: Queryable, { mode, iec }: CompareArgs): Promise<void> {
  await client.query(
    `INSERT INTO current_findings
     SELECT k.kind, c.ebrc_number, f.exporter_id, c.ebrc_number, r.filing_id, r.source_row,
            r.mapping->>'irmNumber', NULL, coalesce(c.amount, r.amount), coalesce(c.currency, r.currency),
            jsonb_build_object('document', c.pdf_document, 'sha256', c.pdf_sha256, 'bytes', c.pdf_bytes, 'archivedAt', c.archived_at),
            jsonb_build_object('found', c.pdf_found),
            CASE WHEN c.archived_at IS NULL AND c.pdf_problem = 'damaged'
                   THEN 'the file was not the one that was stored; it was set aside, and could not be fetched again'
                 WHEN c.archived_at IS NULL AND c.pdf_problem = 'missing'
                   THEN 'the file was not in the document store, and could not be fetched again'
                 WHEN c.archived_at IS NULL THEN 'the filing ended without this PDF'
                 WHEN k.kind = 'pdf_missing' THEN 'the file is not in the document store'
                 ELSE 'the file is not the one that was stored' END
       FROM certificates c JOIN filing_rows r ON ${ROW_OF_CERTIFICATE} JOIN filings f ON f.filing_id = r.filing_id
       CROSS JOIN LATERAL (SELECT CASE WHEN c.pdf_problem = 'damaged' THEN 'pdf_damaged'
         WHEN c.pdf_problem = 'missing' OR (c.archived_at IS NULL AND f.closed_at IS NOT NULL) THEN 'pdf_missing' END AS kind) k
      WHERE c.mode = $1 AND c.iec = $2 AND (c.pdf_document IS NULL OR c.pdf_problem IS NOT NULL) AND k.kind IS NOT NULL`,
    [mode, iec],
  );
}

async function findInFilings(client: Queryable, { mode, iec, exporterId, overdueAfterMs }: CompareArgs): Promise<void> {
  const value = `(SELECT sum(r.amount) FROM filing_rows r WHERE r.filing_id = f.filing_id AND r.held)`;
  const currency = `(SELECT min(r.currency) FROM filing_rows r WHERE r.filing_id = f.filing_id HAVING count(DISTINCT r.currency) = 1)`;
  await client.query(
    `INSERT INTO current_findings
     SELECT k.kind, f.filing_id, f.exporter_id, NULL, f.filing_id, NULL, NULL, NULL, ${value}, ${currency},
            jsonb_build_object('state', f.state, 'reference', f.reference, 'attention', f.attention, 'submittedAt', a.marked_at),
            jsonb_build_object('requestId', a.request_id, 'dgftAckId', a.dgft_ack_id, 'ackStatus', a.ack_status,
              'processingStatus', a.record->>'processingStatus'), k.reason
       FROM filings f
       LEFT JOIN LATERAL (SELECT * FROM attempts a WHERE a.filing_id = f.filing_id
          ORDER BY (a.verdict = 'accepted') DESC, a.number DESC LIMIT 1) a ON true
       CROSS JOIN LATERAL (
         SELECT 'filing_overdue' AS kind, 'no outcome since ' || to_char(a.marked_at AT TIME ZONE 'Asia/Kolkata', 'YYYY-MM-DD HH24:MI "IST"') AS reason
          WHERE f.state = 'overdue' OR (a.verdict = 'accepted' AND a.ended_at IS NULL
            AND a.marked_at < clock_timestamp() - $4::float8 * interval '1 ms')
         UNION ALL SELECT 'outcome_unknown', 'whether it was filed is not known' WHERE f.state = 'outcome_unknown') k
      WHERE f.mode = $1 AND f.closed_at IS NULL AND f.exporter_id IN ${clientsOfCompany('$1', '$2', '$3')}`,
    [mode, iec, exporterId, overdueAfterMs],
  );
}
