/** Compares the ledger with a party's last known data at the authority; one statement over all rows per finding. */
import type pg from 'pg';
import type { ReconcileCheck } from '../../domain/reconciliation/findings';
import { CANCELLED } from '../certificates/certificates';
import { withTransaction, type Queryable } from '../pool';
import { attentionOf, NO_ROW_HAS } from '../questions/questions';
import { mergeFindings } from './findings';

export interface CompareArgs {
  mode: string;
  partyId: number;
  /** The checks that ran; findings of other checks are neither opened nor closed. */
  checks: readonly ReconcileCheck[];
  /** Spans of days (YYYY-MM-DD, both included) whose certificates were all read, by a reading begun at `readAt`. */
  windows: readonly { from: string; to: string; readAt: Date }[];
  withoutWorkflow: readonly string[];
  overdueAfterMs: number;
  at: Date;
}

/** Opens new findings, renews existing ones and closes those that are gone. The same data again changes nothing. */
export async function compareParty(pool: pg.Pool, args: CompareArgs) {
  return withTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7))', [`reconcile/${args.partyId}`]);
    await client.query(CURRENT_FINDINGS);
    await client.query(READ_WINDOWS);
    await client.query(
      `INSERT INTO read_windows SELECT w."from"::date, w."to"::date, w."readAt"
         FROM jsonb_to_recordset($1::jsonb) AS w ("from" text, "to" text, "readAt" timestamptz)`,
      [JSON.stringify(args.windows)],
    );
    for (const check of args.checks) await FIND[check](client, args);
    return mergeFindings(client, args);
  });
}

const CURRENT_FINDINGS = `CREATE TEMP TABLE current_findings (
  key text PRIMARY KEY, kind text NOT NULL, exporter_id text, ebrc_number text, filing_id text, source_row integer,
  irm_number text, on_date date, amount numeric, currency text, ours jsonb, theirs jsonb, reason text
) ON COMMIT DROP`;

const READ_WINDOWS = `CREATE TEMP TABLE read_windows (from_date date, to_date date, read_at timestamptz) ON COMMIT DROP`;

const FIND: Readonly<Record<ReconcileCheck, (client: Queryable, args: CompareArgs) => Promise<void>>> = {
  certificates: findInCertificates,
  balances: findInBalances,
  documents: findInDocuments,
  filings: findInFilings,
};

const OUR_ROW = `jsonb_build_object('filingId', r.filing_id, 'row', r.source_row, 'irmNumber', r.mapping->>'irmNumber',
  'document', r.mapping->>'sbCumInvoiceNumber', 'documentDate', r.mapping->>'sbCumInvoiceDate',
  'amount', r.mapped_amount::text, 'currency', r.currency, 'eBRCNumber', r.ebrc_number, 'state', r.state)`;

/** SQL: whether certificate `c` has another status than when it was first read. */
const ANOTHER_STATUS = 'upper(trim(c.status)) <> upper(trim(c.first_status))';

/** SQL: certificate `c` as the authority shows it. */
const THEIR_CERTIFICATE = `jsonb_build_object('eBRCNumber', c.ebrc_number, 'eBRCDate', c.ebrc_date, 'eBRCStatus', c.status,
  'brcUtilStatus', c.detail->>'brcUtilStatus', 'document', c.document_no, 'documentDate', c.document_date,
  'amount', c.amount::text, 'currency', c.currency)`;

