import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { checkContent, ContentCheck } from '../content-check';
import {
  assertSameContent,
  DocumentError,
  assertDocumentName,
  documentName,
  HANDED_IN,
  unreadable,
} from '../stored-document';
import type { DocumentKind, DocumentStore } from '../stored-document';
import { OWNER, untilItWorks } from '../records';
import { parseS3Location, S3_FORM, type S3Location } from '../s3-location';
import { assertConditionalWrites, createS3Objects } from './objects';

/** The largest document, as each is held in memory for its check; a workbook of 999 rows has less than 1 MB. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Another process may remove or replace the object between two requests, but not each time. */
const STORE_TRIES = 5;
/** Workbooks that are looked at in one run, which removes them one by one. */
const MOST_REMOVED = 100_000;

/**
 * A document store in `s3://bucket/prefix`. Objects appear only when complete; conditional writes claim names.
 * @throws RangeError for another address
 */
export function createS3Store(root: string): DocumentStore {
  const location = locationOf(root);
  const objects = createS3Objects(location);
  const base = `s3://${location.bucket}/${location.prefix}`;
  /** Runs once per process, before the first write. */
  const prepare = untilItWorks(() => assertConditionalWrites(objects));

  function keyOf(name: string): string {
    assertDocumentName(name);
    return name;
  }

  /** @returns the document of a name, `stored: null` if it is damaged, null if there is none */
  async function look(name: string, kind: DocumentKind) {
    const found = await objects.read(keyOf(name));
    if (!found) return null;
    const check = await checkContent(found.body, kind);
    return { etag: found.etag, stored: check.problem() === null ? check.stored(name, base + name) : null };
  }

  /** Stores checked content, replacing a damaged object. @throws Error if the store cannot create a missing object */
  async function store(name: string, kind: DocumentKind, content: Buffer, sha256: string): Promise<void> {
    for (let tries = 1; tries <= STORE_TRIES; tries += 1) {
      if (await objects.create(name, content)) return;
      const found = await look(name, kind);
      if (found?.stored) return assertSameContent(found.stored, sha256);
      if (found && (await objects.replace(name, content, found.etag))) return;
    }
    throw new Error(`${base}${name} was not stored: the object store refuses to create it, and does not have it.`);
  }

  async function owner(): Promise<string | null> {
    const found = await objects.read(OWNER);
    return found && (await buffer(found.body)).toString('utf8').trim();
  }

  return {
    owner,
    claim: async (ledgerId) => {
      const known = await owner();
      if (known !== null) return known;
      await prepare();
      await objects.create(OWNER, Buffer.from(`${ledgerId}\n`));
      return (await owner()) ?? '';
    },
    put: async (input) => {
      const { name: key, kind, mode, expectedBytes } = input;
      const source = 'stream' in input ? input.stream : Readable.from([input.buffer], { objectMode: false });
      await prepare();
      const name = documentName(key, kind, mode);
      const check = new ContentCheck(kind);
      const content = await collect(source, check, key, name);
      const problem = check.problem(expectedBytes);
      if (problem !== null) throw new DocumentError('bad_answer', name, `${key} was not stored: ${problem}.`);
      const stored = check.stored(name, base + name);
      await store(name, kind, content, stored.sha256);
      return stored;
    },
    find: async ({ name, kind, mode }) => (await look(documentName(name, kind, mode), kind))?.stored ?? null,
    read: async (name) => {
      const found = await objects.read(keyOf(name));
      if (!found) throw Object.assign(new Error(`there is no ${base}${name}`), { code: 'ENOENT' });
      return buffer(found.body);
    },
    exists: async (name) => objects.exists(keyOf(name)),
    pathOf: (name) => base + keyOf(name),
    probe: async () => {
      await prepare();
      const key = `probe/${randomUUID()}`;
      try {
        await objects.create(key, Buffer.from(key));
        const found = await objects.read(key);
        const read = found && (await buffer(found.body)).toString('utf8');
        const [listed] = await objects.list('probe/', key.slice(0, -1), 1);
        if (read !== key || listed?.key !== key) throw unreadable(base);
      } finally {
        await objects.remove(key).catch(() => undefined);
      }
    },
    setAside: async ({ name, kind, mode }) => {
      const key = documentName(name, kind, mode);
      if (!(await objects.exists(key))) return false;
      await objects.copy(key, `${key}.damaged-${randomUUID()}`);
      await objects.remove(key);
      return true;
    },
    removeHandedIn: async (before) => {
      const handedIn = await objects.list(HANDED_IN.toUpperCase(), '', MOST_REMOVED);
      const old = handedIn.filter(({ writtenAt }) => writtenAt < before);
      for (const { key } of old) await objects.remove(key);
      return old.length;
    },
  };
}

/** @throws RangeError for any text but the address of a bucket */
function locationOf(root: string): S3Location {
  const location = parseS3Location(root);
  if (!location) throw new RangeError(`${JSON.stringify(root)} is not the address of a bucket; allowed: ${S3_FORM}.`);
  return location;
}

/** Reads a stream through its check into memory. @throws DocumentError if it exceeds {@link MAX_BYTES} */
async function collect(source: Readable, check: ContentCheck, key: string, name: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  await pipeline(source, check, async (checked: AsyncIterable<Buffer>) => {
    for await (const piece of checked) {
      if (check.bytes > MAX_BYTES) {
        throw new DocumentError('bad_answer', name, `${key} was not stored: it is longer than any document.`);
      }
      pieces.push(piece);
    }
  });
  return Buffer.concat(pieces);
}
