/** Principals of tests. */
import type pg from 'pg';
import type { Principal, Role } from '../../src/domain/principal';
import { addPrincipal, findPrincipal } from '../../src/ledger/principals/principals';

/** The principal of this name, made where there is none. */
export async function principalOf(
  pool: pg.Pool,
  name: string,
  roles: readonly Role[] = ['maker', 'checker'],
  exporters: readonly string[] | null = null,
): Promise<Principal> {
  const known = await findPrincipal(pool, 'test', name);
  if (known) return known;
  const more = { mode: 'test' as const, isSystem: false, exporters, expiresAt: null };
  const added = await addPrincipal(pool, { ...more, name, roles });
  return added ?? principalOf(pool, name);
}
