/** The pool, and a PostgreSQL that is not itself: each trouble that passes is one kind, and none lasts for ever. */
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { refuseSharedSessions } from '../../src/ledger/diagnosis';
import { createPool, withTransaction } from '../../src/ledger/pool';
import { LedgerUnavailableError } from '../../src/ledger/unavailable';
import { useTestDatabase } from '../support/postgres';
import { startTcpProxy } from '../support/tcp-proxy';

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

/** A pool of its own for some work. */
async function withPool<T>(
  options: Partial<Parameters<typeof createPool>[0]>,
  work: (pool: pg.Pool) => Promise<T>,
): Promise<T> {
  const pool = createPool({ url: database.url, ...options });
  return work(pool).finally(() => pool.end());
}
/** What a statement fails with on a pool of its own. */
const failureWith = (options: Partial<Parameters<typeof createPool>[0]>, statement = 'SELECT 1') =>
  withPool(options, (pool) => errorOf(pool.query(statement)));

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('which errors pass', () => {
  const raise = (code: string) =>
    database.pool.query(`DO $$ BEGIN RAISE EXCEPTION 'as told' USING ERRCODE = '${code}'; END $$`);

  it.each([
    ...['08000', '08003', '08006', '08P01', '25006', '25P03', '28000', '28P01', '40001', '40P01'],
    ...['53100', '53200', '53300', '55P03', '57014', '57P01', '57P02', '57P03', '57P05', '58030'],
  ])('%s does', async (code) => expect(await errorOf(raise(code))).toEqual(unavailable(code)));

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
  const as = (username: string, password: string) => {
    const url = new URL(database.url);
    [url.username, url.password] = [username, password];
    return url.href;
  };

  it.each<[string, string, () => string]>([
    ['nobody listens', 'ECONNREFUSED', () => 'postgres://u:p@127.0.0.1:1/ebrc'],
    ['its password does not fit (yet, or any more)', '28P01', () => as(new URL(database.url).username, 'wrong')],
    ['its database is not there (yet)', '3D000', () => `${database.url}_missing`],
  ])('is one kind of trouble where %s', async (_, code, url) =>
    expect(await failureWith({ url: url(), timeouts: { connectMs: 2_000 } })).toEqual(unavailable(code)),
  );

  it('has too many connections', async () => {
    await database.pool.query(`CREATE ROLE crowded LOGIN PASSWORD 'p' CONNECTION LIMIT 0`);
    expect(await failureWith({ url: as('crowded', 'p') })).toEqual(unavailable('53300'));
    await database.pool.query('DROP ROLE crowded');
  });

  it('does not answer', async () => {
    const proxy = await startTcpProxy(database.url);
    proxy.swallow(true);
    const url = proxy.inFrontOf(database.url);
    expect(await failureWith({ url, timeouts: { connectMs: 200 } })).toEqual(unavailable('timeout'));
    await proxy.close();
  });

  it('or a pool whose connections are all in use, or that has ended', async () => {
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
  it.each([10, 11])('between two statements or at the commit costs the transaction, not the process (%i)', (n) =>
    withPool({}, async (pool) => {
      const lost = withTransaction(pool, async (client) => {
        await client.query('INSERT INTO things VALUES ($1)', [n]);
        await terminateOthers();
        // Long enough for the server's farewell to be read while no statement waits for it.
        await sleep(100);
        if (n === 10) await client.query('SELECT 1');
      });
      expect(await errorOf(lost)).toEqual(unavailable('connection'));
      expect((await pool.query('SELECT n FROM things WHERE n = $1', [n])).rows).toEqual([]);
    }),
  );

  it('during a statement', () =>
    withPool({}, async (pool) => {
      const lost = errorOf(withTransaction(pool, (client) => client.query('SELECT pg_sleep(10)')));
      const single = errorOf(pool.query('SELECT pg_sleep(10)'));
      const asleep = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`;
      while ((await database.pool.query(asleep)).rowCount !== 2) await sleep(10);
      await terminateOthers();
      expect(await lost).toEqual(unavailable('57P01'));
      expect(await single).toEqual(unavailable(/^(57P01|connection)$/u));
    }));

  it('does not break the holder of a client of the pool, which continues with a new connection', () =>
    withPool({}, async (pool) => {
      const client = await pool.connect();
      await client.query('LISTEN anything');
      await terminateOthers();
      await sleep(100);
      expect(await errorOf(client.query('SELECT 1'))).toEqual(unavailable('connection'));
      client.release();
      expect((await pool.query('SELECT 1 AS alive')).rows).toEqual([{ alive: 1 }]);
    }));
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
  const LOCK = 'SELECT FROM things WHERE n = 1 FOR UPDATE';

  it('a statement', async () =>
    expect(await failureWith({ timeouts: { statementMs: 100 } }, 'SELECT pg_sleep(10)')).toEqual(unavailable('57014')));

  it('the wait for a lock', async () => {
    const error = await withTransaction(database.pool, async (client) => {
      await client.query(LOCK);
      return failureWith({ timeouts: { lockMs: 100 } }, LOCK);
    });
    expect(error).toEqual(unavailable('55P03'));
  });

  it('a transaction whose process stands still: its locks are free again', () =>
    withPool({ timeouts: { idleInTransactionMs: 100 } }, async (pool) => {
      const stuck = withTransaction(pool, async (client) => {
        await client.query(LOCK);
        await database.pool.query(LOCK);
        await client.query('SELECT 1');
      });
      expect(await errorOf(stuck)).toEqual(unavailable('connection'));
    }));

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

it('a PostgreSQL that stops answering is given up by every statement and transaction within the time-out, and used again when it answers', async () => {
  const proxy = await startTcpProxy(database.url);
  await withPool({ url: proxy.inFrontOf(database.url), timeouts: { queryMs: 300, connectMs: 300 } }, async (pool) => {
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
  });
  await proxy.close();
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

it('reads dates as calendar dates and amounts as text', async () => {
  const { rows } = await database.pool.query(
    `SELECT date '2026-01-01' AS day, 8000.10::numeric AS amount, now() AS at`,
  );
  expect(rows[0]).toEqual({ day: '2026-01-01', amount: '8000.10', at: expect.any(Date) });
});

it('commits what returns and rolls back what throws', async () => {
  await withTransaction(database.pool, (client) => client.query('INSERT INTO things VALUES (40)'));
  const failing = withTransaction(database.pool, async (client) => {
    await client.query('INSERT INTO things VALUES (41)');
    throw new Error('changed my mind');
  });
  await expect(failing).rejects.toThrow('changed my mind');
  expect(await database.select('SELECT n FROM things WHERE n >= 40')).toEqual([{ n: 40 }]);
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
  ['answers otherwise since then', 'ALTER TABLE things ALTER n TYPE bigint'],
  ['has been forgotten by the server', 'DEALLOCATE ALL'],
])('prepares a statement anew that %s', async (_what, change) => {
  const pool = createPool({ url: database.url, max: 1 });
  const read = () => pool.query('SELECT n FROM things WHERE n = $1', [1]);
  await read();
  await pool.query(change);
  await expect(read()).rejects.toMatchObject({ name: 'LedgerUnavailableError' });
  expect((await read()).rowCount).toBe(1);
  await pool.end();
});

it('refuses a pooler that gives the connections of a pool one session in turn', async () => {
  await expect(refuseSharedSessions(database.pool)).resolves.toBeUndefined();
  const session = new pg.Client({ connectionString: database.url });
  await session.connect();
  const connection = { query: (text: string) => session.query(text), release: () => undefined };
  const pooled = { connect: () => Promise.resolve(connection) } as unknown as pg.Pool;
  await expect(refuseSharedSessions(pooled)).rejects.toThrow(/pool_mode = transaction/u);
  await session.end();
});
