import { type Principal, type Role, personKey } from '../../domain/principal';
import type { Mode } from '../../domain/names';
import type { Queryable } from '../pool';

/** The columns of {@link Principal}, from the table `principals` as `p`. */
export const PRINCIPAL_COLUMNS = `p.principal_id AS "principalId", p.mode, p.name, p.is_system AS "isSystem", p.roles, p.exporters,
  p.expires_at AS "expiresAt"`;

export interface NewPrincipal {
  mode: Mode;
  name: string;
  isSystem: boolean;
  roles: readonly Role[];
  exporters: readonly string[] | null;
  expiresAt: Date | null;
}

/** Adds a principal, or one of this name that was removed again. @returns null if the name is in use */
export async function addPrincipal(db: Queryable, principal: NewPrincipal): Promise<Principal | null> {
  const { mode, name, isSystem, roles, exporters, expiresAt } = principal;
  const { rows } = await db.query<Principal>(
    `INSERT INTO principals AS p (mode, name, name_key, is_system, roles, exporters, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (mode, name_key) DO UPDATE SET name = $2, is_system = $4, roles = $5, exporters = $6, expires_at = $7, removed_at = NULL, created_at = now()
       WHERE p.removed_at IS NOT NULL
     RETURNING ${PRINCIPAL_COLUMNS}`,
    [mode, name, personKey(name), isSystem, roles, exporters?.map((id) => id.toLowerCase()) ?? null, expiresAt],
  );
  return rows[0] ?? null;
}

/** The principal of this name, in any spelling; null if there is none, or it was removed. */
export async function findPrincipal(db: Queryable, mode: Mode, name: string): Promise<Principal | null> {
  const { rows } = await db.query<Principal>(
    `SELECT ${PRINCIPAL_COLUMNS} FROM principals p WHERE mode = $1 AND name_key = $2 AND removed_at IS NULL`,
    [mode, personKey(name)],
  );
  return rows[0] ?? null;
}

/** A principal with its tokens, for lists. */
export interface ListedPrincipal extends Principal {
  createdAt: Date;
  /** Tokens that are valid now. */
  tokens: number;
}

/** All principals of a mode that were not removed, by name. */
export async function listPrincipals(db: Queryable, mode: Mode): Promise<ListedPrincipal[]> {
  const { rows } = await db.query<ListedPrincipal>(
    `SELECT ${PRINCIPAL_COLUMNS}, p.created_at AS "createdAt",
            (SELECT count(*)::int FROM principal_tokens t WHERE t.principal_id = p.principal_id
               AND (t.ends_at IS NULL OR t.ends_at > now())) AS tokens
       FROM principals p WHERE mode = $1 AND removed_at IS NULL ORDER BY name_key`,
    [mode],
  );
  return rows;
}

/** Removes a principal; what it did keeps its name. */
export async function removePrincipal(db: Queryable, principalId: string): Promise<void> {
  await db.query('UPDATE principals SET removed_at = now() WHERE principal_id = $1', [principalId]);
}
