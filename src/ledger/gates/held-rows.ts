/** Frees the mappings that rows hold, and holds them again when a release is taken back. */
import { MAYBE_FILED, partsOfAttemptId, type SubmissionKey } from '../../domain/filing/attempt';
import type { RowState } from '../../domain/filing/states';
import type { Queryable } from '../pool';
import { IS_OPEN } from '../rows/filing-rows';
import { updateQuestionsOfEnded } from '../rows/row-takeover';
import { closeOpenAttempts } from './attempts';

/** States of rows that are, or may be, at the service. */
export const SENT: readonly RowState[] = ['submitted', 'unknown', 'abandoned_after_send'];

export async function anyRow(client: Queryable, { filingId, submission }: SubmissionKey, is: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM filing_rows WHERE filing_id = $1 AND submission = $2 AND ${is} LIMIT 1`,
    [filingId, submission],
  );
  return rowCount === 1;
}

/** Plans a submission again, for another balance check and attempt, unless an attempt may be at the service. */
export async function planAgain(client: Queryable, attemptId: string): Promise<void> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const noOther = `NOT EXISTS (SELECT FROM attempts a WHERE a.filing_id = $1 AND a.submission = $2 AND a.verdict = ANY($3))`;
  await client.query(
    `WITH rows AS (
       UPDATE filing_rows SET state = 'planned', submitted_at = NULL, checked = false
        WHERE filing_id = $1 AND submission = $2 AND live AND ${IS_OPEN} AND ${noOther})
     UPDATE submissions SET state = 'planned'
      WHERE filing_id = $1 AND submission = $2 AND state = 'acknowledged' AND ${noOther}`,
    [filingId, submission, MAYBE_FILED],
  );
}

export interface Release extends SubmissionKey {
  ground: 'never_attempted' | 'unsent' | 'refused' | 'rejected' | 'absent';
  attemptId?: string | null;
  requestId?: string;
  lookId?: number | null;
  unseen?: boolean;
  notOurs?: readonly string[];
  from?: Date;
  reason?: string;
  at: Date;
}

export async function recordRelease(client: Queryable, release: Release): Promise<string> {
  const { filingId, submission, ground, attemptId, requestId, at } = release;
  const { lookId, unseen = false, notOurs = [], from, reason } = release;
  const { rows } = await client.query<{ id: string }>(
    `INSERT INTO releases (filing_id, submission, ground, attempt_id, request_id, look_id, unseen, not_ours, certificates_from,
        reason, released_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING release_id AS id`,
    [filingId, submission, ground, attemptId, requestId, lookId, unseen, notOurs, from, reason, at],
  );
  return rows[0]?.id ?? '';
}

/** Frees rows; no other statement does. @returns the positions of the freed rows */
export async function freeRows(
  client: Queryable,
  args: {
    release: Release;
    state: 'needs_correction' | 'withdrawn';
    errors?: ReadonlyMap<number, string[]>;
    from: readonly RowState[];
  },
): Promise<number[]> {
  const { release, state, errors, from } = args;
  const { filingId, submission, at } = release;
  const { rowCount } = await client.query(
    'SELECT FROM filing_rows WHERE filing_id = $1 AND submission = $2 AND live AND state = ANY($3) LIMIT 1',
    [filingId, submission, from],
  );
  if (!rowCount) return [];
  const releaseId = await recordRelease(client, release);
  const given = errors && [...errors].map(([position, messages]) => ({ position, messages }));
  const { rows } = await client.query<{ position: number }>(
    `UPDATE filing_rows r SET release_id = $3, state = $4, reserved_at = NULL, settled_at = $5,
        errors = coalesce((SELECT e.messages FROM jsonb_to_recordset($6::jsonb) AS e (position int, messages jsonb)
          WHERE e.position = r.position), r.errors)
      WHERE filing_id = $1 AND submission = $2 AND release_id IS NULL AND state = ANY($7)
        AND ($6::jsonb IS NULL OR position IN (SELECT e.position FROM jsonb_to_recordset($6::jsonb) AS e (position int)))
     RETURNING position`,
    [filingId, submission, releaseId, state, at, given ? JSON.stringify(given) : null, from],
  );
  return rows.map(({ position }) => position);
}

/** SQL: whether row `s` is held again: every row if $3 is null, else those at positions $3 and all not rejected. */
const IS_HELD_AGAIN = `($3::int[] IS NULL OR s.position = ANY($3)
  OR NOT EXISTS (SELECT FROM releases l WHERE l.release_id = s.release_id AND l.ground = 'rejected'))`;

interface SentAfterAll extends SubmissionKey {
  /** The rows that have certificates. Default: the whole submission was sent. */
  positions?: readonly number[];
  sentAt: Date;
  at: Date;
}

/**
 * Takes back the releases of a submission that was sent after all. Its rows hold the mappings of their lineages again,
 * with the next ordinal if another row holds one by now; unsent rows of other filings with the same mapping are
 * stopped. Rows become submitted, or abandoned after the send if the filing has ended. Requires a transaction.
 */
export async function holdAsSent(
  client: Queryable,
  { filingId, submission, positions, sentAt, at }: SentAfterAll,
): Promise<void> {
  await withdrawReleases(client, { filingId, submission, why: 'it was sent', at });
  await stopUnsentDuplicates(client, { filingId, submission, positions, at });
  const { rows } = await client.query<{ position: number; live: boolean }>(
    `WITH stopped AS (SELECT filing_id, position, live FROM filing_rows s WHERE filing_id = $1 AND submission = $2
        AND state IN ('planned', 'withdrawn', 'needs_correction', 'corrected') AND ${IS_HELD_AGAIN} FOR UPDATE)
     UPDATE filing_rows r SET release_id = NULL, settled_at = NULL,
        submitted_at = coalesce(r.submitted_at, $4), reserved_at = coalesce(r.reserved_at, $4),
        state = CASE WHEN f.closed_at IS NULL THEN 'submitted' ELSE 'abandoned_after_send' END
       FROM stopped JOIN filings f USING (filing_id)
      WHERE r.filing_id = stopped.filing_id AND r.position = stopped.position
     RETURNING r.position, stopped.live`,
    [filingId, submission, positions ?? null, sentAt],
  );
  // The submission has rows without an outcome again, so its requests must be polled.
  if (rows.length > 0)
    await client.query(
      `UPDATE submissions SET state = 'planned', terminal_at = NULL
        WHERE filing_id = $1 AND submission = $2 AND state IN ('released', 'settled')`,
      [filingId, submission],
    );
  const freed = rows.filter(({ live }) => !live).map(({ position }) => position);
  await holdAgain(client, { filingId, positions: freed });
  await updateQuestionsOfEnded(client, filingId);
}

/** {@link holdAsSent} for a send that may have gone out: rows become unknown unless a followed request decides. */
export async function holdInDoubt(client: Queryable, sent: Omit<SentAfterAll, 'positions'>): Promise<void> {
  await holdAsSent(client, sent);
  await client.query(
    `UPDATE filing_rows SET state = 'unknown' WHERE filing_id = $1 AND submission = $2 AND state = 'submitted'
        AND NOT EXISTS (SELECT FROM requests WHERE filing_id = $1 AND submission = $2 AND state = 'followed')`,
    [sent.filingId, sent.submission],
  );
}

/** Makes rows that are live again hold the mappings of their lineages, beside the rows that hold them now. */
export async function holdAgain(
  client: Queryable,
  { filingId, positions }: { filingId: string; positions: readonly number[] },
): Promise<void> {
  if (positions.length === 0) return;
  await client.query(
    `WITH wanted AS (
       SELECT DISTINCT r.position, l.fingerprint FROM filing_rows r JOIN filing_rows l USING (lineage)
        WHERE r.filing_id = $1 AND r.position = ANY($2)
     ), judged AS (
       SELECT w.position, w.fingerprint, h.holder,
              coalesce(h.top + 1, 0) + row_number() OVER (PARTITION BY w.fingerprint ORDER BY w.position) - 1 AS ordinal
         FROM wanted w LEFT JOIN LATERAL (SELECT max(o.ordinal) AS top, (array_agg(o.filing_id ORDER BY o.ordinal))[1] AS holder
           FROM held_mappings o WHERE o.fingerprint = w.fingerprint) h ON true
     ), held AS (
       INSERT INTO held_mappings (fingerprint, ordinal, filing_id, position, beside)
       SELECT fingerprint, ordinal, $1, position, CASE WHEN ordinal > 0 THEN 'collided' END FROM judged
     )
     UPDATE filing_rows r SET collided_with = coalesce(r.collided_with, j.holder, r.filing_id)
       FROM (SELECT position, max(holder) AS holder FROM judged WHERE ordinal > 0 GROUP BY position) j
      WHERE r.filing_id = $1 AND r.position = j.position`,
    [filingId, positions],
  );
}

export async function withdrawReleases(
  client: Queryable,
  { filingId, submission, why, at }: SubmissionKey & { why: string; at: Date },
): Promise<void> {
  await client.query(
    `UPDATE releases SET withdrawn_at = $4, withdrawn_why = $3
      WHERE filing_id = $1 AND submission = $2 AND withdrawn_at IS NULL AND ground <> 'rejected'`,
    [filingId, submission, why, at],
  );
}

/** Stops unsent rows of other filings with the same mapping, now that these are known to have been sent. */
async function stopUnsentDuplicates(
  client: Queryable,
  { filingId, submission, positions, at }: Omit<SentAfterAll, 'sentAt'>,
): Promise<void> {
  const reason = `The same mapping was sent in filing ${filingId}, which became known only later: resolve that one first.`;
  const { rows } = await client.query<SubmissionKey & { position: number }>(
    `SELECT r.filing_id AS "filingId", r.submission, r.position FROM filing_rows r
      WHERE r.live AND r.state = 'planned' AND r.submitted_at IS NULL AND r.filing_id <> $1 AND (r.filing_id, r.position) IN
        (SELECT h.filing_id, h.position FROM filing_rows s JOIN filing_rows l USING (lineage)
           JOIN held_mappings h ON h.fingerprint = l.fingerprint
          WHERE s.filing_id = $1 AND s.submission = $2 AND ${IS_HELD_AGAIN})
      ORDER BY 1, 2, 3`,
    [filingId, submission, positions ?? null],
  );
  for (const { position, ...other } of rows) {
    await closeOpenAttempts(client, { ...other, reason: 'a row of it had already been sent', at });
    const release = { ...other, ground: 'never_attempted' as const, reason, at };
    const errors = new Map([[position, [reason]]]);
    await freeRows(client, { release, state: 'needs_correction', errors, from: ['planned'] });
  }
}

/** Reason of an attempt that may have been sent in the time that ledger and documents lost. */
export const PUT_BACK_TOGETHER =
  'the ledger and the document store were put back together: whether it was sent is not known';
