import { startSandbox, type Harness } from './support';

let harness: Harness;
beforeEach(async () => {
  harness = await startSandbox();
});

const PDF = Buffer.from('%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n');

async function extract(path: string, file: Buffer | null, key: string | null = 'extract_sandbox_key') {
  const form = new FormData();
  if (file) form.append('file', new Blob([new Uint8Array(file)]), 'document.pdf');
  const response = await fetch(`${harness.sandbox.extractionUrl}/platform/${path}`, {
    method: 'POST',
    headers: key === null ? {} : { 'x-api-key': key },
    body: form,
  });
  const body = (await response.json()) as Record<string, unknown> & { data: Record<string, unknown> };
  return { status: response.status, body };
}

test.each([
  ['shipping-bills/extract', 'shippingBillNumber'],
  ['shipping-bills/extract/full', 'items'],
  ['invoices/extract', 'lineItems'],
])('%s answers status and data without the envelope, the same for the same file', async (path, field) => {
  const first = await extract(path, PDF);
  expect(first.status).toBe(200);
  expect(Object.keys(first.body)).toEqual(['status', 'data']);
  expect(first.body.status).toBe('success');
  expect(first.body.data).toHaveProperty(field);
  expect((await extract(path, PDF)).body).toEqual(first.body);
  expect((await extract(path, Buffer.concat([PDF, PDF]))).body).not.toEqual(first.body);
});

test.each<[string, Buffer | null]>([
  ['no file', null],
  ['no PDF', Buffer.from('hello')],
  ['a cut PDF', PDF.subarray(0, 20)],
  ['5 MB', Buffer.concat([PDF, Buffer.alloc(5 * 1024 * 1024 - 2 * PDF.length), PDF])],
])('%s is refused', async (_what, file) => {
  const refused = await extract('invoices/extract', file);
  expect(refused.status).toBe(400);
  expect(refused.body.status).toBe('error');
});

test('it has keys of its own', async () => {
  expect(await extract('invoices/extract', PDF, null)).toMatchObject({
    status: 401,
    body: { message: 'No API key provided' },
  });
  expect(await extract('invoices/extract', PDF, 'dev_sandbox_key')).toMatchObject({
    status: 401,
    body: { message: 'Invalid API key' },
  });
});

test('faults strike it too', async () => {
  harness.sandbox.addFault({ operation: 'extract-invoice', kind: '500' });
  expect((await extract('invoices/extract', PDF)).status).toBe(500);
});
