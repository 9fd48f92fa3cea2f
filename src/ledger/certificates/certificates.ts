import type { CertificateEntry } from '../../domain/reconciliation/certificate-matching';
import { type FilingDate, filingDateFromAnything, isoFromAnything, isoFromFilingDate } from '../../domain/dates';
import { certificateIdentity, certificateOfMapping, comparableText } from '../../domain/identity';
import { isAmount } from '../../domain/money';
import { type Look, lookToRecord, recordsLook } from '../submissions/lost-time';
import { DETAILS_CALLER, type DetailsCaller } from '../exporters/exporters';
import { Conditions, MICROSECONDS } from '../paging';
import type { Queryable } from '../pool';
import type { MappingRow } from '../../domain/filing/mapping';
import type { Mode } from '../../domain/names';
import { type Finding, warningAt } from '../../domain/rules/finding';
import { CANCELLED_STATUS } from '../../domain/rules/preflight';
import { IS_OPEN } from '../rows/filing-rows';

/** SQL: whether certificate `c` is cancelled, so that it realises nothing. */
export const CANCELLED = `(coalesce(c.status, '') ~* '${CANCELLED_STATUS}')`;

/** SQL: the party of exporter $1. fetch-details answers per IEC, so clients of one IEC see the same certificates. */
export const PARTY = '(SELECT party_id FROM exporters WHERE exporter_id = $1)';

/** A fetch-details entry (spec: "Certificate detail"); other fields are kept in `detail`. */
export interface CertificateDetailRecord extends Omit<CertificateEntry, 'eBRCNumber'> {
  eBRCNumber: string | null;
  eBRCStatus: string | null;
  [field: string]: unknown;
}

/**
 * Saves every certificate that fetch-details returns, whoever filed it, and records how the authority's data changed.
 * The time of the first sighting never changes, because it shows which certificates existed before a send.
 * @param askedAt when the call began; data of a later call is not overwritten. Default: `at`
 * @param iecCode the IEC that was asked for; nothing is saved if the exporter's turned out to be another one
 * @param days the days that were asked for. The answer must list their certificates that this client was shown before
 *   (only this client, because a service may show each client of an IEC only its own)
 * @param look the look that ends with these days, recorded with them
 * @returns how many of those certificates are missing, so that the answer proves no absence; null: nothing was saved
 */