async function findInCertificates(client: Queryable, args: CompareArgs): Promise<void> {
  const { partyId } = args;
  await findCollisions(client, args);
  // Certificates that a complete reading of their day covers, and whether that reading showed them.
  await client.query(`CREATE TEMP TABLE covered ON COMMIT DROP AS
    SELECT c.ebrc_number, w.read_at, coalesce(c.seen_at >= w.read_at, false) AS seen
      FROM certificates c JOIN LATERAL (
        SELECT max(w.read_at) AS read_at FROM read_windows w
         WHERE coalesce(c.issued_on, (c.first_seen_at AT TIME ZONE 'Asia/Kolkata')::date)
               BETWEEN w.from_date AND w.to_date) w ON w.read_at IS NOT NULL
     WHERE c.party_id = ${Number(partyId)}`);
  await client.query('ANALYZE covered');
  await client.query(
    `INSERT INTO current_findings
     SELECT 'ours_not_theirs|' || r.ebrc_number, 'ours_not_theirs', r.exporter_id, r.ebrc_number, r.filing_id, r.source_row,
            r.mapping->>'irmNumber', coalesce(c.issued_on, (c.first_seen_at AT TIME ZONE 'Asia/Kolkata')::date),
            r.mapped_amount, r.currency, ${OUR_ROW}, NULL,
            'fetch-details shows no such certificate' || coalesce('; it was last shown on ' || to_char(c.seen_at AT TIME ZONE 'Asia/Kolkata', 'YYYY-MM-DD'), '')
       FROM filing_rows r JOIN certificates c ON c.party_id = r.party_id AND c.ebrc_number = r.ebrc_number
       JOIN covered v ON v.ebrc_number = r.ebrc_number AND NOT v.seen
      WHERE r.party_id = $1 AND r.state = 'certified' AND NOT r.disputed AND coalesce(c.claimed_at, '-infinity') < v.read_at`,
    [partyId],
  );
  // A difference stays until a look shows the certificate without it; a look that does not show the certificate says
  // nothing about its amount or status.
  await client.query(
    `INSERT INTO current_findings
     SELECT 'amount_differs|' || r.ebrc_number, 'amount_differs', r.exporter_id, r.ebrc_number, r.filing_id, r.source_row,
            r.mapping->>'irmNumber', c.issued_on, abs(c.amount - r.mapped_amount), r.currency, ${OUR_ROW},
            ${THEIR_CERTIFICATE},
            CASE WHEN c.amount <> r.mapped_amount THEN 'filed ' || r.mapped_amount || ', certified ' || c.amount
                 ELSE 'filed in ' || r.currency || ', certified in ' || c.currency END
       FROM filing_rows r JOIN certificates c ON c.party_id = r.party_id AND c.ebrc_number = r.ebrc_number
       JOIN covered v ON v.ebrc_number = r.ebrc_number
      WHERE r.party_id = $1 AND r.state = 'certified' AND NOT r.disputed AND c.detail IS NOT NULL
        AND (c.amount <> r.mapped_amount OR upper(trim(c.currency)) <> upper(trim(r.currency)))`,
    [partyId],
  );
  // Another spelling (`ISSUED` for `Issued`) is not another status. A certificate that a record or persons named may
  // have been cancelled before its details were first read.
  await client.query(
    `INSERT INTO current_findings
     SELECT 'status_changed|' || c.ebrc_number, 'status_changed', coalesce(r.exporter_id, c.exporter_id), c.ebrc_number,
            c.filing_id, r.source_row, r.mapping->>'irmNumber', c.issued_on, c.amount, c.currency,
            jsonb_build_object('eBRCStatus', c.first_status), ${THEIR_CERTIFICATE},
            CASE WHEN ${ANOTHER_STATUS} THEN 'the status was ' || c.first_status || ' and is ' || c.status
                 ELSE 'the status is ' || c.status || ' since it was first read' END
       FROM certificates c JOIN covered v ON v.ebrc_number = c.ebrc_number
       LEFT JOIN filing_rows r ON r.filing_id = c.filing_id AND r.position = c.position
      WHERE c.party_id = $1 AND (${ANOTHER_STATUS} OR (r.state = 'certified' AND ${CANCELLED}))`,
    [partyId],
  );
  // A certificate that no row claims is a second one for a mapping of ours, was filed by somebody else, or is of a row
  // that was abandoned after the send, whose filing no longer looks for it. Filings look for those of open rows.
  await client.query(
    `WITH ours AS (
       SELECT match_key, bool_or(state = 'certified') AS certified,
              bool_or(state NOT IN ('certified', 'needs_correction', 'withdrawn', 'corrected', 'abandoned_after_send')) AS open,
              min(filing_id) FILTER (WHERE state = 'abandoned_after_send') AS abandoned,
              count(*) FILTER (WHERE live) AS filed, min(filing_id) AS filing_id
         FROM filing_rows WHERE party_id = $1 AND match_key IS NOT NULL AND live GROUP BY match_key)
     INSERT INTO current_findings
     SELECT k.kind || '|' || c.ebrc_number, k.kind, c.exporter_id, c.ebrc_number,
            CASE WHEN o.certified THEN o.filing_id ELSE o.abandoned END, NULL, NULL, c.issued_on, c.amount, c.currency,
            CASE WHEN o.certified THEN jsonb_build_object('filed', o.filed, 'filingId', o.filing_id)
                 WHEN o.abandoned IS NOT NULL THEN jsonb_build_object('filingId', o.abandoned, 'state', 'abandoned_after_send')
            END, ${THEIR_CERTIFICATE},
            CASE WHEN o.certified THEN 'document, date, amount and currency are those of a row that has its certificate already'
                 WHEN o.abandoned IS NOT NULL
                   THEN 'document, date, amount and currency are those of a row that was abandoned after it was sent'
                 ELSE '${NO_ROW_HAS}' END
       FROM certificates c JOIN covered v ON v.ebrc_number = c.ebrc_number AND v.seen
       LEFT JOIN ours o ON o.match_key = c.match_key
       CROSS JOIN LATERAL (SELECT CASE WHEN o.certified THEN 'duplicate_certificate' ELSE 'theirs_not_ours' END AS kind) k
      WHERE c.party_id = $1 AND c.filing_id IS NULL AND c.detail IS NOT NULL AND o.open IS NOT TRUE`,
    [partyId],
  );
}

