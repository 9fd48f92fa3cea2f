import { writeFileSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { testFolder } from '../support/folder';
import { createSandbox } from '../../sandbox/sandbox';
import { message, readyClient, seedOf, seedWith, startSandbox, type Harness } from './support';
import { EFFECT_FAULTS, OPERATIONS, TRANSPORT_FAULTS } from '../../sandbox/faults/fault-schema';
import { DEFAULT_SEED } from '../../sandbox/authority/default-seed';
import { loadSeed, type Seed } from '../../sandbox/authority/seed';

const folder = testFolder();

describe('control endpoints', () => {
  test('arm, list and clear faults, and report what is wrong with one', async () => {
    const { control, api } = await startSandbox();
    const armed = await control('POST', '/faults', { operation: 'push-irm', kind: '500', times: 2 });
    expect(armed.status).toBe(201);
    await api.post('/genebrc/push-irm', {});
    expect((await control('GET', '/faults')).body).toEqual([
      expect.objectContaining({ id: armed.body.id, seen: 1, applied: 1 }),
    ]);
    expect((await control('DELETE', `/faults/${armed.body.id}`)).status).toBe(204);
    expect((await control('DELETE', `/faults/${armed.body.id}`)).status).toBe(404);
    const wrong = await control('POST', '/faults', { operation: 'push', kind: 'explode' });
    expect(wrong.status).toBe(400);
    expect(wrong.body.message).toContain('kind');
    await control('POST', '/faults', { operation: 'push-irm', kind: '500' });
    expect((await control('DELETE', '/faults')).status).toBe(204);
    expect((await control('GET', '/faults')).body).toEqual([]);
  });

  test('add accounts, IRMs and keys', async () => {
    const harness = await startSandbox();
    const { control } = harness;
    const account = { username: 'newcomer', password: 'New#1', iec: 'CCGCM4521K' };
    expect((await control('POST', '/accounts', account)).status).toBe(201);
    expect((await control('POST', '/accounts', account)).status).toBe(409);
    const irm = {
      irmNumber: 'N1',
      irmIssueDate: '12052026',
      ifscCode: 'HDFC0000060',
      remittanceAdCode: '0510060',
      remittanceFCC: 'USD',
      remittanceFCCAmount: 5,
    };
    expect((await control('POST', '/accounts/newcomer/irms', irm)).status).toBe(201);
    // The same key again amends the IRM.
    await control('POST', '/accounts/newcomer/irms', { ...irm, irmStatus: 'amended', irmAvailableAmt: 3 });
    await control('POST', '/accounts/newcomer/irms', { ...irm, ifscCode: 'HDFC0000061', irmAvailableAmt: 2 });
    expect((await control('POST', '/accounts/nobody/irms', irm)).status).toBe(404);
    const accounts = await control('GET', '/accounts');
    expect(JSON.stringify(accounts.body)).not.toContain('New#1');
    expect(accounts.body.at(-1)).toMatchObject({
      username: 'newcomer',
      irms: [{ ifscCode: 'HDFC0000061', irmAvailableAmt: 2 }],
    });

    expect((await harness.with('dev_extra').get('/platform-customers')).status).toBe(401);
    await control('POST', '/keys', { key: 'dev_extra' });
    expect((await harness.with('dev_extra').get('/platform-customers')).status).toBe(200);
    await control('POST', '/keys', { key: 'dev_extra', revoked: true });
    expect((await harness.with('dev_extra').get('/platform-customers')).status).toBe(401);
    // A change of a key leaves the rest of it as it is.
    await control('POST', '/keys', { key: 'dev_extra', ndaSigned: false });
    await control('POST', '/keys', { key: 'dev_extra', revoked: false });
    expect((await harness.with('dev_extra').get('/platform-customers')).status).toBe(403);
  });

  test('the call log records who called what, without keys, passwords and bodies', async () => {
    const harness = await startSandbox();
    const { api, control } = harness;
    const id = await readyClient(harness);
    await api.post('/genebrc/push-irm', message(id));
    await harness.with(null).get('/platform-customers');
    const { body } = await control('GET', '/calls');
    expect(body.map((call: { operation: string }) => call.operation)).toEqual([
      'create-customer',
      'check-dgft-credentials',
      'refresh-irms',
      'push-irm',
      'list-customers',
    ]);
    expect(body[3]).toEqual({
      seq: 4,
      at: new Date(harness.now()).toISOString(),
      realMs: expect.any(Number),
      operation: 'push-irm',
      method: 'POST',
      path: '/api/v1/genebrc/push-irm',
      key: 'dev_ platform-sandbox',
      reusedConnection: expect.any(Boolean),
      status: 200,
      errorCode: null,
      faults: [],
      platformCustomerId: id,
      requestId: expect.any(String),
      mappings: ['AAGCM4521K|IRM1|0510060|12052026|1234567|01062026|4000'],
    });
    expect(body[4]).toMatchObject({ key: 'none', status: 401 });
    expect(JSON.stringify(body)).not.toMatch(/sandbox_key|Right#1/);
    const since = await control('GET', '/calls?operation=push-irm&since=3');
    expect(since.body).toHaveLength(1);
    await control('DELETE', '/calls');
    expect((await control('GET', '/calls')).body).toEqual([]);
  });
});

describe('options', () => {
  test('a taken port falls to a free one', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    const sandbox = await createSandbox({ port });
    expect(sandbox.port).not.toBe(port);
    expect(sandbox.url).toBe(`http://127.0.0.1:${sandbox.port}/api/v1`);
    await sandbox.close();
    await new Promise((resolve) => taken.close(resolve));
  });

  test('a seed comes from a JSON file, and a wrong one is named with its fields', async () => {
    const good = join(folder, 'good.json');
    writeFileSync(good, JSON.stringify(seedWith({ faults: [{ operation: 'list-customers', kind: '500' }] })));
    const { api, sandbox } = await startSandbox({ seed: good });
    expect((await api.get('/platform-customers')).status).toBe(500);
    expect((await api.get('/platform-customers')).status).toBe(200);
    await sandbox.close();

    const bad = join(folder, 'bad.json');
    writeFileSync(bad, JSON.stringify({ accounts: [{ username: 'x', iec: 'short' }], weather: 'rain' }));
    await expect(createSandbox({ seed: bad })).rejects.toThrow(/bad\.json is not a sandbox seed[\s\S]*weather/);
    await expect(createSandbox({ seed: join(folder, 'none.json') })).rejects.toThrow(/none\.json could not be read/);
  });

  test('close frees the port at once, also while an answer hangs', async () => {
    const { sandbox, api } = await startSandbox();
    sandbox.addFault({ operation: 'list-customers', kind: 'hang' });
    const hanging = api.get('/platform-customers').then(
      () => 'answered',
      () => 'cut',
    );
    while (sandbox.calls().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await sandbox.close();
    expect(await hanging).toBe('cut');
  });

  test('an unknown path is a 404 in the form of the other errors', async () => {
    const { api } = await startSandbox();
    expect((await api.get('/genebrc/history')).body).toEqual({
      statusCode: 404,
      message: 'Cannot GET /api/v1/genebrc/history',
    });
  });

  test('a body that is no JSON is a 400, and is in the log', async () => {
    const { sandbox } = await startSandbox();
    const response = await fetch(`${sandbox.url}/genebrc/status`, {
      method: 'POST',
      headers: { 'x-api-key': 'dev_sandbox_key', 'content-type': 'application/json' },
      body: '{"platformCustomerId":',
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ statusCode: 400, message: expect.any(String) });
    expect(sandbox.calls()).toEqual([expect.objectContaining({ operation: 'status', status: 400 })]);
  });

  test('an account locks after as many failed logins as its seed sets', async () => {
    const harness = await startSandbox({
      seed: seedOf({ lockAfterFailedLogins: 2 }),
    });
    const id = await readyClient(harness);
    await harness.control('PATCH', '/accounts/acme', { password: 'Other#1' });
    const code = async () => (await harness.api.post('/genebrc/push-irm', message(id))).body.errorCode;
    expect([await code(), await code(), await code()]).toEqual([
      'DGFT_CREDENTIALS_INVALID',
      'DGFT_CREDENTIALS_INVALID',
      'DGFT_ACCOUNT_LOCKED',
    ]);
  });
});

const page = readFileSync(join(__dirname, '../../docs/sandbox.md'), 'utf8');

test('the seed that the page shows is one', () => {
  const example = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
  const seed = loadSeed(JSON.parse(example) as Seed);
  expect(seed.accounts?.[0]?.irms).toHaveLength(1);
  expect(seed.faults).toHaveLength(1);
});

test.each([...OPERATIONS, ...TRANSPORT_FAULTS, ...EFFECT_FAULTS])('the page names %s', (word) => {
  expect(page).toContain(`\`${word}\``);
});

test.each(DEFAULT_SEED.accounts)('the page lists the account $username with its password', (account) => {
  expect(page).toContain(`| \`${account.username}\` | \`${account.password}\` | \`${account.iec}\` |`);
});

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
