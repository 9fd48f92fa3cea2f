/** How long rows are kept that become useless with time (docs/operations.md). Nothing that decides is removed. */
import { DAY_MS } from '../domain/dates';
import { pruneEvents } from './events';
import type { Queryable } from './pool';
import type { Mode } from '../domain/names';

/** How far back readers of the feed can catch up. The events themselves are kept with their filings. */
export const EVENT_DAYS = 400;
/** Calls are kept for audits and disputes. The days of what is deleted are those of `remove_old_rows` in the ledger. */
export const API_CALL_DAYS = 180;
/** Decisions name the readings that they were judged by for some weeks; filings use the last ones alone. */
export const READING_DAYS = 60;

/** Rows of a kind that are removed at once; each batch is a short transaction. */
const BATCH = 10_000;

/** Removes expired rows in small batches. @returns how many, by kind */
export async function removeOldRows(db: Queryable): Promise<Record<string, number>> {
  const removed: Record<string, number> = {};
  for (let again = true; again;) {
    const { rows } = await db.query<{ what: string; removed: number }>(
      'SELECT what, removed::int AS removed FROM remove_old_rows($1)',
      [BATCH],
    );
    for (const { what, removed: some } of rows) removed[what] = (removed[what] ?? 0) + some;
    again = rows.some(({ removed: some }) => some >= BATCH);
  }
  const before = new Date(Date.now() - EVENT_DAYS * DAY_MS);
  removed['events'] = 0;
  for (let some = BATCH; some >= BATCH;) {
    some = await pruneEvents(db, before, BATCH);
    removed['events'] += some;
  }
  return removed;
}

const NEEDED = `(EXISTS (SELECT FROM credential_versions v WHERE v.secret_ref = s.secret_ref) OR
  EXISTS (SELECT FROM webhooks w WHERE s.secret_ref IN (w.address_ref, w.secret_ref, w.previous_ref)))`;

/** Old secrets without a version or webhook. Until it is assigned, one belongs to a workflow that may still need it. */
export async function orphanedSecrets(db: Queryable, mode: Mode, olderThanMs: number) {
  const { rows } = await db.query<{
    secretRef: string;
    /** The workflow that it was submitted to; null: it was assigned to a version that no longer refers to it. */
    workflowId: string | null;
  }>(
    `SELECT s.secret_ref::text AS "secretRef", CASE s.purpose WHEN 'submission' THEN s.submitted_to END AS "workflowId"
       FROM vault_secrets s
      WHERE s.mode = $1 AND s.created_at < now() - $2 * interval '1 millisecond'
        AND NOT ${NEEDED}
      ORDER BY s.created_at`,
    [mode, olderThanMs],
  );
  return rows;
}

/** Removes secrets, except those that a version or webhook refers to by now. @returns how many */
export async function removeOrphanedSecrets(db: Queryable, secretRefs: readonly string[]): Promise<number> {
  const { rowCount } = await db.query(
    `DELETE FROM vault_secrets s
      WHERE s.secret_ref = ANY ($1::uuid[])
        AND NOT ${NEEDED}`,
    [secretRefs],
  );
  return rowCount ?? 0;
}
