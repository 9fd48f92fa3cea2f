import { Agent, request as undiciRequest } from 'undici';
import type { FaultInput } from '../../sandbox/faults/fault-schema';
import { eventually } from '../support/processes';
import { fetchDetails, HOUR, item, link, message, readyClient, startSandbox, type Harness } from './support';

let harness: Harness;
let id: string;
beforeEach(async () => {
  harness = await startSandbox();
  id = await readyClient(harness);
});

const arm = (fault: FaultInput) => harness.sandbox.addFault(fault);
const push = (items: unknown[] = [item()]) => harness.api.post('/genebrc/push-irm', message(id, items));
const status = (requestId: string) => harness.api.post('/genebrc/status', { platformCustomerId: id, requestId });
const lastCall = () => harness.sandbox.calls().at(-1)!;
const filed = async () => (await harness.sandbox.state()).filings.size;

/** One request whose transport error, if any, is told by its code. */
async function raw(path: string, body?: unknown, dispatcher = new Agent()) {
  try {
    const response = await undiciRequest(harness.sandbox.url + path, {
      dispatcher,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'x-api-key': 'dev_sandbox_key',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      headersTimeout: 400,
    });
    return { status: response.statusCode, headers: response.headers, text: await response.body.text() };
  } catch (error) {
    return { code: (error as { code?: string }).code };
  }
}
const rawPush = (dispatcher?: Agent) => raw('/genebrc/push-irm', message(id), dispatcher);

describe('connections that go away', () => {
  test.each(['drop-before-accept', 'reset-before-accept'] as const)('%s files nothing', async (kind) => {
    arm({ operation: 'push-irm', kind });
    expect(['UND_ERR_SOCKET', 'ECONNRESET']).toContain((await rawPush()).code);
    expect(await filed()).toBe(0);
    expect(lastCall()).toMatchObject({ operation: 'push-irm', status: null, faults: [kind], mappings: [] });
    expect((await rawPush()).status).toBe(200);
  });

  test('accept-then-drop files, and the second push becomes a second certificate', async () => {
    arm({ operation: 'push-irm', kind: 'accept-then-drop' });
    expect((await rawPush()).code).toBe('UND_ERR_SOCKET');
    expect(await filed()).toBe(1);
    expect(lastCall()).toMatchObject({ status: null, faults: ['accept-then-drop'], requestId: expect.any(String) });
    expect((await rawPush()).status).toBe(200);
    harness.advance(2 * HOUR);
    const { body } = await harness.control('GET', '/filings');
    expect(body.certificates).toBe(2);
    expect(body.doubleFilings).toHaveLength(1);
    expect(body.doubleFilings[0].eBRCNumbers).toHaveLength(2);
  });

  test('close-keep-alive strikes a used connection and spares a fresh one', async () => {
    arm({ operation: 'push-irm', kind: 'close-keep-alive' });
    const dispatcher = new Agent({ connections: 1 });
    expect((await raw(`/irm?platformCustomerId=${id}`, undefined, dispatcher)).status).toBe(200);
    expect((await rawPush(dispatcher)).code).toBe('UND_ERR_SOCKET');
    expect(await filed()).toBe(0);
    expect((await rawPush(dispatcher)).status).toBe(200);
  });

  test.each([true, false])('hang never answers; processed: %s', async (process) => {
    arm({ operation: 'push-irm', kind: 'hang', process });
    expect((await rawPush()).code).toBe('UND_ERR_HEADERS_TIMEOUT');
    expect(await filed()).toBe(process ? 1 : 0);
  });

  test('a port that refuses connections comes back', async () => {
    await harness.sandbox.refuseConnections(true);
    expect((await raw('/platform-customers')).code).toBe('ECONNREFUSED');
    await harness.sandbox.refuseConnections(false);
    expect((await raw('/platform-customers')).status).toBe(200);
    expect((await harness.control('POST', '/refuse', { forMs: 300 })).body).toEqual({ refusingForMs: 300 });
    await eventually(async () => (await raw('/platform-customers')).code === 'ECONNREFUSED');
    await eventually(async () => (await raw('/platform-customers')).status === 200);
  });

  test('close-after-answer answers in full without announcing the close', async () => {
    arm({ operation: 'push-irm', kind: 'close-after-answer' });
    const dispatcher = new Agent({ connections: 1 });
    const answered = await rawPush(dispatcher);
    expect(answered).toMatchObject({ status: 200, headers: { connection: 'keep-alive' } });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await raw(`/irm?platformCustomerId=${id}`, undefined, dispatcher)).status).toBe(200);
    expect(lastCall().reusedConnection).toBe(false);
  });
});

