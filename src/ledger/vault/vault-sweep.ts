import type { Mode } from '../../domain/names';
import type { Queryable } from '../pool';

/** A secret that no version of credentials refers to. */
export interface OrphanedSecret {
  secretRef: string;
  /** The workflow that received it; null for a version's secret that the version no longer refers to. */
  workflowId: string | null;
}

/** Between being stored and being assigned, a secret belongs to a workflow: it may be needed however old it is. */
export async function orphanedSecrets(db: Queryable, mode: Mode, olderThanMs: number): Promise<OrphanedSecret[]> {
  const { rows } = await db.query<OrphanedSecret>(
    `SELECT s.secret_ref::text AS "secretRef", CASE s.purpose WHEN 'submission' THEN s.submitted_to END AS "workflowId"
       FROM vault_secrets s
      WHERE s.mode = $1 AND s.created_at < now() - $2 * interval '1 millisecond'
        AND NOT EXISTS (SELECT FROM credential_versions v WHERE v.secret_ref = s.secret_ref)
      ORDER BY s.created_at`,
    [mode, olderThanMs],
  );
  return rows;
}

/** Removes secrets, except those that a version of credentials refers to by now. @returns how many */
export async function removeOrphanedSecrets(db: Queryable, secretRefs: readonly string[]): Promise<number> {
  const { rowCount } = await db.query(
    `DELETE FROM vault_secrets s
      WHERE s.secret_ref = ANY ($1::uuid[])
        AND NOT EXISTS (SELECT FROM credential_versions v WHERE v.secret_ref = s.secret_ref)`,
    [secretRefs],
  );
  return rowCount ?? 0;
}
