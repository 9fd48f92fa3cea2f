/** PostgreSQL that is not itself: each trouble that passes is one kind, none kills the process, none lasts for ever. */
import pg from 'pg';
import { createPool, withTransaction } from '../../src/ledger/pool';
import { LedgerUnavailableError } from '../../src/ledger/unavailable';
import { useTestDatabase } from '../support/postgres';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';

const database = useTestDatabase();

beforeAll(async () => {
  await database.pool.query('CREATE TABLE things (n integer PRIMARY KEY)');
  await database.pool.query('INSERT INTO things VALUES (1), (2)');
});

/** What a promise rejects with. */
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'nothing went wrong',
    (error: unknown) => error,
  );

const unavailable = (code: string | RegExp) =>
  expect.objectContaining({
    name: 'LedgerUnavailableError',
    code: typeof code === 'string' ? code : expect.stringMatching(code),
  });

const terminateOthers = () =>
  database.pool.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('which errors pass', () => {
  const raise = (code: string) =>
    database.pool.query(`DO $$ BEGIN RAISE EXCEPTION 'as told' USING ERRCODE = '${code}'; END $$`);

  it.each([
    ...['08000', '08003', '08006', '08P01', '25006', '25P03', '28000', '28P01', '40001', '40P01'],
    ...['53100', '53200', '53300', '55P03', '57014', '57P01', '57P02', '57P03', '57P05', '58030'],
  ])('%s does', async (code) => {
    expect(await errorOf(raise(code))).toEqual(unavailable(code));
  });

  it.each(['22001', '22P02', '23505', '23514', '25P02', '40002', '42501', '42P01', '55000', 'P0001'])(
    '%s does not: it is a defect or a broken rule',
    async (code) => {
      const error = await errorOf(raise(code));
      expect(error).toBeInstanceOf(pg.DatabaseError);
      expect(error).toMatchObject({ code });
    },
  );

  it('errors of our own code come through as they are', async () => {
    const own = new Error('changed my mind');
    expect(await errorOf(withTransaction(database.pool, () => Promise.reject(own)))).toBe(own);
  });
});

describe('a server that does not let us in', () => {
  const attempt = async (url: string, connectMs = 2_000) => {
    const pool = createPool({ url, timeouts: { connectMs } });
    const error = await errorOf(pool.query('SELECT 1'));
    await pool.end();
    return error;
  };

  it('nobody listens', async () => {
    expect(await attempt('postgres://u:p@127.0.0.1:1/ebrc')).toEqual(unavailable('ECONNREFUSED'));
  });

  it('a password that does not fit (yet, or any more)', async () => {
    const url = new URL(database.url);
    url.password = 'wrong';
    expect(await attempt(url.href)).toEqual(unavailable('28P01'));
  });

  it('a database that is not there (yet)', async () => {
    expect(await attempt(`${database.url}_missing`)).toEqual(unavailable('3D000'));
  });

  it('too many connections', async () => {
    await database.pool.query(`CREATE ROLE crowded LOGIN PASSWORD 'p' CONNECTION LIMIT 0`);
    const url = new URL(database.url);
    url.username = 'crowded';
    url.password = 'p';
    expect(await attempt(url.href)).toEqual(unavailable('53300'));
    await database.pool.query('DROP ROLE crowded');
  });

  it('nobody answers', async () => {
    const proxy = await startTcpProxy(database.url);
    proxy.swallow(true);
    expect(await attempt(proxy.inFrontOf(database.url), 200)).toEqual(unavailable('timeout'));
    await proxy.close();
  });

  it('all connections of the pool are in use', async () => {
    const pool = createPool({ url: database.url, max: 1, timeouts: { connectMs: 1_000 } });
    const client = await pool.connect();
    expect(await errorOf(pool.query('SELECT 1'))).toEqual(unavailable('timeout'));
    client.release();
    await pool.query('SELECT 1');
    await pool.end();
    expect(await errorOf(pool.query('SELECT 1'))).toEqual(unavailable('connection'));
  });
});

