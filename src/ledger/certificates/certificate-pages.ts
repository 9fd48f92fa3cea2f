/** Certificates in pages, of all parties or of those of some exporters. */
import type { Mode } from '../../domain/names';
import type { Queryable } from '../pool';
import { MICROSECONDS, TIME_OF } from '../exact-time';
import { CERTIFICATE_COLUMNS, CERTIFICATE_SOURCES, type CertificateView } from './certificates';

/** A certificate; `mark` is what the next page begins behind. */
export type PagedCertificate = CertificateView & { mark: string };

interface CertificateMark {
  seenAt: string;
  eBRCNumber: string;
}

export interface CertificatePage {
  mode: Mode;
  exporterId?: string;
  /** Only of the parties of these exporters, lower-cased ids; null: of all. */
  exporters: readonly string[] | null;
  eBRCNumber?: string;
  filingId?: string;
  after?: CertificateMark;
  limit: number;
}

/** Certificates, the newest in the ledger first. */
export async function pageOfCertificates(db: Queryable, page: CertificatePage): Promise<PagedCertificate[]> {
  const { mode, exporterId, exporters, eBRCNumber, filingId, after, limit } = page;
  const { rows } = await db.query<PagedCertificate>(
    `SELECT ${CERTIFICATE_COLUMNS}, ${MICROSECONDS('c.first_seen_at')} AS mark
       FROM certificates c JOIN parties p USING (party_id) ${CERTIFICATE_SOURCES}
      WHERE p.mode = $1
        AND ($2::text IS NULL OR c.party_id = (SELECT party_id FROM exporters WHERE lower(exporter_id) = lower($2)))
        AND ($3::text[] IS NULL OR c.party_id IN (SELECT party_id FROM exporters WHERE lower(exporter_id) = ANY($3)))
        AND ($4::text IS NULL OR c.ebrc_number = $4) AND ($5::text IS NULL OR c.filing_id = $5)
        AND ($6::bigint IS NULL OR c.first_seen_at < ${TIME_OF('$6')} OR (c.first_seen_at = ${TIME_OF('$6')} AND c.ebrc_number > $7))
      ORDER BY c.first_seen_at DESC, c.ebrc_number LIMIT $8`,
    [
      mode,
      exporterId ?? null,
      exporters,
      eBRCNumber ?? null,
      filingId ?? null,
      after?.seenAt ?? null,
      after?.eBRCNumber ?? null,
      limit,
    ],
  );
  return rows;
}
