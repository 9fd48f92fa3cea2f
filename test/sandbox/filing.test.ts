import {
  HOUR,
  createClient,
  item,
  message,
  readyClient,
  startSandbox,
  seedOf,
  fetchDetails,
  irm,
  type Harness,
} from './support';

let harness: Harness;
let id: string;
beforeEach(async () => {
  harness = await startSandbox();
  id = await readyClient(harness);
});

const push = (items: unknown[], over = {}) => harness.api.post('/genebrc/push-irm', message(id, items, over));
const status = (requestId: string) => harness.api.post('/genebrc/status', { platformCustomerId: id, requestId });

describe('push-irm', () => {
  const row = 'ebrcBulkGenDtos.0.';
  test.each([
    ['sbCumInvoiceNumber', { sbCumInvoiceNumber: 'INV/26/7' }, 'is not a shipping bill number'],
    ['sbCumInvoiceNumber', { sbCumInvoiceNumber: '12345678' }, 'is not a shipping bill number'],
    ['irmDt', { irmDt: '31022026' }, 'DDMMYYYY'],
    ['irmNumber', { irmNumber: '' }, 'should not be empty'],
    ['mappedIRMAmountFCC', { mappedIRMAmountFCC: '400' }, 'must be a number'],
    ['isVostro', { isVostro: 'Yes' }, 'Y, N'],
    ['uploadType', { uploadType: 1 }, '101, 102, 103, 104'],
    ['gstinInvoiceNumber', { isGstAvail: 'Y', gstinInvoiceDate: '01062026' }, 'mandatory'],
    ['gstinInvoiceDate', { isGstAvail: 'Y', gstinInvoiceNumber: 'G1' }, 'mandatory'],
    ['gstinInvoiceNumber', { gstinInvoiceNumber: 'G1' }, 'must be null'],
    ['gstinInvoiceDate', { gstinInvoiceDate: '01062026' }, 'must be null'],
  ])('%s: %j is refused', async (field, over, words) => {
    const refused = await push([item(over)]);
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({ statusCode: 400, message: 'Validation failed' });
    expect(refused.body.errors).toEqual([expect.stringContaining(words)]);
    expect(refused.body.errors[0].startsWith(`${row}${field}: `)).toBe(true);
  });

  test('names everything that is wrong at the top', async () => {
    const refused = await harness.api.post('/genebrc/push-irm', {
      platformCustomerId: 'x',
      recordResCount: 3,
      uploadType: '105',
      decalarationFlag: 'y',
      ebrcBulkGenDtos: [item()],
    });
    expect(refused.body.errors).toEqual([
      'platformCustomerId: platformCustomerId must be a UUID',
      'uploadType: uploadType must be one of the following values: 101, 102, 103, 104',
      'decalarationFlag: decalarationFlag must be one of the following values: Y, N',
      'recordResCount: recordResCount must equal the number of entries in ebrcBulkGenDtos (1)',
    ]);
  });

  test("the held record is the one of the row's date, where a number recurs", async () => {
    const irms = [irm(), irm({ irmIssueDate: '13062026', remittanceFCC: 'EUR', remittanceFCCAmount: 10 })];
    const own = await startSandbox({ seed: seedOf({ irms }) });
    const client = await readyClient(own);
    const taken = await own.api.post(
      '/genebrc/push-irm',
      message(client, [
        item({ irmDt: '13062026', irmFCC: 'EUR', mappedIRMAmountFCC: 20 }),
        item({ serialNo: 2, irmDt: '14062026' }),
      ]),
    );
    expect(taken.data.observations).toEqual([
      'Row 1: mappedIRMAmountFCC is more than the held available amount',
      'Row 2: no held IRM record for IRM1',
    ]);
  });

  test.each([
    ['password', { password: 'Changed#1' }, 'DGFT_CREDENTIALS_INVALID'],
    ['lock', { locked: true }, 'DGFT_ACCOUNT_LOCKED'],
  ])('a changed %s answers 409 with the documented body', async (_what, change, errorCode) => {
    await harness.control('PATCH', '/accounts/acme', change);
    const refused = await push([item()]);
    expect(refused.status).toBe(409);
    expect(refused.body).toEqual({
      statusCode: 409,
      errorCode,
      requiresPasswordUpdate: true,
      message: expect.any(String),
      causes: expect.arrayContaining([expect.any(String)]),
      path: '/api/v1/genebrc/push-irm',
      timestamp: new Date(harness.now()).toISOString(),
    });
  });

  test('a client without credentials answers 422', async () => {
    const bare = await createClient(harness);
    const refused = await harness.api.post('/genebrc/push-irm', message(bare));
    expect([refused.status, refused.body.errorCode]).toEqual([422, 'DGFT_CREDENTIALS_MISSING']);
  });
});

describe('status', () => {
  test.each([
    ['an unknown IRM', { irmNumber: 'IRM9' }, 'ERR19'],
    ['another AD code', { irmAdCode: '9999999' }, 'ERR16'],
    ['another currency', { irmFCC: 'GBP' }, 'ERR20'],
    ['another branch', { irmIfscCode: 'HDFC0000061' }, 'ERR15'],
    ['an unknown port', { portCode: 'XX' }, 'ERR30'],
  ])('%s is errored by the authority', async (_what, over, code) => {
    const { data } = await push([item(over)]);
    harness.advance(2 * HOUR);
    const record = await status(data.requestId);
    expect(record.data.ebrcBulkGenStatusLst[0].errorDetails).toEqual([expect.stringContaining(code)]);
  });

  test('scripted outcomes decide instead of the rules', async () => {
    await harness.control('POST', '/outcomes', {
      match: { document: '7' },
      processingStatus: 'Errored',
      errorDetails: [{ errorCode: 'ERR36', errorMessage: 'Declaration' }],
    });
    const { data } = await push([item(), item({ serialNo: 2, sbCumInvoiceNumber: '7' })]);
    harness.advance(2 * HOUR);
    const record = await status(data.requestId);
    expect(record.data).toMatchObject({ processingStatus: 'Errored', recordProCount: 1, recordFailCount: 1 });
    expect(record.data.ebrcBulkGenStatusLst[1].errorDetails).toEqual([
      { errorCode: 'ERR36', errorMessage: 'Declaration' },
    ]);
  });
});

