/** Files of a folder that appear complete or not at all, and the record of whose documents they are. */
import { randomUUID } from 'node:crypto';
import { link, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Whose documents a store has. */
export interface Owned {
  /** The id of the ledger whose documents these are; null: nobody's yet. */
  owner(): Promise<string | null>;
  /** Makes the store a ledger's, unless it is another's. @returns the id of the ledger whose it is */
  claim(ledgerId: string): Promise<string>;
}

/** Name of the record with the owner's id. */
export const OWNER = 'ledger-id';
const TEMPORARY = '.incoming-';

/** Runs the work until it succeeded once. A failure is not cached, because the store may become available again. */
export function untilItWorks(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null;
  return () =>
    (done ??= work().catch((error: unknown) => {
      done = null;
      throw error;
    }));
}

/** The record of a folder, which `prepare` creates. */
export function ownedFolder(root: string, prepare: () => Promise<void>): Owned {
  const path = join(root, OWNER);
  const owner = () =>
    readFile(path, 'utf8').then(
      (text) => text.trim(),
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null;
        throw error;
      },
    );
  return {
    owner,
    claim: async (ledgerId) => {
      const known = await owner();
      if (known !== null) return known;
      await prepare();
      const temporary = join(root, `${TEMPORARY}${randomUUID()}`);
      try {
        await writeExclusively(temporary, `${ledgerId}\n`);
        const claimed = await claimName(temporary, path, async () => {
          if ((await owner()) !== null) return false;
          await rename(temporary, path);
          return true;
        });
        if (claimed) await syncFolder(root);
      } finally {
        await rm(temporary, { force: true });
      }
      return (await owner()) ?? '';
    },
  };
}

async function writeExclusively(path: string, content: string): Promise<void> {
  const handle = await open(path, 'wx', 0o640);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const NO_LINKS: readonly unknown[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/** Names a finished file by a link, which fails for a taken name. @param withoutLinks fallback @returns false: taken */
export async function claimName(
  temporary: string,
  path: string,
  withoutLinks: () => Promise<boolean>,
): Promise<boolean> {
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    if (!NO_LINKS.includes(code)) throw error;
  }
  return withoutLinks();
}

/** Flushes a folder's entries to disk. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
