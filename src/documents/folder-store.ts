import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, mkdir, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { checkContent, ContentCheck } from './content-check';
import {
  assertSameContent,
  DocumentError,
  assertDocumentName,
  documentName,
  HANDED_IN,
  unreadable,
} from './stored-document';
import type { DocumentKind, DocumentStore, StoredDocument } from './stored-document';
import { claimName, ownedFolder, syncFolder, untilItWorks } from './records';

const TEMPORARY = '.incoming-';
/** Older temporary files belong to a process that died, because writing a document never takes that long. */
const LEFTOVER_AFTER_MS = 24 * 60 * 60 * 1_000;

/** A document store in a folder (a path or a `file:` URL), which is created if it does not exist. */
export function createFolderStore(root: string): DocumentStore {
  const folder = resolve(root.startsWith('file:') ? fileURLToPath(root) : root);
  const prepare = untilItWorks(() => prepareFolder(folder));

  function pathOf(name: string): string {
    assertDocumentName(name);
    return join(folder, name);
  }

  async function existing(name: string, kind: DocumentKind): Promise<StoredDocument | null> {
    const path = pathOf(name);
    if (!(await fileExists(path))) return null;
    const check = await checkContent(createReadStream(path), kind);
    return check.problem() === null ? check.stored(name, path) : null;
  }

  return {
    ...ownedFolder(folder, prepare),
    put: async (input) => {
      const { name: key, kind, mode, expectedBytes } = input;
      const source = 'stream' in input ? input.stream : Readable.from([input.buffer], { objectMode: false });
      await prepare();
      const name = documentName(key, kind, mode);
      const temporary = join(folder, `${TEMPORARY}${randomUUID()}`);
      try {
        const check = new ContentCheck(kind);
        await writeDurably(temporary, source, check);
        const problem = check.problem(expectedBytes);
        if (problem !== null) throw new DocumentError('bad_answer', name, `${key} was not stored: ${problem}.`);
        const stored = check.stored(name, pathOf(name));
        if (!(await takeName(temporary, pathOf(name)))) {
          const before = await existing(name, kind);
          if (before === null) await rename(temporary, pathOf(name));
          else assertSameContent(before, stored.sha256);
        }
        await syncFolder(folder);
        return stored;
      } finally {
        await rm(temporary, { force: true });
      }
    },
    find: ({ name, kind, mode }) => existing(documentName(name, kind, mode), kind),
    read: async (name) => readFile(pathOf(name)),
    exists: async (name) => fileExists(pathOf(name)),
    pathOf,
    probe: async () => {
      await prepare();
      const name = `${TEMPORARY}${randomUUID()}`;
      const path = join(folder, name);
      try {
        await writeFile(path, name, { flag: 'wx', mode: 0o600, flush: true });
        const read = await readFile(path, 'utf8');
        if (read !== name || !(await readdir(folder)).includes(name)) throw unreadable(folder);
      } finally {
        await rm(path, { force: true });
      }
    },
    setAside: async ({ name, kind, mode }) => {
      const path = pathOf(documentName(name, kind, mode));
      if (!(await fileExists(path))) return false;
      await rename(path, `${path}.damaged-${randomUUID()}`);
      await syncFolder(folder);
      return true;
    },
    removeHandedIn: async (before) => {
      await prepare();
      return removeOlder(folder, HANDED_IN.toUpperCase(), before.getTime());
    },
  };
}

async function prepareFolder(folder: string): Promise<void> {
  // Only for the worker's user, because the store holds rows, certificates and names.
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeOlder(folder, TEMPORARY, Date.now() - LEFTOVER_AFTER_MS);
}

/** Removes files whose names begin so and that were last written before a time. @returns how many */
async function removeOlder(folder: string, prefix: string, beforeMs: number): Promise<number> {
  let removed = 0;
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(folder, name);
    const modified = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Infinity,
    );
    if (modified >= beforeMs) continue;
    await rm(path, { force: true });
    removed += 1;
  }
  return removed;
}

/** Writes and flushes to disk, because a document that the ledger knows must survive a power failure. */
async function writeDurably(path: string, source: Readable, check: ContentCheck): Promise<void> {
  const handle = await open(path, 'wx', 0o640);
  try {
    await pipeline(source, check, (pieces: AsyncIterable<Buffer>) => writeFile(handle, pieces));
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Gives a finished file its name unless that is taken; if links are not supported, by a check and a rename. */
function takeName(temporary: string, path: string): Promise<boolean> {
  return claimName(temporary, path, async () => {
    if (await fileExists(path)) return false;
    await rename(temporary, path);
    return true;
  });
}

async function fileExists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
