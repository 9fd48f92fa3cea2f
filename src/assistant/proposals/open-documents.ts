import { filingDateFromIso, isFilingDate } from '../../domain/dates';
import type { Mapping } from '../../domain/filing/mapping';
import type { IrmKey } from '../../ledger/exporters/irm-change';
import type { Queryable } from '../../ledger/pool';
import type { OpenIrm } from './score';
import { listIrms } from '../../ledger/exporters/irms';
import { holdsOn } from '../../ledger/rows/balance-reservation';
import { irmViews } from '../../starter/exporters/views';
import { DIRECT_EXPORT, isUploadType, UPLOAD_TYPES } from '../../domain/rules/columns';
import type { DocumentFacts, DraftCell, DraftCells } from '../drafts/cells';

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
 * takes precedence over rows. With `open`, only those with an open amount.
 */
export async function ledgerDocuments(
  db: Queryable,
  exporterId: string,
  { open }: { open: boolean },
): Promise<LedgerDocument[]> {
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
      WHERE NOT $2 OR coalesce(i.amount, (l.mapping->>'sbCumInvoiceValueinFCC')::numeric) > coalesce(t.amount, 0)
      ORDER BY dated, number`,
    [exporterId, open],
  );
  return rows.map(({ reference, mapping, date, ...row }) => ({
    ...row,
    date: filingDateFromIso(date),
    filed: mapping && reference !== null ? { reference, mapping } : null,
  }));
}

/** The port of the exporter's last row of each upload type. */
async function lastPorts(db: Queryable, exporterId: string): Promise<Map<number, { port: string; reference: string }>> {
  const { rows } = await db.query<{ type: number; port: string; reference: string }>(
    `SELECT t.type, last.* FROM unnest($2::int[]) AS t (type) CROSS JOIN LATERAL (
       SELECT r.mapping->>'portCode' AS port, f.reference FROM filings f JOIN filing_rows r USING (filing_id)
        WHERE f.upload_type = t.type AND r.mapping->>'portCode' <> '' AND f.exporter_id IN (SELECT exporter_id FROM exporters
          WHERE party_id = (SELECT party_id FROM exporters WHERE lower(exporter_id) = lower($1)))
        ORDER BY f.made_at DESC, r.position LIMIT 1) AS last`,
    [exporterId, Object.keys(UPLOAD_TYPES).map(Number)],
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
  const views = irmViews(rows, holds);
  return rows
    .map((row, nth) => ({ row, free: views[nth]?.free ?? null }))
    .filter(({ row }) => !CLOSED.test(row.status ?? ''))
    .flatMap(({ row, free }): OpenIrm[] => {
      const { currency, purposeCode, remittanceDate, issueDate } = row;
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

/** A shipping bill number (spec: rule 2 of the push message). */
const SHIPPING_BILL = /^\d{1,7}$/;

/** Open documents, each with the data of its filed rows. Their type is null if it is not known. */
export async function knownDocuments(db: Queryable, exporterId: string): Promise<DocumentFacts[]> {
  const ports = await lastPorts(db, exporterId);
  const open = await ledgerDocuments(db, exporterId, { open: true });
  return open.map((document) => {
    const type = document.uploadType ?? (SHIPPING_BILL.test(document.number) ? DIRECT_EXPORT : null);
    const port = type === null ? undefined : ports.get(type);
    return {
      ...document,
      uploadType: type,
      billNo: document.filed?.mapping.billNo ?? null,
      cells: cellsOf(document, type, port),
      documents: [document.filed ? `filing ${document.filed.reference}` : 'invoice list'],
    };
  });
}

function cellsOf(
  document: LedgerDocument,
  type: number | null,
  port: { port: string; reference: string } | undefined,
): DraftCells {
  const { filed, number, date, currency, value } = document;
  const source =
    filed && document.uploadType === filed.mapping.uploadType ? `Filing ${filed.reference}` : 'Invoice list';
  const read = (it: string | number, note = source): DraftCell => ({ value: it, note });
  const guess = (it: string | number, note: string): DraftCell => ({ value: it, note, mark: 'guess' });
  const cells: DraftCells = {
    sbCumInvoiceNumber: read(number),
    sbCumInvoiceDate: read(date),
    sbCumInvoiceFCC: read(currency),
    sbCumInvoiceValueinFCC: read(Number(value)),
    billNo: guess(number.slice(0, 20), 'No invoice reference is known: this is the number of the document.'),
    ...(port && { portCode: guess(port.port, `The port of filing ${port.reference}, the last of this upload type.`) }),
    ...(filed && fromFiled(filed.mapping, (it) => read(it, `Filing ${filed.reference}`))),
  };
  if (type !== null && isUploadType(type)) {
    const isKnown = document.uploadType !== null;
    cells.uploadType = isKnown ? read(type) : guess(type, 'Only digits, at most seven: it looks like a shipping bill.');
  }
  return cells;
}

/** Data of an earlier row of the document that stays the same from row to row. */
function fromFiled(mapping: Mapping, read: (value: string | number) => DraftCell): DraftCells {
  const { portCode, billNo, branchSlNo, isVostro, gstinInvoiceNumber, gstinInvoiceDate } = mapping;
  return {
    portCode: read(portCode),
    billNo: read(billNo),
    branchSlNo: read(branchSlNo),
    isVostro: read(isVostro),
    ...(gstinInvoiceNumber &&
      gstinInvoiceDate && {
        gstinInvoiceNumber: read(gstinInvoiceNumber),
        gstinInvoiceDate: read(gstinInvoiceDate),
      }),
  };
}
