import { randomUUID } from 'node:crypto';
import { open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const PERMISSION_BITS = 0o777;
/** What is written may hold names, account numbers and amounts: nobody but its owner reads it unless they say so. */
const PRIVATE = 0o600;

/**
 * Writes a file that a person asked for, whole or not at all. It is readable by its owner alone; a file that is there is
 * replaced in one step and keeps its permissions. The text goes to a name that nobody can guess beside it first, which a
 * failure takes away again. Where the path is no plain file (a terminal, a pipe) it is written to directly.
 *
 * @throws errors of the file system, such as a folder that does not exist
 */
export async function writeOutputFile(path: string, content: Buffer | string): Promise<void> {
  const before = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (before && !before.isFile()) return writeTo(path, 'w', PRIVATE, content);
  const mode = before ? before.mode & PERMISSION_BITS : PRIVATE;
  const unfinished = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
  try {
    await writeTo(unfinished, 'wx', mode, content);
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
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
