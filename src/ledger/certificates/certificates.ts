import { filingDateFromAnything, isoFromAnything } from '../../domain/dates';
import { billKey, documentKey } from '../../domain/identity';
import { isAmount } from '../../domain/money';
import type { Mode } from '../../domain/names';
import { CANCELLED_STATUS } from '../../domain/rules/preflight';
import { CANCEL_WITHIN_MS } from '../../domain/service/limits';
import { Conditions, MICROSECONDS } from '../paging';
import type { Queryable } from '../pool';

/** SQL: whether certificate `c` is cancelled, so that it realises nothing. */
export const CANCELLED = `(coalesce(c.status, '') ~* '${CANCELLED_STATUS}')`;

/** SQL: the row that has certificate `c`, as `r`. */
export const ROW_OF_CERTIFICATE = 'r.mode = c.mode AND r.iec = c.iec AND r.ebrc_number = c.ebrc_number';

/** SQL: whether certificate `c` is nobody's: no row of ours has its number. */
export const NOBODYS = `NOT EXISTS (SELECT FROM filing_rows r WHERE ${ROW_OF_CERTIFICATE})`;

/** A fetch-details entry (spec: "Certificate detail"); other fields are kept in `detail`. */
export interface CertificateDetailRecord {
  eBRCNumber: string | null;
  eBRCDate: string | null;
  eBRCStatus: string | null;
  sbCumInvoiceNumber: string | null;
  sbCumInvoiceDate: string | null;
  realisedValueFCC: number | string | null;
  currencyCode: string | null;
  billNo: string | null;
  [field: string]: unknown;
}

/** Certificates per statement, which is a payload of about a megabyte. */
const BATCH = 1_000;

/**
 * Saves every certificate that fetch-details listed, whoever filed it, and how the authority's data changed. The time
 * of the first sighting never changes, because it shows which certificates existed before a send.
 * @param exporterId the client whose call listed them
 * @param askedAt when the call began; data of a later call is not overwritten
 */
export async function saveCertificates(
  db: Queryable,
  args: { mode: Mode; iec: string; exporterId: string; details: readonly CertificateDetailRecord[]; askedAt: Date },
): Promise<void> {
  const { mode, iec, exporterId, details, askedAt } = args;
  const listed = new Map(details.flatMap((detail) => (detail.eBRCNumber ? [[detail.eBRCNumber.trim(), detail]] : [])));
  const rows = [...listed].map(([ebrc_number, detail]) => ({
    ebrc_number,
    ebrc_date: filingDateFromAnything(detail.eBRCDate) ?? detail.eBRCDate,
    issued_on: isoFromAnything(detail.eBRCDate),
    status: detail.eBRCStatus,
    document_no: detail.sbCumInvoiceNumber,
    document_date: filingDateFromAnything(detail.sbCumInvoiceDate) ?? detail.sbCumInvoiceDate,
    document_key: documentKey(detail.sbCumInvoiceNumber ?? ''),
    document_on: isoFromAnything(detail.sbCumInvoiceDate),
    bill_no: detail.billNo,
    bill_key: billKey(detail.billNo ?? ''),
    amount: isAmount(detail.realisedValueFCC) ? detail.realisedValueFCC : null,
    currency: detail.currencyCode,
    detail,
  }));
  for (let from = 0; from < rows.length; from += BATCH) {
    await db.query(SAVE, [mode, iec, exporterId, JSON.stringify(rows.slice(from, from + BATCH)), askedAt]);
  }
}

