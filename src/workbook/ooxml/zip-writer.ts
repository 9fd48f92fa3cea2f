import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { crc32, createDeflateRaw, deflateRaw } from 'node:zlib';
import type { ZipEntry } from './zip-reader';
import { DEFLATED, STORED } from './zip-reader';

/**
 * Writes zip files. Our own code, because unchanged parts are copied without being unpacked, which no maintained zip
 * library supports.
 */
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const CENTRAL_SIZE = 46;
const END_SIZE = 22;
/** Version 2.0 of the format: deflate. */
const VERSION = 20;
const UTF8_FLAG = 0x0800;

const deflate = promisify(deflateRaw);

/** Creates an entry from bytes; stored without compression if the file exists only briefly in memory. */
export async function pack(name: string, content: string | Buffer, how: 'store' | 'deflate'): Promise<ZipEntry> {
  const bytes = Buffer.from(content);
  const packed = how === 'store' ? bytes : await deflate(bytes);
  return { name, size: bytes.length, packed, method: how === 'store' ? STORED : DEFLATED, crc: crc32(bytes) };
}

/** Length of text that is collected before it is compressed. */
const CHUNK = 64 * 1024;

/** Creates an entry from text in pieces, so that a large part is never completely in memory. */
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
