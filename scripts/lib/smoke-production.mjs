// The production profile of the smoke run, on the sandbox's servers as "servers of your own": with --strict, client certificates for Temporal and
// documents in a bucket; secrets in files, a filing, both phases of a new key, a Temporal that lost everything, and the erasure of an exporter, as
// docs/operations.md tells them.
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeStrict } from './smoke-strict.mjs';

const OPERATIONS = fileURLToPath(new URL('../../docs/operations.md', import.meta.url));
const REFERENCE = 'PRODUCTION-1';
const LOGINS = { DATABASE_URL: 'ebrc_worker', DATABASE_URL_SERVE: 'ebrc_http', DATABASE_URL_OWNER: 'ebrc' };
const SECRETS = [...Object.keys(LOGINS), 'EBRC_API_KEY', 'EBRC_ENCRYPTION_KEY', 'EBRC_PAYLOAD_KEY'];
const SETTINGS = {
  EBRC_API_URL: 'http://sandbox:8090/api/v1',
  EBRC_MODE: 'test',
  TEMPORAL_ADDRESS: 'temporal:7233',
  TEMPORAL_NAMESPACE: 'default',
  TEMPORAL_TLS: 'false',
  EBRC_POLL_FIRST: '5s',
  EBRC_POLL_MIN: '2s',
  EBRC_POLL_MAX: '5s',
};
const newKey = (id) => `${id}:${randomBytes(32).toString('base64')}`;

