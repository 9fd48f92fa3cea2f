import { promisify } from 'node:util';
import { crc32, inflateRaw, inflateRawSync, createDeflateRaw } from 'node:zlib';
import { type Entry, type ZipFile, fromBufferPromise } from 'yauzl';
import { damaged as damagedFile, encrypted, WorkbookRefused } from './limits';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

export interface PackagePart {
  /** As spelled in the directory. */
  name: string;
  size: number;
  packed: Buffer;
  method: number;
  crc: number;
}

const STORED = 0;
const DEFLATED = 8;

/** Smaller parts unpack faster than a thread starts; larger ones must not block everything else. */
const UNPACKED_AT_ONCE = 4 * 1024 * 1024;

const inflate = promisify(inflateRaw);

/** Part names ignore case and percent-encoding (ECMA-376 part 2); some programs write both, or backslashes. */
export function partKey(name: string): string {
  return forward(decoded(name)).replace(/^\/+/, '').toLowerCase();
}

export const forward = (name: string): string => name.replaceAll('\\', '/');

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Reads a zip's directory by {@link partKey}. @throws WorkbookRefused (`damaged`, `encrypted`, `zip_bomb`) */
export async function readZip(file: Buffer, maxEntries: number): Promise<Map<string, PackagePart>> {
  let zip: ZipFile;
  try {
    zip = await fromBufferPromise(file, { decodeStrings: false });
  } catch {
    throw damaged();
  }
  if (zip.entryCount > maxEntries) {
    const message = `The file has ${zip.entryCount} parts, more than the ${maxEntries} that a workbook may have. Save it anew as .xlsx.`;
    throw new WorkbookRefused('zip_bomb', message);
  }
  const entries = new Map<string, PackagePart>();
  try {
    for await (const entry of zip.eachEntry()) {
      const part = await partOf(file, zip, entry);
      // Programs differ in which of two parts with the same name they read.
      if (entries.has(partKey(part.name))) throw damaged();
      entries.set(partKey(part.name), part);
    }
  } catch (error) {
    throw error instanceof WorkbookRefused ? error : damaged();
  }
  return entries;
}

async function partOf(file: Buffer, zip: ZipFile, entry: Entry): Promise<PackagePart> {
  if (entry.isEncrypted()) throw encrypted();
  const { fileDataStart } = await zip.readLocalFileHeaderPromise(entry, { minimal: true });
  const packed = file.subarray(fileDataStart, fileDataStart + entry.compressedSize);
  const known = entry.compressionMethod === DEFLATED || entry.compressionMethod === STORED;
  if (!known || packed.length !== entry.compressedSize) throw damaged();
  return {
    name: forward(entry.fileNameRaw.toString('utf8')).replace(/^\//, ''),
    size: entry.uncompressedSize,
    packed,
    method: entry.compressionMethod,
    crc: entry.crc32,
  };
}

/** Unpacks a part and checks its size and checksum. @throws WorkbookRefused (`zip_bomb`, `damaged`) */
export async function unpack(entry: PackagePart): Promise<Buffer> {
  const bytes = entry.method === STORED ? entry.packed : await inflated(entry);
  if (bytes.length !== entry.size || crc32(bytes) !== entry.crc) throw damaged();
  return bytes;
}

async function inflated({ name, size, packed }: PackagePart): Promise<Buffer> {
  const bound = { maxOutputLength: Math.max(1, size) };
  try {
    return size <= UNPACKED_AT_ONCE ? inflateRawSync(packed, bound) : await inflate(packed, bound);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw damaged();
    const message = `Part ${name} unpacks to more than it declares. Save the workbook anew as .xlsx.`;
    throw new WorkbookRefused('zip_bomb', message);
  }
}

const damaged = () => damagedFile('The file is damaged or is not a workbook');

/** Zip files are written here, because no maintained library copies unchanged parts without unpacking them. */
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const CENTRAL_SIZE = 46;
const END_SIZE = 22;
/** Version 2.0 of the format, for deflate. */
const VERSION = 20;
const UTF8_FLAG = 0x0800;

/** Length of text collected before it is compressed. */
const CHUNK = 64 * 1024;

/** Creates an entry from pieces of text, so that a large part is never completely in memory. */
export async function pack(name: string, pieces: Iterable<string>): Promise<PackagePart> {
  let size = 0;
  let crc = 0;
  const bytes = function* () {
    for (const chunk of chunksOf(pieces)) {
      const encoded = Buffer.from(chunk, 'utf8');
      size += encoded.length;
      crc = crc32(encoded, crc);
      yield encoded;
    }
  };
  const deflated = createDeflateRaw();
  const [packed] = await Promise.all([buffer(deflated), pipeline(Readable.from(bytes()), deflated)]);
  return { name, size, packed, method: DEFLATED, crc };
}

function* chunksOf(pieces: Iterable<string>): Generator<string> {
  let waiting: string[] = [];
  let length = 0;
  for (const piece of pieces) {
    waiting.push(piece);
    length += piece.length;
    if (length < CHUNK) continue;
    yield waiting.join('');
    waiting = [];
    length = 0;
  }
  yield waiting.join('');
}

/** A zip file of the entries, in order. */
export function writeZip(entries: Iterable<PackagePart>): Buffer {
  const contents: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name, 'utf8');
    const fields = commonFields(entry, name.length);
    const central = Buffer.alloc(CENTRAL_SIZE);
    central.writeUInt32LE(CENTRAL, 0);
    central.writeUInt16LE(VERSION, 4);
    fields.copy(central, 6);
    central.writeUInt32LE(offset, 42);
    directory.push(central, name);
    contents.push(uint32(LOCAL), fields, name, entry.packed);
    offset += 4 + fields.length + name.length + entry.packed.length;
  }
  const listing = Buffer.concat(directory);
  const end = Buffer.alloc(END_SIZE);
  end.writeUInt32LE(END, 0);
  end.writeUInt16LE(directory.length / 2, 8);
  end.writeUInt16LE(directory.length / 2, 10);
  end.writeUInt32LE(listing.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...contents, listing, end]);
}

/** The 26 bytes that local and central headers share, from version needed to extra length. The date is 1980-01-01. */
function commonFields(entry: PackagePart, nameLength: number): Buffer {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(VERSION, 0);
  fields.writeUInt16LE(UTF8_FLAG, 2);
  fields.writeUInt16LE(entry.method, 4);
  fields.writeUInt16LE(0x21, 8);
  fields.writeUInt32LE(entry.crc, 10);
  fields.writeUInt32LE(entry.packed.length, 14);
  fields.writeUInt32LE(entry.size, 18);
  fields.writeUInt16LE(nameLength, 22);
  return fields;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
