import type pg from 'pg';
import { isName, MAX_NAME_LENGTH, ROLES, type Principal, type Role } from '../domain/principal';
import type { Mode } from '../domain/names';
import { exporterNames } from '../ledger/exporters/exporters';
import * as ledger from '../ledger/principals/principals';
import { withTransaction, type Queryable } from '../ledger/pool';
import type { LedgerDependencies } from './dependencies';
import { refusal, UsageError } from './errors';
import { exporterIdOf } from './lookup';

/** A principal as printed. */
export type PrincipalView = ReturnType<typeof principalView>;

/** A principal with its new token, which is shown only once. */
export type PrincipalWithToken = PrincipalView & { token: string };

/** Adds a principal and its token. @throws UsageError for an invalid name or role; RefusedError if the name is taken */
export async function addPrincipal(
  { pool, mode }: LedgerDependencies,
  request: {
    name: string;
    roles: readonly string[];
    system?: boolean;
    /** Exporters that it may see, by id or e-mail; default: all. */
    exporters?: readonly string[];
    expiresInMs?: number;
    /** Who adds it, for the audit log. */
    by: string;
  },
): Promise<PrincipalWithToken> {
  const { system: isSystem = false, exporters = [], expiresInMs, by } = request;
  if (expiresInMs === 0) throw new UsageError('A principal cannot end at once. Name a time such as 90d.');
  const name = checkedName(request.name);
  const roles = checkedRoles(request.roles, isSystem);
  const ids = await Promise.all(exporters.map((exporter) => exporterIdOf(pool, mode, exporter)));
  const expiresAt = expiresInMs === undefined ? null : new Date(Date.now() + expiresInMs);
  const token = ledger.createToken(mode);
  return asOwner(pool, async (client) => {
    const scope = ids.length > 0 ? ids : null;
    const added = await ledger.addPrincipal(client, { mode, name, isSystem, roles, exporters: scope, expiresAt });
    if (!added) {
      throw refusal(
        'name_taken',
        `There is a principal ${name} already, or one whose name counts as the same. \`ebrc principals rotate\` makes a new token for it.`,
      );
    }
    await ledger.saveToken(client, added.principalId, token);
    await recordUse(client, added, { action: 'principals add', by });
    return { ...principalView(added, await namesOf(client, [added])), token };
  });
}

/** A principal of a list: with the identity provider where it signs in, if any, and the number of its valid tokens. */
export type PrincipalEntry = PrincipalView & { issuer: string | null; tokens: number };

/** All principals of the mode. */
export async function listPrincipals(deps: LedgerDependencies): Promise<PrincipalEntry[]> {
  const { pool, mode } = deps;
  const all = await ledger.listPrincipals(pool, mode);
  const names = await namesOf(pool, all);
  return all.map((principal) => {
    const { issuer, tokens } = principal;
    return { ...principalView(principal, names), issuer, tokens };
  });
}

/**
 * Makes a new token; the previous one stays valid for a day, or with `now`, as for a token that leaked, ends at once.
 * @throws RefusedError if there is no such principal
 */
export async function rotatePrincipal(
  { pool, mode }: LedgerDependencies,
  { name, by, now = false }: { name: string; by: string; now?: boolean },
): Promise<PrincipalWithToken & { previousEndsAt: string | null }> {
  const token = ledger.createToken(mode);
  return asOwner(pool, async (client) => {
    const principal = await needPrincipal(client, mode, name);
    const { principalId } = principal;
    const endsAt = now ? await ledger.endTokens(client, principalId) : await ledger.endTokensLater(client, principalId);
    await ledger.saveToken(client, principalId, token);
    await recordUse(client, principal, { action: now ? 'principals rotate --now' : 'principals rotate', by });
    return {
      ...principalView(principal, await namesOf(client, [principal])),
      token,
      previousEndsAt: endsAt?.toISOString() ?? null,
    };
  });
}

/** Removes a principal and ends its tokens at once. @throws RefusedError if there is no such principal */
export async function removePrincipal(
  { pool, mode }: LedgerDependencies,
  { name, by }: { name: string; by: string },
): Promise<PrincipalView> {
  return asOwner(pool, async (client) => {
    const principal = await needPrincipal(client, mode, name);
    await ledger.removePrincipal(client, principal.principalId);
    await ledger.endTokens(client, principal.principalId);
    await recordUse(client, principal, { action: 'principals remove', by });
    return principalView(principal, await namesOf(client, [principal]));
  });
}

async function needPrincipal(db: Queryable, mode: Mode, name: string): Promise<Principal> {
  const principal = await ledger.findPrincipal(db, mode, name);
  if (principal) return principal;
  throw refusal(
    'unknown_principal',
    `There is no principal ${name} in ${mode} mode. \`ebrc principals list\` lists them.`,
  );
}

function recordUse(db: Queryable, { mode, principalId }: Principal, { action, by }: { action: string; by: string }) {
  // The command line has no signed-in principal, only the database owner's rights, so the name is a claim.
  const event = { mode, at: new Date(), principal: null, action: `${action} (command line, by ${by})` };
  return ledger.recordAudit(db, [{ ...event, outcome: 'used', subject: principalId }]);
}

function checkedName(text: string): string {
  const name = text.trim();
  const allowed = `allowed: 1 to ${MAX_NAME_LENGTH} visible characters of one alphabet in a word, with a letter or a digit among them`;
  if (!isName(name)) {
    throw new UsageError(`${JSON.stringify(name.slice(0, MAX_NAME_LENGTH))} cannot name a principal; ${allowed}.`);
  }
  return name;
}

function checkedRoles(given: readonly string[], isSystem: boolean): Role[] {
  const roles = [...new Set(given)];
  const unknown = roles.find((role) => !ROLES.includes(role as Role));
  if (unknown !== undefined || roles.length === 0) {
    throw new UsageError(
      `${unknown === undefined ? 'A role is missing' : `${unknown} is no role`}; allowed: ${ROLES.join(', ')}.`,
    );
  }
  if (isSystem && roles.includes('checker')) {
    throw new UsageError(
      'A system cannot be a checker: approving and resolving is for persons. Leave out --system or the role.',
    );
  }
  return roles as Role[];
}

/** Names of the exporters that the principals may see, by id. */
const namesOf = (db: Queryable, principals: readonly Principal[]) =>
  exporterNames(
    db,
    principals.flatMap(({ exporters }) => exporters ?? []),
  );

function principalView(
  { principalId, name, roles, isSystem, exporters, expiresAt }: Principal,
  names: ReadonlyMap<string, string>,
) {
  return {
    principal: principalId,
    name,
    roles,
    system: isSystem,
    /** Ids of the exporters that it may see; null for all. */
    exporters,
    /** Names of these exporters; the id of one that the ledger does not know. */
    exporterNames: exporters && exporters.map((id) => names.get(id) ?? id),
    expiresAt: expiresAt?.toISOString() ?? null,
  };
}

/** SQLSTATE insufficient_privilege. */
const NO_RIGHT = '42501';

/** Only the ledger's owner may change principals; workers and `ebrc serve` connect as users without that right. */
async function asOwner<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  try {
    return await withTransaction(pool, work);
  } catch (error) {
    if ((error as { code?: string }).code !== NO_RIGHT) throw error;
    throw new UsageError(
      'The user of DATABASE_URL may not change principals: use the one that owns the ledger (a member of ebrc_migrate).',
      'no_right',
    );
  }
}
