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
  registerWaiter,
  removeWaiter,
  waitersOf,
} from '../../../src/ledger/vault/credentials';
import { consentsOf } from '../../support/consents';
import { saveExporter } from '../../../src/ledger/exporters/exporters';
import { createVault, handIn } from '../../../src/ledger/vault/vault';
import { useTestDatabase } from '../../support/postgres';
import { eventually } from '../../support/processes';

const vault = createVault({ keys: [{ id: 'k', key: randomBytes(32) }] });
const database = useTestDatabase();

beforeAll(async () => {
  await vault.publish(database.pool, 'test');
});

async function newExporter(): Promise<string> {
  const id = randomUUID();
  const nothing = { companyName: null, iec: null, address: null, isActive: null, hasDgftCredentials: null };
  const customer = { id, name: 'Asha', email: `${id}@example.test`, ...nothing, dgftApiStatus: null };
  await saveExporter(database.pool, customer, 'test', new Date());
  return id;
}

const secret = () =>
  handIn(database.pool, { mode: 'test', workflowId: 'onboard/test/u', username: 'u', password: 'p' });
const register = (exporterId: string, secretRef: string) =>
  addCredentials(database.pool, vault, { mode: 'test', exporterId, secretRef });
const add = async (exporterId: string) => register(exporterId, await secret());
const held = async () =>
  (await database.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM vault_secrets')).rows[0]?.n ?? 0;

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
  expect(await currentCredentials(pool, exporterId)).toMatchObject({ version: 1, state: 'valid', reason: null });
  await markValid(pool, exporterId, await add(exporterId));
  expect(await currentCredentials(pool, exporterId)).toMatchObject({ version: 3, state: 'valid' });
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
  const exporterId = await newExporter();
  await markValid(pool, exporterId, await add(exporterId));
  await markValid(pool, exporterId, await add(exporterId));
  expect(await markBad(pool, exporterId, 1, 'credentials_invalid')).toBe(false);
  expect(await currentCredentials(pool, exporterId)).toMatchObject({ version: 2, state: 'valid' });
  expect(await markBad(pool, exporterId, 2, 'account_locked')).toBe(true);
  expect(await currentCredentials(pool, exporterId)).toMatchObject({
    version: 2,
    state: 'bad',
    reason: 'account_locked',
  });
});

it('puts bad credentials on record that were never submitted here', async () => {
  const { pool } = database;
  const exporterId = await newExporter();
  expect(await markBad(pool, exporterId, 0, 'credentials_invalid')).toBe(true);
  expect(await currentCredentials(pool, exporterId)).toMatchObject({ version: 1, state: 'bad' });
  expect(await markBad(pool, exporterId, 0, 'credentials_invalid')).toBe(false);
  expect(await registerWaiter(pool, { workflowId: randomUUID(), exporterId, versionSeen: 0 })).toEqual({
    retryNow: false,
  });
});

it('tells a waiter to retry at once when newer credentials are valid already', async () => {
  const { pool } = database;
  const exporterId = await newExporter();
  await markValid(pool, exporterId, await add(exporterId));
  const workflowId = randomUUID();
  const waiter = { workflowId, exporterId, versionSeen: 1 };
  expect(await registerWaiter(pool, waiter)).toEqual({ retryNow: false });
  expect(await registerWaiter(pool, waiter)).toEqual({ retryNow: false });
  expect(await waitersOf(pool, exporterId)).toEqual([waiter]);
  const next = await add(exporterId);
  expect(await registerWaiter(pool, waiter)).toEqual({ retryNow: false });
  await markValid(pool, exporterId, next);
  expect(await registerWaiter(pool, waiter)).toEqual({ retryNow: true });
  expect(await waitersOf(pool, exporterId)).toEqual([]);
  await registerWaiter(pool, { ...waiter, versionSeen: 2 });
  await removeWaiter(pool, workflowId);
  expect(await waitersOf(pool, exporterId)).toEqual([]);
});

it('loses no wake-up: a waiter sees the new version, or whoever made it valid sees the waiter', async () => {
  const { pool } = database;
  const exporterId = await newExporter();
  await markValid(pool, exporterId, await add(exporterId));
  const next = await add(exporterId);
  const workflowId = randomUUID();
  // Holds the registration between its look at the versions and its own row: the moment in which a wake-up could be
  // lost.
  const holder = await pool.connect();
  await holder.query('BEGIN; LOCK TABLE credential_waiters IN SHARE MODE');
  const registered = registerWaiter(pool, { workflowId, exporterId, versionSeen: 1 });
  await eventually(async () => {
    const { rows } = await pool.query(
      `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'credential_waiters'::regclass`,
    );
    return rows.length > 0;
  });
  const seen = markValid(pool, exporterId, next).then(() => waitersOf(pool, exporterId));
  await Promise.race([seen, new Promise((resolve) => setTimeout(resolve, 300))]);
  await holder.query('COMMIT');
  holder.release();
  const { retryNow } = await registered;
  expect(retryNow || (await seen).some((waiter) => waiter.workflowId === workflowId)).toBe(true);
});

it('records a consent once, with a hash that shows a change', async () => {
  const { pool } = database;
  const exporterId = await newExporter();
  const consent = {
    mode: 'test' as const,
    exporterId,
    username: 'asha.portal',
    givenBy: 'asha',
    givenAt: new Date('2026-11-21T06:00:00Z'),
    statement: 'I consent.',
  };
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
