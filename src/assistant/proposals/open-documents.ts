import { filingDateFromIso, isFilingDate } from '../../domain/dates';
import type { Mapping } from '../../domain/filing/mapping';
import type { Queryable } from '../../ledger/pool';
import type { OpenIrm } from './score';
import type { IrmRow } from '../../ledger/exporters/irms';
import { comparableText } from '../../domain/identity';
import { groupBy } from '../../domain/values';
import { irmViews } from '../../starter/exporters/views';
import { DIRECT_EXPORT, isUploadType } from '../../domain/rules/columns';
import { isCancelled } from '../../domain/rules/preflight';
import type { DocumentFacts, DraftCell, DraftCells } from '../drafts/cells';

/** A document from the exporter's invoice list or filed rows, with its open amount. */
export interface LedgerDocument {
  number: string;
  /** DDMMYYYY. */
  date: string;
  currency: string;
  value: string;
  /** The value minus live rows and certificates of no row of ours; may be zero or negative. */
  open: string;
  uploadType: number | null;
  buyer: string | null;
  /** The row last filed for it; null for a document that is only in the invoice list. */
  filed: { reference: string; mapping: Mapping } | null;
}

/**
 * Documents of the exporter's party, from its invoice list (`ebrc invoices import`) and its filings; the list takes
 * precedence. With `open`, only those with an open amount.
 */
export async function ledgerDocuments(
  db: Queryable,
  exporterId: string,
  { open }: { open: boolean },
): Promise<LedgerDocument[]> {
  const { rows } = await db.query<
    Omit<LedgerDocument, 'filed'> & { reference: string | null; mapping: Mapping | null }
  >(
    // Most past documents are fully used, so rows are read again only for those that may be open.
    `WITH party AS (SELECT party_id FROM exporters WHERE lower(exporter_id) = lower($1)),
     facts AS (
       SELECT document_key AS key, document_on AS dated, (mapping->>'sbCumInvoiceValueinFCC')::numeric AS value,
              CASE WHEN live THEN mapped_amount END AS taken
         FROM filing_rows WHERE party_id = (SELECT party_id FROM party) AND match_key IS NOT NULL
       UNION ALL
       SELECT document_key, document_on, NULL, amount FROM certificates
        WHERE party_id = (SELECT party_id FROM party) AND match_key IS NOT NULL AND filing_id IS NULL
       UNION ALL
       SELECT i.document_key, i.document_date, i.amount, NULL FROM invoices i JOIN exporters e USING (exporter_id)
        WHERE e.party_id = (SELECT party_id FROM party)),
     known AS MATERIALIZED (
       SELECT key, dated, coalesce(sum(taken), 0) AS taken FROM facts GROUP BY key, dated
       HAVING max(value) > CASE WHEN $2 THEN coalesce(sum(taken), 0) ELSE 0 END)
     SELECT coalesce(i.document_no, l.mapping->>'sbCumInvoiceNumber') AS number, to_char(dated, 'YYYY-MM-DD') AS date,
            upper(coalesce(i.currency, l.mapping->>'sbCumInvoiceFCC')) AS currency, v.value::text AS value, (v.value - k.taken)::text AS open,
            coalesce(i.document_type, (l.mapping->>'uploadType')::int) AS "uploadType", i.buyer, l.reference, l.mapping
       FROM known k
       LEFT JOIN LATERAL (
         SELECT i.* FROM exporters e JOIN invoices i USING (exporter_id)
          WHERE e.party_id = (SELECT party_id FROM party) AND i.document_key = k.key AND i.document_date = k.dated
          ORDER BY i.imported_at DESC LIMIT 1) i ON true
       LEFT JOIN LATERAL (
         SELECT r.mapping, f.reference FROM filing_rows r JOIN filings f USING (filing_id)
          WHERE r.party_id = (SELECT party_id FROM party) AND r.document_key = k.key AND r.document_on = k.dated AND r.match_key IS NOT NULL
          ORDER BY f.made_at DESC LIMIT 1) l ON true
       CROSS JOIN LATERAL (SELECT coalesce(i.amount, (l.mapping->>'sbCumInvoiceValueinFCC')::numeric) AS value) v
      WHERE NOT $2 OR v.value > k.taken
      ORDER BY dated, number`,
    [exporterId, open],
  );
  return rows.map(({ reference, mapping, date, ...row }) => ({
    ...row,
    date: filingDateFromIso(date),
    filed: mapping && reference !== null ? { reference, mapping } : null,
  }));
}