describe('answers that are not what they should be', () => {
  test('slow answers, after its wait', async () => {
    arm({ operation: 'push-irm', kind: 'slow', delayMs: 100 });
    const before = performance.now();
    expect((await rawPush()).status).toBe(200);
    expect(performance.now() - before).toBeGreaterThanOrEqual(95);
  });

  test('slow may wait before the call takes effect: a caller that gave up is filed all the same', async () => {
    arm({ operation: 'push-irm', kind: 'slow', delayMs: 3_000, wait: 'before' });
    expect((await rawPush()).code).toBe('UND_ERR_HEADERS_TIMEOUT');
    expect(await filed()).toBe(0);
    while ((await filed()) === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  });

  test.each([
    ['status-429', 429, '{"statusCode":429,"message":"Too many requests. Please try again later."}'],
    ['502-bare', 502, '{"statusCode":502,"message":"Bad Gateway"}'],
    ['500', 500, '{"statusCode":500,"message":"Internal server error"}'],
    ['502-with-code', 502, expect.stringContaining('"errorCode":"DGFT_PORTAL_UNAVAILABLE"')],
  ] as const)('%s files nothing unless told to', async (kind, expected, text) => {
    arm({ operation: 'push-irm', kind });
    expect(await rawPush()).toMatchObject({ status: expected, text });
    expect(await filed()).toBe(0);
    arm({ operation: 'push-irm', kind, process: true });
    expect((await rawPush()).status).toBe(expected);
    expect(await filed()).toBe(1);
  });

  test('html-body, empty-body and truncated-json are answers to calls that took effect', async () => {
    arm({ operation: 'push-irm', kind: 'html-body' });
    expect(await rawPush()).toMatchObject({ status: 502, text: expect.stringContaining('<html>') });
    arm({ operation: 'push-irm', kind: 'empty-body' });
    expect(await rawPush()).toMatchObject({ status: 200, text: '' });
    arm({ operation: 'push-irm', kind: 'truncated-json' });
    const truncated = await rawPush();
    expect(truncated.status).toBe(200);
    expect(() => JSON.parse(truncated.text!)).toThrow();
    arm({ operation: 'push-irm', kind: 'truncated-json', cutConnection: true });
    expect((await rawPush()).code).toBe('UND_ERR_SOCKET');
    expect(await filed()).toBe(4);
  });

  test('truncated-pdf sends half a certificate, once', async () => {
    const { data } = await push();
    harness.advance(2 * HOUR);
    const { eBRCNumber } = (await status(data.requestId)).data.ebrcBulkGenStatusLst[0];
    arm({ operation: '*', kind: 'truncated-pdf', match: { eBRCNumber } });
    const path = `/genebrc/download-pdf/${eBRCNumber}?platformCustomerId=${id}`;
    const half = await raw(path);
    expect(half.text!.startsWith('%PDF-')).toBe(true);
    expect(half.text!.includes('%%EOF')).toBe(false);
    expect((await raw(path)).text!.includes('%%EOF')).toBe(true);
  });
});

describe('the status record', () => {
  let requestId: string;
  beforeEach(async () => {
    requestId = (await push([item(), item({ serialNo: 2, sbCumInvoiceNumber: '8' })])).data.requestId;
    harness.advance(2 * HOUR);
  });

  test.each<[FaultInput['kind'], object]>([
    ['stale-status', { recordProCount: 0, ebrcBulkGenStatusLst: [] }],
    ['unknown-status-word', { processingStatus: 'UnderProcess' }],
    ['processed-with-incomplete-list', { processingStatus: 'Processed', ebrcBulkGenStatusLst: [expect.anything()] }],
    ['errored-empty', { processingStatus: 'Errored', recordProCount: 0, recordFailCount: 0, ebrcBulkGenStatusLst: [] }],
  ])('%s, then the truth', async (kind, expected) => {
    arm({ operation: 'status', kind, times: 2, match: { irmNumber: 'IRM1' } });
    for (let n = 0; n < 2; n++) expect((await status(requestId)).data).toMatchObject(expected);
    expect((await status(requestId)).data).toMatchObject({ processingStatus: 'Processed', recordProCount: 2 });
  });
});

describe('acknowledgements that fail', () => {
  const failed = { ackStatus: 'Failed', requestId: expect.any(String), errorDetails: [expect.any(String)] };

  test('and leave no trace', async () => {
    arm({ operation: 'push-irm', kind: 'failed-ack' });
    const { data } = await push();
    expect(data).toMatchObject(failed);
    harness.advance(2 * HOUR);
    expect((await status(data.requestId)).status).toBe(404);
    await push();
    expect(harness.sandbox.doubleFilings()).toEqual([]);
  });

  test.each(['Errored', 'Processed'] as const)('and are known to status as %s', async (outcome) => {
    arm({ operation: 'push-irm', kind: 'failed-ack', statusKnown: true, outcome });
    const { data } = await push();
    expect(data).toMatchObject(failed);
    harness.advance(2 * HOUR);
    expect((await status(data.requestId)).data.processingStatus).toBe(outcome);
  });
});

describe('changes at the portal', () => {
  test('accepted-but-invisible keeps a filing out of sight for a time', async () => {
    arm({ operation: 'push-irm', kind: 'accepted-but-invisible', delayMs: 4 * HOUR });
    const { data } = await push();
    harness.advance(3 * HOUR);
    expect((await status(data.requestId)).data.processingStatus).toBeUndefined();
    harness.advance(HOUR);
    expect((await status(data.requestId)).data.processingStatus).toBe('Processed');
  });

  test.each([
    [{ kind: 'irm-amended', availableAmount: 100 }, 'ERR38', 'amended'],
    [{ kind: 'irm-cancelled' }, 'ERR19', 'cancelled'],
  ] as const)('%j strikes after the acceptance', async (fault, code, irmStatus) => {
    arm({ operation: 'push-irm', ...fault });
    const { data } = await push();
    expect(data.ackStatus).toBe('Validated');
    harness.advance(2 * HOUR);
    const record = await status(data.requestId);
    expect(record.data.ebrcBulkGenStatusLst[0].errorDetails).toEqual([expect.stringContaining(code)]);
    const irms = await harness.api.post('/irm/refresh', { platformCustomerId: id });
    expect(irms.data.data[0]).toMatchObject({ irmNumber: 'IRM1', irmStatus });
  });

  test('stale-balance, empty-details and pdf-not-found hide what exists, as often as configured', async () => {
    const { data } = await push();
    harness.advance(2 * HOUR);
    const { eBRCNumber } = (await status(data.requestId)).data.ebrcBulkGenStatusLst[0];
    const balance = async () =>
      (await harness.api.post('/irm/refresh', { platformCustomerId: id })).data.data[0].irmAvailableAmt;
    const details = async () => (await fetchDetails(harness, id)).data.length;
    const pdf = async () => (await raw(`/genebrc/download-pdf/${eBRCNumber}?platformCustomerId=${id}`)).status;
    arm({ operation: '*', kind: 'stale-balance' });
    arm({ operation: '*', kind: 'empty-details' });
    arm({ operation: '*', kind: 'pdf-not-found', times: 2 });
    expect([await balance(), await balance()]).toEqual([10_000, 6_000]);
    expect([await details(), await details()]).toEqual([0, 1]);
    expect([await pdf(), await pdf(), await pdf()]).toEqual([404, 404, 200]);
  });

  test('password-expired lasts until the new password is linked', async () => {
    arm({ operation: 'push-irm', kind: 'password-expired', newPassword: 'Fresh#1' });
    for (let n = 0; n < 2; n++) expect((await push()).body.errorCode).toBe('DGFT_CREDENTIALS_INVALID');
    expect((await link(harness, id, { dgftPassword: 'Fresh#1' })).status).toBe(201);
    expect((await push()).status).toBe(200);
  });

  test('portal-down is a 502 with its code, for one call or until it is switched off', async () => {
    arm({ operation: '*', kind: 'portal-down' });
    expect([(await push()).status, (await push()).status]).toEqual([502, 200]);
    await harness.control('POST', '/portal', { down: true });
    expect((await push()).body.errorCode).toBe('DGFT_PORTAL_UNAVAILABLE');
  });
});

describe('when a fault strikes', () => {
  const strikes = async (calls: number) => {
    const found: number[] = [];
    for (let n = 1; n <= calls; n++) {
      if ((await harness.api.get('/platform-customers')).status === 502) found.push(n);
    }
    return found;
  };

  test.each<[Partial<FaultInput>, number[]]>([
    [{}, [1]],
    [{ times: 2 }, [1, 2]],
    [{ every: 3 }, [3, 6, 9]],
    [{ every: 3, times: 2 }, [3, 6]],
    [{ skip: 4 }, [5]],
  ])('%j strikes at calls %j of 10', async (rhythm, expected) => {
    arm({ operation: 'list-customers', kind: '502-bare', ...rhythm });
    expect(await strikes(10)).toEqual(expected);
  });

  test('a match spares other calls', async () => {
    arm({ operation: 'push-irm', kind: '502-bare', match: { document: '8' } });
    expect((await push()).status).toBe(200);
    expect((await push([item({ sbCumInvoiceNumber: '8' })])).status).toBe(502);
  });

  test('a call without an effect uses none up', async () => {
    arm({ operation: 'push-irm', kind: '502-bare' });
    arm({ operation: 'push-irm', kind: 'failed-ack' });
    expect((await push()).status).toBe(502);
    expect(lastCall().faults).toEqual(['502-bare']);
    expect((await push()).data.ackStatus).toBe('Failed');
  });

  test('of two that decide how an answer travels the second waits for its call', async () => {
    arm({ operation: 'list-customers', kind: '500' });
    arm({ operation: 'list-customers', kind: '502-bare' });
    expect(await strikes(3)).toEqual([2]);
  });

  test('a probability with a seed strikes at the same calls each time', async () => {
    arm({ operation: 'list-customers', kind: '502-bare', probability: 0.5, rngSeed: 7 });
    const first = await strikes(20);
    harness.sandbox.clearFaults();
    arm({ operation: 'list-customers', kind: '502-bare', probability: 0.5, rngSeed: 7 });
    expect(await strikes(20)).toEqual(first);
    expect(first.length).toBeGreaterThan(3);
    expect(first.length).toBeLessThan(17);
  });
});