export async function saveCertificates(
  db: Queryable,
  args: {
    exporterId: string;
    iecCode?: string;
    details: readonly CertificateDetailRecord[];
    days?: { from: FilingDate; to: FilingDate };
    look?: Look;
    askedAt?: Date;
    at: Date;
  },
): Promise<number | null> {
  const { exporterId, iecCode, details, days, look, at, askedAt = at } = args;
  const rows = details
    .filter((detail) => detail.eBRCNumber)
    .map((detail) => ({
      ebrc_number: detail.eBRCNumber?.trim(),
      ebrc_date: filingDateFromAnything(detail.eBRCDate) ?? detail.eBRCDate,
      status: detail.eBRCStatus,
      document_no: detail.sbCumInvoiceNumber,
      document_date: filingDateFromAnything(detail.sbCumInvoiceDate) ?? detail.sbCumInvoiceDate,
      bill_no: detail.billNo,
      amount: isAmount(detail.realisedValueFCC) ? detail.realisedValueFCC : null,
      currency: detail.currencyCode,
      issued_on: isoFromAnything(detail.eBRCDate),
      document_key: comparableText(detail.sbCumInvoiceNumber ?? ''),
      document_on: isoFromAnything(detail.sbCumInvoiceDate),
      bill_key: comparableText(detail.billNo ?? ''),
      match_key: certificateIdentity({
        document: detail.sbCumInvoiceNumber,
        date: detail.sbCumInvoiceDate,
        amount: detail.realisedValueFCC,
        currency: detail.currencyCode,
      }),
      detail,
    }));
  const dayBounds = days ? [isoFromFilingDate(days.from), isoFromFilingDate(days.to)] : [null, null];
  const { rows: saved } = await db.query<{ vanished: number }>(
    `WITH party AS (
       SELECT e.party_id FROM exporters e JOIN parties p USING (party_id)
        WHERE e.exporter_id = $1 AND ($4::text IS NULL OR coalesce(e.iec, p.iec) = $4)
     ), said AS (
       SELECT DISTINCT ON (ebrc_number) * FROM jsonb_populate_recordset(NULL::certificates, $2::jsonb)
     ), changed AS (
       INSERT INTO certificate_changes (party_id, ebrc_number, field, before, after, seen_at)
       SELECT c.party_id, c.ebrc_number, f.field, f.before, f.after, $3
         FROM said r JOIN certificates c ON c.party_id = (SELECT party_id FROM party) AND c.ebrc_number = r.ebrc_number
          AND c.detail IS NOT NULL AND c.asked_at <= $8
         CROSS JOIN LATERAL (VALUES ('eBRCStatus', c.status, r.status), ('realisedValueFCC', c.amount::text, r.amount::text),
           ('currencyCode', c.currency, r.currency), ('brcUtilStatus', c.detail->>'brcUtilStatus', r.detail->>'brcUtilStatus')
         ) AS f (field, before, after)
        WHERE f.before IS DISTINCT FROM f.after
     ), saved AS (
       INSERT INTO certificates (party_id, exporter_id, ebrc_number, ebrc_date, status, document_no, document_date, bill_no, amount,
         currency, detail, asked_at, first_seen_at, seen_at, issued_on, match_key, first_status, document_key, document_on, bill_key)
       SELECT p.party_id, $1, r.ebrc_number, r.ebrc_date, r.status, r.document_no, r.document_date, r.bill_no,
         r.amount, r.currency, r.detail, $8, $3, clock_timestamp(), r.issued_on, r.match_key, r.status,
         r.document_key, r.document_on, r.bill_key
         FROM party p, said r
       ON CONFLICT (party_id, ebrc_number) DO UPDATE SET ebrc_date = coalesce(excluded.ebrc_date, certificates.ebrc_date),
         status = excluded.status, document_no = excluded.document_no, document_date = excluded.document_date,
         bill_no = excluded.bill_no, amount = excluded.amount, currency = excluded.currency, detail = excluded.detail,
         asked_at = excluded.asked_at,
         seen_at = greatest(certificates.seen_at, excluded.seen_at), issued_on = coalesce(excluded.issued_on, certificates.issued_on),
         match_key = excluded.match_key, document_key = coalesce(nullif(excluded.document_key, ''), certificates.document_key),
         document_on = coalesce(excluded.document_on, certificates.document_on),
         bill_key = coalesce(nullif(excluded.bill_key, ''), certificates.bill_key), first_status = coalesce(certificates.first_status, excluded.status)
       WHERE certificates.asked_at IS NULL OR certificates.asked_at <= excluded.asked_at
     ), vanished AS (
       SELECT count(*)::int AS n FROM certificates c
        WHERE c.party_id = (SELECT party_id FROM party) AND c.exporter_id = $1 AND c.detail IS NOT NULL
          AND c.issued_on BETWEEN $6::date AND $7::date
          AND c.first_seen_at >= $6::date - 1 AND NOT EXISTS (SELECT FROM said r WHERE r.ebrc_number = c.ebrc_number)
     ), looked AS (
       ${recordsLook(`(SELECT $5::jsonb || CASE WHEN n > 0 THEN jsonb_build_object('problem', coalesce($5::jsonb->>'problem',
         n || ' ${VANISHED}')) ELSE '{}' END FROM party, vanished)`)}
     )
     SELECT n AS vanished FROM party, vanished`,
    [exporterId, JSON.stringify(rows), at, iecCode, look && lookToRecord(look), ...dayBounds, askedAt],
  );
  return saved[0]?.vanished ?? null;
}

/** Why an answer proves no absence: certificates that an earlier answer listed are missing. A count precedes it. */
export const VANISHED = 'of the certificates that fetch-details listed before are not in its answer';

/** Certificates of an exporter's party that belong to no row yet, as fetch-details described them. */
export async function unclaimedCertificates(db: Queryable, exporterId: string): Promise<CertificateEntry[]> {
  const { rows } = await db.query<CertificateEntry>(
    `SELECT ebrc_number AS "eBRCNumber", ebrc_date AS "eBRCDate", document_no AS "sbCumInvoiceNumber",
            document_date AS "sbCumInvoiceDate", amount::text AS "realisedValueFCC", currency AS "currencyCode", bill_no AS "billNo",
            status AS "eBRCStatus"
       FROM certificates WHERE party_id = ${PARTY} AND filing_id IS NULL AND detail IS NOT NULL`,
    [exporterId],
  );
  return rows;
}

/** What a look at a filing's certificates needs first; `submission` null: the open rows of all submissions count. */
export async function readDetailsToRead(
  db: Queryable,
  { filingId, exporterId, submission }: { filingId: string; exporterId: string; submission: number | null },
) {
  const { rows } = await db.query<
    DetailsCaller & {
      open: number;
      issued: string[];
    }
  >(
    `SELECT own.*, counted.*
       FROM (SELECT count(*) FILTER (WHERE ${IS_OPEN} AND ($3::int IS NULL OR submission = $3))::int AS open,
               coalesce(array_agg(DISTINCT ebrc_date) FILTER (WHERE ebrc_date IS NOT NULL), '{}') AS issued
               FROM filing_rows WHERE filing_id = $2) AS counted
       LEFT JOIN (${DETAILS_CALLER}) AS own ON true`,
    [exporterId, filingId, submission],
  );
  return rows[0] ?? { iecCode: null, credentials: null, open: 0, issued: [] };
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
}

