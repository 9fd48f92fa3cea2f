import { filingDateFromIso, isFilingDate } from '../../domain/dates';
import type { Mapping } from '../../domain/filing/mapping';
import type { IrmKey } from '../../ledger/exporters/irm-change';
import type { Queryable } from '../../ledger/pool';
import type { OpenIrm } from './score';
import { listIrms } from '../../ledger/exporters/irms';
import { holdsOn } from '../../ledger/rows/balance-reservation';
import { irmView } from '../../starter/exporters/views';

/** A document of an exporter from its invoice list or its filed rows, with its open amount. */
export interface LedgerDocument {
  number: string;
  /** DDMMYYYY. */
  date: string;
  currency: string;
  value: string;
  /** The value less the amounts of live rows and of certificates that belong to none of our rows; may be 0 or less. */
  open: string;
  uploadType: number | null;
  buyer: string | null;
  /** The row that was last filed for it; null for a document that is only in the invoice list. */
  filed: { reference: string; mapping: Mapping } | null;
}

/**
 * The documents of an exporter's party from its invoice list (`ebrc invoices import`) and from its filings; the list
 * takes precedence over rows.
 */
export async function ledgerDocuments(db: Queryable, exporterId: string): Promise<LedgerDocument[]> {
  const { rows } = await db.query<
    Omit<LedgerDocument, 'filed'> & { reference: string | null; mapping: Mapping | null }
  >(
    `WITH party AS (SELECT party_id FROM exporters WHERE lower(exporter_id) = lower($1)),
     filed AS (
       SELECT r.match_key::jsonb->>0 AS key, to_date(r.match_key::jsonb->>1, 'DDMMYYYY') AS dated, r.mapping, f.reference, f.made_at,
              r.live, r.mapped_amount
         FROM filing_rows r JOIN filings f USING (filing_id)
        WHERE r.party_id = (SELECT party_id FROM party) AND r.match_key IS NOT NULL),
     last AS (SELECT DISTINCT ON (key, dated) key, dated, mapping, reference FROM filed ORDER BY key, dated, made_at DESC),
     listed AS (
       SELECT DISTINCT ON (i.document_key, i.document_date) i.document_key AS key, i.document_date AS dated, i.document_no, i.document_type,
              upper(i.currency) AS currency, i.amount, i.buyer
         FROM invoices i JOIN exporters e USING (exporter_id)
        WHERE e.party_id = (SELECT party_id FROM party) ORDER BY i.document_key, i.document_date, i.imported_at DESC),
     taken AS (
       SELECT key, dated, sum(amount) AS amount FROM (
         SELECT key, dated, mapped_amount AS amount FROM filed WHERE live
         UNION ALL
         SELECT c.match_key::jsonb->>0, to_date(c.match_key::jsonb->>1, 'DDMMYYYY'), c.amount
           FROM certificates c
          WHERE c.party_id = (SELECT party_id FROM party) AND c.match_key IS NOT NULL AND c.filing_id IS NULL) t
        GROUP BY key, dated)
     SELECT coalesce(i.document_no, l.mapping->>'sbCumInvoiceNumber') AS number, to_char(dated, 'YYYY-MM-DD') AS date,
            coalesce(i.currency, upper(l.mapping->>'sbCumInvoiceFCC')) AS currency,
            coalesce(i.amount, (l.mapping->>'sbCumInvoiceValueinFCC')::numeric)::text AS value,
            (coalesce(i.amount, (l.mapping->>'sbCumInvoiceValueinFCC')::numeric) - coalesce(t.amount, 0))::text AS open,
            coalesce(i.document_type, (l.mapping->>'uploadType')::int) AS "uploadType", i.buyer, l.reference, l.mapping
       FROM listed i FULL JOIN last l USING (key, dated) LEFT JOIN taken t USING (key, dated)
      ORDER BY dated, number`,
    [exporterId],
  );
  return rows.map(({ reference, mapping, date, ...row }) => ({
    ...row,
    date: filingDateFromIso(date),
    filed: mapping && reference !== null ? { reference, mapping } : null,
  }));
}

