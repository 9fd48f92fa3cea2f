import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { onExit } from './cleanup.mjs';

/** Shared by all checkouts of this user: `$XDG_CACHE_HOME/ebrc-worker`, else `~/.cache/ebrc-worker`. */
export function cacheFolder(env = process.env) {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'ebrc-worker');
}

/**
 * Builds something in a draft folder next to `target` and renames it into place, so that no other process sees an
 * incomplete one. `build` gets the draft folder and returns the path in it that becomes `target`.
 */
export async function installInto(target, build) {
  await mkdir(dirname(target), { recursive: true });
  const draft = await mkdtemp(`${target}.draft-`);
  const cancel = onExit(() => rmSync(draft, { recursive: true, force: true }));
  try {
    const built = await build(draft);
    await rename(built, target).catch(async (error) => {
      // A folder cannot replace a folder: another checkout was first, and what it put there is the same.
      if (!(await stat(target).catch(() => null))) throw error;
    });
    return target;
  } finally {
    await rm(draft, { recursive: true, force: true });
    cancel();
  }
}

/**
 * Lets one process at a time fetch something; the others wait, and find it in the cache afterwards. A lock whose
 * process has exited is taken over. The lock only saves work: correctness of the cache rests on `installInto`.
 */
export async function withLock(name, onWaiting, work) {
  const path = join(cacheFolder(), `${name}.lock`);
  await mkdir(dirname(path), { recursive: true });
  for (let waited = false; !(await takeLock(path)); waited = true) {
    if (!waited) onWaiting(`another checkout is fetching it (remove ${path} if that is not so)`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const cancel = onExit(() => rmSync(path, { force: true }));
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
    cancel();
  }
}

async function takeLock(path) {
  try {
    await writeFile(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  const holder = Number(await readFile(path, 'utf8').catch(() => ''));
  // A lock file is empty for a moment while it is being created.
  const age = Date.now() - ((await stat(path).catch(() => null))?.mtimeMs ?? Date.now());
  if ((holder > 0 && !isAlive(holder)) || (!holder && age > 10_000)) await rm(path, { force: true });
  return false;
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