/** SQL: columns of a {@link CertificateView}, from certificate `c`, its filing `f` and row `r`. */
const COLUMNS = `c.ebrc_number AS "eBRCNumber", c.ebrc_date AS "eBRCDate", c.status AS "eBRCStatus",
  c.exporter_id AS "exporterId", c.filing_id AS "filingId", f.reference,
  coalesce(r.mapping->>'sbCumInvoiceNumber', c.document_no) AS "sbCumInvoiceNumber",
  coalesce(r.mapping->>'billNo', c.bill_no) AS "billNo",
  r.mapping->>'irmNumber' AS "irmNumber", coalesce(c.amount, r.mapped_amount)::text AS "realisedValueFCC",
  coalesce(c.currency, r.currency) AS "currencyCode", c.pdf_document AS document, c.pdf_sha256 AS sha256,
  c.archived_at AS "archivedAt"`;

/** A certificate; the next page starts after its `mark`. */
export type PagedCertificate = CertificateView & { mark: string };

/** SQL: the document numbers of our row and of the authority, one per line. */
const DOCUMENT_NUMBERS = `concat_ws(E'\\n', r.mapping->>'sbCumInvoiceNumber', r.mapping->>'billNo',
  r.mapping->>'gstinInvoiceNumber', c.document_no, c.bill_no, c.detail->>'gstInvoiceNo')`;

/** Certificates in the order in which the ledger first saw them, newest first. */
export async function pageOfCertificates(
  db: Queryable,
  page: {
    mode: Mode;
    exporterId?: string;
    /** Lower-cased ids of exporters whose parties' certificates are listed; null: all. */
    exporters: readonly string[] | null;
    eBRCNumber?: string;
    filingId?: string;
    /** Part of a document number: shipping bill, Softex, invoice, GST invoice or Bill No. */
    document?: string;
    after?: { seenAt: string; eBRCNumber: string };
    limit: number;
  },
): Promise<PagedCertificate[]> {
  const { mode, exporterId, exporters, eBRCNumber, filingId, document, after, limit } = page;
  const parties = (ids: string) => `c.party_id IN (SELECT party_id FROM exporters WHERE lower(exporter_id) ${ids})`;
  const where = new Conditions(mode, limit)
    .add(exporterId, (p) => `c.party_id = (SELECT party_id FROM exporters WHERE lower(exporter_id) = lower(${p}))`)
    .add(exporters, (p) => parties(`= ANY(${p})`))
    .add(eBRCNumber, (p) => `c.ebrc_number = ${p}`)
    .add(filingId, (p) => `c.filing_id = ${p}`)
    .add(document, (p) => `strpos(lower(${DOCUMENT_NUMBERS}), lower(${p})) > 0`)
    .behind(after && { at: after.seenAt, id: after.eBRCNumber }, { at: 'c.first_seen_at', id: 'c.ebrc_number' });
  const { rows } = await db.query<PagedCertificate>(
    `SELECT ${COLUMNS}, ${MICROSECONDS('c.first_seen_at')} AS mark
       FROM certificates c JOIN parties p USING (party_id) LEFT JOIN filings f ON f.filing_id = c.filing_id
       LEFT JOIN filing_rows r ON r.filing_id = c.filing_id AND r.position = c.position
      WHERE p.mode = $1 ${where.text} ORDER BY c.first_seen_at DESC, c.ebrc_number LIMIT $2`,
    where.values,
  );
  return rows;
}

/**
 * SQL: which of `rows` (a record set with `source_row`, `document_key` and `match_key`) match a certificate of the
 * authority that belongs to no row, because it was filed by hand or by another system.
 */
export const CERTIFIED_ELSEWHERE = (party: string, rows: string) =>
  `SELECT r.source_row AS row, min(c.ebrc_number) AS "eBRCNumber" FROM ${rows} JOIN certificates c
     ON c.party_id = ${party} AND c.document_key = r.document_key AND c.match_key = r.match_key AND c.filing_id IS NULL
    GROUP BY r.source_row ORDER BY r.source_row`;

/** Warnings about the rows that {@link CERTIFIED_ELSEWHERE} found. */
export const certifiedElsewhereWarnings = (found: readonly { row: number; eBRCNumber: string }[]): Finding[] =>
  found.map(({ row, eBRCNumber }) => {
    const message = `The authority has certificate ${eBRCNumber} for this document, date and amount, and no filing here has it. If it is this row’s, filing the row makes a second one.`;
    return warningAt(row, null, 'certified_elsewhere', message);
  });

export async function certifiedElsewhere(
  db: Queryable,
  { partyId, rows }: { partyId: number; rows: readonly MappingRow[] },
): Promise<Finding[]> {
  const keys = rows.map(({ row, mapping }) => ({
    source_row: row,
    document_key: comparableText(mapping.sbCumInvoiceNumber),
    match_key: certificateOfMapping(mapping),
  }));
  const rowSet = 'jsonb_to_recordset($2::jsonb) AS r (source_row int, document_key text, match_key text)';
  const { rows: found } = await db.query<{ row: number; eBRCNumber: string }>(CERTIFIED_ELSEWHERE('$1', rowSet), [
    partyId,
    JSON.stringify(keys),
  ]);
  return certifiedElsewhereWarnings(found);
}
