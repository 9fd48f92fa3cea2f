import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Small objects that are written once, by which sends are counted. Named by plain segments; names sort as text. */
export interface Records {
  /**
   * Writes a record, flushed to disk.
   * @returns false if the name is taken. Rejects with the system's error; then the
   * name may be taken all the same, by a complete record.
   */
  createRecord(name: string, content: Buffer): Promise<boolean>;
  /** The content of a record; null if there is none. */
  readRecord(name: string): Promise<Buffer | null>;
  /** Names of records below a folder after `after`, in order. Folders with nothing after it are not read. */
  recordsAfter(folder: string, after: string, limit: number): Promise<string[]>;
  /** The id that distinguishes this store from all others; created with the store. */
  storeId(): Promise<string>;
}

const NAME = /^[a-z0-9-]+(\/[A-Za-z0-9-]+)*$/u;
/** The record with the store's id. */
export const STORE_ID = 'store-id';
const TEMPORARY = '.incoming-';

/** @throws RangeError where it is not the name of a record */
export function assertRecordName(name: string): void {
  if (!NAME.test(name)) throw new RangeError(`${JSON.stringify(name)} is not the name of a record.`);
}

/** Runs its work until it has succeeded once: a failure is not kept, because the store may become available again. */
export function untilItWorks(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null;
  return () =>
    (done ??= work().catch((error: unknown) => {
      done = null;
      throw error;
    }));
}

/** The id of a store, which whoever asks first gives it. */
export async function storeIdOf(records: Pick<Records, 'createRecord' | 'readRecord'>): Promise<string> {
  const known = await records.readRecord(STORE_ID);
  if (known) return known.toString('utf8').trim();
  await records.createRecord(STORE_ID, Buffer.from(`${randomUUID()}\n`));
  return (await records.readRecord(STORE_ID))?.toString('utf8').trim() ?? '';
}

/** Records as files below a folder. `prepare` makes the folder. */
export function createRecordFiles(root: string, prepare: () => Promise<void>): Records {
  const pathOf = (name: string): string => {
    assertRecordName(name);
    return join(root, ...name.split('/'));
  };

  async function createRecord(name: string, content: Buffer): Promise<boolean> {
    const path = pathOf(name);
    await prepare();
    await makeFolder(root, dirname(path));
    const temporary = join(root, `${TEMPORARY}${randomUUID()}`);
    try {
      await writeExclusively(temporary, content);
      // Without links the name is claimed first.
      const writeAtOnce = () =>
        writeExclusively(path, content).then(
          () => true,
          (error: NodeJS.ErrnoException) => {
            if (error.code === 'EEXIST') return false;
            throw error;
          },
        );
      if (!(await claimName(temporary, path, writeAtOnce))) return false;
      await syncFolder(dirname(path));
      return true;
    } finally {
      await rm(temporary, { force: true });
    }
  }

  async function readRecord(name: string): Promise<Buffer | null> {
    return readFile(pathOf(name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
  }

  async function* walk(folder: string, after: string): AsyncGenerator<string> {
    const entries = await readdir(pathOf(folder), { withFileTypes: true });
    // A folder sorts as what is in it, and is left out where all of that is before `after`.
    const found = entries
      .map((entry) => `${folder}/${entry.name}${entry.isDirectory() ? '/' : ''}`)
      .filter((path) => path > after || (path.endsWith('/') && after.startsWith(path)))
      .sort();
    for (const path of found) {
      const name = path.replace(/\/$/u, '');
      if (!NAME.test(name)) continue;
      if (path === name) yield name;
      else yield* walk(name, after);
    }
  }

  return {
    createRecord,
    readRecord,
    recordsAfter: async (folder, after, limit) => {
      const names: string[] = [];
      try {
        for await (const name of walk(folder, after)) {
          names.push(name);
          if (names.length >= limit) break;
        }
      } catch (error) {
        const { code, path } = error as NodeJS.ErrnoException;
        if (code !== 'ENOENT' || path !== pathOf(folder)) throw error;
        // A store whose own folder is missing is unavailable; one that never had this folder has no records.
        await readdir(root);
      }
      return names;
    },
    storeId: () => storeIdOf({ createRecord, readRecord }),
  };
}

/** Creates the folders between `root` and `folder`; never `root` itself, because a store without it is unavailable. */
async function makeFolder(root: string, folder: string): Promise<void> {
  if (folder === root) return;
  try {
    await mkdir(folder, 0o700);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || dirname(folder) === root) throw error;
    await makeFolder(root, dirname(folder));
    return makeFolder(root, folder);
  }
  await syncFolder(dirname(folder));
}

async function writeExclusively(path: string, content: Buffer): Promise<void> {
  const handle = await open(path, 'wx', 0o640);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const NO_LINKS: readonly unknown[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/** Names a finished file by a link, which refuses a taken name. @param withoutLinks otherwise @returns false: taken */
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

/** Waits until a folder's entries are on the disk. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
