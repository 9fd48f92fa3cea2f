import { createCipheriv, createHash } from 'node:crypto';

/** The header of a PDF is within this many bytes (ISO 32000-1, annex H). */
const HEAD_BYTES = 1_024;
const END = Buffer.from('%%EOF');
const OBJECT = Buffer.from(' obj');
const OVERLAP_BYTES = 16;

/** First of all, behind a byte order mark and what PDF counts as white space. */
const FIRST = /^(?:\xef\xbb\xbf|[\0\t\n\f\r ])*%PDF-/u;
/** Behind other bytes, such as those of a mail or a printer: a whole line, because a text may quote a header. */
const WITHIN = /%PDF-\d\.\d[\0\t\n\f\r ]/u;

/**
 * Checks a stream for a complete PDF, with other bytes around it. An object after the last end marker means that the
 * rest is missing. Holds at most 1 KB.
 */
export class PdfScan {
  private head = Buffer.alloc(0);
  private carried = Buffer.alloc(0);
  private bytes = 0;
  private endAt = -1;
  private objectAt = -1;

  push(piece: Buffer): this {
    if (this.head.length < HEAD_BYTES) this.head = Buffer.concat([this.head, piece]).subarray(0, HEAD_BYTES);
    const seen = Buffer.concat([this.carried, piece]);
    const from = this.bytes - this.carried.length;
    const end = seen.lastIndexOf(END);
    if (end >= 0) this.endAt = from + end;
    const object = lastObject(seen);
    if (object >= 0) this.objectAt = from + object;
    this.bytes += piece.length;
    // Copied, because a slice would keep the whole large piece in memory.
    this.carried = Buffer.from(seen.subarray(-OVERLAP_BYTES));
    return this;
  }

  /** What is wrong with the PDF, once all of it has passed; null if it is complete. */
  problem(): string | null {
    if (this.bytes === 0) return 'the PDF is empty';
    if (!startsAsPdf(this.head)) return 'it is not a PDF: its first bytes are something else';
    return this.endAt > this.objectAt ? null : 'the PDF is cut short: its end marker is missing';
  }
}

function startsAsPdf(head: Buffer): boolean {
  const text = head.toString('latin1');
  return FIRST.test(text) || WITHIN.test(text);
}

/** Where the last object begins, such as `12 0 obj`: a number before, no letter behind. */
function lastObject(bytes: Buffer): number {
  for (let at = bytes.lastIndexOf(OBJECT); at > 0; at = bytes.lastIndexOf(OBJECT, at - 1)) {
    const before = bytes[at - 1] ?? 0;
    const behind = bytes[at + OBJECT.length] ?? 0x20;
    if (before >= 0x30 && before <= 0x39 && !/[a-z]/iu.test(String.fromCharCode(behind))) return at;
  }
  return -1;
}

/** "Under 5 MB" (spec: "Extraction service"). */
export const MAX_EXTRACTION_BYTES = 5 * 1024 * 1024 - 1;

/** Why a file cannot be sent to the extraction service; null if it can. @param bytes its length, if above `content` */
export function pdfProblem(
  content: Buffer,
  bytes: number = content.length,
): { code: 'empty' | 'too_large' | 'not_a_pdf' | 'encrypted'; message: string } | null {
  if (bytes === 0) return { code: 'empty', message: 'the file is empty' };
  if (bytes > MAX_EXTRACTION_BYTES) {
    const message = `the file has ${bytes} bytes, and the service takes PDFs of at most ${MAX_EXTRACTION_BYTES}; make it smaller or split it`;
    return { code: 'too_large', message };
  }
  const problem = new PdfScan().push(content).problem();
  if (problem !== null) return { code: 'not_a_pdf', message: problem };
  if (!needsPassword(content)) return null;
  return { code: 'encrypted', message: 'the PDF is encrypted; save it without a password' };
}

/** The key of the encryption dictionary in clear text: in the trailer or in a cross-reference stream. */
const ENCRYPT = /\/Encrypt\s{0,64}(?:(\d{1,10})\s{1,8}(\d{1,5})\s{1,8}R\b|<<)/gu;

