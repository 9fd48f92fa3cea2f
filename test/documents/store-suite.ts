import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { DocumentError } from '../../src/documents/stored-document';
import type { DocumentStore } from '../../src/documents/document-store';
import { pdfWith } from '../support/scripted-pdf';

/** A store that the suite is run on, made anew for every test. */
export interface StoreStage {
  /** A store of its own on the same folder or bucket, as another process has it. */
  open(): DocumentStore;
  /** Where a name is, for people. */
  pathOf(name: string): string;
  /** What is there now, of any kind but records. */
  names(): Promise<string[]>;
  /** Writes past the store. */
  overwrite(name: string, content: Buffer): Promise<void>;
  /** The server checks and writes in two steps, so that two writers of a name may win: it cannot be asked. */
  checksThenWrites?: boolean;
  close(): Promise<void>;
}

export const pdf = (content = 'hello', length = 2_000): Buffer => pdfWith(content + ' '.repeat(length));
function inPieces(content: Buffer, size: number): Readable {
  const pieces: Buffer[] = [];
  for (let at = 0; at < content.length; at += size) pieces.push(content.subarray(at, at + size));
  return Readable.from(pieces, { objectMode: false });
}
async function failure(work: Promise<unknown>): Promise<DocumentError> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DocumentError)) throw error;
  return error;
}

