/** Principals of tests, and what they answer for. */
import type pg from 'pg';
import type { Principal, Role } from '../../src/domain/principal';
import { needFiling } from '../../src/ledger/filings/filings';
import { writeGrant } from '../../src/ledger/principals/grants';
import { addPrincipal, findPrincipal } from '../../src/ledger/principals/principals';
import { shownOfFiling } from '../../src/ledger/principals/shown';

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

/** The arguments with which a principal approves a filing. */
export async function approvalBy(pool: pg.Pool, by: string, filingId: string): Promise<{ by: string; grant: string }> {
  const filing = await needFiling(pool, filingId);
  const shown = await shownOfFiling(pool, 'approve', filing);
  const deed = { action: 'approve' as const, exporterId: filing.exporterId, filingId, shown };
  return { by, grant: await writeGrant(pool, await principalOf(pool, by), deed) };
}
