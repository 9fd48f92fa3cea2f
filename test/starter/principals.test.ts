/** `ebrc principals`: who may use the HTTP API, and their tokens. */
import { createHash } from 'node:crypto';
import type { PrincipalEntry, PrincipalWithToken } from '../../src/starter/principals';
import { principalOfToken } from '../../src/ledger/principals/principals';
import { EXPORTER, knowExporter } from '../ledger/filed';
import { ebrc } from '../support/command-line';
import { useTestDatabase } from '../support/postgres';

const ledger = useTestDatabase();
let env: Record<string, string>;
beforeAll(() => {
  env = { DATABASE_URL: ledger.url, EBRC_MODE: 'test' };
});

const run = (...args: string[]) => ebrc(['principals', ...args, '--json'], { env });
const add = async (...args: string[]) => (await run('add', ...args)).json<PrincipalWithToken>();
const whose = async (token: string) => (await principalOfToken(ledger.pool, 'test', token))?.name ?? null;
const daysPass = (days: number) =>
  ledger.pool.query("UPDATE principal_tokens SET ends_at = ends_at - $1 * interval '1 day'", [days]);

it('prints a token once, and keeps its hash alone', async () => {
  const added = await add('Asha Rao', '--role', 'maker', '--role', 'viewer');
  expect(added).toMatchObject({ name: 'Asha Rao', roles: ['maker', 'viewer'], system: false, exporters: null });
  expect(added.token).toMatch(/^ebrc_test_[\w-]{43}$/);
  expect(await whose(added.token)).toBe('Asha Rao');
  const { rows } = await ledger.pool.query<{ all: string }>(
    `SELECT (SELECT json_agg(p) FROM principals p)::text || (SELECT json_agg(t) FROM principal_tokens t)::text
       || (SELECT json_agg(a) FROM audit_events a)::text AS all`,
  );
  expect(rows[0]?.all).toContain(createHash('sha256').update(added.token).digest('hex'));
  expect(rows[0]?.all).not.toContain(added.token);
  expect((await run('list')).stdout).not.toContain(added.token);
});

it('shows the exporters that a principal may see by their names', async () => {
  await knowExporter(ledger);
  await add('clerk', '--role', 'viewer', '--exporter', EXPORTER);
  expect((await ebrc(['principals', 'list'], { env })).stdout).toMatch(/clerk\tperson\tviewer\tAsha Exports\t/u);
});

it('shows at which identity provider a person signs in', async () => {
  await ledger.pool.query(
    "SELECT person_of_provider('test', 'https://id.example', 'sub-1', 'meera', 'meera', '{checker}')",
  );
  const all = (await run('list')).json<PrincipalEntry[]>();
  const issuers = Object.fromEntries(all.map(({ name, issuer }) => [name, issuer]));
  expect(issuers).toMatchObject({ meera: 'https://id.example', clerk: null });
});

it('takes names that count as the same for the same principal', async () => {
  const { principal } = await add('ravi', '--role', 'checker');
  for (const name of ['Ravi', 'ra\u00advi', 'RAVI.', ' ravi']) {
    const { code, stdout } = await run('add', name, '--role', 'viewer');
    // An invisible character is refused as such.
    expect([name, [2, 3].includes(code ?? 0)]).toEqual([name, true]);
    expect(stdout).toMatch(/name_taken|cannot name a principal/);
  }
  await run('remove', 'ravi');
  expect((await add('RAVI', '--role', 'viewer')).principal).toBe(principal);
});

it('refuses roles and names that cannot be', async () => {
  for (const args of [
    ['x'],
    ['x', '--role', 'owner'],
    ['x', '--role', 'checker', '--system'],
    ['...', '--role', 'viewer'],
    ['x'.repeat(101), '--role', 'viewer'],
    ['x', '--role', 'viewer', '--expires', '99999999d'],
    ['x', '--role', 'viewer', '--expires', '0s'],
  ]) {
    expect([args, (await run('add', ...args)).code]).toEqual([args, 2]);
  }
  expect((await run('add', 'x', '--role', 'viewer', '--exporter', 'nobody@x.example')).code).toBe(3);
  expect((await run('rotate', 'nobody')).code).toBe(3);
});

it('takes two tokens for a day after a rotation, and never three', async () => {
  const first = await add('erp', '--role', 'maker', '--system');
  const second = (await run('rotate', 'erp')).json<PrincipalWithToken>();
  expect(await Promise.all([first, second].map(({ token }) => whose(token)))).toEqual(['erp', 'erp']);
  const third = (await run('rotate', 'ERP')).json<PrincipalWithToken>();
  expect(await Promise.all([first, second, third].map(({ token }) => whose(token)))).toEqual([null, 'erp', 'erp']);
  await daysPass(1);
  expect(await Promise.all([second, third].map(({ token }) => whose(token)))).toEqual([null, 'erp']);
});

it('ends a token that leaked at once', async () => {
  const leaked = await add('leaky', '--role', 'viewer');
  const rotated = (await run('rotate', 'leaky', '--now')).json<PrincipalWithToken & { previousEndsAt: string }>();
  expect(await Promise.all([leaked, rotated].map(({ token }) => whose(token)))).toEqual([null, 'leaky']);
  expect(Date.parse(rotated.previousEndsAt)).toBeLessThanOrEqual(Date.now() + 1_000);
  const { rows } = await ledger.pool.query("SELECT FROM audit_events WHERE action LIKE 'principals rotate --now %'");
  expect(rows).toHaveLength(1);
});

it('ends the tokens of a principal that is removed, or whose time is over', async () => {
  const { token } = await add('temp', '--role', 'viewer', '--expires', '90d');
  expect(await whose(token)).toBe('temp');
  await ledger.pool.query("UPDATE principals SET expires_at = now() WHERE name = 'temp'");
  expect(await whose(token)).toBeNull();
  await ledger.pool.query("UPDATE principals SET expires_at = NULL WHERE name = 'temp'");
  expect((await run('remove', 'temp')).code).toBe(0);
  expect(await whose(token)).toBeNull();
  expect((await run('list')).stdout).not.toContain('temp');
});

it('takes a token in its own mode alone', async () => {
  const { token } = await add('mode', '--role', 'viewer');
  expect(await principalOfToken(ledger.pool, 'live', token)).toBeNull();
});

it('records every change, in a table that nobody changes', async () => {
  const { rows } = await ledger.pool.query<{ action: string }>('SELECT action FROM audit_events');
  const actions = rows.map(({ action }) => action.split(' (')[0]);
  expect(new Set(actions)).toEqual(
    new Set(['principals add', 'principals rotate', 'principals rotate --now', 'principals remove']),
  );
  await expect(ledger.pool.query("UPDATE audit_events SET principal = 'x'")).rejects.toThrow('append-only');
  await expect(ledger.pool.query('DELETE FROM audit_events')).rejects.toThrow('append-only');
  await expect(ledger.pool.query('TRUNCATE audit_events')).rejects.toThrow('append-only');
});
