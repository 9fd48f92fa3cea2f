import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { DocumentError } from '../../src/documents/document-error';
import { documentName, isDocumentName } from '../../src/documents/document-name';
import { createDocumentStore } from '../../src/documents/document-store';

function pdf(content = 'hello', length = 2_000): Buffer {
  return Buffer.concat([Buffer.from(`%PDF-1.7\n${content}`), Buffer.alloc(length, 32), Buffer.from('\n%%EOF\n')]);
}
function inPieces(content: Buffer, size: number): Readable {
  const pieces: Buffer[] = [];
  for (let at = 0; at < content.length; at += size) pieces.push(content.subarray(at, at + size));
  return Readable.from(pieces, { objectMode: false });
}

describe('the document store', () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'ebrc-documents-'));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  async function failure(work: Promise<unknown>): Promise<DocumentError> {
    const error: unknown = await work.then(
      () => null,
      (reason: unknown) => reason,
    );
    if (!(error instanceof DocumentError)) throw error;
    return error;
  }

  test.each([1, 3, 700, 1_000_000])('stores a streamed PDF whole, in pieces of %i bytes', async (size) => {
    const store = createDocumentStore({ root: join(root, 'made', 'on', 'demand') });
    const content = pdf('certificate');
    const stored = await store.put({
      name: 'EBRC2026001',
      kind: 'pdf',
      expectedBytes: content.length,
      stream: inPieces(content, size),
    });
    const sha256 = createHash('sha256').update(content).digest('hex');
    expect(stored).toEqual({
      name: 'EBRC2026001.pdf',
      path: join(root, 'made', 'on', 'demand', 'EBRC2026001.pdf'),
      sha256,
      bytes: content.length,
    });
    expect((await store.read(stored.name)).equals(content)).toBe(true);
    expect(await store.sha256Of(stored.name)).toBe(sha256);
    expect(await store.exists(stored.name)).toBe(true);
    expect(await store.find({ name: 'EBRC2026001', kind: 'pdf' })).toEqual(stored);
    expect(await store.find({ name: 'EBRC2026002', kind: 'pdf' })).toBeNull();
    expect(await readdir(dirname(stored.path))).toEqual(['EBRC2026001.pdf']);
  });

  test('takes a file: URL', async () => {
    const store = createDocumentStore({ root: pathToFileURL(root).href });
    const stored = await store.put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf() });
    expect(stored.path).toBe(join(root, 'EBRC2026001.pdf'));
  });

  test.each([
    ['is empty', Buffer.alloc(0), undefined, 'empty'],
    ['is a page of HTML', Buffer.from('<html>%PDF %%EOF</html>'), undefined, 'not a PDF'],
    ['is JSON in which one is quoted', Buffer.from(JSON.stringify({ pdf: pdf().toString() })), undefined, 'not a PDF'],
    ['starts behind words', Buffer.concat([Buffer.from('Here it is: '), pdf()]), undefined, 'not a PDF'],
    ['has no end marker', pdf().subarray(0, 1_500), undefined, 'cut short'],
    [
      'was changed later and is cut short in the change',
      Buffer.concat([pdf(), Buffer.from('\n12 0 obj\n<< /Type /Page >>\nstream'), Buffer.alloc(5_000)]),
      undefined,
      'cut short',
    ],
    ['is shorter than announced', pdf(), pdf().length + 1, 'announced'],
    ['is longer than announced', pdf(), pdf().length - 1, 'announced'],
  ])('refuses a PDF that %s, and leaves nothing behind', async (_what, content, expectedBytes, why) => {
    const store = createDocumentStore({ root });
    const error = await failure(store.put({ name: 'EBRC2026001', kind: 'pdf', expectedBytes, buffer: content }));
    expect(error.kind).toBe('bad_answer');
    expect(error.message).toContain(why);
    expect(await readdir(root)).toEqual([]);
  });

  test.each([
    ['a line end in front', Buffer.concat([Buffer.from('\r\n'), pdf()])],
    ['a byte order mark and blanks in front', Buffer.concat([Buffer.from('\ufeff \n\n'), pdf()])],
    ['blanks behind its end', Buffer.concat([pdf(), Buffer.alloc(5_000, 32)])],
    ['a page of HTML behind its end', Buffer.concat([pdf(), Buffer.from(`<object>${'x'.repeat(2_000)} object`)])],
    ['a change behind its first end', Buffer.concat([pdf(), Buffer.from('\n12 0 obj\n<< >>\nendobj\n%%EOF')])],
  ])('takes a PDF with %s, in pieces of any size', async (_what, content) => {
    for (const size of [1, 5, 1_024, 1_000_000]) {
      const store = createDocumentStore({ root: join(root, String(size)) });
      const stored = await store.put({ name: 'EBRC2026001', kind: 'pdf', stream: inPieces(content, size) });
      expect(stored.bytes).toBe(content.length);
      expect(await store.find({ name: 'EBRC2026001', kind: 'pdf' })).toEqual(stored);
    }
  });

  test('keeps certificates of the two modes apart', async () => {
    const store = createDocumentStore({ root });
    const live = await store.put({ name: 'EBRC2026001', kind: 'pdf', mode: 'live', buffer: pdf('live') });
    expect(await store.find({ name: 'EBRC2026001', kind: 'pdf', mode: 'test' })).toBeNull();
    const test = await store.put({ name: 'EBRC2026001', kind: 'pdf', mode: 'test', buffer: pdf('test') });
    expect([live.name, test.name]).toEqual(['EBRC2026001.pdf', 'test.EBRC2026001.pdf']);
    expect((await store.read(live.name)).equals(pdf('live'))).toBe(true);
    expect((await store.read(test.name)).equals(pdf('test'))).toBe(true);
  });

  test('does not find what is damaged, and replaces it', async () => {
    const store = createDocumentStore({ root });
    const { path } = await store.put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf('one') });
    await writeFile(path, pdf('one').subarray(0, 1_000));
    expect(await store.find({ name: 'EBRC2026001', kind: 'pdf' })).toBeNull();
    const again = await store.put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf('two') });
    expect(await store.find({ name: 'EBRC2026001', kind: 'pdf' })).toEqual(again);
    expect(await readdir(root)).toEqual(['EBRC2026001.pdf']);
  });

  test('checks workbooks by what they are', async () => {
    const store = createDocumentStore({ root });
    const zip = Buffer.concat([
      Buffer.from('PK\x03\x04'),
      Buffer.alloc(200_000),
      Buffer.from('PK\x05\x06'),
      Buffer.alloc(18),
    ]);
    expect((await store.put({ name: 'rows', kind: 'xlsx', buffer: zip })).bytes).toBe(zip.length);
    expect((await failure(store.put({ name: 'x', kind: 'xlsx', buffer: pdf() }))).message).toContain('not a workbook');
    const cut = zip.subarray(0, 150_000);
    expect((await failure(store.put({ name: 'y', kind: 'xlsx', buffer: cut }))).message).toContain('cut short');
  });

  test('leaves nothing behind when its stream breaks off, and hands on why', async () => {
    const store = createDocumentStore({ root });
    const broken = new Error('connection reset');
    const stream = Readable.from(
      (function* () {
        yield pdf().subarray(0, 500);
        throw broken;
      })(),
      { objectMode: false },
    );
    await expect(store.put({ name: 'EBRC2026001', kind: 'pdf', stream })).rejects.toBe(broken);
    expect(await readdir(root)).toEqual([]);
  });

  test('takes the same content again, refuses another, and keeps the first', async () => {
    const store = createDocumentStore({ root });
    const first = await store.put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf('one') });
    expect(await store.put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf('one') })).toEqual(first);
    const error = await failure(store.put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf('two') }));
    expect(error.kind).toBe('conflict');
    expect((await readFile(first.path)).equals(pdf('one'))).toBe(true);
    expect(await readdir(root)).toEqual(['EBRC2026001.pdf']);
  });

  test('lets exactly one of many writers of a name win', async () => {
    const stores = Array.from({ length: 4 }, () => createDocumentStore({ root }));
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        (stores[index % 4] as (typeof stores)[0]).put({
          name: 'EBRC2026001',
          kind: 'pdf',
          buffer: pdf(`v${index % 5}`, 50_000),
        }),
      ),
    );
    const hashes = new Set(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.sha256] : [])));
    expect(hashes.size).toBe(1);
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(4);
    expect(await readdir(root)).toEqual(['EBRC2026001.pdf']);
  });

  test('clears away what a dead process left, and nothing that is being written', async () => {
    const old = join(root, '.incoming-old');
    await writeFile(old, 'x');
    await utimes(old, new Date(0), new Date(0));
    await writeFile(join(root, '.incoming-new'), 'x');
    await createDocumentStore({ root }).put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf() });
    expect((await readdir(root)).sort()).toEqual(['.incoming-new', 'EBRC2026001.pdf']);
  });

  test('reads nothing but its own names', async () => {
    const store = createDocumentStore({ root });
    for (const name of ['../secret.pdf', '/etc/passwd', 'a/b.pdf', '.incoming-x', 'X.txt', '', 'EBRC1.pdf/..']) {
      expect(() => store.pathOf(name)).toThrow(RangeError);
      await expect(store.read(name)).rejects.toThrow(RangeError);
    }
  });
});