describe('fetch-details', () => {
  const details = (over = {}) => fetchDetails(harness, id, over);

  test('an invoice settled by several rows gives one entry each, with its own number and value', async () => {
    await push([item({ mappedIRMAmountFCC: 1_000 }), item({ serialNo: 2, mappedIRMAmountFCC: 2_000 })]);
    harness.advance(2 * HOUR);
    const { data } = await details({ sbCumInvoiceNumber: '1234567', sbCumInvoiceDate: '01062026' });
    expect(data.map((entry: { realisedValueFCC: number }) => entry.realisedValueFCC)).toEqual([1_000, 2_000]);
    expect(new Set(data.map((entry: { eBRCNumber: string }) => entry.eBRCNumber)).size).toBe(2);
    expect((await details({ sbCumInvoiceNumber: '1' })).data).toEqual([]);
    expect((await details({ eBRCIssueFromDt: '03072026' })).data).toEqual([]);
  });

  test.each([
    [{ eBRCIssueFromDt: '01072026', eBRCIssueToDt: '01102026' }, 200],
    [{ eBRCIssueFromDt: '01072026', eBRCIssueToDt: '02102026' }, 400],
    [{ eBRCIssueFromDt: '30112025', eBRCIssueToDt: '28022026' }, 200],
    [{ eBRCIssueFromDt: '30112025', eBRCIssueToDt: '01032026' }, 400],
    [{ eBRCIssueFromDt: '02072026', eBRCIssueToDt: '01072026' }, 400],
    [{ eBRCIssueFromDt: '2026-07-01' }, 400],
    [{ iecCode: 'BBGCM4521K' }, 400],
    [{ sbCumInvoiceNumber: '1'.repeat(26) }, 400],
  ])('%j answers %i', async (over, expected) => {
    expect((await details(over)).status).toBe(expected);
  });

  test('certificates of the seed are there from the start', async () => {
    await harness.control('POST', '/accounts/acme/certificates', {
      eBRCNumber: 'OLD1',
      eBRCDate: '05072026',
      sbCumInvoiceNumber: '55',
      sbCumInvoiceDate: '01062026',
      realisedValueFCC: 10,
      currencyCode: 'USD',
      realizationDt: '01062026',
    });
    expect((await details()).data).toEqual([expect.objectContaining({ eBRCNumber: 'OLD1' })]);
  });
});

test('certificates stay invisible for the configured delay', async () => {
  const slow = await startSandbox({ detailsDelayMs: HOUR, pdfDelayMs: 2 * HOUR });
  const client = await readyClient(slow);
  const { data } = await slow.api.post('/genebrc/push-irm', message(client));
  slow.advance(2 * HOUR);
  const asked = () => slow.api.post('/genebrc/status', { platformCustomerId: client, requestId: data.requestId });
  const { eBRCNumber } = (await asked()).data.ebrcBulkGenStatusLst[0];
  const details = () => fetchDetails(slow, client);
  const pdf = () => slow.api.get(`/genebrc/download-pdf/${eBRCNumber}?platformCustomerId=${client}`);
  expect((await details()).data).toEqual([]);
  slow.advance(HOUR);
  expect((await details()).data).toHaveLength(1);
  const refused = await pdf();
  expect([refused.status, refused.body.errorCode, refused.body.requiresPasswordUpdate]).toEqual([
    404,
    'EBRC_NOT_FOUND',
    false,
  ]);
  slow.advance(HOUR);
  expect((await pdf()).status).toBe(200);
  // The copy that the service holds needs no login.
  await slow.control('PATCH', '/accounts/acme', { password: 'Changed#1' });
  expect((await pdf()).status).toBe(200);
});

test('GET /irm pages and filters saved records, which stay as they were until a refresh', async () => {
  const many = await startSandbox({
    seed: seedOf({
      irms: Array.from({ length: 25 }, (_unused, n) =>
        irm({ irmNumber: `IRM${n}`, irmIssueDate: `${String(n + 1).padStart(2, '0')}052026` }),
      ),
    }),
  });
  const client = await readyClient(many);
  const page = await many.api.get(`/irm?platformCustomerId=${client}&page=3&limit=10`);
  expect(page.data.meta).toEqual({ total: 25, page: 3, limit: 10, totalPages: 3 });
  expect(page.data.data).toHaveLength(5);
  const dated = await many.api.get(`/irm?platformCustomerId=${client}&fromDate=2026-05-03&toDate=2026-05-05`);
  expect(dated.data.meta.total).toBe(3);
  expect((await many.api.get(`/irm?platformCustomerId=${client}&fromDate=03052026`)).status).toBe(400);
  await many.api.post('/genebrc/push-irm', message(client, [item({ irmNumber: 'IRM0', irmDt: '01052026' })]));
  many.advance(2 * HOUR);
  const available = async () =>
    (await many.api.get(`/irm?platformCustomerId=${client}&irmNumber=IRM0`)).data.data[0].irmAvailableAmt;
  expect(await available()).toBe(10_000);
  await many.api.post('/irm/refresh', { platformCustomerId: client });
  expect(await available()).toBe(6_000);
});
