/** The PDFs of certificates: which ones are stored, and whether stored ones are intact. */
import type { Mode } from '../../domain/names';
import type { Queryable } from '../pool';
import { credentialsHeld, type CredentialVersion } from '../vault/credentials';
import { ROW_OF_CERTIFICATE } from './certificates';

/** A certificate, by its company. */
export interface CertificateKey {
  mode: Mode;
  iec: string;
  eBRCNumber: string;
}

const IS_IT = 'mode = $1 AND iec = $2 AND ebrc_number = $3';
const keyed = ({ mode, iec, eBRCNumber }: CertificateKey): string[] => [mode, iec, eBRCNumber];

/** Schedules the next request for a PDF that was not complete, with growing pauses. @returns the pause in ms */
export async function postponePdf(
  db: Queryable,
  certificate: CertificateKey,
  { firstMs, longestMs }: { firstMs: number; longestMs: number },
): Promise<number> {
  const { rows } = await db.query<{ ms: number }>(
    `WITH pause AS (SELECT least($4::float8 * 2 ^ least(pdf_refused, 20), $5::float8) AS ms FROM certificates WHERE ${IS_IT})
     UPDATE certificates SET pdf_refused = pdf_refused + 1, pdf_next_at = clock_timestamp() + pause.ms * interval '1 ms'
       FROM pause WHERE ${IS_IT} RETURNING pause.ms`,
    [...keyed(certificate), firstMs, longestMs],
  );
  return rows[0]?.ms ?? firstMs;
}

export async function markArchived(
  db: Queryable,
  certificate: CertificateKey,
  pdf: { document: string; sha256: string; bytes: number; note?: string },
): Promise<void> {
  await db.query(
    `UPDATE certificates SET pdf_document = $4, pdf_sha256 = $5, pdf_bytes = $6, pdf_note = $7, archived_at = clock_timestamp(),
        pdf_problem = NULL, pdf_found = NULL, pdf_checked_at = NULL
      WHERE ${IS_IT}`,
    [...keyed(certificate), pdf.document, pdf.sha256, pdf.bytes, pdf.note],
  );
}

/** A client's certificate: its company, the hash of its stored PDF, and the credentials for a download. */
export async function readPdfToFetch(db: Queryable, exporterId: string, eBRCNumber: string) {
  const { rows } = await db.query<{
    mode: Mode;
    iec: string;
    sha256: string | null;
    credentials: CredentialVersion | null;
  }>(
    `SELECT c.mode, c.iec, CASE WHEN c.archived_at IS NOT NULL THEN c.pdf_sha256 END AS sha256, ${credentialsHeld('$1')} AS credentials
       FROM exporters e JOIN certificates c ON c.mode = e.mode AND c.iec = e.iec
      WHERE e.exporter_id = $1 AND c.ebrc_number = $2`,
    [exporterId, eBRCNumber],
  );
  return rows[0] ?? null;
}

/** How long scheduled runs rely on the last check of an intact PDF. */
const CHECKED_FOR_DAYS = 30;

/**
 * A company's next PDFs to check that were not checked since `began`: every one (`each`), or those never checked, last
 * checked a month ago, or not intact then.
 */
export async function storedPdfs(
  db: Queryable,
  { mode, iec, began, limit, each }: { mode: Mode; iec: string; began: Date; limit: number; each: boolean },
) {
  const stored = `SELECT ebrc_number AS "eBRCNumber", pdf_document AS document, pdf_sha256 AS sha256 FROM certificates c
      WHERE mode = $1 AND iec = $2 AND archived_at IS NOT NULL AND EXISTS (SELECT FROM filing_rows r WHERE ${ROW_OF_CERTIFICATE})`;
  const { rows } = await db.query<{ eBRCNumber: string; document: string; sha256: string }>(
    `SELECT * FROM (
       (${stored} AND pdf_checked_at IS NULL LIMIT $4)
       UNION ALL (${stored} AND pdf_checked_at < $3 AND pdf_problem IS NOT NULL LIMIT $4)
       UNION ALL (${stored} AND pdf_checked_at < $3::timestamptz - make_interval(days => $5) AND pdf_problem IS NULL
         ORDER BY pdf_checked_at LIMIT $4)) AS due LIMIT $4`,
    [mode, iec, began, limit, each ? 0 : CHECKED_FOR_DAYS],
  );
  return rows;
}

/** The result of checking a stored PDF. */
export interface PdfCheck {
  eBRCNumber: string;
  /** Null: it is intact. */
  problem: 'missing' | 'damaged' | null;
  /** SHA-256 of the stored file, hex; null: there is none. */
  found: string | null;
}

export async function savePdfChecks(
  db: Queryable,
  { mode, iec, checks }: { mode: Mode; iec: string; checks: readonly PdfCheck[] },
): Promise<void> {
  await db.query(
    `UPDATE certificates c SET pdf_problem = l.problem, pdf_found = l.found, pdf_checked_at = clock_timestamp()
       FROM jsonb_to_recordset($3::jsonb) AS l ("eBRCNumber" text, problem text, found text)
      WHERE c.mode = $1 AND c.iec = $2 AND c.ebrc_number = l."eBRCNumber"`,
    [mode, iec, JSON.stringify(checks)],
  );
}

/** What was wrong with a certificate's PDF when it was last checked; null: nothing. */
export async function pdfProblem(db: Queryable, certificate: CertificateKey): Promise<PdfCheck['problem']> {
  const { rows } = await db.query<{ problem: PdfCheck['problem'] }>(
    `SELECT CASE WHEN archived_at IS NULL THEN 'missing' ELSE pdf_problem END AS problem FROM certificates WHERE ${IS_IT}`,
    keyed(certificate),
  );
  return rows[0]?.problem ?? null;
}

/** Marks a PDF for download. Its problem stays recorded until then, so that its finding keeps its age. */
export async function markPdfMissing(db: Queryable, certificate: CertificateKey): Promise<void> {
  await db.query(
    `UPDATE certificates SET archived_at = NULL, pdf_document = NULL, pdf_sha256 = NULL, pdf_bytes = NULL, pdf_note = NULL WHERE ${IS_IT}`,
    keyed(certificate),
  );
}
