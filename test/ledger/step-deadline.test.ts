import { createPool, withTransaction } from '../../src/ledger/pool';
import { STEP_DEADLINE, withStepDeadline } from '../../src/ledger/unavailable';
import { useTestDatabase } from '../support/postgres';

const database = useTestDatabase();

beforeAll(async () => {
  await database.pool.query('CREATE TABLE steps (n integer PRIMARY KEY)');
});

const count = async () => (await database.pool.query('SELECT n FROM steps')).rowCount;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a step with a deadline', () => {
  it('commits what it does in time', async () => {
    await withStepDeadline(() =>
      withTransaction(database.pool, (client) => client.query('INSERT INTO steps VALUES (1)')),
    );
    expect(await count()).toBe(1);
  });

  it('commits nothing once its time is over', async () => {
    const before = await count();
    const late = withStepDeadline(() =>
      withTransaction(database.pool, async (client) => {
        await client.query('INSERT INTO steps VALUES (2)');
        for (let waited = 0; waited < STEP_DEADLINE.totalMs; waited += 500) {
          await pause(500);
          await client.query('SELECT 1');
        }
      }),
    );
    await expect(late).rejects.toMatchObject({ name: 'LedgerUnavailableError', code: 'deadline' });
    expect(await count()).toBe(before);
  });

  it('does not wait for a lock beyond its time', async () => {
    const before = await count();
    await withTransaction(database.pool, async (holder) => {
      await holder.query('LOCK TABLE steps IN ACCESS EXCLUSIVE MODE');
      const waiting = withStepDeadline(() =>
        withTransaction(database.pool, (client) => client.query('INSERT INTO steps VALUES (3)')),
      );
      await expect(waiting).rejects.toMatchObject({ code: '55P03' });
    });
    expect(await count()).toBe(before);
  });

  it.each([
    'INSERT INTO steps VALUES (4)',
    'WITH gone AS (DELETE FROM steps WHERE n = 1 RETURNING n) SELECT n FROM gone',
    'UPDATE steps SET n = n',
  ])('writes in a transaction only, not by %s alone', async (write) => {
    const before = await count();
    await expect(withStepDeadline(() => database.pool.query(write))).rejects.toThrow('needs withTransaction');
    expect(await count()).toBe(before);
  });

  it('reads without a transaction', async () => {
    const read = () => database.pool.query('WITH known AS (SELECT n FROM steps FOR UPDATE) SELECT n FROM known');
    expect((await withStepDeadline(read)).rowCount).toBe(1);
  });

  it('is refused at once for a while after no connection could be made', async () => {
    const away = createPool({ url: 'postgres://nobody@127.0.0.1:1/none' });
    const step = () => withStepDeadline(() => away.query('SELECT 1'));
    await expect(step()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await expect(step()).rejects.toMatchObject({ code: 'away' });
    // What has no deadline goes on trying, and finds out that the server is back.
    await expect(away.query('SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await away.end();
  });
});
