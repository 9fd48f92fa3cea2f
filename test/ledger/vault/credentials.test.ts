import { randomBytes, randomUUID } from 'node:crypto';
import {
  accountHashOf,
  evidenceHashOf,
  recordConsent,
  addCredentials,
  checkableVersion,
  currentCredentials,
  markBad,
  markRejected,
  markValid,
  filingsWithoutCredentials,
} from '../../../src/ledger/vault/credentials';
import { consentsOf } from '../../support/consents';
import { saveExporter } from '../../../src/ledger/exporters/exporters';
import { createVault, handIn } from '../../../src/ledger/vault/vault';
import { customerRecord, tell } from '../filed';
import { useTestDatabase } from '../../support/postgres';
import { fuseBlownUntil, pruneFailedChecks, recordFailedCheck } from '../../../src/ledger/vault/credential-fuse';

const vault = createVault({ keys: [{ id: 'k', key: randomBytes(32) }] });
const database = useTestDatabase();

beforeAll(async () => {
  await vault.publish(database.pool, 'test');
});

async function newExporter(): Promise<string> {
  const id = randomUUID();
  await saveExporter(database.pool, { ...customerRecord(id), iec: null }, 'test', new Date());
  return id;
}

const secret = () =>
  handIn(database.pool, { mode: 'test', workflowId: 'onboard/test/u', username: 'u', password: 'p' });
const register = (exporterId: string, secretRef: string) =>
  addCredentials(database.pool, vault, { mode: 'test', exporterId, secretRef });
const add = async (exporterId: string) => register(exporterId, await secret());
const held = async () => (await database.select('SELECT FROM vault_secrets')).length;
/** An exporter whose submissions so far were all valid. */
async function exporterWith(valid: number): Promise<string> {
  const exporterId = await newExporter();
  for (let n = 0; n < valid; n += 1) await markValid(database.pool, exporterId, await add(exporterId));
  return exporterId;
}
const expectCurrent = async (exporterId: string, credentials: object) =>
  expect(await currentCredentials(database.pool, exporterId)).toMatchObject(credentials);

it('numbers submissions, the same one once, however many come at a time', async () => {
  const exporterId = await newExporter();
  const ref = await secret();
  expect(await register(exporterId, ref)).toBe(1);
  expect(await register(exporterId, ref)).toBe(1);
  const versions = await Promise.all(Array.from({ length: 8 }, () => add(exporterId)));
  expect(versions.sort((a, b) => a - b)).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
});

it('has as current what the service took last: a rejected submission changes nothing', async () => {
  const { pool } = database;
  const exporterId = await newExporter();
  expect(await currentCredentials(pool, exporterId)).toBeNull();
  await markValid(pool, exporterId, await add(exporterId));
  await markRejected(pool, exporterId, await add(exporterId), 'credentials_rejected');
  await expectCurrent(exporterId, { version: 1, state: 'valid', reason: null });
  await markValid(pool, exporterId, await add(exporterId));
  await expectCurrent(exporterId, { version: 3, state: 'valid' });
});

it('keeps the secret of the current version alone', async () => {
  const { pool } = database;
  const exporterId = await newExporter();
  const before = await held();
  const first = await add(exporterId);
  expect(await checkableVersion(pool, exporterId)).toBe(first);
  await markValid(pool, exporterId, first);
  await markRejected(pool, exporterId, await add(exporterId), 'credentials_rejected');
  expect(await held()).toBe(before + 1);
  await markValid(pool, exporterId, await add(exporterId));
  expect(await held()).toBe(before + 1);
  expect(await checkableVersion(pool, exporterId)).toBe(3);
});

it('marks bad only what is current', async () => {
  const { pool } = database;
  const exporterId = await exporterWith(2);
  expect(await markBad(pool, exporterId, 1, 'credentials_invalid')).toBe(false);
  await expectCurrent(exporterId, { version: 2, state: 'valid' });
  expect(await markBad(pool, exporterId, 2, 'account_locked')).toBe(true);
  await expectCurrent(exporterId, { version: 2, state: 'bad', reason: 'account_locked' });
});

it('puts bad credentials on record that were never submitted here', async () => {
  const { pool } = database;
  const exporterId = await newExporter();
  expect(await markBad(pool, exporterId, 0, 'credentials_invalid')).toBe(true);
  await expectCurrent(exporterId, { version: 1, state: 'bad' });
  expect(await markBad(pool, exporterId, 0, 'credentials_invalid')).toBe(false);
});

it('names the runs that wait for credentials: those of open filings that pause for them', async () => {
  const { pool } = database;
  const exporterId = await newExporter();
  const [first, second] = [1, 2].map((n) => ({
    reference: `WAITS-${n}`,
    madeAt: new Date(),
    exporterId,
    rows: [{ sbCumInvoiceNumber: `${n}` }],
  }));
  const filingId = await tell(database, first!);
  await tell(database, second!);
  await pool.query(`UPDATE filings SET pause = 'credentials' WHERE filing_id = $1`, [filingId]);
  expect(await filingsWithoutCredentials(pool, exporterId)).toEqual(['file/test/WAITS-1']);
  await pool.query('UPDATE filings SET closed_at = now() WHERE filing_id = $1', [filingId]);
  expect(await filingsWithoutCredentials(pool, exporterId)).toEqual([]);
});

it('records a consent once, with a hash that shows a change', async () => {
  const { pool } = database;
  const exporterId = await newExporter();
  const given = { givenBy: 'asha', givenAt: new Date('2026-11-21T06:00:00Z'), statement: 'I consent.' };
  const consent = { mode: 'test' as const, exporterId, username: 'asha.portal', ...given };
  await recordConsent(pool, consent);
  await recordConsent(pool, consent);
  const [row, ...others] = await consentsOf(pool, exporterId);
  expect(others).toEqual([]);
  expect(row).toMatchObject({ accountHash: accountHashOf(consent), givenBy: 'asha', givenAt: consent.givenAt });
  expect(JSON.stringify(row)).not.toContain('asha.portal');
  expect(row?.evidenceHash).toBe(row && evidenceHashOf(row));
  const change = () => pool.query(`UPDATE consents SET given_by = 'somebody' WHERE exporter_id = $1`, [exporterId]);
  await expect(change()).rejects.toThrow('append-only');
  // Whoever owns the ledger can; the hash shows it.
  await pool.query('ALTER TABLE consents DISABLE TRIGGER consents_append_only');
  await change();
  await pool.query('ALTER TABLE consents ENABLE TRIGGER consents_append_only');
  const [changed] = await consentsOf(pool, exporterId);
  expect(changed && evidenceHashOf(changed)).not.toBe(changed?.evidenceHash);
});

describe('the fuse of credential checks', () => {
  const MINUTE = 60_000;
  const START = Date.UTC(2026, 10, 21, 6, 0);
  const key = { mode: 'test', exporterId: 'a' } as const;

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
});
