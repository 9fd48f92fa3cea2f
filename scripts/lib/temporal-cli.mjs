import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, installInto, withLock } from './cache.mjs';
import { GO_MODULES } from './checksums.mjs';
import { downloadExecutable } from './download.mjs';
import { isExecutable, run, which } from './run.mjs';

/**
 * The newest release whose Go module can be installed (later ones have a `replace`); the download takes the same, so
 * that everybody has the same server.
 */
const VERSION = 'v1.5.1';
const MODULE = 'github.com/temporalio/cli';
const PROGRAM = `${MODULE}/cmd/temporal@${VERSION}`;
/** Task queue fairness came with this server. */
const OLDEST_SERVER = [1, 29];
const NAME = 'Temporal server';
const EXE = process.platform === 'win32' ? '.exe' : '';

const HOW_TO_GET_IT = `Temporal's command line could not be obtained. Any one of these three will do:
  1. install it (https://docs.temporal.io/cli, server ${OLDEST_SERVER.join('.')} or newer) and have \`temporal\` on PATH;
  2. set TEMPORAL_CLI to the path of such a binary;
  3. install Go 1.25 or newer (https://go.dev/dl) and run this again: it builds ${PROGRAM}.`;

function cachedCli(env = process.env) {
  return join(cacheFolder(env), 'bin', `temporal${EXE}`);
}

/** @returns why a binary cannot be used (`problem`), or its `version` */
async function examine(path) {
  if (!(await isExecutable(path))) return { problem: `${path} is not there or not executable` };
  const text = await run(path, ['--version'], { withinMs: 15_000 }).catch((error) => error);
  if (text instanceof Error) return { problem: text.message };
  const found = /Server (\d+)\.(\d+)\.\d+/.exec(text);
  if (!found) return { problem: `${path} does not print its server version: ${text.trim()}` };
  const [major, minor] = found.slice(1).map(Number);
  const newEnough = major > OLDEST_SERVER[0] || (major === OLDEST_SERVER[0] && minor >= OLDEST_SERVER[1]);
  if (!newEnough) return { problem: `${path} has ${found[0]}, older than ${OLDEST_SERVER.join('.')}` };
  return { problem: null, version: found[0] };
}

/**
 * The binary that is available without fetching anything: `{path, version}` or null; `say` gets the reason for each
 * place that was skipped.
 */
export async function findCli({ say = () => undefined, env = process.env } = {}) {
  const places = [
    ['TEMPORAL_CLI', env.TEMPORAL_CLI || null],
    ['PATH', await which('temporal')],
    ['cache', cachedCli(env)],
  ];
  for (const [place, path] of places) {
    // An empty cache is not reported; a program that was named or installed but cannot be used is.
    if (path === null || (place === 'cache' && !(await isExecutable(path)))) continue;
    const { problem, version } = await examine(path);
    if (!problem) return { path, version };
    say(NAME, `${place}: ${problem}; looking further`);
  }
  return null;
}

/**
 * Finds or fetches Temporal's command line with its development server. Throws an error that lists the ways to get it.
 */
export async function obtainCli(report) {
  const { say } = report;
  const found = await findCli({ say });
  if (found) return found;
  await withLock(
    'temporal',
    (message) => say(NAME, message),
    () => report.during(NAME, (progress) => fetchCli(say, progress)),
  );
  const { problem, version } = await examine(cachedCli());
  if (problem) throw new Error(`${problem}\n${HOW_TO_GET_IT}`);
  say(NAME, `ready, ${version}`);
  return { path: cachedCli(), version };
}

async function fetchCli(say, onProgress) {
  // Another checkout may have fetched it while this one waited for the lock.
  if ((await examine(cachedCli())).problem === null) return;
  for (const [what, attempt] of [
    [`downloading ${VERSION} as the SDK does`, download],
    [`building ${VERSION} with Go (about 3 minutes, once)`, goInstall],
  ]) {
    say(NAME, `${what} …`);
    try {
      return await attempt(onProgress);
    } catch (error) {
      say(NAME, `that failed (${error.message})`);
    }
  }
  throw new Error(HOW_TO_GET_IT);
}

function download(onProgress) {
  return installInto(cachedCli(), async (folder) => {
    const path = await downloadExecutable({ artifact: 'cli', version: VERSION, folder, onProgress });
    await chmod(path, 0o755);
    return path;
  });
}

/**
 * Go checks modules against its public database, but a setting can switch that off; so the module's hash is pinned
 * here.
 */
async function checkModule() {
  const name = `${MODULE}@${VERSION}`;
  const found = await run('go', ['mod', 'download', '-json', name], { env: { GOFLAGS: '' }, withinMs: 10 * 60_000 });
  const { Sum, Error: problem } = JSON.parse(found);
  if (problem) throw new Error(problem);
  if (Sum !== GO_MODULES[name])
    throw new Error(`${name} has the hash ${Sum}, not ${GO_MODULES[name]}: it is not built`);
}

/** About how many packages the build compiles, from scratch. */
const PACKAGES = 1_300;

async function goInstall(onProgress) {
  if (!(await which('go'))) throw new Error('there is no Go on PATH');
  let packages = 0;
  return installInto(cachedCli(), async (folder) => {
    onProgress('fetching modules');
    await checkModule();
    await run('go', ['install', '-v', '-ldflags', '-s -w', PROGRAM], {
      env: { GOBIN: folder, GOFLAGS: '' },
      withinMs: 30 * 60_000,
      // `-v` prints the name of each compiled package on a line; messages about fetched modules contain blanks.
      onLine: (line) => {
        if (!/^[\w./-]+$/.test(line)) return;
        packages += 1;
        onProgress(`${packages} of about ${PACKAGES} packages compiled`);
      },
    });
    return join(folder, `temporal${EXE}`);
  });
}
