/** Secrets that nothing refers to. */
import type { Mode } from '../../domain/names';
import type { Queryable } from '../pool';

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