const SAVE = `WITH listed AS (SELECT * FROM jsonb_populate_recordset(NULL::certificates, $4::jsonb)),
  changed AS (
    INSERT INTO certificate_changes (mode, iec, ebrc_number, field, before, after, seen_at)
    SELECT c.mode, c.iec, c.ebrc_number, f.field, f.before, f.after, clock_timestamp()
      FROM listed l JOIN certificates c ON c.mode = $1 AND c.iec = $2 AND c.ebrc_number = l.ebrc_number AND c.asked_at <= $5
      CROSS JOIN LATERAL (VALUES ('eBRCStatus', c.status, l.status), ('realisedValueFCC', c.amount::text, l.amount::text),
        ('currencyCode', c.currency, l.currency), ('brcUtilStatus', c.detail->>'brcUtilStatus', l.detail->>'brcUtilStatus')
      ) AS f (field, before, after)
     WHERE f.before IS DISTINCT FROM f.after)
  INSERT INTO certificates AS c (mode, iec, ebrc_number, exporter_id, ebrc_date, issued_on, status, first_status, document_no,
     document_date, document_key, document_on, bill_no, bill_key, amount, currency, detail, asked_at)
  SELECT $1, $2, ebrc_number, $3, ebrc_date, issued_on, status, status, document_no, document_date, document_key, document_on,
     bill_no, bill_key, amount, currency, detail, $5 FROM listed ORDER BY ebrc_number
  ON CONFLICT (mode, iec, ebrc_number) DO UPDATE SET
     ebrc_date = coalesce(excluded.ebrc_date, c.ebrc_date), issued_on = coalesce(excluded.issued_on, c.issued_on),
     status = excluded.status, first_status = coalesce(c.first_status, excluded.status),
     document_no = excluded.document_no, document_date = excluded.document_date,
     document_key = coalesce(nullif(excluded.document_key, ''), c.document_key),
     document_on = coalesce(excluded.document_on, c.document_on),
     bill_no = excluded.bill_no, bill_key = coalesce(nullif(excluded.bill_key, ''), c.bill_key),
     amount = excluded.amount, currency = excluded.currency, detail = excluded.detail,
     asked_at = excluded.asked_at, seen_at = clock_timestamp()
   WHERE c.asked_at <= excluded.asked_at`;

/** A certificate that an earlier reading listed and this one did not. */
export interface VanishedCertificate {
  eBRCNumber: string;
  exporterId: string;
  /** YYYY-MM-DD. */
  issuedOn: string;
  amount: string | null;
  currency: string | null;
  /** A person acknowledged the finding of its absence. */
  acknowledged: boolean;
}

/** The certificates of these days (YYYY-MM-DD, both included) that the ledger has and that are not among `listed`. */
export async function vanishedCertificates(
  db: Queryable,
  args: { mode: Mode; iec: string; from: string; to: string; listed: readonly string[] },
): Promise<VanishedCertificate[]> {
  const { mode, iec, from, to, listed } = args;
  const { rows } = await db.query<VanishedCertificate>(
    `SELECT c.ebrc_number AS "eBRCNumber", c.exporter_id AS "exporterId", to_char(c.issued_on, 'YYYY-MM-DD') AS "issuedOn",
            c.amount::text AS amount, c.currency,
            EXISTS (SELECT FROM findings f WHERE f.mode = c.mode AND f.iec = c.iec AND f.kind = 'ours_not_theirs'
              AND f.ebrc_number = c.ebrc_number AND f.closed_at IS NULL AND f.acknowledged_at IS NOT NULL) AS acknowledged
       FROM certificates c
      WHERE c.mode = $1 AND c.iec = $2 AND c.issued_on BETWEEN $3 AND $4 AND c.ebrc_number <> ALL($5)
      ORDER BY c.ebrc_number`,
    [mode, iec, from, to, listed],
  );
  return rows;
}

/** A certificate as lists show it. Clients of one IEC share certificates. Amounts are exact decimal text. */
export interface CertificateView {
  eBRCNumber: string;
  eBRCDate: string | null;
  eBRCStatus: string | null;
  exporterId: string;
  filingId: string | null;
  reference: string | null;
  sbCumInvoiceNumber: string | null;
  billNo: string | null;
  irmNumber: string | null;
  realisedValueFCC: string | null;
  currencyCode: string | null;
  document: string | null;
  sha256: string | null;
  archivedAt: Date | null;
  /** The last day (YYYY-MM-DD) on which it may be cancelled at the portal; null: it is cancelled, or has no date. */
  cancelBy: string | null;
  /** What is odd about its PDF, which opens all the same. */
  pdfNote: string | null;
}

