import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { crc32, createDeflateRaw, deflateRaw, inflateRaw, inflateRawSync } from 'node:zlib';
import { WorkbookRefused } from './refused';

/**
 * The zip container, read by its directory alone so that nothing is unpacked before its declared size is known, and never
 * more of it than was declared. Ours because the library under exceljs unpacks without a bound.
 */
export interface ZipEntry {
  name: string;
  /** Unpacked size as the directory declares it. */
  size: number;
  packed: Buffer;
  method: number;
  crc: number;
}

const SMALL = 4 * 1024 * 1024;
const STORED = 0;
const DEFLATED = 8;
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const LOCAL_SIZE = 30;
const CENTRAL_SIZE = 46;
const END_SIZE = 22;
/** Version 2.0 of the format: deflate. */
const VERSION = 20;
const MAX_COMMENT = 0xffff;
const ENCRYPTED_FLAG = 1;
const UTF8_FLAG = 0x0800;

const inflate = promisify(inflateRaw);
const deflate = promisify(deflateRaw);

/** The directory of a zip file. @throws WorkbookRefused (`damaged`, `encrypted`, `zip_bomb`) */
export function readZip(file: Buffer, maxEntries: number): Map<string, ZipEntry> {
  const end = endOfDirectory(file);
  const count = file.readUInt16LE(end + 10);
  if (count > maxEntries) {
    throw new WorkbookRefused(
      'zip_bomb',
      `The file has ${count} parts, more than the ${maxEntries} that a workbook may have. Save it anew as .xlsx.`,
    );
  }
  const entries = new Map<string, ZipEntry>();
  let at = file.readUInt32LE(end + 16);
  for (let index = 0; index < count; index += 1) {
    if (at + CENTRAL_SIZE > file.length || file.readUInt32LE(at) !== CENTRAL) throw damaged();
    const nameLength = file.readUInt16LE(at + 28);
    const entry = readEntry(file, at, nameLength);
    if (entries.has(entry.name)) throw damaged();
    entries.set(entry.name, entry);
    at += CENTRAL_SIZE + nameLength + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32);
  }
  return entries;
}

/** The unpacked bytes of an entry, never more than it declared. @throws WorkbookRefused (`zip_bomb`, `damaged`) */
export async function unpack(entry: ZipEntry): Promise<Buffer> {
  if (entry.method === STORED) return entry.packed;
  try {
    const bound = { maxOutputLength: Math.max(1, entry.size) };
    // A small part is unpacked sooner than a thread for it is found; a large one must not hold up everything else.
    const bytes = entry.size <= SMALL ? inflateRawSync(entry.packed, bound) : await inflate(entry.packed, bound);
    if (bytes.length === entry.size) return bytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new WorkbookRefused(
        'zip_bomb',
        `Part ${entry.name} unpacks to more than it declares. Save the workbook anew as .xlsx.`,
      );
    }
  }
  throw damaged();
}

/** A new entry from bytes; stored when the file only lives in memory for a moment. */
export async function pack(name: string, content: string | Buffer, how: 'store' | 'deflate'): Promise<ZipEntry> {
  const bytes = Buffer.from(content);
  const packed = how === 'store' ? bytes : await deflate(bytes);
  return { name, size: bytes.length, packed, method: how === 'store' ? STORED : DEFLATED, crc: crc32(bytes) };
}

/** Text that is joined before it is packed on. */
const CHUNK = 64 * 1024;

/** A new entry from text that comes in pieces, so that a large part never stands in memory as a whole. */
export async function packPieces(name: string, pieces: Iterable<string>): Promise<ZipEntry> {
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

/** A zip file of the entries, in their order. */
export function writeZip(entries: Iterable<ZipEntry>): Buffer {
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

/** The 26 bytes that local and central headers share: version needed to extra length. The date is 1980-01-01. */
function commonFields(entry: ZipEntry, nameLength: number): Buffer {
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

function endOfDirectory(file: Buffer): number {
  const last = file.length - END_SIZE;
  for (let at = last; at >= Math.max(0, last - MAX_COMMENT); at -= 1) {
    if (file.readUInt32LE(at) === END) return at;
  }
  throw damaged();
}

function readEntry(file: Buffer, at: number, nameLength: number): ZipEntry {
  const name = file.toString('utf8', at + CENTRAL_SIZE, at + CENTRAL_SIZE + nameLength).replace(/^\//, '');
  const method = file.readUInt16LE(at + 10);
  if ((file.readUInt16LE(at + 8) & ENCRYPTED_FLAG) !== 0) {
    throw new WorkbookRefused(
      'encrypted',
      'The workbook is protected by a password. Remove the password and save it again.',
    );
  }
  const local = file.readUInt32LE(at + 42);
  const packedSize = file.readUInt32LE(at + 20);
  const size = file.readUInt32LE(at + 24);
  if (local + LOCAL_SIZE > file.length || file.readUInt32LE(local) !== LOCAL) throw damaged();
  const start = local + LOCAL_SIZE + file.readUInt16LE(local + 26) + file.readUInt16LE(local + 28);
  const packed = file.subarray(start, start + packedSize);
  const whole = packed.length === packedSize && (method === DEFLATED || (method === STORED && size === packedSize));
  if (!whole) throw damaged();
  return { name, size, packed, method, crc: file.readUInt32LE(at + 16) };
}

function damaged(): WorkbookRefused {
  return new WorkbookRefused(
    'damaged',
    'The file is damaged or is not a workbook. Open it in Excel and save it anew as .xlsx.',
  );
}
