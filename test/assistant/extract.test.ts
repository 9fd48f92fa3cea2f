/** `ebrc extract` through the command line, a real Temporal server and the sandbox. */
import { readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FilingView } from '../../src/domain/filing/view';
import { pdfWith, scriptedPdf } from '../support/scripted-pdf';
import type { ExtractedFile } from '../../src/assistant/extraction/extract';
import { ebrc } from '../support/command-line';
import { startExtractionStage, type ExtractionStage } from './extraction-stage';

let stage: ExtractionStage;
beforeAll(async () => {
  stage = await startExtractionStage({ ackDelayMs: 500 });
}, 120_000);
afterAll(() => stage?.close(), 60_000);

const ROOT = join(__dirname, '..', '..');
const MEGABYTES_5 = 5 * 1024 * 1024;

/** A PDF of exactly so many bytes. */
function pdfOf(bytes: number): Buffer {
  const fits = (filled: number) => pdfWith('x'.repeat(filled));
  const about = bytes - fits(0).length;
  // The place of the list of objects has more digits in a longer file.
  return fits(about - (fits(about).length - bytes));
}

async function pdf(name: string, content: Buffer): Promise<string> {
  const path = join(stage.folder, name);
  await writeFile(path, content);
  return path;
}

const calls = (operation: 'extract-invoice' | 'extract-shipping-bill') => stage.sandbox.calls({ operation }).length;

it.each([
  ['shipping-bill', [], 'extract-shipping-bill', 'shippingBillNumber'],
  ['shipping-bill', ['--full'], 'extract-shipping-bill-full', 'items'],
  ['invoice', [], 'extract-invoice', 'lineItems'],
] as const)('reads a %s %p, once', async (kind, more, operation, field) => {
  const path = await pdf(`${operation}.pdf`, scriptedPdf({}));
  const { code, json } = await stage.ebrc(['extract', kind, path, ...more, '--json']);
  expect(code).toBe(0);
  expect(json()).toMatchObject({ status: 'success', state: 'extracted', kept: false, error: null });
  expect(json<ExtractedFile>().data).toHaveProperty(field);
  const again = (await stage.ebrc(['extract', kind, path, ...more, '--json'])).json<ExtractedFile>();
  expect(again).toMatchObject({ state: 'extracted', kept: true, data: json<ExtractedFile>().data });
  expect(stage.sandbox.calls({ operation })).toHaveLength(1);
});

it('takes thirty documents of which ten are broken in ten ways: each has its own reason and one call', async () => {
  const folder = join(stage.folder, 'many');
  await mkdir(join(folder, 'below'), { recursive: true });
  const good = Array.from(
    { length: 20 },
    (_, number) => [`good-${number}.pdf`, scriptedPdf({ data: { number } })] as const,
  );
  const broken: Record<string, [Buffer, string, RegExp]> = {
    'large.pdf': [pdfOf(MEGABYTES_5), 'too_large', /at most 5242879/],
    'text.PDF': [Buffer.from('a text'), 'not_a_pdf', /not a PDF/],
    'locked.pdf': [scriptedPdf({ answer: 'error', data: '/Encrypt' }), 'refused', /without a password/],
    'below/empty.pdf': [Buffer.alloc(0), 'empty', /is empty/],
    'unreadable.pdf': [scriptedPdf({ answer: 'error' }), 'refused', /the scan cannot be read/],
    'fails.pdf': [scriptedPdf({ answer: '500', times: 2 }), 'server_error', /500.*2 times/],
    'limited.pdf': [scriptedPdf({ answer: '429' }), 'rate_limited', /429.*6 times/],
    'key.pdf': [scriptedPdf({ answer: '401' }), 'unauthorized', /Invalid API key/],
    'cut.pdf': [scriptedPdf({ answer: 'cut' }), 'bad_answer', /cut short/],
    'shape.pdf': [scriptedPdf({ answer: 'other-shape' }), 'unknown_shape', /another shape/],
  };
  for (const [name, content] of good) await writeFile(join(folder, name), content);
  for (const [name, [content]] of Object.entries(broken)) await writeFile(join(folder, name), content);

  const output = join(stage.folder, 'results.json');
  const first = await stage.ebrc(['extract', 'invoice', folder, '-o', output, '--json']);
  expect(first.code).toBe(3);
  const results = new Map(first.json<ExtractedFile[]>().map((each) => [each.file.slice(folder.length + 1), each]));
  expect(results.size).toBe(30);
  for (const [name] of good) expect(results.get(name)).toMatchObject({ state: 'extracted', error: null });
  for (const [name, [, code, message]] of Object.entries(broken)) {
    expect([name, results.get(name)?.error?.code]).toEqual([name, code]);
    expect(results.get(name)?.error?.message).toMatch(message);
  }
  // Unknown shapes are kept whole.
  expect(results.get('shape.pdf')).toMatchObject({ data: null, answer: { version: 7 } });
  expect(JSON.parse(await readFile(output, 'utf8'))).toHaveLength(30);

  const before = calls('extract-invoice');
  const second = (await stage.ebrc(['extract', 'invoice', folder, '--json'])).json<ExtractedFile[]>();
  expect(second.map(({ state, error, data }) => ({ state, error, data }))).toEqual(
    [...results.values()].map(({ state, error, data }) => ({ state, error, data })),
  );
  expect(calls('extract-invoice')).toBe(before);

  // What failed twice reads well now; only it is asked for.
  const again = await stage.ebrc(['extract', 'invoice', join(folder, 'fails.pdf'), '--again', '--json']);
  expect(again.json()).toMatchObject({ state: 'extracted' });
  expect(calls('extract-invoice')).toBe(before + 1);
}, 120_000);

