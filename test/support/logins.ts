import { randomBytes } from 'node:crypto';
import type { TestDatabase } from './postgres';

export type LedgerRole = 'ebrc_migrate' | 'ebrc_run' | 'ebrc_serve' | 'ebrc_read';

/**
 * A login of a database, as an administrator makes one. Drop it before the database goes.
 * @param connects whether it is let into the database by name
 */
export async function createLogin(
  { url, pool }: Pick<TestDatabase, 'url' | 'pool'>,
  role?: LedgerRole,
  { connects = true }: { connects?: boolean } = {},
): Promise<{ url: string; name: string }> {
  const name = `login_${randomBytes(5).toString('hex')}`;
  await pool.query(`CREATE ROLE ${name} LOGIN PASSWORD 'roles'${role ? ` IN ROLE ${role}` : ''}`);
  if (connects) await pool.query(`GRANT CONNECT ON DATABASE ${new URL(url).pathname.slice(1)} TO ${name}`);
  const own = new URL(url);
  [own.username, own.password] = [name, 'roles'];
  return { url: own.href, name };
}

export const dropLogin = async ({ pool }: Pick<TestDatabase, 'pool'>, name: string): Promise<void> =>
  void (await pool.query(`DROP OWNED BY ${name}; DROP ROLE ${name}`));
