import { readFile } from 'node:fs/promises';
import { createPool, withTransaction } from '../../src/ledger/pool';
import { useTestDatabase } from '../support/postgres';

const database = useTestDatabase();

beforeAll(async () => {
  await database.pool.query('CREATE TABLE pool_test (n integer PRIMARY KEY)');
});

it('reads dates as calendar dates and amounts as text', async () => {
  const { rows } = await database.pool.query(
    `SELECT date '2026-01-01' AS day, 8000.10::numeric AS amount, now() AS at`,
  );
  expect(rows[0]).toEqual({ day: '2026-01-01', amount: '8000.10', at: expect.any(Date) });
});

it('commits what returns and rolls back what throws', async () => {
  await withTransaction(database.pool, (client) => client.query('INSERT INTO pool_test VALUES (1)'));
  const failing = withTransaction(database.pool, async (client) => {
    await client.query('INSERT INTO pool_test VALUES (2)');
    throw new Error('changed my mind');
  });
  await expect(failing).rejects.toThrow('changed my mind');
  expect(await database.select('SELECT n FROM pool_test')).toEqual([{ n: 1 }]);
});

it('continues with a new connection after the server closed an idle one', async () => {
  await database.pool.query('SELECT 1');
  const admin = await database.pool.connect();
  await admin.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  admin.release();
  expect(await database.select('SELECT 1 AS alive')).toEqual([{ alive: 1 }]);
});

it('has the system probe an idle connection, so that one whose peer is gone is found out', async () => {
  const client = await database.pool.connect();
  const { rows } = await client.query<{ port: number }>('SELECT inet_client_port() AS port');
  client.release();
  // As Linux shows it: "local address", "remote address", state, queues, and the kind of its timer (02: keep-alive).
  const port = (rows[0]?.port ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map((file) => readFile(file, 'utf8')));
  const line = tables.join('').match(new RegExp(`^\\s*\\d+: \\w+:${port} \\w+:\\w+ 01 \\S+ (\\w\\w):`, 'mu'));
  expect(line?.[1]).toBe('02');
});

it('prepares a statement with parameters once for each connection', async () => {
  const text = 'SELECT $1::integer + 41 AS sum';
  await withTransaction(database.pool, async (client) => {
    await client.query(text, [1]);
    const { rows } = await client.query(text, [2]);
    expect(rows).toEqual([{ sum: 43 }]);
    const { rows: prepared } = await client.query('SELECT statement FROM pg_prepared_statements');
    expect(prepared.filter(({ statement }) => statement === text)).toHaveLength(1);
  });
});

it.each([
  ['answers otherwise since then', 'ALTER TABLE pool_test ALTER n TYPE bigint'],
  ['has been forgotten by the server', 'DEALLOCATE ALL'],
])('prepares a statement anew that %s', async (_what, change) => {
  const pool = createPool({ url: database.url, max: 1 });
  const read = () => pool.query('SELECT n FROM pool_test WHERE n = $1', [1]);
  await read();
  await pool.query(change);
  await expect(read()).rejects.toMatchObject({ name: 'LedgerUnavailableError' });
  expect((await read()).rowCount).toBe(1);
  await pool.end();
});
