/** Certificates as a bank closes the bills of their documents: by document, with what of its value is still open. */
import type { Mode } from '../../domain/names';
import { Conditions } from '../paging';
import type { Queryable } from '../pool';
import { CANCELLED, companiesOf, DOCUMENT_NUMBERS, ROW_OF_CERTIFICATE } from './certificates';

/** A certificate and its document. Days are YYYY-MM-DD, amounts exact decimal text; null: not known. */
export interface BankListEntry {
  exporter: string;
  iec: string;
  /** AD code of the IRM's bank. */
  irmAdCode: string | null;
  sbCumInvoiceNumber: string | null;
  sbCumInvoiceDate: string | null;
  portCode: string | null;
  billNo: string | null;
  documentValue: string | null;
  documentCurrency: string | null;
  irmNumber: string | null;
  irmDate: string | null;
  eBRCNumber: string;
  eBRCDate: string | null;
  realisedValueFCC: string | null;
  currencyCode: string | null;
  /** The document's value less all its certificates; null also where one of them is in another currency. */
  open: string | null;
}

/** A filing date of a row's mapping (DDMMYYYY) as YYYY-MM-DD. */
const dayOf = (field: string) =>
  `nullif(regexp_replace(m.mapping->>'${field}', '^(..)(..)(....)$', '\\3-\\2-\\1'), '')`;

/**
 * SQL: certificates of all companies ($1 mode) that are not cancelled, each with its row and document. Invoices that
 * were imported take precedence over what rows state of a document's value.
 */
const ENTRIES = `WITH issued AS (
    SELECT c.iec, c.ebrc_number, c.issued_on, coalesce(f.exporter_id, c.exporter_id) AS exporter_id, f.filing_id, r.mapping,
           coalesce(r.document_key, c.document_key) AS key, coalesce(r.document_on, c.document_on) AS dated,
           coalesce(r.mapping->>'sbCumInvoiceNumber', c.document_no) AS number, coalesce(r.mapping->>'billNo', c.bill_no) AS bill,
           coalesce(c.amount, r.amount) AS amount, upper(coalesce(c.currency, r.currency)) AS currency, ${DOCUMENT_NUMBERS} AS numbers
      FROM certificates c LEFT JOIN filing_rows r ON ${ROW_OF_CERTIFICATE} LEFT JOIN filings f ON f.filing_id = r.filing_id
     WHERE c.mode = $1 AND NOT ${CANCELLED}),
  documents AS MATERIALIZED (
    SELECT d.*, coalesce(i.amount, s.value) AS value, upper(coalesce(i.currency, s.currency)) AS currency
      FROM (SELECT DISTINCT iec, key, dated FROM issued) d
      LEFT JOIN LATERAL (
        SELECT i.amount, i.currency FROM invoices i JOIN exporters e USING (exporter_id)
         WHERE e.mode = $1 AND e.iec = d.iec AND i.document_key = d.key AND i.document_date = d.dated
         ORDER BY i.imported_at DESC LIMIT 1) i ON true
      LEFT JOIN LATERAL (
        SELECT (r.mapping->>'sbCumInvoiceValueinFCC')::numeric AS value, r.mapping->>'sbCumInvoiceFCC' AS currency
          FROM filing_rows r JOIN filings f USING (filing_id)
         WHERE r.mode = $1 AND r.iec = d.iec AND r.document_key = d.key AND r.document_on = d.dated
         ORDER BY f.made_at DESC LIMIT 1) s ON true),
  entries AS (
    SELECT m.*, d.value, d.currency AS document_currency,
           CASE WHEN bool_and(m.currency = d.currency) OVER document THEN d.value - sum(m.amount) OVER document END AS open
      FROM issued m JOIN documents d ON d.iec = m.iec AND d.key = m.key AND d.dated IS NOT DISTINCT FROM m.dated
    WINDOW document AS (PARTITION BY m.iec, m.key, m.dated))
  SELECT e.name AS exporter, m.iec, m.mapping->>'irmAdCode' AS "irmAdCode", m.number AS "sbCumInvoiceNumber",
         to_char(m.dated, 'YYYY-MM-DD') AS "sbCumInvoiceDate", m.mapping->>'portCode' AS "portCode", m.bill AS "billNo",
         m.value::text AS "documentValue", m.document_currency AS "documentCurrency", m.mapping->>'irmNumber' AS "irmNumber",
         ${dayOf('irmDt')} AS "irmDate", m.ebrc_number AS "eBRCNumber", to_char(m.issued_on, 'YYYY-MM-DD') AS "eBRCDate",
         m.amount::text AS "realisedValueFCC", m.currency AS "currencyCode", m.open::text AS open
    FROM entries m JOIN exporters e USING (exporter_id)`;

/** The certificates that are not cancelled, in the order of their banks and documents. */
export async function bankList(
  db: Queryable,
  { mode, exporterId, document }: { mode: Mode; exporterId?: string; document?: string },
): Promise<BankListEntry[]> {
  const where = new Conditions(mode)
    .add(exporterId, (p) => companiesOf('m.iec', `= lower(${p})`))
    .add(document, (p) => `strpos(lower(m.numbers), lower(${p})) > 0`);
  const { rows } = await db.query<BankListEntry>(
    `${ENTRIES} WHERE true ${where.text}
      ORDER BY e.name, m.iec, m.mapping->>'irmAdCode', m.dated, m.number, m.issued_on, m.ebrc_number`,
    where.values,
  );
  return rows;
}