it('takes a PDF with other bytes before its header or encrypted for permissions alone, but no text that quotes one', async () => {
  const [before, quoted] = ['\u001b%-12345X@PJL\r\n', '{"pdf":"%PDF-1.4\\n%%EOF'];
  const behind = await pdf('behind.pdf', Buffer.concat([Buffer.from(before), scriptedPdf({ data: { behind: 1 } })]));
  // Only the service can tell whether it needs a password to be read.
  const encrypted = await pdf('encrypted.pdf', scriptedPdf({ data: { trailer: '/Encrypt 9 0 R' } }));
  for (const path of [behind, encrypted])
    expect((await stage.ebrc(['extract', 'invoice', path, '--json'])).json()).toMatchObject({ state: 'extracted' });
  for (const content of [quoted, `${'x'.repeat(1_020)}%PDF-1.4\n%%EOF\n`]) {
    const other = await stage.ebrc(['extract', 'invoice', await pdf('other.pdf', Buffer.from(content)), '--json']);
    expect(other.json()).toMatchObject({ state: 'refused', errors: [{ code: 'not_a_pdf' }] });
  }
});

it('takes a PDF of the largest size, and waits as long as it is told to', async () => {
  const path = await pdf('max.pdf', pdfOf(MEGABYTES_5 - 1));
  const { json } = await stage.ebrc(['extract', 'invoice', path, '--within', '30d', '--json']);
  expect(json()).toMatchObject({ state: 'extracted' });
});

it('reports what waits, and finds its answer later; the worker is stopped and another one continues', async () => {
  const path = await pdf('waits.pdf', scriptedPdf({ data: { number: 4711 } }));
  await stage.worker.stop();
  const waiting = await stage.ebrc(['extract', 'shipping-bill', path, '--within', '1s', '--json']);
  expect(waiting.code).toBe(4);
  expect(waiting.json()).toMatchObject({ state: 'waiting', error: { code: 'waiting' } });
  await stage.worker.start();
  const { json } = await stage.ebrc(['extract', 'shipping-bill', path, '--json']);
  expect(json()).toMatchObject({ state: 'extracted', data: { number: 4711 } });
});

it('looks again when the document store could not be read', async () => {
  const path = await pdf('store-away.pdf', scriptedPdf({ data: { away: true } }));
  const { documents } = stage.worker.deps;
  const read = jest.spyOn(documents, 'read').mockRejectedValueOnce(new Error('EIO'));
  const { json } = await stage.ebrc(['extract', 'shipping-bill', path, '--json']);
  expect(json()).toMatchObject({ state: 'extracted', data: { away: true } });
  expect(read).toHaveBeenCalledTimes(2);
  read.mockRestore();
});

it('loses nothing when the worker dies in the middle of calls', async () => {
  const folder = join(stage.folder, 'killed');
  await mkdir(folder);
  for (let number = 0; number < 6; number += 1)
    await writeFile(join(folder, `${number}.pdf`), scriptedPdf({ data: { killed: number } }));
  stage.sandbox.addFault({ operation: 'extract-shipping-bill', kind: 'slow', delayMs: 300, every: 1 });
  const running = stage.ebrc(['extract', 'shipping-bill', folder, '--json']);
  const before = calls('extract-shipping-bill');
  while (calls('extract-shipping-bill') === before) await new Promise((resolve) => setTimeout(resolve, 20));
  await stage.worker.stop();
  await stage.worker.start();
  const results = (await running).json<ExtractedFile[]>();
  expect(results.map(({ data }) => data)).toEqual([0, 1, 2, 3, 4, 5].map((killed) => ({ killed })));
  stage.sandbox.clearFaults();
}, 120_000);

it('asks again with another key for what the key was to blame for', async () => {
  const path = await pdf('other-key.pdf', scriptedPdf({ data: { key: 'mended' } }));
  const wrong = await stage.workerFor({ url: stage.sandbox.extractionUrl, key: 'extract_revoked' });
  const env = { ...stage.env, EBRC_TASK_QUEUE: wrong.taskQueue };
  const refused = await ebrc(['extract', 'invoice', path, '--json'], { env });
  expect(refused.code).toBe(3);
  expect(refused.json()).toMatchObject({ state: 'failed', errors: [{ code: 'unauthorized' }] });
  expect((await stage.ebrc(['extract', 'invoice', path, '--json'])).json()).toMatchObject({ state: 'extracted' });
});

