/** Whether an exporter's filings need a second person's approval. A change applies to filings made after it. */
import type { Principal } from '../../domain/principal';
import { checkGrant, VALID_FOR, writeGrant } from '../principals/grants';
import { shownPolicy } from '../principals/shown';
import type { Queryable } from '../pool';

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
  const shown = shownPolicy(exporterId, approval);
  const deed = { action: 'policy' as const, exporterId, filingId: null, shown };
  const grantId = principal ? await writeGrant(client, principal, deed) : null;
  const granted = grantId === null ? null : await checkGrant(client, grantId, deed);
  if (typeof granted === 'string') return { refused: granted };
  let second: string | null = null;
  if (approval === 'off') {
    if (!granted)
      return { refused: 'it takes two principals to switch it off, each with its token (EBRC_TOKEN, or the HTTP API)' };
    second = await askedBefore(client, { ...deed, principalId: granted.principalId });
    if (second === null) return 'asked';
  }
  await client.query('UPDATE exporters SET requires_approval = $2 WHERE exporter_id = $1', [exporterId, required]);
  await client.query(
    `INSERT INTO policy_changes (exporter_id, approval, changed_by, grant_id, second_grant_id) VALUES ($1, $2, $3, $4, $5)`,
    [exporterId, approval, granted?.by ?? by, grantId, second],
  );
  return 'changed';
}

/** The grant of another principal who asked for the same within a day and after the last change of the policy. */
async function askedBefore(
  client: Queryable,
  { principalId, ...deed }: { principalId: string } & Parameters<typeof checkGrant>[2],
): Promise<string | null> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT grant_id AS id FROM grants g WHERE action = 'policy' AND exporter_id = $1 AND shown = $2 AND principal_id <> $3
        AND granted_at > now() - ${VALID_FOR}
        AND granted_at > coalesce((SELECT max(changed_at) FROM policy_changes c WHERE c.exporter_id = $1), '-infinity')
      ORDER BY granted_at DESC`,
    [deed.exporterId, deed.shown, principalId],
  );
  for (const { id } of rows) if (typeof (await checkGrant(client, id, deed)) !== 'string') return id;
  return null;
}
