import type { Queryable } from '../pool';

/** How long scheduled runs take a stored PDF that was whole to be whole. */
const CHECKED_FOR_DAYS = 30;

/** A party's next PDFs not looked at since `began`: each, or those never looked at, a month ago, or not whole then. */
export async function storedPdfs(
  db: Queryable,
  { partyId, began, limit, each }: { partyId: number; began: Date; limit: number; each: boolean },
) {
  const stored = `SELECT ebrc_number AS "eBRCNumber", pdf_document AS document, pdf_sha256 AS sha256 FROM certificates
      WHERE party_id = $1 AND archived_at IS NOT NULL AND filing_id IS NOT NULL`;
  const { rows } = await db.query<{ eBRCNumber: string; document: string; sha256: string }>(
    `SELECT * FROM (
       (${stored} AND pdf_checked_at IS NULL LIMIT $3)
       UNION ALL (${stored} AND pdf_checked_at < $2 AND pdf_problem IS NOT NULL LIMIT $3)
       UNION ALL (${stored} AND pdf_checked_at < $2::timestamptz - make_interval(days => $4) AND pdf_problem IS NULL
         ORDER BY pdf_checked_at LIMIT $3)) AS due LIMIT $3`,
    [partyId, began, limit, each ? 0 : CHECKED_FOR_DAYS],
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

/** Marks a PDF for download. Its problem stays until then, so that its finding keeps its age. */
export async function markPdfMissing(db: Queryable, partyId: number, eBRCNumber: string): Promise<void> {
  await db.query(
    `UPDATE certificates SET archived_at = NULL, pdf_document = NULL, pdf_sha256 = NULL, pdf_bytes = NULL
      WHERE party_id = $1 AND ebrc_number = $2`,
    [partyId, eBRCNumber],
  );
}
