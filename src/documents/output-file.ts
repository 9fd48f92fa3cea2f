import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const PERMISSION_BITS = 0o777;
/** The content may hold names, account numbers and amounts: readable by its owner alone unless they change it. */
const PRIVATE = 0o600;

/**
 * Writes a file that a person asked for, whole or not at all. It is readable by its owner alone; a file of ours that is
 * there is replaced in one step and keeps its permissions. The text goes to a name that nobody can guess beside it
 * first, which a failure takes away again. A symbolic link is replaced, never followed: in a shared folder somebody
 * else may have put it there. Where the path is a terminal or a pipe of ours it is written to directly.
 *
 * @throws RangeError where the path is a device or a pipe of somebody else; errors of the file system, such as a folder
 * that does not exist
 */
export async function writeOutputFile(path: string, content: Buffer | string): Promise<void> {
  const before = await statsOf(lstat, path);
  // `/dev/stdout` and the like are links to what this process has open already.
  const target = before?.isSymbolicLink() ? await statsOf(stat, path) : before;
  if (target && !target.isFile()) {
    if (!isTrusted(target)) throw new RangeError(`${path} is no plain file, and it belongs to somebody else.`);
    return writeTo(path, 'w', PRIVATE, content);
  }
  const mode = before?.isFile() && isOurs(before) ? before.mode & PERMISSION_BITS : PRIVATE;
  const unfinished = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
  try {
    await writeTo(unfinished, 'wx', mode, content);
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

async function statsOf(read: typeof lstat, path: string): Promise<Stats | undefined> {
  try {
    return await read(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Windows has no user ids; there folders are private unless they are shared on purpose. */
function isOurs({ uid }: Stats): boolean {
  return process.getuid === undefined || uid === process.getuid();
}

/** Ours, or the system's own, such as a terminal or `/dev/null`. */
function isTrusted(stats: Stats): boolean {
  return isOurs(stats) || stats.uid === 0;
}

async function writeTo(path: string, flags: 'w' | 'wx', mode: number, content: Buffer | string): Promise<void> {
  const handle = await open(path, flags, mode);
  try {
    // The umask may have taken bits away that the file had before.
    if (flags === 'wx') await handle.chmod(mode);
    await handle.writeFile(content);
  } finally {
    await handle.close();
  }
}