/** The port of the latest filing, by upload type, of the exporter's party. */
async function lastPorts(db: Queryable, exporterId: string): Promise<Map<number, { port: string; reference: string }>> {
  const { rows } = await db.query<{ type: number; port: string; reference: string }>(
    `SELECT last.type, last.reference, port.* FROM (
       SELECT DISTINCT ON (upload_type) upload_type AS type, reference, filing_id FROM filings
        WHERE exporter_id IN (SELECT exporter_id FROM exporters
          WHERE party_id = (SELECT party_id FROM exporters WHERE lower(exporter_id) = lower($1)))
        ORDER BY upload_type, made_at DESC) AS last
      CROSS JOIN LATERAL (
        SELECT r.mapping->>'portCode' AS port FROM filing_rows r
         WHERE r.filing_id = last.filing_id AND r.mapping->>'portCode' <> '' ORDER BY r.position LIMIT 1) AS port`,
    [exporterId],
  );
  return new Map(rows.map(({ type, port, reference }) => [type, { port, reference }]));
}

/** Fields of an IRM in the specification (spec: "Saved IRM record"). Any other text may be a remark. */
const SPECIFIED_FIELDS = [
  ...['id', 'irmNumber', 'irmIssueDate', 'irmStatus', 'ifscCode', 'remittanceAdCode', 'remittanceDate'],
  ...['remittanceFCC', 'iecCode', 'panNumber', 'remitterName', 'remitterCountry', 'purposeOfRemittance'],
  ...['subjectType', 'userId', 'platformCustomerId', 'createdAt', 'updatedAt'],
];

/** Texts of IRM records that the specification does not name, by {@link remarksKey}. */
async function irmRemarks(
  db: Queryable,
  exporterId: string,
  irmNumbers: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await db.query<Pick<IrmRow, 'irmNumber' | 'adCode' | 'issueDate'> & { remarks: string }>(
    `SELECT irm_number AS "irmNumber", ad_code AS "adCode", issue_date AS "issueDate", string_agg(t.value #>> '{}', ' ') AS remarks
       FROM irms, jsonb_each(record) AS t
      WHERE exporter_id = $1 AND irm_number = ANY($3) AND jsonb_typeof(t.value) = 'string' AND t.key <> ALL($2)
      GROUP BY irm_number, ad_code, ifsc_code, issue_date`,
    [exporterId, SPECIFIED_FIELDS, irmNumbers],
  );
  return new Map(rows.map((row) => [remarksKey(row), row.remarks]));
}

const remarksKey = ({ irmNumber, adCode, issueDate }: Pick<IrmRow, 'irmNumber' | 'adCode' | 'issueDate'>) =>
  JSON.stringify([irmNumber, adCode, issueDate]);

/**
 * The IRMs in `rows`, all that the exporter has, with a free balance. If more than `most` may have one, only the first
 * `most` in the order of `sorted`, so that holds are computed for those alone.
 */
export async function openIrms(
  db: Queryable,
  exporterId: string,
  {
    rows,
    most = Infinity,
    sorted = (irms) => [...irms],
  }: { rows: readonly IrmRow[]; most?: number; sorted?: (irms: readonly IrmRow[]) => IrmRow[] },
): Promise<{
  irms: OpenIrm[];
  /** Number of IRMs that may have a free balance, including those that were not considered. */
  known: number;
}> {
  const known = rows.filter((row) => !isCancelled(row) && row.currency !== null && Number(row.available ?? 0) > 0);
  if (known.length <= most)
    return { irms: await withFree(db, exporterId, { rows, wanted: known }), known: known.length };
  const byNumber = groupBy(rows, ({ irmNumber }) => comparableText(irmNumber));
  const inOrder = sorted(known);
  const irms: OpenIrm[] = [];
  for (let from = 0; from < inOrder.length && irms.length < most; from += most) {
    const wanted = inOrder.slice(from, from + most);
    // A hold is matched among all IRMs of the same number, so they are read together.
    const numbers = new Set(wanted.map(({ irmNumber }) => comparableText(irmNumber)));
    const alike = [...numbers].flatMap((number) => byNumber.get(number) ?? []);
    irms.push(...(await withFree(db, exporterId, { rows: alike, wanted })));
  }
  return { irms: irms.slice(0, most), known: known.length };
}

async function withFree(
  db: Queryable,
  exporterId: string,
  { rows, wanted }: { rows: readonly IrmRow[]; wanted: readonly IrmRow[] },
): Promise<OpenIrm[]> {
  const irmNumbers = [...new Set(rows.map(({ irmNumber }) => irmNumber))];
  const remarks = await irmRemarks(db, exporterId, irmNumbers);
  const views = new Map((await irmViews(db, exporterId, rows)).map((view, nth) => [rows[nth], view]));
  return wanted.flatMap((row): OpenIrm[] => {
    const { currency, purposeCode, remittanceDate, issueDate } = row;
    const free = views.get(row)?.free ?? null;
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

/** Form of a shipping bill number (spec: rule 2 of the push message). */
const SHIPPING_BILL = /^\d{1,7}$/;

/** Open documents with the data of their filed rows. `uploadType` is null if it is not known. */
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

/** Values of an earlier row that stay the same in each row of the document. */
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
