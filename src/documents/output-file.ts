import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, open, readlink, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';

/** Content of a file; in pieces if it is too large for memory. */
type Content = Buffer | string | AsyncIterable<Buffer>;

const PERMISSION_BITS = 0o777;
/** Only the owner may read new files, because they may name people, accounts and amounts. */
const PRIVATE = 0o600;

/**
 * Writes a file completely or not at all, readable by its owner; a replaced file of ours keeps its permissions. Writes
 * to an unpredictable name beside it first. A symbolic link is replaced, never followed, because somebody else may have
 * created it.
 * @throws RangeError for somebody else's device or pipe; errors of the file system
 */
export async function writeOutputFile(path: string, content: Content): Promise<void> {
  const before = await statsOf(lstat, path);
  const target = before?.isSymbolicLink() ? await statsOf(stat, path) : before;
  // `/dev/stdout` and the like are links to open files of this process; append to them.
  if (before?.isSymbolicLink() && (await readlink(path)).startsWith('/proc/self/fd/'))
    return writeTo(path, 'a', PRIVATE, content);
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

/** Whether a file belongs to our user. Always on Windows, which has no user ids and private folders by default. */
function isOurs({ uid }: Stats): boolean {
  return process.getuid === undefined || uid === process.getuid();
}

/** Whether a file is ours or the system's, such as `/dev/null`. */
function isTrusted(stats: Stats): boolean {
  return isOurs(stats) || stats.uid === 0;
}

async function writeTo(path: string, flags: 'a' | 'w' | 'wx', mode: number, content: Content): Promise<void> {
  const handle = await open(path, flags, mode);
  try {
    // The umask may have removed permissions that the replaced file had.
    if (flags === 'wx') await handle.chmod(mode);
    await writeFile(handle, content);
  } finally {
    await handle.close();
  }
}

/** A file of a zip. `content` is called when its turn comes, so that only one is in memory at a time. */
export interface ZippedFile {
  name: string;
  content: () => Promise<Buffer | string> | Buffer | string;
  /** Whether the content is compressed already, as PDFs and workbooks are. */
  compressed?: boolean;
}

/** A zip that is made while it is read. A file whose `content` fails, fails the stream. */
export async function zipStream(entries: readonly ZippedFile[]): Promise<Readable> {
  const { default: JsZip } = await import('jszip');
  const zip = new JsZip();
  for (const { name, content, compressed = false } of entries) {
    const pieces = async function* () {
      yield Buffer.from(await content());
    };
    const compression = compressed ? 'STORE' : 'DEFLATE';
    zip.file(name, Readable.from(pieces(), { objectMode: false }), { compression, createFolders: false });
  }
  return new Readable().wrap(zip.generateNodeStream({ streamFiles: true }));
}