/** Finds rows that share a mapping or certificate with another filing since two clients turned out to be one party. */
async function findCollisions(client: Queryable, { partyId }: CompareArgs): Promise<void> {
  await client.query(
    // Select the few rows first, because a lookup for each of a hundred thousand rows would take most of the time.
    `WITH collided AS MATERIALIZED (
       SELECT * FROM filing_rows WHERE party_id = $1 AND live AND (disputed OR collided_with IS NOT NULL)),
     pairs AS (
       SELECT DISTINCT ON (r.filing_id, r.position) r.filing_id, r.position, o.filing_id AS other, o.position AS other_position
         FROM collided r JOIN filing_rows o ON o.party_id = $1 AND o.live AND (o.filing_id, o.position) <> (r.filing_id, r.position)
          AND ((o.filing_id = r.collided_with AND EXISTS (SELECT FROM held_mappings m JOIN held_mappings h USING (fingerprint)
                 WHERE m.filing_id = r.filing_id AND m.position = r.position AND h.filing_id = o.filing_id AND h.position = o.position))
            OR (r.disputed AND o.ebrc_number = r.ebrc_number))
        ORDER BY r.filing_id, r.position, o.filing_id <> coalesce(r.collided_with, ''), o.position)
     INSERT INTO current_findings
     SELECT 'duplicate_certificate|' || r.filing_id || ' row ' || r.source_row, 'duplicate_certificate', r.exporter_id, r.ebrc_number,
            r.filing_id, r.source_row, r.mapping->>'irmNumber', NULL, r.mapped_amount, r.currency, ${OUR_ROW},
            jsonb_build_object('filingId', h.filing_id, 'row', h.source_row, 'state', h.state, 'eBRCNumber', h.ebrc_number,
              'amount', h.mapped_amount::text, 'currency', h.currency),
            CASE WHEN r.disputed THEN 'two rows claim this certificate since their clients turned out to be one exporter'
                 ELSE 'filing ' || r.collided_with || ' holds the same mapping since their clients turned out to be one exporter' END
       FROM collided r JOIN pairs p USING (filing_id, position)
       JOIN filing_rows h ON h.filing_id = p.other AND h.position = p.other_position`,
    [partyId],
  );
}