/** The port of the exporter's last row of each upload type. */
export async function lastPorts(
  db: Queryable,
  exporterId: string,
): Promise<Map<number, { port: string; reference: string }>> {
  const { rows } = await db.query<{ type: number; port: string; reference: string }>(
    `SELECT DISTINCT ON (type) (r.mapping->>'uploadType')::int AS type, r.mapping->>'portCode' AS port, f.reference
       FROM filing_rows r JOIN filings f USING (filing_id)
      WHERE r.party_id = (SELECT party_id FROM exporters WHERE lower(exporter_id) = lower($1)) AND r.mapping->>'portCode' <> ''
      ORDER BY type, f.made_at DESC, r.position`,
    [exporterId],
  );
  return new Map(rows.map(({ type, port, reference }) => [type, { port, reference }]));
}

/** Fields of an IRM that the specification names (spec: "Saved IRM record"); any other text may be a remark. */
const NAMED = [
  ...[
    'id',
    'irmNumber',
    'irmIssueDate',
    'irmStatus',
    'ifscCode',
    'remittanceAdCode',
    'remittanceDate',
    'remittanceFCC',
  ],
  ...['iecCode', 'panNumber', 'remitterName', 'remitterCountry', 'purposeOfRemittance', 'subjectType', 'userId'],
  ...['platformCustomerId', 'createdAt', 'updatedAt'],
];

/** Texts of the exporter's IRM records that the specification does not name, by {@link remarksKey}. */
async function irmRemarks(db: Queryable, exporterId: string): Promise<Map<string, string>> {
  const { rows } = await db.query<Omit<IrmKey, 'ifscCode'> & { remarks: string }>(
    `SELECT irm_number AS "irmNumber", ad_code AS "adCode", issue_date AS "issueDate", string_agg(t.value #>> '{}', ' ') AS remarks
       FROM irms, jsonb_each(record) AS t
      WHERE exporter_id = $1 AND jsonb_typeof(t.value) = 'string' AND t.key <> ALL($2)
      GROUP BY irm_number, ad_code, ifsc_code, issue_date`,
    [exporterId, NAMED],
  );
  return new Map(rows.map((row) => [remarksKey(row), row.remarks]));
}

const remarksKey = ({ irmNumber, adCode, issueDate }: Omit<IrmKey, 'ifscCode'>) =>
  JSON.stringify([irmNumber, adCode, issueDate]);

/**
 * Statuses of IRMs from which nothing can be mapped any more; the specification documents only `fresh`, so only
 * unambiguous words count.
 */
const CLOSED = /cancel|^c$/i;

/** The IRMs of an exporter with a free balance, as the ledger read them last. */
export async function openIrms(db: Queryable, exporterId: string): Promise<OpenIrm[]> {
  const rows = await listIrms(db, exporterId);
  const irmNumbers = [...new Set(rows.map(({ irmNumber }) => irmNumber))];
  const holds = await holdsOn(db, { exporterId, irmNumbers, exceptFiling: null });
  const remarks = await irmRemarks(db, exporterId);
  return rows
    .filter(({ status }) => !CLOSED.test(status ?? ''))
    .flatMap((row): OpenIrm[] => {
      const { free, currency, purposeCode, remittanceDate, issueDate } = { ...row, ...irmView(row, rows, holds) };
      if (free === null || currency === null || Number(free) <= 0) return [];
      return [
        {
          irmNumber: row.irmNumber,
          irmAdCode: row.adCode,
          irmIfscCode: row.ifscCode,
          irmDt: isFilingDate(issueDate) ? issueDate : (remittanceDate ?? issueDate),
          currency,
          purpose: purposeCode ?? '',
          amount: row.amount,
          free,
          remitter: row.remitterName,
          remarks: remarks.get(remarksKey(row)) ?? '',
        },
      ];
    });
}
