import type { FilingFacts } from '../../domain/filing/moves';
import type { Queryable } from '../pool';

/** What is at the service of a filing, and what is still to be sent. */
export async function readFacts(db: Queryable, filingId: string): Promise<FilingFacts> {
  const { rows } = await db.query<FilingFacts>(
    `SELECT coalesce(bool_or(open AND NOT followed AND NOT doubtful), false) AS planned,
            coalesce(bool_or(open AND NOT followed AND doubtful), false) AS doubtful,
            coalesce(bool_or(open AND followed), false) AS followed,
            coalesce(bool_or(s.state = 'settled'), false) AS settled,
            bool_or(f.approval_needed AND f.approved_by IS NULL) AS unapproved
       FROM submissions s JOIN filings f USING (filing_id)
       CROSS JOIN LATERAL (SELECT s.state IN ('planned', 'acknowledged') AS open,
         EXISTS (SELECT FROM requests q WHERE q.filing_id = s.filing_id AND q.submission = s.submission AND q.state = 'followed')
           AS followed,
         EXISTS (SELECT FROM attempts a WHERE a.filing_id = s.filing_id AND a.submission = s.submission
           AND a.verdict IN ('marked', 'accepted')) AS doubtful) AS of
      WHERE s.filing_id = $1`,
    [filingId],
  );
  return rows[0] ?? { planned: false, doubtful: false, followed: false, settled: false, unapproved: false };
}
