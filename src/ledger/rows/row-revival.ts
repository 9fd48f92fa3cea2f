import type { Queryable } from '../pool';
import { closeOpenAttempts } from '../submissions/attempts';

/**
 * Restores a submission that turns out to have been sent: it is no longer released, its freed rows hold their mappings
 * again, and unsent rows of other filings with the same mapping are stopped.
 */
export async function holdAsSent(
  client: Queryable,
  { filingId, submission, sentAt, at }: { filingId: string; submission: number; sentAt: Date; at: Date },
): Promise<void> {
  await client.query(
    `UPDATE submissions SET state = 'planned', terminal_at = NULL
      WHERE filing_id = $1 AND submission = $2 AND state = 'released'`,
    [filingId, submission],
  );
  await stopUnsentDuplicates(client, { filingId, submission, at });
  await reviveRows(client, { filingId, submission, at: sentAt });
}

/**
 * Restores the freed rows of a submission that turned out to have been sent: they hold their mappings again, each with
 * the next ordinal if another filing has filed its mapping in the meantime. Rows of an open filing become submitted;
 * those of an ended filing remain abandoned after the send. Rows that another filing corrects stay with it.
 */
async function reviveRows(
  client: Queryable,
  { filingId, submission, at }: { filingId: string; submission: number; at: Date },
): Promise<void> {
  await client.query(
    `WITH freed AS (
       SELECT r.position, CASE WHEN r.live THEN r.ordinal ELSE
           (SELECT coalesce(max(o.ordinal) + 1, 0) FROM filing_rows o WHERE o.fingerprint = r.fingerprint AND o.live)
           + row_number() OVER (PARTITION BY r.fingerprint, r.live ORDER BY r.position) - 1 END AS ordinal,
         (SELECT o.filing_id FROM filing_rows o WHERE o.fingerprint = r.fingerprint AND o.live
             AND (o.filing_id, o.position) <> (r.filing_id, r.position) ORDER BY o.ordinal LIMIT 1) AS holder
         FROM filing_rows r WHERE r.filing_id = $1 AND r.submission = $2
          AND r.state IN ('planned', 'withdrawn', 'needs_correction'))
     UPDATE filing_rows r SET live = true, ordinal = freed.ordinal,
        collided_with = coalesce(r.collided_with, freed.holder, CASE WHEN freed.ordinal > 0 THEN r.filing_id END), settled_at = NULL,
        submitted_at = coalesce(r.submitted_at, $3), reserved_at = coalesce(r.reserved_at, $3),
        state = CASE WHEN f.closed_at IS NULL THEN 'submitted' ELSE 'abandoned_after_send' END
       FROM filings f, freed
      WHERE f.filing_id = r.filing_id AND r.filing_id = $1 AND r.position = freed.position`,
    [filingId, submission, at],
  );
}

/**
 * Stops unsent rows of other filings with the same mapping: only now is it known that these rows were sent, and the
 * mapping must not be filed a second time. Those filings have to be corrected, without those rows.
 */
async function stopUnsentDuplicates(
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
  for (const duplicate of rows)
    await closeOpenAttempts(client, { ...duplicate, reason: 'a row of it had already been sent', at });
}
