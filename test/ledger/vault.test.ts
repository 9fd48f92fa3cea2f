import { randomBytes } from 'node:crypto';
import { createVault, VaultError } from '../../src/ledger/vault';
import { createTestDatabase, type TestDatabase } from '../support/postgres';

const PASSWORD = 'S3cret-Password-42';
const old = { keyId: 'old', key: randomBytes(32) };
const young = { keyId: 'young', key: randomBytes(32) };
const credentials = { mode: 'test' as const, username: 'asha.portal', password: PASSWORD };

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(() => database?.drop());
beforeEach(() => database.pool.query('TRUNCATE vault_secrets CASCADE'));

async function codeOf(work: Promise<unknown> | (() => unknown)): Promise<string> {
  try {
    await (typeof work === 'function' ? work() : work);
  } catch (error) {
    expect(error).toBeInstanceOf(VaultError);
    expect(JSON.stringify(error) + String(error)).not.toContain(PASSWORD);
    return (error as VaultError).code;
  }
  throw new Error('nothing was thrown');
}

it('gives back what was put in, and keeps nothing of it in clear', async () => {
  const vault = createVault({ keys: [old] });
  const ref = await vault.put(database.pool, credentials);
  expect(await vault.open(database.pool, ref)).toEqual({ username: 'asha.portal', password: PASSWORD });
  const { rows } = await database.pool.query<{ row: string; bytes: Buffer }>(
    'SELECT v::text AS row, ciphertext AS bytes FROM vault_secrets v',
  );
  expect(rows[0]?.row).not.toContain('asha');
  expect(rows[0]?.bytes.includes(PASSWORD)).toBe(false);
});

it('encrypts the same secret differently each time', async () => {
  const vault = createVault({ keys: [old] });
  await vault.put(database.pool, credentials);
  await vault.put(database.pool, credentials);
  const { rows } = await database.pool.query('SELECT DISTINCT ciphertext FROM vault_secrets');
  expect(rows).toHaveLength(2);
});

it('opens only the row that it sealed: another reference, mode, key or byte is refused', async () => {
  const vault = createVault({ keys: [old] });
  const { pool } = database;
  const ref = await vault.put(pool, credentials);
  const other = await vault.put(pool, { ...credentials, password: 'another' });
  await pool.query(
    `UPDATE vault_secrets v SET nonce = o.nonce, ciphertext = o.ciphertext FROM vault_secrets o
      WHERE v.secret_ref = $1 AND o.secret_ref = $2`,
    [other, ref],
  );
  expect(await codeOf(vault.open(pool, other))).toBe('unreadable');
  await pool.query(`UPDATE vault_secrets SET mode = 'live' WHERE secret_ref = $1`, [ref]);
  expect(await codeOf(vault.open(pool, ref))).toBe('unreadable');
  await pool.query(
    `UPDATE vault_secrets SET mode = 'test', ciphertext = set_byte(ciphertext, 3, (get_byte(ciphertext, 3) + 1) % 256)`,
  );
  expect(await codeOf(vault.open(pool, ref))).toBe('unreadable');
  const impostor = createVault({ keys: [{ keyId: 'old', key: randomBytes(32) }] });
  expect(await codeOf(impostor.open(pool, ref))).toBe('unreadable');
});

it('removes on request', async () => {
  const vault = createVault({ keys: [old] });
  const ref = await vault.put(database.pool, credentials);
  expect(await vault.remove(database.pool, ref)).toBe(true);
  expect(await vault.remove(database.pool, ref)).toBe(false);
  expect(await codeOf(vault.open(database.pool, ref))).toBe('secret_missing');
  expect(await codeOf(vault.open(database.pool, 'no reference'))).toBe('secret_missing');
});

it('rotates to the first key, so that the old one can go', async () => {
  const { pool } = database;
  const before = createVault({ keys: [old] });
  const refs = [];
  for (let index = 0; index < 450; index += 1) refs.push(await before.put(pool, credentials));
  const during = createVault({ keys: [young, old] });
  refs.push(await during.put(pool, credentials));
  expect(await during.rotate(pool)).toEqual({ rotated: 450, kept: 1 });
  expect(await during.rotate(pool)).toEqual({ rotated: 0, kept: 451 });
  const after = createVault({ keys: [young] });
  for (const ref of [refs[0], refs[449], refs[450]]) {
    expect(await after.open(pool, ref ?? '')).toMatchObject({ password: PASSWORD });
  }
  expect(await codeOf(before.open(pool, refs[0] ?? ''))).toBe('key_missing');
});

it('refuses keys that are none, and credentials that are empty', async () => {
  expect(await codeOf(() => createVault({ keys: [] }))).toBe('keys_invalid');
  expect(await codeOf(() => createVault({ keys: [{ keyId: 'a', key: randomBytes(16) }] }))).toBe('keys_invalid');
  expect(await codeOf(() => createVault({ keys: [old, { ...young, keyId: 'old' }] }))).toBe('keys_invalid');
  const vault = createVault({ keys: [old] });
  expect(await codeOf(vault.put(database.pool, { ...credentials, password: '' }))).toBe('secret_empty');
  expect(await codeOf(vault.put(database.pool, { ...credentials, username: ' ' }))).toBe('secret_empty');
});

it('seals bytes for one purpose', () => {
  const vault = createVault({ keys: [old] });
  const sealed = vault.seal(Buffer.from('bytes'), 'purpose');
  expect(vault.unseal(sealed, 'purpose').toString()).toBe('bytes');
  expect(() => vault.unseal(sealed, 'another')).toThrow(VaultError);
});