describe('a connection that is lost inside a transaction', () => {
  it('between two statements costs the transaction, not the process', async () => {
    const pool = createPool({ url: database.url });
    const lost = withTransaction(pool, async (client) => {
      await client.query('INSERT INTO things VALUES (10)');
      await terminateOthers();
      // Long enough for the server's farewell to be read while no statement waits for it.
      await sleep(100);
      await client.query('SELECT 1');
    });
    expect(await errorOf(lost)).toEqual(unavailable('connection'));
    expect((await pool.query('SELECT n FROM things WHERE n = 10')).rows).toEqual([]);
    await pool.end();
  });

  it('with nothing to be asked any more, at the commit', async () => {
    const pool = createPool({ url: database.url });
    const lost = withTransaction(pool, async (client) => {
      await client.query('INSERT INTO things VALUES (11)');
      await terminateOthers();
      await sleep(100);
    });
    expect(await errorOf(lost)).toEqual(unavailable('connection'));
    await pool.end();
  });

  it('during a statement', async () => {
    const pool = createPool({ url: database.url });
    const lost = errorOf(withTransaction(pool, (client) => client.query('SELECT pg_sleep(10)')));
    const single = errorOf(pool.query('SELECT pg_sleep(10)'));
    const asleep = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`;
    while ((await database.pool.query(asleep)).rowCount !== 2) await sleep(10);
    await terminateOthers();
    expect(await lost).toEqual(unavailable('57P01'));
    expect(await single).toEqual(unavailable(/^(57P01|connection)$/u));
    await pool.end();
  });

  it('does not break the holder of a client of the pool', async () => {
    const pool = createPool({ url: database.url });
    const client = await pool.connect();
    await client.query('LISTEN anything');
    await terminateOthers();
    await sleep(100);
    expect(await errorOf(client.query('SELECT 1'))).toEqual(unavailable('connection'));
    client.release();
    expect((await pool.query('SELECT 1 AS alive')).rows).toEqual([{ alive: 1 }]);
    await pool.end();
  });
});

it('a deadlock costs one of the two, and its connection stays', async () => {
  let locked = 0;
  const lockBoth = (first: number, second: number) =>
    withTransaction(database.pool, async (client) => {
      await client.query('SELECT FROM things WHERE n = $1 FOR UPDATE', [first]);
      locked += 1;
      while (locked < 2) await sleep(1);
      await client.query('SELECT FROM things WHERE n = $1 FOR UPDATE', [second]);
    });
  const errors = await Promise.all([errorOf(lockBoth(1, 2)), errorOf(lockBoth(2, 1))]);
  expect(errors.filter((error) => error instanceof LedgerUnavailableError)).toEqual([unavailable('40P01')]);
});

describe('what takes too long', () => {
  it('a statement', async () => {
    const pool = createPool({ url: database.url, timeouts: { statementMs: 100 } });
    expect(await errorOf(pool.query('SELECT pg_sleep(10)'))).toEqual(unavailable('57014'));
    await pool.end();
  });

  it('the wait for a lock', async () => {
    const pool = createPool({ url: database.url, timeouts: { lockMs: 100 } });
    const error = await withTransaction(pool, async (client) => {
      await client.query('SELECT FROM things WHERE n = 1 FOR UPDATE');
      return errorOf(pool.query('SELECT FROM things WHERE n = 1 FOR UPDATE'));
    });
    expect(error).toEqual(unavailable('55P03'));
    await pool.end();
  });

  it('a transaction whose process stands still: its locks are free again', async () => {
    const pool = createPool({ url: database.url, timeouts: { idleInTransactionMs: 100 } });
    const stuck = withTransaction(pool, async (client) => {
      await client.query('SELECT FROM things WHERE n = 1 FOR UPDATE');
      await database.pool.query('SELECT FROM things WHERE n = 1 FOR UPDATE');
      await client.query('SELECT 1');
    });
    expect(await errorOf(stuck)).toEqual(unavailable('connection'));
    await pool.end();
  });

  it('has bounds by default, at the server', async () => {
    const names = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
    const { rows } = await database.pool.query(
      'SELECT setting, source FROM pg_settings WHERE name = ANY($1) ORDER BY array_position($1, name)',
      [names],
    );
    // By a statement: PgBouncer refuses what asks for them when it connects, which PostgreSQL calls `client`.
    expect(rows).toEqual(['20000', '10000', '15000'].map((setting) => ({ setting, source: 'session' })));
  });
});

describe('a PostgreSQL that stops answering', () => {
  let proxy: TcpProxy;
  beforeAll(async () => {
    proxy = await startTcpProxy(database.url);
  });
  afterAll(() => proxy.close());

  it('is given up by every statement and transaction within the time-out, and used again when it answers', async () => {
    const pool = createPool({ url: proxy.inFrontOf(database.url), timeouts: { queryMs: 300, connectMs: 300 } });
    await pool.query('SELECT 1');
    const commits = withTransaction(pool, async (client) => {
      await client.query('INSERT INTO things VALUES (20)');
      proxy.swallow(true);
    });
    expect(await errorOf(commits)).toEqual(unavailable('timeout'));
    expect(await errorOf(pool.query('SELECT 1'))).toEqual(unavailable('timeout'));
    expect(await errorOf(withTransaction(pool, () => Promise.resolve()))).toEqual(unavailable('timeout'));
    proxy.swallow(false);
    expect((await pool.query('SELECT 1 AS alive')).rows).toEqual([{ alive: 1 }]);
    await pool.end();
  });
});

it('after a failover the connections to the server that is read-only now are replaced, all at once', async () => {
  const pool = createPool({ url: database.url, max: 5 });
  const name = new URL(database.url).pathname.slice(1);
  await database.pool.query(`ALTER DATABASE ${name} SET default_transaction_read_only TO on`);
  const write = () => pool.query('INSERT INTO things VALUES (30) ON CONFLICT DO NOTHING');
  // Five connections that all lead to the read-only server.
  await Promise.all(Array.from({ length: 5 }, () => pool.query('SELECT pg_sleep(0.05)')));
  await database.pool.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
  expect(await errorOf(write())).toEqual(unavailable('25006'));
  for (let nth = 0; nth < 5; nth += 1) await write();
  expect((await pool.query('SELECT n FROM things WHERE n = 30')).rowCount).toBe(1);
  await pool.end();
});