/** @param tools what the smoke run has: its `compose`, the engine, its folders, exporter and assertions */
export async function smokeProduction(tools) {
  const { docker, folder, work, exporter, account, messageOf, assert, say, eventually, authority } = tools;
  const secrets = join(folder, 'secrets');
  const fileOf = (name) => join(secrets, name);
  const plain = { args: [], env: {}, tls: false, bucket: null };
  const strict = process.argv.includes('--strict') ? await makeStrict(folder, say) : plain;
  const files = Object.fromEntries(SECRETS.map((name) => [`${name}_FILE`, fileOf(name)]));
  const env = { ...SETTINGS, ...files, ...strict.env };
  const compose = (args, options) =>
    tools.compose([...strict.args, '--profile', 'production', ...args], { ...options, env });
  const run = (service, ...args) => compose(['run', '--rm', '-T', service, ...args]);
  const refusal = (...args) => compose(['run', '--rm', '-T', ...args]).then(() => 'nothing', String);
  const ebrc = async (...args) => JSON.parse(await run('ebrc-production', '--json', ...args));
  const worker = async () => (await compose(['ps', '-q', 'worker'])).trim();
  const healthy = () =>
    eventually('a worker that is ready', async () => {
      const state = await docker.run(['inspect', '--format', '{{.State.Health.Status}}', await worker()]);
      return state.trim() === 'healthy';
    });

  /** As a user of the sandbox's PostgreSQL, each of which has its name for a password. All statements, one after the other. */
  const sql = async (user, database, text) => {
    const postgres = (await compose(['ps', '-q', 'postgres'])).trim();
    const psql = ['psql', '-h', '127.0.0.1', '-U', user, '-d', database, '-v', 'ON_ERROR_STOP=1'];
    return docker.run(['exec', '--interactive', '--env', `PGPASSWORD=${user}`, postgres, ...psql], { input: text });
  };

  const servers = ['sandbox', 'temporal-namespace', ...(strict.bucket ? [strict.bucket] : [])];
  await compose(['up', '--detach', '--no-build', ...servers], { withinMs: 300_000 });
  await mkdir(secrets);
  const [first, second] = [newKey('k1'), newKey('k2')];
  const write = (name, value) => writeFile(fileOf(name), value);
  for (const [name, user] of Object.entries(LOGINS)) await write(name, `postgres://${user}:${user}@postgres:5432/ebrc`);
  await write('EBRC_API_KEY', 'dev_sandbox_key');
  await write('EBRC_ENCRYPTION_KEY', first);
  await write('EBRC_PAYLOAD_KEY', newKey('p1'));

  await chmod(fileOf('DATABASE_URL_OWNER'), 0o600);
  assert((await refusal('migrate')).includes('mode 0600'), 'a secret that cannot be read is named, with its mode');
  for (const name of SECRETS) await chmod(fileOf(name), 0o444);
  const twice = await refusal('-e', 'DATABASE_URL=postgres://x/y', 'migrate');
  assert(twice.includes('and so is DATABASE_URL'), 'a secret that is set twice is refused');

  await compose(['up', '--detach', '--no-build', 'worker', 'http-api'], { withinMs: 300_000 });
  await healthy();
  say('the production profile is up');
  const { username, password, iec } = account;
  const who = ['--name', 'Kaveri', '--email', exporter, '--iec', iec, '--username', username, '--password-stdin'];
  const onboarding = ['run', '--rm', '-T', 'ebrc-production', '--json', 'onboard', ...who, '--wait'];
  const { state } = JSON.parse(await compose(onboarding, { input: password }));
  assert(state === 'ready', 'an exporter was onboarded, by a command line without the key of passwords');
  await ebrc('schedules', 'apply');
  if (strict.tls) {
    const bare = ['CERT', 'KEY'].flatMap((part) => ['-e', `TEMPORAL_TLS_CLIENT_${part}_PATH=`]);
    const refused = await refusal(...bare, 'ebrc-production', 'schedules', 'apply');
    assert(/Temporal/.test(refused), 'Temporal is not reached without a client certificate');
  }
  const askDoctor = async (when) => {
    const shell = ['exec', await worker(), 'sh', '-c', 'ebrc --json doctor || true'];
    const found = JSON.parse(await docker.run(shell));
    const wrong = found.filter(({ ok }) => !ok).map(({ check, message }) => `${check}: ${message}`);
    if (wrong.length > 0) throw new Error(`the doctor ${when}: ${wrong.join('; ')}`);
    say(`the doctor finds nothing wrong ${when}`);
  };
  await askDoctor('at first');

  const restart = async (keys) => {
    await write('EBRC_ENCRYPTION_KEY', keys);
    await compose(['restart', '--timeout', '120', 'worker'], { withinMs: 180_000 });
    await healthy();
  };
  await restart(`${first},${second}`);
  await restart(`${second},${first}`);
  const rotated = JSON.parse(await docker.run(['exec', await worker(), 'ebrc', '--json', 'vault', 'rotate']));
  assert(rotated.rotated === 1 && rotated.unreadable.length === 0, 'the password was sealed to the new key');
  await restart(second);

  const irms = await ebrc('irms', exporter, '--refresh');
  await writeFile(join(work, 'production.json'), JSON.stringify(messageOf(irms)), { mode: 0o644 });
  await ebrc('file', 'production.json', '--exporter', exporter, '--reference', REFERENCE);
  await eventually('a filing that was sent', async () => (await ebrc('show', REFERENCE)).state === 'processing');
  // Its databases, and its container with what it may keep there.
  await compose(['rm', '--stop', '--force', 'temporal', 'temporal-schema', 'temporal-namespace']);
  for (const name of ['temporal', 'temporal_visibility'])
    await sql('postgres', 'postgres', `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  await compose(['up', '--detach', '--no-build', 'temporal-namespace'], { withinMs: 300_000 });
  say('Temporal lost everything, and started empty');
  const resumed = await eventually('resuming', () => ebrc('resume', '--all').catch(() => null));
  assert(JSON.stringify(resumed).includes(REFERENCE), 'the filing was resumed from the ledger');
  await ebrc('schedules', 'apply');
  await eventually('its certificates', async () => {
    const filing = await ebrc('show', REFERENCE);
    return filing.state === 'certified' && filing.rows.every(({ document }) => document !== null);
  });
  const { doubleFilings } = await authority();
  assert(doubleFilings.length === 0, 'it was certified with the new key, and nothing was filed twice');
  if (strict.bucket) {
    const container = (await compose(['ps', '-q', strict.bucket])).trim();
    const kept = await docker.run(['exec', container, 'find', '/tmp/data/ebrc/production', '-type', 'f']);
    assert(/\/sent\//.test(kept) && /\.pdf$/m.test(kept), 'the sends and the certificates are in the bucket');
  }

  const statements = /^## Erasure[^]*?```sql\n([^]*?)```/m.exec(await readFile(OPERATIONS, 'utf8'))?.[1] ?? '';
  const erased = await sql('ebrc', 'ebrc', statements.replaceAll('accounts@asha.example', exporter));
  assert(erased.includes('DELETE 1'), 'the password of an exporter was erased, by the statements of the documentation');
  await askDoctor('after that');
  assert((await ebrc('show', REFERENCE)).state === 'certified', 'what was filed is still known');
  const again = ['file', 'production.json', '--exporter', exporter, '--reference', 'PRODUCTION-2', '--wait'];
  const answer = await refusal('ebrc-production', ...again);
  assert(/code [34]/.test(answer) && (await authority()).doubleFilings.length === 0, 'and is not filed a second time');
}
