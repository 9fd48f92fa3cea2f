import type { FilingFacts } from '../../domain/filing/moves';
import type { Queryable } from '../pool';

/** What is at the service of a filing, and what is still to be sent. */
export async function readFacts(db: Queryable, filingId: string): Promise<FilingFacts> {
  const { rows } = await db.query<FilingFacts>(
    `SELECT coalesce(bool_or(s.state = 'planned' AND NOT tried), false) AS planned,
            coalesce(bool_or((s.state = 'planned' AND tried) OR (s.state = 'acknowledged' AND s.request_id IS NULL)), false)
              AS doubtful,
            coalesce(bool_or(s.state = 'acknowledged' AND s.request_id IS NOT NULL), false) AS followed,
            coalesce(bool_or(s.state IN ('settled', 'terminal')), false) AS settled,
            bool_or(f.approval_needed AND f.approved_by IS NULL) AS unapproved
       FROM submissions s JOIN filings f USING (filing_id)
       CROSS JOIN LATERAL (
         SELECT coalesce((SELECT a.state IN ('sending', 'answered') FROM attempts a
           WHERE a.filing_id = s.filing_id AND a.submission = s.submission ORDER BY a.number DESC LIMIT 1), false) AS tried
       ) AS last
      WHERE s.filing_id = $1`,
    [filingId],
  );
  return rows[0] ?? { planned: false, doubtful: false, followed: false, settled: false, unapproved: false };
}
