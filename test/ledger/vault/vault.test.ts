import { randomBytes, randomUUID } from 'node:crypto';
import { EncryptionError, subKeys } from '../../../src/encryption/keys';
import { createVault, discard, handIn, type SecretUse } from '../../../src/ledger/vault/vault';
import { orphanedSecrets, removeOrphanedSecrets } from '../../../src/ledger/retention';
import { useTestDatabase } from '../../support/postgres';

const PASSWORD = 'S3cret-Password-42';
const old = { id: 'old', key: randomBytes(32) };
const young = { id: 'young', key: randomBytes(32) };
const ACCOUNT = { username: 'asha.portal', password: PASSWORD };
const credentials = { mode: 'test' as const, workflowId: 'onboard/test/asha', ...ACCOUNT };
const SUBMISSION: SecretUse = { purpose: 'submission', mode: 'test' };
const LOGIN = { mode: 'test' as const, exporterId: 'asha', version: 3 };
const LOGS_IN: SecretUse = { purpose: 'portal-login', ...LOGIN };

const database = useTestDatabase();

beforeEach(async () => {
  await database.pool.query('TRUNCATE vault_secrets, vault_keys CASCADE');
  await createVault({ keys: [old] }).publish(database.pool, 'test');
});

async function codeOf(work: Promise<unknown> | (() => unknown)): Promise<string> {
  try {
    await (typeof work === 'function' ? work() : work);
  } catch (error) {
    expect(error).toBeInstanceOf(EncryptionError);
    expect(JSON.stringify(error) + String(error)).not.toContain(PASSWORD);
    return (error as EncryptionError).code;
  }
  throw new Error('nothing was thrown');
}

it('gives back what was put in, and keeps nothing of it in clear', async () => {
  const vault = createVault({ keys: [old] });
  const ref = await handIn(database.pool, credentials);
  expect(await vault.open(database.pool, ref, SUBMISSION)).toEqual(ACCOUNT);
  const { rows } = await database.pool.query<{ row: string; bytes: Buffer }>(
    'SELECT v::text AS row, sealed AS bytes FROM vault_secrets v',
  );
  expect(rows[0]?.row).not.toContain('asha.portal');
  expect(rows[0]?.bytes.includes(PASSWORD)).toBe(false);
  // The same secret is sealed differently each time.
  await handIn(database.pool, credentials);
  expect(await database.select('SELECT DISTINCT sealed FROM vault_secrets')).toHaveLength(2);
});

it('opens a submission, and later the version that it became, for nothing else', async () => {
  const vault = createVault({ keys: [old] });
  const { pool } = database;
  const ref = await handIn(pool, credentials);
  expect(await codeOf(vault.open(pool, ref, LOGS_IN))).toBe('secret_missing');
  expect(await codeOf(vault.open(pool, ref, { ...SUBMISSION, mode: 'live' }))).toBe('secret_missing');
  await vault.assign(pool, ref, LOGIN);
  expect(await vault.open(pool, ref, LOGS_IN)).toEqual(ACCOUNT);
  for (const other of [
    SUBMISSION,
    { ...LOGS_IN, mode: 'live' as const },
    { ...LOGS_IN, exporterId: 'ravi' },
    { ...LOGS_IN, version: 4 },
  ]) {
    expect(await codeOf(vault.open(pool, ref, other))).toBe('secret_missing');
  }
  expect(await codeOf(vault.assign(pool, ref, { ...LOGIN, exporterId: 'ravi' }))).toBe('unreadable');
});

