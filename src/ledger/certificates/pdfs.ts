/** The PDFs of certificates: which ones to fetch, which ones are stored, and whether stored ones are intact. */
import type { Queryable } from '../pool';
import { credentialsHeld, type CredentialVersion } from '../vault/credentials';
import { PARTY } from './certificates';

/** What the certificates of a filing still lack; `limit` applies to the PDFs. */
export async function readMissing(
  db: Queryable,
  { filingId, limit, at }: { filingId: string; limit: number; at: Date },
): Promise<{
  withoutDetail: number;
  toArchive: {
    /** Certificates whose PDF can be requested now; those that were never refused come first. */
    due: string[];
    /** When the next one can be; null if none is left. */
    nextInMs: number | null;
  };
}> {
  const { rows } = await db.query<{ withoutDetail: number; next: { number: string; nextAt: number | null }[] }>(
    `SELECT (SELECT count(*)::int FROM certificates WHERE filing_id = $1 AND detail IS NULL) AS "withoutDetail",
            (SELECT coalesce(jsonb_agg(jsonb_build_object('number', n.ebrc_number, 'nextAt', extract(epoch FROM n.pdf_next_at) * 1000)
                ORDER BY n.pdf_next_at NULLS FIRST, n.position, n.ebrc_number), '[]')
               FROM (SELECT ebrc_number, position, pdf_next_at FROM certificates WHERE filing_id = $1 AND archived_at IS NULL
                      ORDER BY pdf_next_at NULLS FIRST, position, ebrc_number LIMIT $2) AS n) AS next`,
    [filingId, limit],
  );
  const { withoutDetail = 0, next = [] } = rows[0] ?? {};
  const due = next.filter(({ nextAt }) => nextAt === null || nextAt <= at.getTime()).map(({ number }) => number);
  const [first] = next;
  const nextInMs = due.length === 0 && first?.nextAt ? first.nextAt - at.getTime() : null;
  return { withoutDetail, toArchive: { due, nextInMs } };
}

/** Schedules the next request for a certificate whose PDF was not complete. @returns the interval in ms */
export async function postponePdf(
  db: Queryable,
  args: { exporterId: string; eBRCNumber: string; at: Date; firstMs: number; longestMs: number },
): Promise<number> {
  const { rows } = await db.query<{ ms: number }>(
    `WITH refused AS (
       UPDATE certificates SET pdf_refused = pdf_refused + 1,
         pdf_next_at = $3::timestamptz + least($4 * 2 ^ least(pdf_refused, 20), $5) * interval '1 millisecond'
        WHERE party_id = ${PARTY} AND ebrc_number = $2 RETURNING pdf_next_at
     ) SELECT (extract(epoch FROM pdf_next_at - $3::timestamptz) * 1000)::float8 AS ms FROM refused`,
    [args.exporterId, args.eBRCNumber, args.at, args.firstMs, args.longestMs],
  );
  return rows[0]?.ms ?? args.firstMs;
}

export async function markArchived(
  db: Queryable,
  pdf: { exporterId: string; eBRCNumber: string; document: string; sha256: string; bytes: number; at: Date },
): Promise<void> {
  await db.query(
    `UPDATE certificates SET pdf_document = $3, pdf_sha256 = $4, pdf_bytes = $5, archived_at = $6,
        pdf_problem = NULL, pdf_found = NULL, pdf_checked_at = NULL
      WHERE party_id = ${PARTY} AND ebrc_number = $2`,
    [pdf.exporterId, pdf.eBRCNumber, pdf.document, pdf.sha256, pdf.bytes, pdf.at],
  );
}

/** The hash of a certificate's PDF, null until it is recorded, and the credentials that a download would use. */
export async function readPdfToFetch(db: Queryable, exporterId: string, eBRCNumber: string) {
  const { rows } = await db.query<{ sha256: string | null; credentials: CredentialVersion | null }>(
    `SELECT (SELECT pdf_sha256 FROM certificates
              WHERE party_id = ${PARTY} AND ebrc_number = $2 AND archived_at IS NOT NULL) AS sha256,
            ${credentialsHeld('$1')} AS credentials`,
    [exporterId, eBRCNumber],
  );
  return rows[0] ?? { sha256: null, credentials: null };
}

/** How long scheduled runs rely on the last check of an intact PDF. */
const CHECKED_FOR_DAYS = 30;

/**
 * A party's next PDFs to check that were not checked since `began`: every one (`each`), or those never checked, last
 * checked a month ago, or not intact then.
 */
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

/** Records the results of checking stored PDFs. */
export async function savePdfChecks(
  db: Queryable,
  args: {
    partyId: number;
    looks: {
      eBRCNumber: string;
      /** Null: it is intact. */
      problem: 'missing' | 'damaged' | null;
      /** SHA-256 of the stored file, hex; null: there is none. */
      found: string | null;
    }[];
    at: Date;
  },
): Promise<void> {
  const { partyId, looks, at } = args;
  await db.query(
    `UPDATE certificates c SET pdf_problem = l.problem, pdf_found = l.found, pdf_checked_at = $3
       FROM jsonb_to_recordset($2::jsonb) AS l ("eBRCNumber" text, problem text, found text)
      WHERE c.party_id = $1 AND c.ebrc_number = l."eBRCNumber"`,
    [partyId, JSON.stringify(looks), at],
  );
}

/** What was wrong with a certificate's PDF when it was last checked; null: nothing. */
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

/** Marks a PDF for download. Its problem stays recorded until then, so that its finding keeps its age. */
export async function markPdfMissing(db: Queryable, partyId: number, eBRCNumber: string): Promise<void> {
  await db.query(
    `UPDATE certificates SET archived_at = NULL, pdf_document = NULL, pdf_sha256 = NULL, pdf_bytes = NULL
      WHERE party_id = $1 AND ebrc_number = $2`,
    [partyId, eBRCNumber],
  );
}
