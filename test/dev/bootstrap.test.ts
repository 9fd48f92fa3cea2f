import { execFile, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { useFolder } from '../support/folder';
import { eventually, isAlive } from '../support/processes';

const ROOT = join(__dirname, '..', '..');

let folder: string;
useFolder((made) => (folder = made));
let cache: string;
let path: string;
let server: Server | undefined;

beforeEach(async () => {
  cache = join(folder, 'cache');
  path = join(folder, 'path');
  await mkdir(path);
  // A machine with nothing but a shell, tar and Node.
  for (const program of ['sh', 'tar', 'gzip']) {
    const found = spawnSync('which', [program], { encoding: 'utf8' }).stdout.trim();
    await symlink(found, join(path, program));
  }
});

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

/** A stand-in for Temporal's command line. */
async function fakeCli(at: string, serverVersion: string): Promise<string> {
  await writeFile(at, `#!/bin/sh\necho "temporal version 9.9.9 (Server ${serverVersion}, UI 2.42.1)"\n`);
  await chmod(at, 0o755);
  return at;
}

async function listen(listener: RequestListener): Promise<string> {
  const started = createServer(listener);
  server = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}`;
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

interface Outcome {
  code: number;
  said: string;
}

const environment = () => ({
  PATH: path,
  HOME: folder,
  XDG_CACHE_HOME: cache,
  TEMPORAL_DOWNLOAD_URL: 'http://127.0.0.1:1',
});

function bootstrap(args: string[], env: Record<string, string> = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(ROOT, 'scripts', 'bootstrap.mjs'), ...args],
      { env: { ...environment(), ...env } },
      (error, _, stderr) => resolve({ code: error ? Number(error.code) : 0, said: stderr }),
    );
  });
}

const installed = () => readdir(join(cache, 'ebrc-worker', 'bin')).catch(() => []);

it('prints nothing when everything is installed', async () => {
  await fakeCli(join(path, 'temporal'), '1.30.0');
  expect(await bootstrap(['temporal'])).toEqual({ code: 0, said: '' });
});

it('passes over what is too old or missing, each time with the reason, and names the ways to get it', async () => {
  await fakeCli(join(path, 'temporal'), '1.28.2');
  const { code, said } = await bootstrap(['temporal'], { TEMPORAL_CLI: '/nowhere/temporal' });
  expect(code).toBe(1);
  expect(said).toMatch(/TEMPORAL_CLI: \/nowhere\/temporal is not there or not executable; looking further/);
  expect(said).toMatch(/PATH: .* has Server 1\.28\.2, older than 1\.29; looking further/);
  expect(said).toMatch(/127\.0\.0\.1:1 cannot be reached/);
  expect(said).toMatch(/there is no Go on PATH/);
  expect(said).toMatch(/1\. install it .*\n\s+2\. set TEMPORAL_CLI .*\n\s+3\. install Go/);
  expect(await installed()).toEqual([]);
});

it('downloads once for two checkouts that start together, and finds it in the cache afterwards', async () => {
  const archive = join(folder, 'temporal.tar.gz');
  await fakeCli(join(folder, 'temporal'), '1.29.1');
  spawnSync('tar', ['-czf', archive, '-C', folder, 'temporal']);
  const asked: string[] = [];
  const url: string = await listen((request, response) => {
    asked.push(request.url ?? '');
    if (request.url?.endsWith('.tar.gz')) void readFile(archive).then((bytes) => response.end(bytes));
    else response.end(JSON.stringify({ archiveUrl: `${url}/archive/temporal.tar.gz`, fileToExtract: 'temporal' }));
  });
  const env = { TEMPORAL_DOWNLOAD_URL: url, TEMPORAL_DOWNLOAD_SHA256: sha256(await readFile(archive)) };
  const both = await Promise.all([bootstrap(['temporal'], env), bootstrap(['temporal'], env)]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  expect(asked).toEqual([
    expect.stringMatching(/^\/cli\/v1\.5\.1\?arch=\w+&platform=\w+&/),
    '/archive/temporal.tar.gz',
  ]);
  expect(await installed()).toEqual(['temporal']);
  expect(await bootstrap(['temporal'])).toEqual({ code: 0, said: '' });
});

it('uses no download and builds no module whose hash is another than the pinned one', async () => {
  const archive = join(folder, 'temporal.tar.gz');
  await fakeCli(join(folder, 'temporal'), '1.29.1');
  spawnSync('tar', ['-czf', archive, '-C', folder, 'temporal']);
  const url: string = await listen((request, response) => {
    if (request.url?.endsWith('.tar.gz')) void readFile(archive).then((bytes) => response.end(bytes));
    else response.end(JSON.stringify({ archiveUrl: `${url}/temporal.tar.gz`, fileToExtract: 'temporal' }));
  });
  await writeFile(
    join(path, 'go'),
    `#!/bin/sh\n[ "$1" = mod ] && echo '{"Sum":"h1:another"}' || touch ${folder}/built\n`,
  );
  await chmod(join(path, 'go'), 0o755);
  const { code, said } = await bootstrap(['temporal'], { TEMPORAL_DOWNLOAD_URL: url });
  expect(code).toBe(1);
  expect(said).toContain(`has the SHA-256 ${sha256(await readFile(archive))}, not`);
  expect(said).toMatch(/has the hash h1:another, not h1:.*: it is not built/);
  expect(await installed()).toEqual([]);
  await expect(readFile(join(folder, 'built'))).rejects.toThrow('ENOENT');
});

it('leaves no process, no draft and no lock behind when it is stopped', async () => {
  const go = join(path, 'go');
  await writeFile(
    go,
    `#!/bin/sh\necho $$ > ${join(folder, 'go.pid')}\nexec ${spawnSync('which', ['sleep'], { encoding: 'utf8' }).stdout.trim()} 600\n`,
  );
  await chmod(go, 0o755);
  const child = spawn(process.execPath, [join(ROOT, 'scripts', 'bootstrap.mjs'), 'temporal'], {
    env: environment(),
    stdio: 'ignore',
  });
  const pidOfGo = async () => Number(await readFile(join(folder, 'go.pid'), 'utf8').catch(() => ''));
  await eventually(async () => (await pidOfGo()) > 0);
  child.kill('SIGTERM');
  const [code] = (await once(child, 'close')) as [number];
  expect(code).toBe(143);
  const pid = await pidOfGo();
  await eventually(() => !isAlive(pid));
  expect(await installed()).toEqual([]);
  expect(await readdir(join(cache, 'ebrc-worker'))).toEqual(['bin']);
});
