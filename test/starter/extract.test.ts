import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PDFDocument from 'pdfkit';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox';
import { ebrc } from '../support/command-line';

let sandbox: Sandbox;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  sandbox = await createSandbox();
  folder = await mkdtemp(join(tmpdir(), 'ebrc-extract-'));
  env = { EBRC_EXTRACTION_URL: sandbox.extractionUrl, EBRC_EXTRACTION_KEY: 'extract_sandbox_key' };
});
afterAll(async () => {
  await sandbox.close();
  await rm(folder, { recursive: true });
});

async function pdf(name: string): Promise<string> {
  const document = new PDFDocument();
  document.text('Shipping bill 4512345');
  document.end();
  const chunks: Buffer[] = [];
  for await (const chunk of document) chunks.push(chunk as Buffer);
  const path = join(folder, name);
  await writeFile(path, Buffer.concat(chunks));
  return path;
}

it.each([
  ['shipping-bill', [], 'extract-shipping-bill'],
  ['shipping-bill', ['--full'], 'extract-shipping-bill-full'],
  ['invoice', [], 'extract-invoice'],
])('reads a %s %p', async (kind, more, operation) => {
  const { code, json } = await ebrc(['extract', kind, await pdf(`${operation}.pdf`), ...more, '--json'], { env });
  expect(code).toBe(0);
  expect(json()).toMatchObject({ status: 'success', data: expect.any(Object) as object });
  expect(sandbox.calls({ operation })).toHaveLength(1);
});

it('sends nothing that is not a PDF', async () => {
  const path = join(folder, 'text.pdf');
  await writeFile(path, 'not a PDF');
  const before = sandbox.calls().length;
  const { code, json } = await ebrc(['extract', 'invoice', path, '--json'], { env });
  expect(code).toBe(3);
  expect(json<{ errors: { message: string }[] }>().errors[0]?.message).toMatch(/not a PDF/);
  expect(sandbox.calls()).toHaveLength(before);
});

it('names what is missing where extraction is not configured', async () => {
  const { code, stderr } = await ebrc(['extract', 'invoice', await pdf('unset.pdf')]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/EBRC_EXTRACTION_URL/);
});

it('is for a shipping bill or an invoice, in full for a shipping bill alone', async () => {
  const path = await pdf('wrong.pdf');
  expect((await ebrc(['extract', 'packing-list', path], { env })).code).toBe(2);
  expect((await ebrc(['extract', 'invoice', path, '--full'], { env })).code).toBe(2);
});
