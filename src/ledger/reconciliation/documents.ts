import type { Queryable } from '../pool';

/** A certificate whose PDF the ledger says is stored. */
export interface StoredPdf {
  eBRCNumber: string;
  document: string;
  sha256: string;
}

/** The next stored PDFs of a party, in the order of their numbers, behind `after`. */
export async function storedPdfs(
  db: Queryable,
  { partyId, after, limit }: { partyId: number; after: string; limit: number },
): Promise<StoredPdf[]> {
  const { rows } = await db.query<StoredPdf>(
    `SELECT ebrc_number AS "eBRCNumber", pdf_document AS document, pdf_sha256 AS sha256 FROM certificates
      WHERE party_id = $1 AND archived_at IS NOT NULL AND filing_id IS NOT NULL AND ebrc_number > $2
      ORDER BY ebrc_number LIMIT $3`,
    [partyId, after, limit],
  );
  return rows;
}

/** The result of checking a stored PDF; `problem` null: it is whole. */
export interface PdfCheck {
  eBRCNumber: string;
  problem: 'missing' | 'damaged' | null;
  /** SHA-256 of what is there, hex; null where nothing is. */
  found: string | null;
}

export async function savePdfChecks(
  db: Queryable,
  { partyId, looks, at }: { partyId: number; looks: readonly PdfCheck[]; at: Date },
): Promise<void> {
  await db.query(
    `UPDATE certificates c SET pdf_problem = l.problem, pdf_found = l.found, pdf_checked_at = $3
       FROM jsonb_to_recordset($2::jsonb) AS l ("eBRCNumber" text, problem text, found text)
      WHERE c.party_id = $1 AND c.ebrc_number = l."eBRCNumber"`,
    [partyId, JSON.stringify(looks), at],
  );
}

/** What was wrong with a certificate's PDF when it was last checked: null where nothing was. */
export async function pdfProblem(
  db: Queryable,
  partyId: number,
  eBRCNumber: string,
): Promise<'missing' | 'damaged' | null> {
  const { rows } = await db.query<{ problem: 'missing' | 'damaged' | null }>(
    `SELECT CASE WHEN archived_at IS NULL THEN 'missing' ELSE pdf_problem END AS problem FROM certificates
      WHERE party_id = $1 AND ebrc_number = $2`,
    [partyId, eBRCNumber],
  );
  return rows[0]?.problem ?? null;
}

/**
 * Marks a PDF as not stored, so that it is downloaded again. Its problem stays until then, so that its finding remains
 * the same, with its age, where the service does not give the PDF.
 */
export async function markPdfMissing(db: Queryable, partyId: number, eBRCNumber: string): Promise<void> {
  await db.query(
    `UPDATE certificates SET archived_at = NULL, pdf_document = NULL, pdf_sha256 = NULL, pdf_bytes = NULL
      WHERE party_id = $1 AND ebrc_number = $2`,
    [partyId, eBRCNumber],
  );
}