/**
 * Compares an IRM's utilised amount with its certified rows. Rows in progress may be counted already, and rows whose
 * certificate was cancelled may still be.
 */
async function findInBalances(client: Queryable, { partyId }: CompareArgs): Promise<void> {
  await client.query(
    `WITH held AS (
       SELECT DISTINCT ON (i.irm_key, i.issue_date, i.remittance_date) i.irm_key, i.irm_number, i.exporter_id, i.currency, i.utilized,
              i.amount, i.available, i.read_at
         FROM irms i JOIN exporters e USING (exporter_id) WHERE e.party_id = $1
        ORDER BY i.irm_key, i.issue_date, i.remittance_date, i.read_at DESC),
     irm AS (
       SELECT irm_key, min(irm_number) AS irm_number, min(exporter_id) AS exporter_id, min(currency) AS currency,
              sum(utilized) AS utilized, sum(amount) AS amount, sum(available) AS available, min(read_at) AS read_at
         FROM held GROUP BY irm_key HAVING bool_and(utilized IS NOT NULL)),
     ours AS (
       SELECT r.irm_key, coalesce(sum(r.mapped_amount) FILTER (WHERE r.state = 'certified' AND NOT ${CANCELLED}), 0) AS certified,
              coalesce(sum(r.mapped_amount) FILTER (WHERE r.state = 'certified' AND ${CANCELLED}), 0) AS cancelled,
              coalesce(sum(r.mapped_amount) FILTER (WHERE r.state IN ('submitted', 'unknown', 'abandoned_after_send')), 0) AS in_flight,
              count(*) FILTER (WHERE r.state = 'certified' AND NOT ${CANCELLED}) AS certificates, max(r.settled_at) AS settled_at
         FROM filing_rows r LEFT JOIN certificates c ON c.party_id = r.party_id AND c.ebrc_number = r.ebrc_number
        WHERE r.party_id = $1 AND r.live GROUP BY r.irm_key)
     INSERT INTO current_findings
     SELECT 'utilisation_differs|' || i.irm_key, 'utilisation_differs', i.exporter_id, NULL, NULL, NULL, i.irm_number, NULL,
            greatest(coalesce(o.certified, 0) - i.utilized, i.utilized - coalesce(o.certified + o.cancelled, 0)), i.currency,
            jsonb_build_object('certified', coalesce(o.certified, 0)::text, 'certificates', coalesce(o.certificates, 0),
              'cancelled', coalesce(o.cancelled, 0)::text, 'inFlight', coalesce(o.in_flight, 0)::text),
            jsonb_build_object('irmUtilizedAmt', i.utilized::text, 'irmAvailableAmt', i.available::text, 'remittanceFCCAmount', i.amount::text),
            'utilised ' || i.utilized || ', certified ' || coalesce(o.certified, 0)
       FROM irm i LEFT JOIN ours o USING (irm_key)
      WHERE (o.settled_at IS NULL OR o.settled_at < i.read_at)
        AND (i.utilized < coalesce(o.certified, 0) OR i.utilized > coalesce(o.certified + o.cancelled + o.in_flight, 0))`,
    [partyId],
  );
}

