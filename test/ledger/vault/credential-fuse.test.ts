import { fuseBlownUntil, pruneFailedChecks, recordFailedCheck } from '../../../src/ledger/vault/credential-fuse';
import { useTestDatabase } from '../../support/postgres';

const MINUTE = 60_000;
const START = Date.UTC(2026, 10, 21, 6, 0);
const key = { mode: 'test', exporterId: 'a' } as const;

const database = useTestDatabase();
let now: number;

beforeEach(async () => {
  await database.select('TRUNCATE credential_failures');
  now = START;
});

/** Fails a check at each of the minutes, and answers the fuse with its clock at the last of them. */
async function fuseAfter(minutes: number[]) {
  const fuse = {
    blownUntil: (of: { mode: 'test' | 'live'; exporterId: string }) =>
      fuseBlownUntil(database.pool, { ...of, at: new Date(now) }),
    prune: () => pruneFailedChecks(database.pool, new Date(now)),
  };
  for (const minute of minutes) {
    now = START + minute * MINUTE;
    await recordFailedCheck(database.pool, { ...key, at: new Date(now) });
  }
  return fuse;
}

test.each([
  ['four failed checks leave the fifth free', [0, 1, 2, 3], null],
  ['failures that are further apart do not add up', [0, 4, 8, 12, 16], null],
  ['a check that was under way when the fuse blew and fails later does not set it free', [0, 1, 2, 3, 14, 16.5], 29],
])('%s', async (_, minutes, freeAfter) => {
  const fuse = await fuseAfter(minutes);
  expect(await fuse.blownUntil(key)).toEqual(freeAfter && new Date(START + freeAfter * MINUTE));
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

test('exporters and modes have fuses of their own', async () => {
  const fuse = await fuseAfter([0, 1, 2, 3, 4]);
  expect(await fuse.blownUntil({ ...key, exporterId: 'b' })).toBeNull();
  expect(await fuse.blownUntil({ ...key, mode: 'live' })).toBeNull();
});

test('a failure whose record is repeated, after a lost connection, counts once', async () => {
  const fuse = await fuseAfter([0, 1, 2, 3, 3, 3]);
  expect(await fuse.blownUntil(key)).toBeNull();
});

test('pruning keeps the failures that still matter', async () => {
  const fuse = await fuseAfter([0, 20, 21, 22, 23, 24]);
  now = START + 31 * MINUTE;
  expect(await fuse.prune()).toBe(1);
  expect(await fuse.blownUntil(key)).not.toBeNull();
});
