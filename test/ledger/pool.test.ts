import { withTransaction } from '../../src/ledger/pool';
import { createTestDatabase, type TestDatabase } from '../support/postgres';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query('CREATE TABLE pool_test (n integer PRIMARY KEY)');
});

afterAll(() => database.drop());

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
  const { rows } = await database.pool.query('SELECT n FROM pool_test');
  expect(rows).toEqual([{ n: 1 }]);
});

it('goes on with a new connection after the server dropped an idle one', async () => {
  await database.pool.query('SELECT 1');
  const admin = await database.pool.connect();
  await admin.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  admin.release();
  const { rows } = await database.pool.query('SELECT 1 AS alive');
  expect(rows).toEqual([{ alive: 1 }]);
});
