import { closeOpenAttempts } from '../submissions/attempts';
import type { Queryable } from '../pool';

/**
 * Stops unsent rows of other filings with the same mapping: only now is it known that these rows were sent, and the
 * mapping must not be filed a second time. Those filings have to be corrected, without those rows.
 */
export async function stopUnsentDuplicates(
  client: Queryable,
  { filingId, submission, at }: { filingId: string; submission: number; at: Date },
): Promise<void> {
  const reason = `The same mapping was sent in filing ${filingId}, which became known only later: resolve that one first.`;
  const { rows } = await client.query<{ filingId: string; submission: number }>(
    `UPDATE filing_rows r SET state = 'needs_correction', live = false, reserved_at = NULL, settled_at = $3, errors = $4
      WHERE r.live AND r.state = 'planned' AND r.submitted_at IS NULL AND r.filing_id <> $1 AND r.fingerprint IN
        (SELECT fingerprint FROM filing_rows WHERE filing_id = $1 AND submission = $2)
     RETURNING r.filing_id AS "filingId", r.submission`,
    [filingId, submission, at, JSON.stringify([reason])],
  );
  for (const twin of rows)
    await closeOpenAttempts(client, { ...twin, reason: 'a row of it had already been sent', at });
}
