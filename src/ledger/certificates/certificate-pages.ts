/** Certificates in pages, of all parties or of those of some exporters. */
import type { Mode } from '../../domain/names';
import type { Queryable } from '../pool';
import { Conditions, MICROSECONDS } from '../paging';
import { CERTIFICATE_COLUMNS, CERTIFICATE_SOURCES, type CertificateView } from './certificates';

/** A certificate; `mark` is what the next page begins behind. */
export type PagedCertificate = CertificateView & { mark: string };

/** Of our row and as the authority has them, a line each. */
const DOCUMENT_NUMBERS = `concat_ws(E'\\n', r.mapping->>'sbCumInvoiceNumber', r.mapping->>'billNo',
  r.mapping->>'gstinInvoiceNumber', c.document_no, c.bill_no, c.detail->>'gstInvoiceNo')`;

/** Certificates, the newest in the ledger first. */
export async function pageOfCertificates(
  db: Queryable,
  page: {
    mode: Mode;
    exporterId?: string;
    /** Only of the parties of these exporters, lower-cased ids; null: of all. */
    exporters: readonly string[] | null;
    eBRCNumber?: string;
    filingId?: string;
    /** Part of a number of its document: of the shipping bill, Softex or (GST) invoice, or its Bill No. */
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
    `SELECT ${CERTIFICATE_COLUMNS}, ${MICROSECONDS('c.first_seen_at')} AS mark
       FROM certificates c JOIN parties p USING (party_id) ${CERTIFICATE_SOURCES}
      WHERE p.mode = $1 ${where.text} ORDER BY c.first_seen_at DESC, c.ebrc_number LIMIT $2`,
    where.values,
  );
  return rows;
}