/** What every document store does, wherever it keeps its documents. */
export function storeSuite(make: () => Promise<StoreStage>): void {
  let stage: StoreStage;
  let store: DocumentStore;
  beforeEach(async () => {
    stage = await make();
    store = stage.open();
  });
  afterEach(() => stage?.close());

  test('is probed without leaving anything', async () => {
    await store.probe();
    await store.probe();
    expect(await stage.names()).toEqual([]);
  });

  test.each([1, 3, 700, 1_000_000])('stores a streamed PDF whole, in pieces of %i bytes', async (size) => {
    const content = pdf('certificate');
    const stored = await store.put({
      name: 'EBRC2026001',
      kind: 'pdf',
      expectedBytes: content.length,
      stream: inPieces(content, size),
    });
    const sha256 = createHash('sha256').update(content).digest('hex');
    const path = stage.pathOf('EBRC2026001.pdf');
    expect(stored).toEqual({ name: 'EBRC2026001.pdf', path, sha256, bytes: content.length });
    expect(store.pathOf(stored.name)).toBe(path);
    expect((await store.read(stored.name)).equals(content)).toBe(true);
    expect(await store.exists(stored.name)).toBe(true);
    expect(await store.find({ name: 'EBRC2026001', kind: 'pdf' })).toEqual(stored);
    expect(await store.find({ name: 'EBRC2026002', kind: 'pdf' })).toBeNull();
    expect(await store.exists('EBRC2026002.pdf')).toBe(false);
    await expect(store.read('EBRC2026002.pdf')).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await stage.names()).toEqual(['EBRC2026001.pdf']);
  });

  test.each([
    ['is empty', Buffer.alloc(0), undefined, 'empty'],
    ['is a page of HTML', Buffer.from('<html>%PDF %%EOF</html>'), undefined, 'not a PDF'],
    ['is JSON in which one is quoted', Buffer.from(JSON.stringify({ pdf: pdf().toString() })), undefined, 'not a PDF'],
    ['starts too far behind', Buffer.concat([Buffer.alloc(1_020, 'x'), pdf()]), undefined, 'not a PDF'],
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
    const error = await failure(store.put({ name: 'EBRC2026001', kind: 'pdf', expectedBytes, buffer: content }));
    expect(error.kind).toBe('bad_answer');
    expect(error.message).toContain(why);
    expect(await stage.names()).toEqual([]);
  });

  test.each([
    ['a line end in front', Buffer.concat([Buffer.from('\r\n'), pdf()])],
    ['a byte order mark and blanks in front', Buffer.concat([Buffer.from('\ufeff \n\n'), pdf()])],
    ['other bytes in front', Buffer.concat([Buffer.alloc(1_000, 'x'), pdf()])],
    ['blanks behind its end', Buffer.concat([pdf(), Buffer.alloc(5_000, 32)])],
    ['a page of HTML behind its end', Buffer.concat([pdf(), Buffer.from(`<object>${'x'.repeat(2_000)} object`)])],
    ['a change behind its first end', Buffer.concat([pdf(), Buffer.from('\n12 0 obj\n<< >>\nendobj\n%%EOF')])],
  ])('takes a PDF with %s, in pieces of any size', async (_what, content) => {
    for (const size of [1, 5, 1_024, 1_000_000]) {
      const name = `EBRC${size}00`;
      const stored = await store.put({ name, kind: 'pdf', stream: inPieces(content, size) });
      expect(stored.bytes).toBe(content.length);
      expect(await store.find({ name, kind: 'pdf' })).toEqual(stored);
    }
  });

  test('keeps certificates of the two modes apart', async () => {
    const live = await store.put({ name: 'EBRC2026001', kind: 'pdf', mode: 'live', buffer: pdf('live') });
    expect(await store.find({ name: 'EBRC2026001', kind: 'pdf', mode: 'test' })).toBeNull();
    const test = await store.put({ name: 'EBRC2026001', kind: 'pdf', mode: 'test', buffer: pdf('test') });
    expect([live.name, test.name]).toEqual(['EBRC2026001.pdf', 'test.EBRC2026001.pdf']);
    expect((await store.read(live.name)).equals(pdf('live'))).toBe(true);
    expect((await store.read(test.name)).equals(pdf('test'))).toBe(true);
  });

  test('does not find what is damaged, and replaces it', async () => {
    const { name } = await store.put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf('one') });
    await stage.overwrite(name, pdf('one').subarray(0, 1_000));
    expect(await store.find({ name: 'EBRC2026001', kind: 'pdf' })).toBeNull();
    const again = await store.put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf('two') });
    expect(await store.find({ name: 'EBRC2026001', kind: 'pdf' })).toEqual(again);
    expect(await stage.names()).toEqual(['EBRC2026001.pdf']);
  });

  test('sets a damaged document aside, and keeps it', async () => {
    const which = { name: 'EBRC2026001', kind: 'pdf' as const };
    expect(await store.setAside(which)).toBe(false);
    await store.put({ ...which, buffer: pdf('one') });
    expect(await store.setAside(which)).toBe(true);
    expect(await store.exists('EBRC2026001.pdf')).toBe(false);
    expect(await stage.names()).toEqual([expect.stringMatching(/^EBRC2026001\.pdf\.damaged-/)]);
  });

  test('removes workbooks that were handed in before a time, and nothing else', async () => {
    const buffer = Buffer.concat([
      Buffer.from('PK\x03\x04'),
      randomBytes(100),
      Buffer.from('PK\x05\x06'),
      Buffer.alloc(18),
    ]);
    const [handedIn, input] = [`handed-in-${'a1'.repeat(32)}`, `input-${'a1'.repeat(32)}`];
    for (const name of [handedIn, input]) await store.put({ name, kind: 'xlsx', buffer });
    await store.put({ name: 'HANDED', kind: 'pdf', buffer: pdf() });
    expect(await store.removeHandedIn(new Date(Date.now() - 3_600_000))).toBe(0);
    expect(await store.find({ name: handedIn, kind: 'xlsx' })).not.toBeNull();
    expect(await store.removeHandedIn(new Date(Date.now() + 3_600_000))).toBe(1);
    expect(await store.find({ name: handedIn, kind: 'xlsx' })).toBeNull();
    expect(await store.find({ name: input, kind: 'xlsx' })).not.toBeNull();
    expect(await stage.names()).toHaveLength(2);
  });

  test('checks workbooks by what they are', async () => {
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

  test('checks pages by how they begin and end, in pieces of any size', async () => {
    const page = Buffer.from(`<!doctype html>\n<p>${'₹'.repeat(300)}</p>\n</html>\n`);
    const stored = await store.put({ name: 'page', kind: 'html', stream: inPieces(page, 7) });
    expect(stored).toMatchObject({ name: expect.stringMatching(/\.html$/u) as string, bytes: page.length });
    expect(await store.find({ name: 'page', kind: 'html' })).toEqual(stored);
    const refused = (buffer: Buffer) => failure(store.put({ name: 'other', kind: 'html', buffer }));
    expect((await refused(page.subarray(0, -10))).message).toContain('cut short');
    expect((await refused(pdf())).message).toContain('not a page');
    expect((await refused(Buffer.alloc(0))).message).toContain('empty');
  });

  test('leaves nothing behind when its stream breaks off, and passes the reason on', async () => {
    const broken = new Error('connection reset');
    const stream = Readable.from(
      (function* () {
        yield pdf().subarray(0, 500);
        throw broken;
      })(),
      { objectMode: false },
    );
    await expect(store.put({ name: 'EBRC2026001', kind: 'pdf', stream })).rejects.toBe(broken);
    expect(await stage.names()).toEqual([]);
  });

  test('takes the same content again, refuses another, and keeps the first', async () => {
    const first = await store.put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf('one') });
    expect(await store.put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf('one') })).toEqual(first);
    const error = await failure(store.put({ name: 'EBRC2026001', kind: 'pdf', buffer: pdf('two') }));
    expect(error.kind).toBe('conflict');
    expect((await store.read(first.name)).equals(pdf('one'))).toBe(true);
    expect(await stage.names()).toEqual(['EBRC2026001.pdf']);
  });

  test('lets exactly one of many writers of a name win', async () => {
    if (stage.checksThenWrites) return;
    const stores = Array.from({ length: 4 }, () => stage.open());
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        (stores[index % 4] as DocumentStore).put({
          name: 'EBRC2026001',
          kind: 'pdf',
          buffer: pdf(`v${index % 5}`, 50_000),
        }),
      ),
    );
    const hashes = new Set(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.sha256] : [])));
    expect(hashes.size).toBe(1);
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(4);
    expect(await stage.names()).toEqual(['EBRC2026001.pdf']);
  });

  test('reads nothing but its own names', async () => {
    for (const name of ['../secret.pdf', '/etc/passwd', 'a/b.pdf', '.incoming-x', 'X.txt', '', 'EBRC1.pdf/..']) {
      expect(() => store.pathOf(name)).toThrow(RangeError);
      await expect(store.read(name)).rejects.toThrow(RangeError);
    }
  });

  test('is the store of the first ledger that claims it, whoever asks', async () => {
    expect(await store.owner()).toBeNull();
    const claims = await Promise.all(Array.from({ length: 8 }, (_, n) => stage.open().claim(`ledger-${n}`)));
    expect(new Set(claims).size).toBe(1);
    expect(await store.owner()).toBe(claims[0]);
    expect(await store.claim('another')).toBe(claims[0]);
  });
}