/** The entries of the standard security handler that tell which password opens a PDF (ISO 32000-2, 7.6.4). */
interface Encryption {
  revision: number;
  keyBytes: number;
  owner: Buffer;
  user: Buffer;
  permissions: number;
  encryptMetadata: boolean;
  id: Buffer;
}

/** Whether a PDF needs a password to be read: one that limits printing alone opens with the empty one. */
function needsPassword(content: Buffer): boolean {
  const text = content.toString('latin1');
  const reference = [...text.matchAll(ENCRYPT)].at(-1);
  if (!reference) return false;
  const encryption = encryptionOf(text, reference);
  return encryption === null || !opensWithoutPassword(encryption);
}

/** Longest encryption dictionary that is read. */
const DICTIONARY_BYTES = 8_192;

function encryptionOf(text: string, reference: RegExpMatchArray): Encryption | null {
  const [, object, generation] = reference;
  const at = object === undefined ? reference.index! + reference[0].length - 2 : objectAt(text, object, generation!);
  if (at < 0) return null;
  const entries = topEntries(text.slice(at, at + DICTIONARY_BYTES));
  const number = (name: string) => Number(entries.get(name) ?? Number.NaN);
  const [owner, user] = [stringOf(entries.get('/O')), stringOf(entries.get('/U'))];
  const [version, revision, permissions] = [number('/V'), number('/R'), number('/P')];
  if (entries.get('/Filter') !== '/Standard' || !owner || !user || !Number.isInteger(permissions)) return null;
  const length = number('/Length');
  // Lengths are bits; some writers give the one of a crypt filter, which is bytes.
  const bits = version === 1 ? 40 : version === 4 ? 128 : Number.isNaN(length) ? 40 : length < 40 ? length * 8 : length;
  const id = [...text.matchAll(/\/ID\s{0,8}\[\s{0,8}(?=[<(])/gu)].at(-1);
  return {
    revision,
    keyBytes: Math.min(16, bits / 8),
    owner,
    user,
    permissions,
    encryptMetadata: entries.get('/EncryptMetadata') !== 'false',
    id: (id && stringOf(tokens(text.slice(id.index + id[0].length, id.index + 1_024)).next().value)) ?? Buffer.alloc(0),
  };
}

/** Where the last definition of an object begins, behind its `obj`; -1 if it is not there. */
function objectAt(text: string, object: string, generation: string): number {
  const found = [...text.matchAll(new RegExp(`(?<!\\d)${object}\\s{1,8}${generation}\\s{1,8}obj\\b`, 'gu'))].at(-1);
  return found ? found.index + found[0].length : -1;
}

/** Strings, names, brackets and words of PDF syntax. */
function* tokens(text: string): Generator<string, void> {
  const token = /<<|>>|\/[^\s()<>[\]{}/%\0]{0,127}|<[0-9A-Fa-f\s]*>|\(|[[\]{}]|[^\s()<>[\]{}/%\0]+/guy;
  for (let at = 0; at < text.length; at += 1) {
    token.lastIndex = at;
    const [found] = token.exec(text) ?? [];
    if (found === undefined) continue;
    const end = found === '(' ? endOfLiteral(text, at) : at + found.length;
    yield text.slice(at, end);
    at = end - 1;
  }
}

/** The end of a literal string, whose parentheses may be nested or escaped. */
function endOfLiteral(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === '\\') at += 1;
    else if (character === '(') depth += 1;
    else if (character === ')' && (depth -= 1) === 0) return at + 1;
  }
  return text.length;
}

/** The plain entries of the dictionary with which a text begins, without those of dictionaries in it. */
function topEntries(text: string): Map<string, string> {
  const entries = new Map<string, string>();
  let depth = 0;
  let name: string | null = null;
  for (const token of tokens(text)) {
    if (token === '<<') depth += 1;
    else if (token === '>>') depth -= 1;
    if (depth === 0) break;
    if (token === '<<' || token === '>>' || depth > 1) name = null;
    else if (name !== null) {
      entries.set(name, token);
      name = null;
    } else if (token.startsWith('/')) name = token;
  }
  return entries;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

/** The bytes of a hexadecimal or literal string. */
function stringOf(token: string | void): Buffer | null {
  if (token?.startsWith('<')) {
    const digits = token.slice(1, -1).replace(/\s/gu, '');
    return Buffer.from(digits.length % 2 === 0 ? digits : `${digits}0`, 'hex');
  }
  if (!token?.startsWith('(')) return null;
  const text = token.slice(1, -1).replace(/\\([0-7]{1,3}|\r\n|[\s\S])/gu, (_all, escape: string) => {
    if (/^[0-7]/u.test(escape)) return String.fromCharCode(Number.parseInt(escape, 8) & 0xff);
    return /^[\r\n]/u.test(escape) ? '' : (ESCAPES[escape] ?? escape);
  });
  return Buffer.from(text, 'latin1');
}

function opensWithoutPassword(encryption: Encryption): boolean {
  const { revision, user } = encryption;
  if (revision >= 2 && revision <= 4) {
    const expected = userEntry(encryption);
    return user.length >= expected.length && user.subarray(0, expected.length).equals(expected);
  }
  if (revision !== 5 && revision !== 6) return false;
  const salt = user.subarray(32, 40);
  return user.length >= 48 && user.subarray(0, 32).equals(revision === 5 ? sha256(salt) : hardenedHash(salt));
}

/** What a short password is filled up with. */
const PADDING = Buffer.from('28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a', 'hex');

/** What /U holds if the password is empty, as far as it is defined (algorithms 2, 4 and 5). */
function userEntry({ revision, keyBytes, owner, permissions, encryptMetadata, id }: Encryption): Buffer {
  const flags = Buffer.alloc(4);
  flags.writeInt32LE(permissions | 0);
  const unencrypted = revision >= 4 && !encryptMetadata ? Buffer.alloc(4, 0xff) : Buffer.alloc(0);
  let key = md5(PADDING, owner.subarray(0, 32), flags, id, unencrypted);
  if (revision === 2) return rc4(key.subarray(0, keyBytes), PADDING);
  for (let round = 0; round < 50; round += 1) key = md5(key.subarray(0, keyBytes));
  key = key.subarray(0, keyBytes);
  let entry = md5(PADDING, id);
  for (let round = 0; round < 20; round += 1) {
    entry = rc4(
      key.map((byte) => byte ^ round),
      entry,
    );
  }
  return entry;
}

/** The hash of the empty password (algorithm 2.B). */
function hardenedHash(salt: Buffer): Buffer {
  let key = sha256(salt);
  let last = 0;
  for (let round = 0; round < 64 || last > round - 32; round += 1) {
    const cipher = createCipheriv('aes-128-cbc', key.subarray(0, 16), key.subarray(16, 32)).setAutoPadding(false);
    const encrypted = cipher.update(Buffer.concat(Array.from({ length: 64 }, () => key)));
    const remainder = encrypted.subarray(0, 16).reduce((sum, byte) => sum + byte, 0) % 3;
    key = createHash(['sha256', 'sha384', 'sha512'][remainder]!).update(encrypted).digest();
    last = encrypted.at(-1)!;
  }
  return key.subarray(0, 32);
}

/** OpenSSL 3 no longer has it. */
function rc4(key: Uint8Array, data: Buffer): Buffer {
  const state = Uint8Array.from({ length: 256 }, (_, at) => at);
  for (let at = 0, other = 0; at < 256; at += 1) {
    other = (other + state[at]! + key[at % key.length]!) & 0xff;
    [state[at], state[other]] = [state[other]!, state[at]!];
  }
  let [at, other] = [0, 0];
  return Buffer.from(
    data.map((byte) => {
      at = (at + 1) & 0xff;
      other = (other + state[at]!) & 0xff;
      [state[at], state[other]] = [state[other]!, state[at]!];
      return byte ^ state[(state[at]! + state[other]!) & 0xff]!;
    }),
  );
}

const md5 = (...parts: Uint8Array[]): Buffer => createHash('md5').update(Buffer.concat(parts)).digest();
const sha256 = (data: Buffer): Buffer => createHash('sha256').update(data).digest();
