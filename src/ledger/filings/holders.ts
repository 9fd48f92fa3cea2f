/** What a company's other rows and the authority's certificates hold, beside the rows of a filing. */
import { companyOf, documentKey, irmKey } from '../../domain/identity';
import type { MappingRow } from '../../domain/filing/mapping';
import { judgeCertified, judgeDocuments, type DocumentUse } from '../../domain/rules/documents';
import type { Objection } from '../../domain/rules/duplicates';
import type { Finding } from '../../domain/rules/finding';
import type { HeldMapping } from '../../domain/rules/mappings';
import { CANCELLED, NOBODYS } from '../certificates/certificates';
import { clientsOfCompany, type Company } from '../exporters/exporters';
import type { Queryable } from '../pool';

/** A row of another filing that holds its mapping. */
export interface HeldRow extends HeldMapping {
  rowState: 'planned' | 'sent' | 'certified';
  /** The document's day, YYYY-MM-DD. */
  on: string | null;
  currency: string;
  /** Its certificate was cancelled, so that it realises nothing of its document. */
  cancelled: boolean;
  /** The certificate that its request's record names. */
  recordNumber: string | null;
  /** The filings and certificates that it was recorded beside. */
  beside: string[];
}

/** A certificate that is no row's. */
export interface FreeCertificate {
  eBRCNumber: string;
  document: string;
  on: string | null;
  amount: string | null;
  currency: string | null;
  cancelled: boolean;
}

/** What stands around the rows of a filing. */
export interface Around {
  held: HeldRow[];
  certificates: FreeCertificate[];
}

/**
 * Serializes what adds to a company's holds: the account of a document is one for all of its IRMs. Comes after the
 * locks of IRMs, filing and exporter. Requires a transaction.
 */
export async function lockCompany(client: Queryable, company: Company): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 9))', [
    `${company.mode}/${companyOf(company)}`,
  ]);
}

/** Reads what the company's rows, without those of `except`, and free certificates hold of these IRMs and documents. */
export async function readAround(
  db: Queryable,
  company: Company,
  rows: readonly MappingRow[],
  except: string | null = null,
): Promise<Around> {
  const { mode, iec, exporterId } = company;
  const irms = [...new Set(rows.map(({ mapping }) => irmKey(mapping.irmNumber)))];
  const documents = [...new Set(rows.map(({ mapping }) => documentKey(mapping.sbCumInvoiceNumber)))];
  const { rows: held } = await db.query<HeldRow>(HELD, [mode, iec, exporterId, irms, documents, except]);
  const { rows: certificates } =
    iec === null ? { rows: [] } : await db.query<FreeCertificate>(FREE_CERTIFICATES, [mode, iec, documents]);
  return { held, certificates };
}

/** SQL: rows that were recorded before the client's IEC was known count too, those of every client of the company. */
const HELD = `WITH own AS (
    SELECT r.filing_id, r.position FROM filing_rows r WHERE r.mode = $1 AND r.iec = $2 AND r.irm_key = ANY($4) AND r.held
    UNION
    SELECT r.filing_id, r.position FROM filing_rows r WHERE r.mode = $1 AND r.iec = $2 AND r.document_key = ANY($5) AND r.held
    UNION
    SELECT r.filing_id, r.position FROM filings f JOIN filing_rows r USING (filing_id)
     WHERE f.mode = $1 AND f.iec IS NULL AND f.closed_at IS NULL AND r.held
       AND f.exporter_id IN ${clientsOfCompany('$1', '$2', '$3')}
       AND (r.irm_key = ANY($4) OR r.document_key = ANY($5))
  )
  SELECT o.filing_id AS "filingId", f.reference, f.n, f.state, o.ordinal,
         o.ebrc_number AS "eBRCNumber", o.state AS "rowState", o.irm_key AS irm, o.document_key AS document, o.bill_key AS bill,
         trim_scale(o.amount)::text AS amount, o.currency, to_char(o.document_on, 'YYYY-MM-DD') AS "on",
         o.record_number AS "recordNumber", o.beside,
         EXISTS (SELECT FROM certificates c WHERE c.mode = o.mode AND c.iec = o.iec AND c.ebrc_number = o.ebrc_number AND ${CANCELLED}) AS cancelled,
         o.state = 'sent' AND (f.state IN ('outcome_unknown', 'overdue') OR NOT EXISTS (SELECT FROM attempts a
           WHERE a.filing_id = o.filing_id AND a.verdict = 'accepted')) AS unknown
    FROM own JOIN filing_rows o USING (filing_id, position) JOIN filings f USING (filing_id)
   WHERE o.filing_id IS DISTINCT FROM $6
   ORDER BY f.made_at, o.filing_id, o.position`;

const FREE_CERTIFICATES = `SELECT c.ebrc_number AS "eBRCNumber", c.document_key AS document,
         to_char(c.document_on, 'YYYY-MM-DD') AS "on", trim_scale(c.amount)::text AS amount, c.currency, ${CANCELLED} AS cancelled
    FROM certificates c
   WHERE c.mode = $1 AND c.iec = $2 AND c.document_key = ANY($3) AND ${NOBODYS}
   ORDER BY c.ebrc_number`;

/**
 * Objections to rows by documents and certificates, and warnings.
 * @param filingId the rows' own filing: what was let in beside it does not speak against it
 */
export function judgeAround(
  rows: readonly MappingRow[],
  { held, certificates }: Around,
  filingId: string | null = null,
): { objections: Objection[]; warnings: Finding[] } {
  const known = new Set(held.flatMap(({ recordNumber }) => recordNumber ?? []));
  const free = certificates.filter(({ eBRCNumber }) => !known.has(eBRCNumber)).flatMap(useOfCertificate);
  const others = held
    .filter(({ beside, cancelled }) => !cancelled && (filingId === null || !beside.includes(filingId)))
    .map(useOfRow);
  const uses = [...others, ...withoutSent(free, held, certificates)];
  const { objections, warnings } = judgeDocuments(rows, uses);
  return { objections: [...judgeCertified(rows, free), ...objections], warnings };
}

function useOfRow({ filingId, document, on, amount, currency, unknown }: HeldRow): DocumentUse {
  return { document, on, amount, currency, filingId, eBRCNumber: null, unknown };
}

function useOfCertificate({ eBRCNumber, document, on, amount, currency }: FreeCertificate): DocumentUse[] {
  if (amount === null || currency === null) return [];
  return [{ document, on, amount, currency, filingId: null, eBRCNumber, unknown: false }];
}

/** Without cancelled certificates, and without those that fit rows on their way, which are counted already. */
function withoutSent(
  free: readonly DocumentUse[],
  held: readonly HeldRow[],
  certificates: readonly FreeCertificate[],
): DocumentUse[] {
  const cancelled = new Set(certificates.filter((one) => one.cancelled).map(({ eBRCNumber }) => eBRCNumber));
  const sent = held.filter(({ rowState }) => rowState === 'sent');
  return free.filter((use) => {
    if (use.eBRCNumber !== null && cancelled.has(use.eBRCNumber)) return false;
    const fits = sent.findIndex(
      (row) => row.document === use.document && row.amount === use.amount && row.currency === use.currency,
    );
    if (fits >= 0) sent.splice(fits, 1);
    return fits < 0;
  });
}
