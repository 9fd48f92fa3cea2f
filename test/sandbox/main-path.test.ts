import { join } from 'node:path';
import { testFolder } from '../support/folder';
import {
  fetchDetails,
  readyClient,
  startSandbox,
  message,
  item,
  link,
  createClient,
  irm,
  seedOf,
  HOUR,
  type Harness,
} from './support';

let harness: Harness;
const folder = testFolder();
beforeEach(async () => {
  harness = await startSandbox();
});

test('an exporter is onboarded, files, and gets a certificate as a PDF that names it', async () => {
  const { api, advance } = harness;
  const id = await readyClient(harness);
  const pushed = await api.post('/genebrc/push-irm', message(id));
  expect(pushed.status).toBe(200);
  expect(pushed.body).toMatchObject({ success: true, statusCode: 200 });
  expect(pushed.data).toMatchObject({ ackStatus: 'Validated', recordResCount: 1, errorDetails: [] });

  const requestId = pushed.data.requestId;
  const early = await api.post('/genebrc/status', { platformCustomerId: id, requestId });
  expect(early.data).toMatchObject({ requestId, recordResCount: 1, recordProCount: 0, ebrcBulkGenStatusLst: [] });
  expect(early.data.processingStatus).toBeUndefined();

  advance(2 * HOUR);
  const late = await api.post('/genebrc/status', { platformCustomerId: id, requestId });
  expect(late.data).toMatchObject({ processingStatus: 'Processed', recordProCount: 1, recordFailCount: 0 });
  const [entry] = late.data.ebrcBulkGenStatusLst;
  expect(entry).toMatchObject({ serialNo: '1', irmNumber: 'IRM1', fobFCC: 4_000, fcc: 'USD', eBRCDt: '02072026' });

  const details = await fetchDetails(harness, id, { sbCumInvoiceNumber: '1234567' });
  expect(details.data).toEqual([
    expect.objectContaining({ eBRCNumber: entry.eBRCNumber, realisedValueFCC: 4_000, eBRCStatus: 'Issued' }),
  ]);

  const pdf = await api.get(`/genebrc/download-pdf/${entry.eBRCNumber}?platformCustomerId=${id}`);
  expect(pdf.status).toBe(200);
  expect(pdf.headers.get('content-type')).toBe('application/pdf');
  expect(pdf.headers.get('content-disposition')).toContain('attachment');
  expect(pdf.body.subarray(0, 5).toString()).toBe('%PDF-');
  expect(pdf.body.toString('latin1')).toContain(entry.eBRCNumber);
  expect(pdf.body.toString('latin1').trimEnd().endsWith('%%EOF')).toBe(true);

  await api.post('/irm/refresh', { platformCustomerId: id });
  const irms = await api.get(`/irm?platformCustomerId=${id}&irmNumber=IRM1`);
  expect(irms.data.data[0]).toMatchObject({ irmAvailableAmt: 6_000, irmUtilizedAmt: 4_000, iecCode: 'AAGCM4521K' });
});

test('a state file carries everything to the next start', async () => {
  const stateFile = join(folder, 'state');
  const first = await startSandbox({ stateFile });
  const id = await readyClient(first);
  const pushed = await first.api.post('/genebrc/push-irm', message(id));
  await first.sandbox.close();

  const second = await startSandbox({ stateFile });
  second.advance(30 * HOUR);
  const status = { platformCustomerId: id, requestId: pushed.data.requestId };
  const { data } = await second.api.post('/genebrc/status', status);
  expect(data).toMatchObject({ processingStatus: 'Processed', recordProCount: 1 });
  await second.api.post('/irm/refresh', { platformCustomerId: id });
  const irms = await second.api.get(`/irm?platformCustomerId=${id}&irmNumber=IRM1`);
  expect(irms.data.data[0]).toMatchObject({ irmAvailableAmt: 6_000 });
});

test('what was accepted is in the state file before its answer goes out, or is lost', async () => {
  const stateFile = join(folder, 'killed');
  const killed = await startSandbox({ stateFile });
  const id = await readyClient(killed);
  killed.sandbox.addFault({ operation: 'push-irm', kind: 'accept-then-drop' });
  await expect(killed.api.post('/genebrc/push-irm', message(id))).rejects.toThrow();
  const next = await startSandbox({ stateFile });
  expect((await next.sandbox.state()).filings.size).toBe(1);
});

test('refreshing before the activation time is refused with the documented code and body', async () => {
  const id = await createClient(harness);
  const linked = await link(harness, id);
  expect(linked.status).toBe(201);
  expect(linked.data).toMatchObject({
    mode: 'test',
    isActive: true,
    hasDgftCredentials: true,
    dgftApiStatus: {
      state: 'activation_pending',
      activatesAt: new Date(harness.now() + 24 * HOUR).toISOString(),
      sharedCredentialsLikely: false,
    },
  });
  const refused = await harness.api.post('/irm/refresh', { platformCustomerId: id });
  expect(refused.status).toBe(409);
  expect(refused.body).toMatchObject({
    statusCode: 409,
    errorCode: 'DGFT_IP_ACTIVATION_PENDING',
    path: '/api/v1/irm/refresh',
  });
  harness.advance(24 * HOUR);
  const client = await harness.api.get(`/platform-customers/${id}`);
  expect(client.data.dgftApiStatus).toMatchObject({ state: 'ready', activatesAt: null });
  expect((await harness.api.post('/irm/refresh', { platformCustomerId: id })).status).toBe(200);
});

test('an identical mapping filed twice becomes two certificates, and is counted', async () => {
  const { api, advance, sandbox } = harness;
  const id = await readyClient(harness);
  const first = await api.post('/genebrc/push-irm', message(id));
  expect(sandbox.doubleFilings()).toEqual([]);
  const second = await api.post('/genebrc/push-irm', message(id));
  advance(2 * HOUR);
  await sandbox.state();
  expect(sandbox.doubleFilings()).toEqual([
    {
      fingerprint: expect.stringContaining('IRM1'),
      requestIds: [first.data.requestId, second.data.requestId],
      eBRCNumbers: [expect.any(String), expect.any(String)],
    },
  ]);
});

test('so is one that names its IRM by the other of its dates', async () => {
  const own = await startSandbox({ seed: seedOf({ irms: [irm({ remittanceDate: '10052026' })] }) });
  const id = await readyClient(own);
  for (const irmDt of ['12052026', '10052026']) {
    const taken = await own.api.post('/genebrc/push-irm', message(id, [item({ irmDt })]));
    expect(taken.data).not.toHaveProperty('observations');
  }
  own.advance(2 * HOUR);
  await own.sandbox.state();
  expect(own.sandbox.doubleFilings()).toMatchObject([{ eBRCNumbers: [expect.any(String), expect.any(String)] }]);
});

test('a certificate is dated by the day in Asia/Kolkata at the moment of processing, whenever it is asked for', async () => {
  const { api, advance } = harness;
  const id = await readyClient(harness);
  // 2 July 23:30 in Kolkata is 18:00 UTC; the processing two hours later is on 3 July there, and on 2 July in UTC.
  advance(13.5 * HOUR);
  const { data } = await api.post('/genebrc/push-irm', message(id));
  advance(48 * HOUR);
  const record = await api.post('/genebrc/status', { platformCustomerId: id, requestId: data.requestId });
  expect(record.data.ebrcBulkGenStatusLst[0].eBRCDt).toBe('03072026');
});