it.each([
  ['purpose', `purpose = 'submission', exporter_id = NULL, version = NULL`, SUBMISSION],
  ['mode', `mode = 'live'`, { ...LOGS_IN, mode: 'live' }],
  ['exporter', `exporter_id = 'ravi'`, { ...LOGS_IN, exporterId: 'ravi' }],
  ['version', `version = 4`, { ...LOGS_IN, version: 4 }],
  ['byte', 'sealed = set_byte(sealed, 3, (get_byte(sealed, 3) + 1) % 256)', LOGS_IN],
] as [string, string, SecretUse][])(
  'does not open a row whose %s was changed in the table',
  async (_what, set, use) => {
    const vault = createVault({ keys: [old] });
    const { pool } = database;
    const ref = await handIn(pool, credentials);
    await vault.assign(pool, ref, LOGIN);
    await pool.query(`UPDATE vault_secrets SET ${set} WHERE secret_ref = $1`, [ref]);
    expect(await codeOf(vault.open(pool, ref, use))).toBe('unreadable');
  },
);

it('does not open a row that was copied under another reference, nor with another key of its id', async () => {
  const vault = createVault({ keys: [old] });
  const { pool } = database;
  const ref = await handIn(pool, credentials);
  const other = await handIn(pool, { ...credentials, password: 'another' });
  await pool.query(
    `UPDATE vault_secrets v SET sealed = o.sealed FROM vault_secrets o
      WHERE v.secret_ref = $1 AND o.secret_ref = $2`,
    [other, ref],
  );
  expect(await codeOf(vault.open(pool, other, SUBMISSION))).toBe('unreadable');
  const impostor = createVault({ keys: [{ id: 'old', key: randomBytes(32) }] });
  expect(await codeOf(impostor.open(pool, ref, SUBMISSION))).toBe('unreadable');
});

it('discards what was handed in, and nothing that is a version', async () => {
  const vault = createVault({ keys: [old] });
  const { pool } = database;
  const ref = await handIn(pool, credentials);
  expect(await discard(pool, ref)).toBe(true);
  expect(await discard(pool, ref)).toBe(false);
  expect(await codeOf(vault.open(pool, ref, SUBMISSION))).toBe('secret_missing');
  expect(await codeOf(vault.open(pool, 'no reference', SUBMISSION))).toBe('secret_missing');
  const kept = await handIn(pool, credentials);
  await vault.assign(pool, kept, LOGIN);
  expect(await discard(pool, kept)).toBe(false);
});

it('rotates to the first key, so that the old one can go', async () => {
  const { pool } = database;
  const before = createVault({ keys: [old] });
  const refs: string[] = [];
  // More than are read at once.
  for (let index = 0; index < 205; index += 1) refs.push(await handIn(pool, credentials));
  await before.assign(pool, refs[0] ?? '', LOGIN);
  const during = createVault({ keys: [young, old] });
  // Workers that were not restarted yet have the old key alone: it stays published until they all have the new one.
  expect(await during.publish(pool, 'test')).toEqual({ replaced: null });
  refs.push(await handIn(pool, credentials));
  expect(await before.open(pool, refs[205] ?? '', SUBMISSION)).toMatchObject({ password: PASSWORD });
  expect(await during.rotate(pool)).toEqual({ rotated: 206, kept: 0, unreadable: [] });
  refs.push(await handIn(pool, credentials));
  expect(await during.rotate(pool)).toEqual({ rotated: 0, kept: 207, unreadable: [] });
  const after = createVault({ keys: [young] });
  expect(await after.publish(pool, 'test')).toEqual({ replaced: null });
  expect(await after.open(pool, refs[0] ?? '', LOGS_IN)).toMatchObject({
    password: PASSWORD,
  });
  for (const ref of refs.slice(205)) {
    expect(await after.open(pool, ref, SUBMISSION)).toMatchObject({ password: PASSWORD });
  }
  expect(await codeOf(before.open(pool, refs[1] ?? '', SUBMISSION))).toBe('key_missing');
});

it('assigns a secret that a rotation seals to the new key in between', async () => {
  const { pool } = database;
  const vault = createVault({ keys: [young, old] });
  const ref = await handIn(pool, credentials);
  let rotated = false;
  const rotatedAfterTheFirstRead = {
    query: async (text: string, values?: unknown[]) => {
      const result = await pool.query(text, values);
      if (!rotated) await vault.rotate(pool);
      rotated = true;
      return result;
    },
  } as unknown as typeof pool;
  await vault.assign(rotatedAfterTheFirstRead, ref, LOGIN);
  expect(await vault.open(pool, ref, LOGS_IN)).toMatchObject({ password: PASSWORD });
});