/** SQL: columns of a {@link CertificateView}, from certificate `c`, its filing `f` and row `r`; $3: ms to cancel it. */
const COLUMNS = `c.ebrc_number AS "eBRCNumber", c.ebrc_date AS "eBRCDate", c.status AS "eBRCStatus",
  coalesce(f.exporter_id, c.exporter_id) AS "exporterId", f.filing_id AS "filingId", f.reference,
  coalesce(r.mapping->>'sbCumInvoiceNumber', c.document_no) AS "sbCumInvoiceNumber",
  coalesce(r.mapping->>'billNo', c.bill_no) AS "billNo",
  r.mapping->>'irmNumber' AS "irmNumber", coalesce(c.amount, r.amount)::text AS "realisedValueFCC",
  coalesce(c.currency, r.currency) AS "currencyCode", c.pdf_document AS document, c.pdf_sha256 AS sha256,
  c.archived_at AS "archivedAt", c.pdf_note AS "pdfNote",
  CASE WHEN NOT ${CANCELLED} THEN to_char(c.issued_on + $3::float8 * interval '1 ms', 'YYYY-MM-DD') END AS "cancelBy"`;

/** A certificate; the next page starts after its `mark`. */
export type PagedCertificate = CertificateView & { mark: string };

/** SQL: the document numbers of our row `r` and of certificate `c`, one per line. */
export const DOCUMENT_NUMBERS = `concat_ws(E'\\n', r.mapping->>'sbCumInvoiceNumber', r.mapping->>'billNo',
  r.mapping->>'gstinInvoiceNumber', c.document_no, c.bill_no, c.detail->>'gstInvoiceNo')`;

/** SQL: whether an IEC is that of an exporter in $1 (mode) with a lower-cased id. `=`: of the only one. */
export const companiesOf = (iec: string, ids: string, is: 'IN' | '=' = 'IN'): string =>
  `${iec} ${is} (SELECT e.iec FROM exporters e WHERE e.mode = $1 AND lower(e.exporter_id) ${ids})`;

/** Certificates in the order in which the ledger first saw them, newest first. */
export async function pageOfCertificates(
  db: Queryable,
  page: {
    mode: Mode;
    exporterId?: string;
    /** Lower-cased ids of exporters whose companies' certificates are listed; null: all. */
    exporters: readonly string[] | null;
    eBRCNumber?: string;
    filingId?: string;
    /** Part of a document number: shipping bill, Softex, invoice, GST invoice or Bill No. */
    document?: string;
    after?: { seenAt: string; eBRCNumber: string };
    limit: number;
    cancelWithinMs?: number;
  },
): Promise<PagedCertificate[]> {
  const {
    mode,
    exporterId,
    exporters,
    eBRCNumber,
    filingId,
    document,
    after,
    limit,
    cancelWithinMs = CANCEL_WITHIN_MS,
  } = page;
  // One company's are read in their order from its index, and several companies' sorted.
  const one = exporters?.length === 1 ? '=' : 'IN';
  const where = new Conditions(mode, limit, cancelWithinMs)
    .add(exporterId, (p) => companiesOf('c.iec', `= lower(${p})`, '='))
    .add(exporters, (p) => companiesOf('c.iec', `= ANY(${p})`, one))
    .add(eBRCNumber, (p) => `c.ebrc_number = ${p}`)
    .add(filingId, (p) => `f.filing_id = ${p}`)
    .add(document, (p) => `strpos(lower(${DOCUMENT_NUMBERS}), lower(${p})) > 0`)
    .behind(after && { at: after.seenAt, id: after.eBRCNumber }, { at: 'c.first_seen_at', id: 'c.ebrc_number' });
  const { rows } = await db.query<PagedCertificate>(
    `SELECT ${COLUMNS}, ${MICROSECONDS('c.first_seen_at')} AS mark
       FROM certificates c LEFT JOIN filing_rows r ON ${ROW_OF_CERTIFICATE} LEFT JOIN filings f ON f.filing_id = r.filing_id
      WHERE c.mode = $1 ${where.text} ORDER BY c.first_seen_at DESC, c.ebrc_number LIMIT $2`,
    where.values,
  );
  return rows;
}