/** Reports the last check of the document store. A filing that is still collecting misses nothing yet. */
async function findInDocuments(client: Queryable, { partyId }: CompareArgs): Promise<void> {
  await client.query(
    `INSERT INTO current_findings
     SELECT k.kind || '|' || c.ebrc_number, k.kind, r.exporter_id, c.ebrc_number, c.filing_id, r.source_row,
            r.mapping->>'irmNumber', NULL, coalesce(c.amount, r.mapped_amount), coalesce(c.currency, r.currency),
            jsonb_build_object('document', c.pdf_document, 'sha256', c.pdf_sha256, 'bytes', c.pdf_bytes, 'archivedAt', c.archived_at),
            jsonb_build_object('found', c.pdf_found),
            CASE WHEN c.archived_at IS NULL AND c.pdf_problem = 'damaged'
                   THEN 'the file was not the one that was stored; it was set aside, and could not be fetched again'
                 WHEN c.archived_at IS NULL AND c.pdf_problem = 'missing'
                   THEN 'the file was not in the document store, and could not be fetched again'
                 WHEN c.archived_at IS NULL THEN 'the filing ended without this PDF'
                 WHEN k.kind = 'pdf_missing' THEN 'the file is not in the document store'
                 ELSE 'the file is not the one that was stored' END
       FROM certificates c JOIN filing_rows r ON r.filing_id = c.filing_id AND r.position = c.position
       JOIN filings f ON f.filing_id = c.filing_id
       CROSS JOIN LATERAL (SELECT CASE WHEN c.pdf_problem = 'damaged' THEN 'pdf_damaged'
         WHEN c.pdf_problem = 'missing' OR (c.archived_at IS NULL AND f.closed_at IS NOT NULL) THEN 'pdf_missing' END AS kind) k
      WHERE c.party_id = $1 AND c.filing_id IS NOT NULL AND (c.pdf_document IS NULL OR c.pdf_problem IS NOT NULL)
        AND k.kind IS NOT NULL AND r.state = 'certified'`,
    [partyId],
  );
}

async function findInFilings(client: Queryable, args: CompareArgs): Promise<void> {
  const value = `(SELECT sum(r.mapped_amount) FROM filing_rows r WHERE r.filing_id = f.filing_id AND r.live)`;
  const currency = `(SELECT min(r.currency) FROM filing_rows r WHERE r.filing_id = f.filing_id HAVING count(DISTINCT r.currency) = 1)`;
  await client.query(
    `INSERT INTO current_findings
     SELECT k.kind || '|' || f.filing_id, k.kind, f.exporter_id, NULL, f.filing_id, NULL, NULL, NULL, ${value}, ${currency},
            jsonb_build_object('state', f.state, 'reference', f.reference, 'attention', ${attentionOf('f')}, 'submittedAt', s.submitted_at),
            jsonb_build_object('requestId', s.request_id, 'dgftAckId', s.dgft_ack_id, 'ackStatus', s.ack_status,
              'processingStatus', s.processing_status), k.reason
       FROM filings f
       LEFT JOIN LATERAL (SELECT * FROM submission_progress s WHERE s.filing_id = f.filing_id
          ORDER BY (s.state = 'acknowledged') DESC, s.submission LIMIT 1) s ON true
       CROSS JOIN LATERAL (
         SELECT 'filing_overdue' AS kind, CASE WHEN s.state = 'acknowledged'
             THEN 'no outcome since ' || to_char(s.submitted_at AT TIME ZONE 'Asia/Kolkata', 'YYYY-MM-DD HH24:MI "IST"')
             ELSE 'its requests have an outcome, but certificates cannot be fetched yet' END AS reason
          WHERE f.state = 'overdue' OR (s.state = 'acknowledged' AND s.submitted_at < $3)
         UNION ALL SELECT 'outcome_unknown', 'the answer to a submission was lost' WHERE f.state = 'outcome_unknown'
            OR EXISTS (SELECT FROM filing_rows r WHERE r.filing_id = f.filing_id AND r.state = 'unknown')
         UNION ALL SELECT 'filing_without_workflow', 'its workflow has ended or is gone' WHERE f.filing_id = ANY ($4)) k
      WHERE f.mode = $2 AND f.closed_at IS NULL
        AND f.exporter_id IN (SELECT exporter_id FROM exporters WHERE party_id = $1)`,
    [args.partyId, args.mode, new Date(args.at.getTime() - args.overdueAfterMs), args.withoutWorkflow],
  );
}
