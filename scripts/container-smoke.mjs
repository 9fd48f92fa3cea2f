// `npm run smoke`: builds the image, brings the sandbox profile up, onboards, files by the command line and over HTTP, kills the worker in the
// middle, restarts the sandbox, and checks the certificates; then the production profile on the same servers, with drills. Starts a Docker
// engine where none answers and this is root; is skipped, with a reason and exit code 0, where there is none, no Compose, or no base image.
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEngine } from './lib/docker-engine.mjs';
import { run } from './lib/run.mjs';
import { smokeProduction } from './lib/smoke-production.mjs';

const require = createRequire(import.meta.url);
require('./typescript.cjs');
const { freePort } = require('../dev/free-port.ts');
const { demoInvoice, demoMessage } = require('../dev/demo-message.ts');

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const MINUTE = 60_000;
const PROJECT = `ebrc-smoke-${process.pid}`;
/** Found free when it starts. */
const PORTS = { HTTP_PORT: '', SANDBOX_PORT: '', TEMPORAL_PORT: '', TEMPORAL_UI_PORT: '' };
const EXPORTER = 'accounts@kaveri.example';
/** One of the sandbox's portal accounts (docs/sandbox.md); not a real one. */
const ACCOUNT = { username: 'kaveri.softworks', password: 'Kaveri@Soft9', iec: 'AAKCK7719P' };

class Skipped extends Error {}

const began = Date.now();
const say = (text) =>
  process.stderr.write(`[${String(Math.round((Date.now() - began) / 1_000)).padStart(4)} s] ${text}\n`);

/** Compose, version 2 or 1; the folder is what the command line's container sees as its working folder. */
async function findCompose(folder, docker) {
  const env = { ...docker.env, ...PORTS, PWD: folder };
  const common = ['-p', PROJECT, '--project-directory', ROOT, '--profile', 'sandbox'];
  const runs =
    (command, first) =>
    (args, { env: more, ...options } = {}) =>
      run(command, [...first, ...common, ...args], { env: { ...env, ...more }, withinMs: 5 * MINUTE, ...options });
  const v2 = await docker.run(['compose', 'version']).catch(() => null);
  if (v2) return runs('docker', ['compose', '-f', join(ROOT, 'docker-compose.yml')]);
  if (!(await run('docker-compose', ['version']).catch(() => null))) throw new Skipped('there is no Docker Compose');
  // Version 1 refuses the project's name in the file.
  const file = join(folder, 'compose.yml');
  const text = await readFile(join(ROOT, 'docker-compose.yml'), 'utf8');
  await writeFile(file, text.replace(/^name: .*$/m, ''));
  return runs('docker-compose', ['--compatibility', '-f', file]);
}

/** The images of others are pulled where they are not here. */
async function needImages(docker) {
  const { parse } = require('yaml');
  const { services } = parse(await readFile(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true });
  const bases = [...(await readFile(join(ROOT, 'Dockerfile'), 'utf8')).matchAll(/^FROM (\S+)/gm)].map(
    ([, image]) => image,
  );
  const used = Object.values(services).flatMap(({ image, profiles }) => (profiles.includes('sandbox') ? [image] : []));
  for (const image of new Set([...bases, ...used].filter((each) => !each.startsWith('ebrc-worker:')))) {
    if (await docker.run(['image', 'inspect', image]).catch(() => null)) continue;
    await docker.run(['pull', '--quiet', image], { withinMs: 10 * MINUTE }).catch((error) => {
      throw new Skipped(`the image ${image} is not here and cannot be pulled: ${error.message}`);
    });
  }
}

async function eventually(what, look, withinMs = 3 * MINUTE) {
  const until = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > until) throw new Error(`${what}: not within ${withinMs / 1_000} s`);
    await sleep(1_000);
  }
}

function assert(condition, what) {
  if (!condition) throw new Error(`This does not hold: ${what}`);
  say(what);
}

