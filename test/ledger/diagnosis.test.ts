/** A pooler that pools transactions is refused; PostgreSQL itself is not. */
import pg from 'pg';
import { refuseSharedSessions } from '../../src/ledger/diagnosis';
import { useTestDatabase } from '../support/postgres';

const ledger = useTestDatabase();

it('refuses a pooler that gives the connections of a pool one session in turn', async () => {
  await expect(refuseSharedSessions(ledger.pool)).resolves.toBeUndefined();
  const session = new pg.Client({ connectionString: ledger.url });
  await session.connect();
  const connection = { query: (text: string) => session.query(text), release: () => undefined };
  const pooled = { connect: () => Promise.resolve(connection) } as unknown as pg.Pool;
  await expect(refuseSharedSessions(pooled)).rejects.toThrow(/pool_mode = transaction/u);
  await session.end();
});
