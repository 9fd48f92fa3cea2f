import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Small write-once objects, by which sends are counted. Names are plain path segments and sort as text. */
export interface Records {
  /**
   * Creates a record and flushes it to disk. @returns false if the name is taken. If it rejects with the system's
   * error, the complete record may exist all the same.
   */
  createRecord(name: string, content: Buffer): Promise<boolean>;
  /** The content of a record; null if there is none. */
  readRecord(name: string): Promise<Buffer | null>;
  /** Names of records below `folder` that sort after `after`, in order. Skips folders that sort before it. */
  recordsAfter(folder: string, after: string, limit: number): Promise<string[]>;
  /** The unique id of this store, created at first use. */
  storeId(): Promise<string>;
}

const NAME = /^[a-z0-9-]+(\/[A-Za-z0-9-]+)*$/u;
/** Name of the record with the store's id. */
export const STORE_ID = 'store-id';
const TEMPORARY = '.incoming-';

/** @throws RangeError for an invalid record name */
export function assertRecordName(name: string): void {
  if (!NAME.test(name)) throw new RangeError(`${JSON.stringify(name)} is not the name of a record.`);
}

/** Runs the work until it succeeded once. A failure is not cached, because the store may become available again. */
export function untilItWorks(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null;
  return () =>
    (done ??= work().catch((error: unknown) => {
      done = null;
      throw error;
    }));
}

/** The id of a store; the first caller creates it. */
export async function storeIdOf(records: Pick<Records, 'createRecord' | 'readRecord'>): Promise<string> {
  const known = await records.readRecord(STORE_ID);
  if (known) return known.toString('utf8').trim();
  await records.createRecord(STORE_ID, Buffer.from(`${randomUUID()}\n`));
  return (await records.readRecord(STORE_ID))?.toString('utf8').trim() ?? '';
}

/** Records as files below a folder, which `prepare` creates. */
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
      // Fallback without links: the name is taken before the content is complete.
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
    // A folder sorts with a trailing slash, as its content does; skip it if all its content sorts before `after`.
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
        // If the store's root is missing, the store is unavailable; if only `folder` is, it has no records.
        await readdir(root);
      }
      return names;
    },
    storeId: () => storeIdOf({ createRecord, readRecord }),
  };
}

/** Creates the folders between `root` and `folder`, never `root` itself: a store without it is unavailable. */
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
