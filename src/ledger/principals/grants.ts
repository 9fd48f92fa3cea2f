/** Grants: what principals answer for, written before it goes to Temporal and checked by the step that acts on it. */
import { MAY, type Principal, type Role } from '../../domain/principal';
import type { Queryable } from '../pool';

export const VALID_FOR = "interval '1 day'";

/** The action, its object, and the hash over what the principal was shown. */
export interface GrantedDeed {
  action: keyof typeof MAY;
  exporterId: string;
  filingId: string | null;
  shown: string;
}

/** Writes a grant. @returns its id, which may travel through Temporal: it allows only this deed, and only once */
export async function writeGrant(db: Queryable, principal: Principal, deed: GrantedDeed): Promise<string> {
  const { action, exporterId, filingId, shown } = deed;
  const { rows } = await db.query<{ id: string }>(
    `INSERT INTO grants (mode, principal_id, principal, action, exporter_id, filing_id, shown, approval_required)
     SELECT $1, $2, $3, $4, exporter_id, $6, $7, requires_approval FROM exporters WHERE lower(exporter_id) = lower($5)
     RETURNING grant_id AS id`,
    [principal.mode, principal.principalId, principal.name, action, exporterId, filingId, shown],
  );
  const [written] = rows;
  if (!written) throw new Error(`Exporter ${exporterId} is not in this ledger.`);
  return written.id;
}

/**
 * Checks a grant as of now, under the locks of its deed. @param unused it must be unused and at most a day old
 * @returns the grant, or why it does not hold
 */
export async function checkGrant(
  db: Queryable,
  grantId: string,
  deed: GrantedDeed,
  { unused = false }: { unused?: boolean } = {},
) {
  const { rows } = await db.query<
    GrantedDeed & {
      principalId: string;
      by: string;
      isSystem: boolean;
      roles: Role[];
      /** The stricter of the exporter's policy then and now. */
      approvalRequired: boolean;
      exporters: string[] | null;
      /** The principal was removed since, also if its name was added again. */
      removed: boolean;
      expired: boolean;
      fresh: boolean;
      used: boolean;
    }
  >(
    `SELECT g.principal_id AS "principalId", p.name AS by, p.is_system AS "isSystem", p.roles, p.exporters, g.action, g.shown,
            g.exporter_id AS "exporterId", g.filing_id AS "filingId", p.removed_at IS NOT NULL OR g.granted_at < p.created_at AS removed,
            coalesce(p.expires_at <= now(), false) AS expired,
            g.approval_required OR coalesce((SELECT requires_approval FROM exporters e WHERE e.exporter_id = g.exporter_id), false)
              AS "approvalRequired", g.granted_at > now() - ${VALID_FOR} AS fresh,
            EXISTS (SELECT FROM filings f WHERE f.grant_id = g.grant_id) AS used
       FROM grants g JOIN principals p USING (principal_id) WHERE grant_id = $1`,
    [grantId],
  );
  const [grant] = rows;
  if (!grant) return 'the ledger does not hold its grant: do it again';
  const { principalId, by, isSystem, roles, exporters, approvalRequired } = grant;
  const id = deed.exporterId.toLowerCase();
  if (grant.action !== deed.action || grant.filingId !== deed.filingId || grant.exporterId.toLowerCase() !== id) {
    return `the grant of ${by} is for something else`;
  }
  if (unused && grant.used) return `the grant of ${by} was used: do it again`;
  if (unused && !grant.fresh) return `the grant of ${by} is older than a day: do it again`;
  if (grant.shown !== deed.shown) return `what was shown to ${by} has changed since: look at it again`;
  if (grant.removed) return `${by} is no longer a principal`;
  if (grant.expired) return `the time of principal ${by} is over`;
  const may: readonly Role[] = MAY[deed.action];
  if (!roles.some((role) => may.includes(role))) return `${by} has ${roles.join(', ')}; this needs ${may.join(' or ')}`;
  if (exporters && !exporters.includes(id)) return `${by} may not see the exporter`;
  return { principalId, by, isSystem, roles, approvalRequired };
}
