import type { Queryable } from '../pool';

/** Whether the filings of an exporter wait for a second person; holds for filings that are made from now on. */
export async function setApprovalPolicy(
  db: Queryable,
  { exporterId, required }: { exporterId: string; required: boolean },
): Promise<void> {
  await db.query('UPDATE exporters SET requires_approval = $2 WHERE exporter_id = $1', [exporterId, required]);
}
