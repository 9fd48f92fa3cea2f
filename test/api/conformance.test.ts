import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFilingApi } from '../../src/api/client';
import { createExtractionApi } from '../../src/api/endpoints/extraction';
import { createDocumentStore } from '../../src/documents/document-store';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox';
import { workbookOf } from '../sandbox/workbook-support';
import { collect } from './support/invoke';
import { errorOf, mapping, mayWrite, pushOf, recordingBudget } from './support/service';

const HOUR = 3_600_000;
const PDF = Buffer.from('%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n');

/** The client against the sandbox, which was written from the specification without it: every endpoint. */
describe('the client and the sandbox agree', () => {
  let sandbox: Sandbox;
  let api: ReturnType<typeof createFilingApi>;
  let now: number;
  let folder: string;

  beforeEach(async () => {
    // 1 July 2026, 10:00 in Asia/Kolkata.
    now = Date.UTC(2026, 6, 1, 4, 30);
    sandbox = await createSandbox({
      clock: () => now,
      rateLimits: false,
      seed: {
        accounts: [
          {
            username: 'acme',
            password: 'Right#1',
            iec: 'AAGCM4521K',
            panNumber: 'AAGCM4521K',
            irms: ['1', '2'].map(irm),
          },
        ],
      },
    });
    api = createFilingApi({
      baseUrl: sandbox.url,
      apiKey: 'dev_sandbox_key',
      httpTimeoutMs: 10_000,
      budget: recordingBudget(),
    });
    folder = await mkdtemp(join(tmpdir(), 'ebrc-conformance-'));
  });
  afterEach(async () => {
    await api.close();
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  });

  function irm(number: string) {
    return {
      irmNumber: `IRM${number}`,
      irmIssueDate: '12052026',
      ifscCode: 'HDFC0000060',
      remittanceAdCode: '0510060',
      remittanceFCC: 'USD',
      remittanceFCCAmount: 10_000,
      purposeOfRemittance: 'P0103',
    };
  }

  const row = mapping({
    irmNumber: 'IRM1',
    irmDt: '12052026',
    irmIfscCode: 'HDFC0000060',
    irmAdCode: '0510060',
    irmPurposeCode: 'P0103',
    irmRemitAmtFCC: 10_000,
    sbCumInvoiceDate: '20052026',
    sbCumInvoiceValueinFCC: 4_000.25,
    mappedIRMAmountFCC: 4_000.25,
  });

  async function readyCustomer(): Promise<string> {
    const { id } = await api.createCustomer({ name: 'Acme', email: 'acme@example.com', iec: ' aagcm4521k ' });
    await api.checkCredentials(id, { dgftUsername: 'acme', dgftPassword: 'Right#1' });
    now += 24 * HOUR;
    await api.refreshIrms(id);
    return id;
  }

  test('on customers: create, get, update, list', async () => {
    const created = await api.createCustomer({ name: 'Acme', email: 'acme@example.com', iec: 'aagcm4521k' });
    expect(created).toMatchObject({ iec: 'AAGCM4521K', mode: 'test', isActive: false, hasDgftCredentials: false });
    expect(await api.getCustomer(created.id)).toMatchObject({ id: created.id, mode: null, address: null });
    expect(await api.updateCustomer(created.id, { address: 'Pune' })).toMatchObject({ address: 'Pune', mode: 'test' });
    for (let index = 0; index < 12; index += 1) {
      await api.createCustomer({ name: `More ${index}`, email: `more${index}@example.com` });
    }
    expect(await collect(api.listCustomers({ limit: 5 }))).toHaveLength(13);
    const [found] = await collect(api.listCustomers({ search: 'acme@' }));
    expect(found).toMatchObject({ id: created.id, mode: null, dgftApiStatus: null });
    const again = await errorOf(api.createCustomer({ name: 'Acme', email: 'acme@example.com' }));
    expect(again.kind).toBe('email_taken');
  });

  test('on credentials and activation', async () => {
    const { id } = await api.createCustomer({ name: 'Acme', email: 'acme@example.com' });
    const wrong = await errorOf(api.checkCredentials(id, { dgftUsername: 'acme', dgftPassword: 'Wrong#1' }));
    expect(wrong.kind).toBe('credentials_rejected');
    expect((await errorOf(api.refreshIrms(id))).kind).toBe('credentials_missing');
    const linked = await api.checkCredentials(id, { dgftUsername: 'acme', dgftPassword: 'Right#1' });
    expect(linked).toMatchObject({ isActive: true, dgftApiStatus: { state: 'activation_pending' } });
    expect(Date.parse(linked.dgftApiStatus?.activatesAt ?? '')).toBe(now + 24 * HOUR);
    expect((await errorOf(api.refreshIrms(id))).kind).toBe('activation_pending');
    const other = await errorOf(api.checkCredentials(id, { dgftUsername: 'other', dgftPassword: 'Right#1' }));
    expect(other.kind).toBe('credentials_already_set');
    now += 24 * HOUR;
    await api.refreshIrms(id);
    expect((await api.getCustomer(id)).dgftApiStatus).toMatchObject({ state: 'ready' });
  });

  test('on IRMs: the saved records and the template', async () => {
    const platformCustomerId = await readyCustomer();
    const irms = await collect(api.listIrms(platformCustomerId));
    expect(irms).toEqual(
      expect.arrayContaining([expect.objectContaining({ irmNumber: 'IRM1', remittanceFCCAmount: 10_000 })]),
    );
    const store = createDocumentStore({ root: folder });
    const template = await api.irmTemplate(platformCustomerId, (stream, expectedBytes) =>
      store.put({ name: 'template', kind: 'xlsx', expectedBytes, stream }),
    );
    expect(template.bytes).toBeGreaterThan(0);
  });

  test('on a push, from its acknowledgement to the certificate on disk', async () => {
    const platformCustomerId = await readyCustomer();
    const filed = await api.pushIrm({ ...pushOf(row), platformCustomerId }, mayWrite);
    expect(filed.parsed).toMatchObject({ ackStatus: 'Validated', recordResCount: 1, errorDetails: [] });
    const requestId = filed.parsed.requestId ?? '';
    const early = await api.status({ platformCustomerId, requestId });
    expect(early.processingStatus).not.toBe('Processed');

    now += 3 * HOUR;
    const done = await api.status({ platformCustomerId, requestId });
    expect(done).toMatchObject({ processingStatus: 'Processed', recordProCount: 1 });
    const eBRCNumber = done.ebrcBulkGenStatusLst[0]?.eBRCNumber ?? '';
    const details = await api.fetchDetails({
      platformCustomerId,
      iecCode: 'AAGCM4521K',
      eBRCIssueFromDt: '01062026',
      eBRCIssueToDt: '01082026',
      sbCumInvoiceNumber: row.sbCumInvoiceNumber,
    });
    expect(details.certificates).toMatchObject([{ eBRCNumber, realisedValueFCC: 4_000.25, currencyCode: 'USD' }]);

    const store = createDocumentStore({ root: folder });
    const document = await api.downloadPdf({ eBRCNumber, platformCustomerId }, (stream, expectedBytes) =>
      store.put({ name: eBRCNumber, kind: 'pdf', expectedBytes, stream }),
    );
    expect((await readFile(document.path)).subarray(0, 5).toString()).toBe('%PDF-');
    expect(
      (await errorOf(api.downloadPdf({ eBRCNumber: 'NOT-ONE', platformCustomerId }, () => Promise.resolve()))).kind,
    ).toBe('certificate_not_ready');
    expect((await errorOf(api.status({ platformCustomerId, requestId: 'nobody-knows' }))).kind).toBe(
      'request_not_found',
    );
    const wide = { platformCustomerId, iecCode: 'AAGCM4521K', eBRCIssueFromDt: '01012026', eBRCIssueToDt: '01082026' };
    expect((await errorOf(api.fetchDetails(wide))).kind).toBe('window_too_wide');
  });

  test('on a push that breaks a rule: the row and the field', async () => {
    const platformCustomerId = await readyCustomer();
    const bad = { ...row, serialNo: 17, sbCumInvoiceNumber: 'INV/17' };
    const error = await errorOf(api.pushIrm({ ...pushOf(bad), platformCustomerId }, mayWrite));
    expect(error.kind).toBe('validation_failed');
    expect(error.fieldErrors).toMatchObject([{ row: 17, field: 'sbCumInvoiceNumber' }]);
  });

  test('on a bulk upload, accepted and rejected', async () => {
    const platformCustomerId = await readyCustomer();
    const values = { ...row, irmNumber: 'IRM2' };
    const input = { platformCustomerId, uploadType: '101', decalarationFlag: 'Y', fileName: 'rows.xlsx' } as const;
    const filed = await api.bulkUpload({ ...input, file: await workbookOf([values]) }, mayWrite);
    expect(filed.parsed).toMatchObject({
      ackStatus: 'Validated',
      parsedRowCount: 1,
      irms: [{ serialNo: 1, irmNumber: 'IRM2', irmAdCode: '0510060' }],
    });
    const rejected = await errorOf(
      api.bulkUpload({ ...input, file: await workbookOf([{ ...values, isVostro: 'Yes' }]) }, mayWrite),
    );
    expect(rejected.kind).toBe('workbook_rejected');
    expect(rejected.fieldErrors).toMatchObject([{ row: 2, field: 'isVostro' }]);
  });

  test('on keys: an unknown one, and the other mode', async () => {
    const { id } = await api.createCustomer({ name: 'Acme', email: 'acme@example.com' });
    for (const [apiKey, kind] of [
      ['dev_unknown', 'unauthorized'],
      ['prod_sandbox_key', 'customer_not_found'],
    ] as const) {
      const other = createFilingApi({ baseUrl: sandbox.url, apiKey, httpTimeoutMs: 5_000, budget: recordingBudget() });
      expect((await errorOf(other.getCustomer(id))).kind).toBe(kind);
      await other.close();
    }
  });

  test('on extraction, on its own host with its own key', async () => {
    const options = { baseUrl: sandbox.extractionUrl, apiKey: 'extract_sandbox_key', httpTimeoutMs: 5_000 };
    const extraction = createExtractionApi(options);
    const input = { file: PDF, fileName: 'bill.pdf' };
    expect(await extraction.extract('extractShippingBill', input)).toMatchObject({ status: 'success' });
    expect((await extraction.extract('extractShippingBillFull', input)).data).toHaveProperty('items');
    expect((await extraction.extract('extractInvoice', input)).data).toHaveProperty('lineItems');
    for (const file of [Buffer.from('hello'), PDF.subarray(0, 20), Buffer.alloc(5 * 1024 * 1024, PDF)]) {
      const refused = { kind: 'refused', status: 400 };
      expect(await errorOf(extraction.extract('extractInvoice', { ...input, file }))).toMatchObject(refused);
    }
    await extraction.close();
    const stranger = createExtractionApi({ ...options, apiKey: 'dev_sandbox_key' });
    expect((await errorOf(stranger.extract('extractInvoice', input))).kind).toBe('unauthorized');
    await stranger.close();
  });
});
