import { promisify } from 'node:util';
import { crc32, inflateRaw, inflateRawSync } from 'node:zlib';
import { type Entry, type ZipFile, fromBufferPromise } from 'yauzl';
import { WorkbookRefused } from './limits';

/** A part of a workbook as stored in the zip file. */
export interface ZipEntry {
  /** As spelled in the directory. */
  name: string;
  /** Unpacked size as the directory declares it. */
  size: number;
  packed: Buffer;
  method: number;
  crc: number;
}

export const STORED = 0;
export const DEFLATED = 8;

/**
 * Unpacking a part of this size takes less time than starting a thread for it; a larger one must not block everything
 * else.
 */
const UNPACKED_AT_ONCE = 4 * 1024 * 1024;

const inflate = promisify(inflateRaw);

/**
 * The key of a part. Names of parts do not differ by case or percent-encoding (ECMA-376 part 2, "Part names"), and some
 * programs write both.
 */
export function partKey(name: string): string {
  return decoded(name).replace(/^\/+/, '').toLowerCase();
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/**
 * Reads the directory of a zip file, by {@link partKey}. Nothing is unpacked.
 * @throws WorkbookRefused (`damaged`, `encrypted`, `zip_bomb`)
 */
export async function readZip(file: Buffer, maxEntries: number): Promise<Map<string, ZipEntry>> {
  let zip: ZipFile;
  try {
    zip = await fromBufferPromise(file, { decodeStrings: false });
  } catch {
    throw damaged();
  }
  if (zip.entryCount > maxEntries) {
    throw new WorkbookRefused(
      'zip_bomb',
      `The file has ${zip.entryCount} parts, more than the ${maxEntries} that a workbook may have. Save it anew as .xlsx.`,
    );
  }
  const entries = new Map<string, ZipEntry>();
  try {
    for await (const entry of zip.eachEntry()) {
      const part = await partOf(file, zip, entry);
      // Two parts with the same name: programs differ in which one they read.
      if (entries.has(partKey(part.name))) throw damaged();
      entries.set(partKey(part.name), part);
    }
  } catch (error) {
    throw error instanceof WorkbookRefused ? error : damaged();
  }
  return entries;
}

async function partOf(file: Buffer, zip: ZipFile, entry: Entry): Promise<ZipEntry> {
  if (entry.isEncrypted()) {
    throw new WorkbookRefused(
      'encrypted',
      'The workbook is protected by a password. Remove the password and save it again.',
    );
  }
  const { fileDataStart } = await zip.readLocalFileHeaderPromise(entry, { minimal: true });
  const packed = file.subarray(fileDataStart, fileDataStart + entry.compressedSize);
  const known = entry.compressionMethod === DEFLATED || entry.compressionMethod === STORED;
  if (!known || packed.length !== entry.compressedSize) throw damaged();
  return {
    name: entry.fileNameRaw.toString('utf8').replace(/^\//, ''),
    size: entry.uncompressedSize,
    packed,
    method: entry.compressionMethod,
    crc: entry.crc32,
  };
}

/**
 * The unpacked bytes of a part, checked against the size and checksum in the directory.
 * @throws WorkbookRefused (`zip_bomb`, `damaged`)
 */
export async function unpack(entry: ZipEntry): Promise<Buffer> {
  const bytes = entry.method === STORED ? entry.packed : await inflated(entry);
  if (bytes.length !== entry.size || crc32(bytes) !== entry.crc) throw damaged();
  return bytes;
}

async function inflated({ name, size, packed }: ZipEntry): Promise<Buffer> {
  const bound = { maxOutputLength: Math.max(1, size) };
  try {
    return size <= UNPACKED_AT_ONCE ? inflateRawSync(packed, bound) : await inflate(packed, bound);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw damaged();
    throw new WorkbookRefused(
      'zip_bomb',
      `Part ${name} unpacks to more than it declares. Save the workbook anew as .xlsx.`,
    );
  }
}

function damaged(): WorkbookRefused {
  return new WorkbookRefused(
    'damaged',
    'The file is damaged or is not a workbook. Open it in Excel and save it anew as .xlsx.',
  );
}
