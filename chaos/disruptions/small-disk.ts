import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PIECE = 64 * 1024;

/** A folder on its own file system, which can be filled to the last byte. */
export interface SmallDisk {
  /** Takes all free space; writes fail with `ENOSPC` from then on. */
  fill(): Promise<void>;
  /** Frees the space again. */
  free(): Promise<void>;
  /** Unmounts it; its files are copied to `keepAt` first, where that is given. */
  unmount(keepAt?: string): Promise<void>;
}

/** Mounts a memory disk of this size at `folder`. @returns null where mounting is not permitted */
export async function mountSmallDisk(folder: string, megabytes: number): Promise<SmallDisk | null> {
  await mkdir(folder, { recursive: true });
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'ebrc-chaos', folder]);
  } catch {
    return null;
  }
  const filler = join(folder, '.filler');
  return {
    async fill() {
      const handle = await open(filler, 'a');
      try {
        const piece = randomBytes(PIECE);
        for (let size = PIECE; size >= 1; size = Math.floor(size / 2)) {
          while (await written(handle.appendFile(piece.subarray(0, size))));
        }
      } finally {
        await handle.close();
      }
    },
    free: () => rm(filler, { force: true }),
    async unmount(keepAt) {
      await rm(filler, { force: true });
      if (keepAt !== undefined) await cp(folder, keepAt, { recursive: true });
      // Lazily: a worker that is being stopped may still have a file open there.
      await run('umount', ['-l', folder]);
    },
  };
}

function written(write: Promise<void>): Promise<boolean> {
  return write.then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOSPC') return false;
      throw error;
    },
  );
}