it('names the variables where the workers have no extraction service', async () => {
  const without = await stage.workerFor(null);
  const env = { ...stage.env, EBRC_TASK_QUEUE: without.taskQueue };
  const { code, stderr } = await ebrc(['extract', 'invoice', await pdf('none.pdf', scriptedPdf({ data: 1 }))], { env });
  expect(code).toBe(2);
  expect(stderr).toMatch(/EBRC_EXTRACTION_URL and EBRC_EXTRACTION_KEY/);
  expect((await ebrc(['extract', 'invoice', 'none.pdf'])).stderr).toMatch(/EBRC_EXTRACTION_URL/);
});

it('is for what is there: a shipping bill or an invoice, in full for a shipping bill alone', async () => {
  const path = await pdf('wrong.pdf', scriptedPdf({}));
  expect((await stage.ebrc(['extract', 'packing-list', path])).code).toBe(2);
  expect((await stage.ebrc(['extract', 'invoice', path, '--full'])).code).toBe(2);
  expect((await stage.ebrc(['extract', 'invoice', join(stage.folder, 'none')])).code).toBe(2);
});

describe('--explain', () => {
  const data = { doc: { ref: 'INV-9', issued: '30/06/2026' }, total: 'on request' };

  it('shows where each field comes from, by the names of the mapping file', async () => {
    const mapping = join(stage.folder, 'mapping.yaml');
    await writeFile(mapping, 'invoice:\n  number: [no, ref]\n  date: issued\n');
    const env = { ...stage.env, EBRC_EXTRACTION_MAPPING: mapping };
    const path = await pdf('explained.pdf', scriptedPdf({ data }));
    const { code, json } = await ebrc(['extract', 'invoice', path, '--explain', '--json'], { env });
    expect(code).toBe(0);
    const { fields } = json<{ fields: { field: string }[] }>();
    const field = (name: string) => fields.find((each) => each.field === name);
    expect(field('number')).toEqual({ field: 'number', value: 'INV-9', from: 'doc.ref' });
    expect(field('date')).toMatchObject({ value: '30062026', from: 'doc.issued' });
    expect(field('value')).toMatchObject({ value: null, from: null });
    const { stdout } = await ebrc(['extract', 'invoice', path, '--explain'], { env });
    expect(stdout).toMatch(/number\tINV-9\tdoc\.ref\n/u);
  });

  it.each([
    ['a field that there is not', 'invoice:\n  number: a\n  numbr: b\n', /line 3: invoice\.numbr: is not a field/],
    ['a name that is none', 'invoice:\n\n  number: /doc/no\n', /line 3: invoice\.number/],
    ['no YAML', 'invoice: [', /line 1/],
  ])('refuses a mapping with %s before anything is asked for, with the place', async (_what, text, message) => {
    const mapping = join(stage.folder, 'wrong.yaml');
    await writeFile(mapping, text);
    const before = stage.sandbox.calls().length;
    const env = { ...stage.env, EBRC_EXTRACTION_MAPPING: mapping };
    const path = await pdf('unasked.pdf', scriptedPdf({ data: { unasked: true } }));
    const { code, stderr } = await ebrc(['extract', 'invoice', path, '--explain'], { env });
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(stage.sandbox.calls()).toHaveLength(before);
  });
});

describe('the commands of docs/extraction.md, as they stand there', () => {
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'docs', 'extraction.md'), 'utf8')) ?? [];
  const lines = block
    .trim()
    .replace(/\\\n\s*/g, '')
    .split('\n');

  it('leads from PDFs to certificates in five commands', async () => {
    expect(lines).toHaveLength(5);
    let last: FilingView | undefined;
    for (const line of lines) {
      const [, command = '', input = ''] = /^ebrc (.*?)(?: <<< '([^']*)')?$/.exec(line) ?? [];
      const args = command
        .split(' ')
        .map((arg) =>
          arg.startsWith('examples/') ? join(ROOT, arg) : arg === 'july.xlsx' ? join(stage.folder, arg) : arg,
        );
      const { code, stderr, json } = await stage.ebrc([...args, '--json'], { input });
      expect([line, code, code === 0 ? '' : stderr]).toEqual([line, 0, '']);
      last = json<FilingView>();
    }
    expect(last).toMatchObject({ state: 'certified' });
    expect(last?.rows.map(({ sbCumInvoiceNumber, eBRCNumber }) => [sbCumInvoiceNumber, typeof eBRCNumber])).toEqual([
      ['4512345', 'string'],
      ['4512346', 'string'],
    ]);
  }, 120_000);
});