it('rotates on past what does not open, and lists it', async () => {
  const { pool } = database;
  const refs: string[] = [];
  for (const key of [
    { id: 'lost', key: randomBytes(32) },
    { ...young, key: randomBytes(32) },
  ]) {
    await createVault({ keys: [key] }).publish(pool, 'test');
    refs.push(await handIn(pool, credentials));
  }
  const vault = createVault({ keys: [young, old] });
  // What somebody else put there is replaced: nobody here opens what is sealed to it.
  expect(await vault.publish(pool, 'test')).toEqual({ replaced: 'young' });
  await createVault({ keys: [old] }).publish(pool, 'test');
  for (let index = 0; index < 5; index += 1) await handIn(pool, credentials);
  const { rotated, kept, unreadable } = await vault.rotate(pool);
  expect({ rotated, kept }).toEqual({ rotated: 5, kept: 0 });
  expect(unreadable.map(({ secretRef }) => secretRef).sort()).toEqual([...refs].sort());
  expect(unreadable.find(({ keyId }) => keyId === 'lost')?.problem).toMatch(/key lost, which is not in/);
});

it.each<[string, () => unknown]>([
  ['keys_invalid', () => createVault({ keys: [] })],
  ['keys_invalid', () => createVault({ keys: [{ id: 'a', key: randomBytes(16) }] })],
  ['keys_invalid', () => createVault({ keys: [old, { ...young, id: 'old' }] })],
  ['secret_empty', () => handIn(database.pool, { ...credentials, password: '' })],
  ['secret_empty', () => handIn(database.pool, { ...credentials, username: ' ' })],
  // The workers of this mode have published no key.
  ['not_published', () => handIn(database.pool, { ...credentials, mode: 'live' })],
])('refuses with %s what no secret can be kept by', async (code, work) => expect(await codeOf(work)).toBe(code));

it('has a key of its own for each purpose: the one for payloads opens no password', async () => {
  const [payloads] = subKeys([old], 'payloads');
  const [vault] = subKeys([old], 'vault');
  expect(payloads.id).toBe('old');
  expect(new Set([payloads, vault, old].map(({ key }) => key.toString('hex'))).size).toBe(3);
  expect(subKeys([old], 'payloads')).toEqual([payloads]);
  const ref = await handIn(database.pool, credentials);
  expect(await codeOf(createVault({ keys: [payloads] }).open(database.pool, ref, SUBMISSION))).toBe('unreadable');
});

it('finds secrets of no credential version, of one mode and of some age', async () => {
  const { pool } = database;
  const vault = createVault({ keys: [old] });
  const loose = await handIn(pool, credentials);
  await vault.publish(pool, 'live');
  await handIn(pool, { ...credentials, mode: 'live' });
  const version = await handIn(pool, credentials);
  const exporterId = randomUUID();
  await pool.query(
    `INSERT INTO exporters (exporter_id, mode, name, email) VALUES ($1, 'test', 'Asha', 'a@b.example')`,
    [exporterId],
  );
  await pool.query(
    `INSERT INTO credential_versions (exporter_id, version, secret_ref, state) VALUES ($1, 1, $2, 'unverified')`,
    [exporterId, version],
  );
  expect(await orphanedSecrets(pool, 'test', 60_000)).toEqual([]);
  expect(await orphanedSecrets(pool, 'test', 0)).toEqual([{ secretRef: loose, workflowId: 'onboard/test/asha' }]);
  expect(await removeOrphanedSecrets(pool, [loose, version])).toBe(1);
  expect(await vault.open(pool, version, SUBMISSION)).toMatchObject({ password: PASSWORD });
});
