import { fuseBlownUntil, pruneFailedChecks, recordFailedCheck } from '../../../src/ledger/vault/credential-fuse';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';

const MINUTE = 60_000;
const START = Date.UTC(2026, 10, 21, 6, 0);
const key = { mode: 'test', exporterId: 'a' } as const;

let database: TestDatabase;
let now: number;

beforeEach(async () => {
  database = await createTestDatabase();
  now = START;
});
afterEach(() => database.drop());

/** Fails a check at each of the minutes, and answers the fuse with its clock at the last of them. */
async function fuseAfter(minutes: number[]) {
  const fuse = {
    recordFailure: (of: { mode: 'test' | 'live'; exporterId: string }) =>
      recordFailedCheck(database.pool, { ...of, at: new Date(now) }),
    blownUntil: (of: { mode: 'test' | 'live'; exporterId: string }) =>
      fuseBlownUntil(database.pool, { ...of, at: new Date(now) }),
    prune: () => pruneFailedChecks(database.pool, new Date(now)),
  };
  for (const minute of minutes) {
    now = START + minute * MINUTE;
    await fuse.recordFailure(key);
  }
  return fuse;
}

test('four failed checks leave the fifth free', async () => {
  const fuse = await fuseAfter([0, 1, 2, 3]);
  expect(await fuse.blownUntil(key)).toBeNull();
});

test('after five failed checks within fifteen minutes the sixth waits for fifteen more', async () => {
  const fuse = await fuseAfter([0, 3, 6, 9, 15]);
  const retryAt = new Date(START + 30 * MINUTE);
  expect(await fuse.blownUntil(key)).toEqual(retryAt);
  now = retryAt.getTime() - 1;
  expect(await fuse.blownUntil(key)).toEqual(retryAt);
  now = retryAt.getTime();
  expect(await fuse.blownUntil(key)).toBeNull();
});

test('failures that are further apart do not add up', async () => {
  const fuse = await fuseAfter([0, 4, 8, 12, 16]);
  expect(await fuse.blownUntil(key)).toBeNull();
});

test('a check that was under way when the fuse blew and fails later does not set it free', async () => {
  const fuse = await fuseAfter([0, 1, 2, 3, 14, 16.5]);
  expect(await fuse.blownUntil(key)).toEqual(new Date(START + 29 * MINUTE));
});

test('exporters and modes have fuses of their own', async () => {
  const fuse = await fuseAfter([0, 1, 2, 3, 4]);
  expect(await fuse.blownUntil({ ...key, exporterId: 'b' })).toBeNull();
  expect(await fuse.blownUntil({ ...key, mode: 'live' })).toBeNull();
});

test('a failure whose record is repeated, after a lost connection, counts once', async () => {
  const fuse = await fuseAfter([0, 1, 2, 3]);
  for (let repeat = 0; repeat < 4; repeat += 1) await fuse.recordFailure(key);
  expect(await fuse.blownUntil(key)).toBeNull();
});

test('pruning keeps the failures that still matter', async () => {
  const fuse = await fuseAfter([0, 20, 21, 22, 23, 24]);
  now = START + 31 * MINUTE;
  expect(await fuse.prune()).toBe(1);
  expect(await fuse.blownUntil(key)).not.toBeNull();
});
