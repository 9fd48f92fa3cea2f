import { randomUUID } from 'node:crypto';
import type pg from 'pg';

/** A setting of a session that PostgreSQL itself does not know. */
const SETTING = 'ebrc.session';

/**
 * Throws behind a pooler that pools transactions: locks, LISTEN and prepared statements would be another connection's.
 * What one connection sets is seen by the next then.
 */
export async function refuseSharedSessions(pool: pg.Pool): Promise<void> {
  const own = randomUUID();
  const first = await pool.connect();
  try {
    await first.query(`SELECT set_config('${SETTING}', '${own}', false)`);
    const second = await pool.connect();
    try {
      const { rows } = await second.query<{ seen: string | null }>(
        `SELECT current_setting('${SETTING}', true) AS seen`,
      );
      if (rows[0]?.seen !== own) return;
    } finally {
      second.release();
    }
  } finally {
    first.release();
  }
  throw new Error(
    'DATABASE_URL leads to a pooler that shares sessions between connections (PgBouncer: pool_mode = transaction). ' +
      'Each connection needs a session of its own, for locks, LISTEN and prepared statements: set pool_mode = session ' +
      'for this database, or name PostgreSQL itself.',
  );
}