async function smoke(compose, docker, folder) {
  const container = async (service) => (await compose(['ps', '-q', service])).trim().split('\n')[0];
  const ebrc = async (args, options) =>
    JSON.parse(await compose(['run', '--rm', '-T', 'ebrc', '--json', ...args], options));
  const certified = (reference) => async () => {
    const { state, rows } = await ebrc(['show', reference]);
    return state === 'certified' && rows.every(({ document }) => document !== null);
  };

  await compose(['up', '--detach', '--no-build'], { withinMs: 10 * MINUTE });
  const words = await eventually('the token', async () => {
    const log = await docker.run(['logs', await container('welcome')]);
    return /Token\s+(ebrc_\S+)/.exec(log);
  });
  say('everything is up, and a token was printed');

  const { username, password, iec } = ACCOUNT;
  const who = ['--name', 'Kaveri', '--email', EXPORTER, '--iec', iec, '--username', username];
  const { state } = await ebrc(['onboard', ...who, '--password-stdin', '--wait'], { input: password });
  assert(state === 'ready', 'the exporter was onboarded by the command line');
  const irms = await ebrc(['irms', EXPORTER]);
  await writeFile(join(folder, 'july.json'), JSON.stringify(demoMessage(irms)), { mode: 0o644 });
  await ebrc(['file', 'july.json', '--exporter', EXPORTER, '--reference', 'SMOKE-1']);

  await ebrc(['template', EXPORTER, '-o', 'july.xlsx']);
  assert((await stat(join(folder, 'july.xlsx'))).size > 0, 'files of the working folder are read and written');

  const worker = await container('worker-sandbox');
  await docker.run(['kill', worker]);
  say('killed the worker');
  const body = JSON.stringify({ exporter: EXPORTER, reference: 'SMOKE-2', message: demoInvoice(irms) });
  const headers = { authorization: `Bearer ${words[1]}`, 'content-type': 'application/json' };
  await docker.run(['start', worker]);
  const posted = await eventually('the filing over HTTP', async () => {
    const answer = await fetch(`http://127.0.0.1:${PORTS.HTTP_PORT}/v1/filings`, { method: 'POST', headers, body });
    return answer.status === 503 ? null : answer.status;
  });
  assert([200, 201].includes(posted), 'a filing was taken over HTTP');
  await eventually('certificates of the file', certified('SMOKE-1'));
  await eventually('certificates of the filing over HTTP', certified('SMOKE-2'));
  const before = await authority();
  assert(
    before.certificates === 4 && before.doubleFilings.length === 0,
    'four rows are certified, and none was filed twice',
  );

  await compose(['restart', 'sandbox']);
  await eventually('the sandbox', () => authority().catch(() => null));
  assert((await authority()).certificates === 4, 'the sandbox kept its certificates over a restart');
  const { counts } = await ebrc(['reconcile', '--exporter', EXPORTER, '--wait']);
  assert(
    Object.values(counts).every((count) => count === 0),
    'the ledger and the authority agree',
  );
  const listed = await docker.run(['exec', worker, 'ebrc', '--json', 'list']);
  assert(JSON.parse(listed).length === 2, 'the command line works beside the worker');
}

const authority = async () => (await fetch(`http://127.0.0.1:${PORTS.SANDBOX_PORT}/__sandbox/filings`)).json();

async function main() {
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-smoke-'));
  let docker;
  try {
    docker = await startEngine(say);
    if (!docker) throw new Skipped('no Docker engine answers, and none can be started here');
    const work = join(folder, 'work');
    // The command line's container reads and writes it as user 1000.
    await mkdir(work);
    await chmod(work, 0o777);
    await needImages(docker);
    for (const name of Object.keys(PORTS)) PORTS[name] = String(await freePort());
    const compose = await findCompose(work, docker);
    await compose(['build'], { withinMs: 15 * MINUTE });
    say('the image is built');
    try {
      await smoke(compose, docker, work);
      await compose(['down', '--volumes', '--timeout', '20']);
      await smokeProduction({
        ...{ compose, docker, folder, work, assert, say, eventually, authority },
        ...{ exporter: EXPORTER, account: ACCOUNT, messageOf: demoMessage },
      });
    } catch (error) {
      process.stderr.write(await compose(['logs', '--tail', '40']).catch(() => ''));
      throw error;
    } finally {
      await compose(['down', '--volumes', '--remove-orphans', '--timeout', '20']).catch((error) => say(error.message));
    }
    say('passed');
  } catch (error) {
    if (!(error instanceof Skipped)) throw error;
    say(`skipped: ${error.message}`);
  } finally {
    await docker?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