describe('document names', () => {
  test('are the eBRC number itself where that is safe', () => {
    expect(documentName('EBRC2026001', 'pdf')).toBe('EBRC2026001.pdf');
  });

  test('of two different numbers never meet, on any file system, and never leave the folder', () => {
    const number = fc.oneof(
      fc.string({ maxLength: 120 }),
      fc.stringMatching(/^[A-Za-z0-9/._~-]{1,20}$/u),
      fc.constantFrom(
        '..',
        '.',
        '',
        '/',
        'CON',
        'nul',
        'a/../b',
        'A~b',
        'ebrc2026001',
        'EBRC2026001',
        'EBRC2026001.pdf',
      ),
    );
    fc.assert(
      fc.property(number, number, (one, other) => {
        const [first, second] = [documentName(one, 'pdf'), documentName(other, 'pdf')];
        expect(first.toLowerCase() === second.toLowerCase()).toBe(one === other);
        expect(basename(join('/store', first))).toBe(first);
        expect(dirname(join('/store', first))).toBe('/store');
        expect(isDocumentName(first)).toBe(true);
        expect(first.length).toBeLessThan(200);
      }),
    );
  });

  test('do not depend on anything but the number', () => {
    const number = randomBytes(8).toString('base64');
    expect(documentName(number, 'pdf')).toBe(documentName(number, 'pdf'));
  });
});
