/** Whether an exporter's filings need a second person's approval. A change applies to filings made after it. */
import type { Principal } from '../../domain/principal';
import type { Queryable } from '../pool';

/** SQL: whether principal `p` is an admin now, who may see exporter $1. */
const IS_ADMIN = `p.removed_at IS NULL AND (p.expires_at IS NULL OR p.expires_at > clock_timestamp()) AND 'admin' = ANY (p.roles)
  AND (p.exporters IS NULL OR lower($1) = ANY (p.exporters))`;

/**
 * Switches the approval policy. One person suffices to require approval; two principals within a day to drop it
 * (`asked`: the first has asked). Requires a transaction.
 */
export async function setApprovalPolicy(
  client: Queryable,
  change: {
    exporterId: string;
    approval: 'required' | 'off';
    /** The claimed name, used without a principal. */
    by: string;
    principal?: Principal;
  },
): Promise<'unchanged' | 'changed' | 'asked' | { refused: string }> {
  const { exporterId, approval, by, principal } = change;
  const { rows } = await client.query<{ required: boolean }>(
    'SELECT requires_approval AS required FROM exporters WHERE exporter_id = $1 FOR UPDATE',
    [exporterId],
  );
  const required = approval === 'required';
  if ((rows[0]?.required ?? false) === required) return 'unchanged';
  if (principal && !(await isAdmin(client, exporterId, principal.principalId)))
    return { refused: `${principal.name} is no admin of this exporter` };
  const note = (asked: boolean, second: string | null) =>
    client.query(
      `INSERT INTO policy_changes (exporter_id, approval, changed_by, principal_id, asked, second_id, changed_at)
       VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp())`,
      [exporterId, approval, principal?.name ?? by, principal?.principalId ?? null, asked, second],
    );
  if (required) {
    await note(false, null);
  } else {
    if (!principal)
      return { refused: 'it takes two principals to switch it off, each with its token (EBRC_TOKEN, or the HTTP API)' };
    const first = await askedBefore(client, exporterId, principal.principalId);
    await note(first === null, first);
    if (first === null) return 'asked';
  }
  await client.query('UPDATE exporters SET requires_approval = $2 WHERE exporter_id = $1', [exporterId, required]);
  return 'changed';
}

async function isAdmin(client: Queryable, exporterId: string, principalId: string): Promise<boolean> {
  const { rowCount } = await client.query(`SELECT FROM principals p WHERE p.principal_id = $2 AND ${IS_ADMIN}`, [
    exporterId,
    principalId,
  ]);
  return rowCount === 1;
}

/** Another admin who asked to switch it off within a day and after the last change, and who still is a principal. */
async function askedBefore(client: Queryable, exporterId: string, principalId: string): Promise<string | null> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT c.principal_id AS id FROM policy_changes c JOIN principals p USING (principal_id)
      WHERE c.exporter_id = $1 AND c.asked AND c.approval = 'off' AND c.principal_id <> $2
        AND c.changed_at > clock_timestamp() - interval '1 day' AND p.created_at <= c.changed_at AND ${IS_ADMIN}
        AND c.change_id > coalesce((SELECT max(l.change_id) FROM policy_changes l WHERE l.exporter_id = $1 AND NOT l.asked), 0)
      ORDER BY c.change_id DESC LIMIT 1`,
    [exporterId, principalId],
  );
  return rows[0]?.id ?? null;
}
