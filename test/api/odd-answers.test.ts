import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { FilingApi } from '../../src/api/client';
import { ApiError } from '../../src/api/errors/api-error';
import { OPERATIONS, type Operation } from '../../src/domain/service/operations';
import { isErrorKind } from '../../src/domain/service/error-kinds';
import { collect, invoke } from './support/invoke';
import { SERVICE_OPERATIONS } from './support/documented-errors';
import {
  acknowledgement,
  clientOf,
  CUSTOMER_ID,
  envelope,
  errorOf,
  json,
  mayWrite,
  pushOf,
  raw,
  startService,
  type Service,
} from './support/service';

const STATUS = { platformCustomerId: CUSTOMER_ID, requestId: 'REQ1' };
const DETAILS = {
  platformCustomerId: CUSTOMER_ID,
  iecCode: 'ABCDE1234F',
  eBRCIssueFromDt: '01012026',
  eBRCIssueToDt: '01022026',
};

/** Half a surrogate pair, NUL and an escape sequence: what PostgreSQL, Temporal and a terminal do not take. */
const HOSTILE = 'a\u0000b\ud800c\u001b[2Jd\u009be\nf';
const HARMLESS = 'abc[2Jde f';

/** Longest payload of an activity's result that is far from Temporal's limit, in characters of JSON. */
const SMALL = 300_000;

function texts(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => [name, ...texts(part)]);
}

function expectStorable(value: unknown): void {
  for (const text of texts(value)) {
    expect(text).not.toMatch(/[\p{Cc}\p{Cs}]/u);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2_100);
  }
}

describe('odd answers', () => {
  let service: Service;
  let api: FilingApi;
  const warnings: unknown[] = [];
  beforeAll(async () => {
    service = await startService((_request, response) => json(response, 200, {}));
    const logger = { debug: () => undefined, warn: (details: object) => void warnings.push(details) };
    ({ api } = clientOf(service.baseUrl, { logger }));
  });
  afterAll(async () => {
    await api.close();
    await service.close();
  });
  beforeEach(() => void warnings.splice(0));

  const answer = (body: unknown, status = 200) =>
    service.answer((_request, response) => json(response, status, status < 300 ? envelope(body) : body));

  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
  ])('an acknowledgement and a file that come compressed with %s, unasked, are read', async (coding, compress) => {
    const send = (text: string, type: string) =>
      service.answer((_request, response) => {
        const body = compress(Buffer.from(text));
        response.writeHead(200, {
          'content-type': type,
          'content-encoding': coding,
          'content-length': body.length,
        });
        response.end(body);
      });
    send(JSON.stringify(envelope(acknowledgement)), 'application/json');
    const { parsed } = await api.pushIrm(pushOf(), mayWrite);
    expect(parsed.requestId).toBe('REQ1');
    expect(service.received.at(-1)?.headers['accept-encoding']).toBe('identity');
    const pdf = `%PDF-1.4 ${'x'.repeat(5_000)}`;
    send(pdf, 'application/pdf');
    const file = await api.downloadPdf({ platformCustomerId: CUSTOMER_ID, eBRCNumber: 'E1' }, async (body, bytes) => ({
      text: Buffer.concat(await collect(body as AsyncIterable<Buffer>)).toString(),
      bytes,
    }));
    expect(file).toEqual({ text: pdf, bytes: undefined });
  });

  it('a compressed acknowledgement that is cut short proves nothing', async () => {
    service.answer((_request, response) => {
      const body = gzipSync(JSON.stringify(envelope(acknowledgement)));
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(body.subarray(0, body.length - 12));
    });
    expect(await errorOf(api.pushIrm(pushOf(), mayWrite))).toMatchObject({ kind: 'outcome_unknown' });
  });

  test.each([
    ['escaped', (text: string) => text],
    // What JSON.stringify escapes stands in the body as it is.
    [
      'raw',
      (text: string) => text.replaceAll('\\u0000', '\u0000').replaceAll('\\u001b', '\u001b').replaceAll('\\n', '\n'),
    ],
  ])('control characters and half a surrogate pair in an acknowledgement, %s, do no harm', async (_how, written) => {
    const body = envelope({ ...acknowledgement, dgftAckId: HOSTILE, errorDetails: [HOSTILE], [HOSTILE]: [HOSTILE] });
    service.answer((_request, response) => raw(response, 200, written(JSON.stringify(body)), 'application/json'));
    const { parsed, warnings: remarks } = await api.pushIrm(pushOf(), mayWrite);
    expect(parsed.requestId).toBe('REQ1');
    expect(parsed.dgftAckId?.replaceAll(' ', '')).toBe(HARMLESS.replaceAll(' ', ''));
    expect(remarks).toHaveLength(1);
    expectStorable(parsed);
    expectStorable(remarks);
  });

  test('an accepted push with a message of a megabyte is accepted, and small', async () => {
    const huge = 'x'.repeat(1024 * 1024);
    answer({
      ...acknowledgement,
      errorDetails: [huge],
      observations: Array.from({ length: 5_000 }, () => 'y'),
      note: huge,
    });
    const { parsed, warnings: remarks } = await api.pushIrm(pushOf(), mayWrite);
    expect(parsed.requestId).toBe('REQ1');
    expect(remarks).toHaveLength(200);
    expect(remarks.at(-1)).toBe('(4802 more are left out)');
    expect(JSON.stringify({ parsed, remarks }).length).toBeLessThan(20_000);
  });

  test('a refusal of a megabyte is a small error', async () => {
    const huge = `${'x'.repeat(1024 * 500)}\u0000`;
    answer({ message: huge, errorCode: huge, errors: [huge], causes: [huge], requestId: huge }, 400);
    const error = await errorOf(api.pushIrm(pushOf(), mayWrite));
    expect(error.kind).toBe('validation_failed');
    expectStorable({ ...error, message: error.message });
    expect(JSON.stringify({ ...error, message: error.message }).length).toBeLessThan(20_000);
  });

  describe('bounds', () => {
    const MEGABYTE = 1024 * 1024;
    const listOf = (entries: string) => `{"success":true,"data":{"ebrcBulkGenStatusLst":[${entries}],"requestId":"R"}}`;
    const ask = (text: string) => {
      service.answer((_request, response) => raw(response, 200, text, 'application/json'));
      return errorOf(api.status({ platformCustomerId: CUSTOMER_ID, requestId: 'R' }));
    };

    test.each([
      ['millions of empty records', listOf(`${'{},'.repeat(2 * MEGABYTE)}{}`), 'JSON'],
      ['millions of numbers', listOf(`${'1,'.repeat(3 * MEGABYTE)}1`), 'JSON'],
      ['millions of control characters', `{"success":true,"data":"${'\u0001'.repeat(7.5 * MEGABYTE)}"}`, 'the body'],
      ['a million levels', listOf('['.repeat(MEGABYTE) + ']'.repeat(MEGABYTE)), 'JSON'],
      ['more bytes than any status', listOf(`"${'x'.repeat(9 * MEGABYTE)}"`), 'longer than 8388608 bytes'],
    ])('an answer with %s is refused before it is read', async (_what, text, why) => {
      const error = await ask(text);
      expect([error.kind, error.message]).toEqual(['bad_answer', expect.stringContaining(why)]);
    });

    test('thousands of padded texts are read', async () => {
      const padded = JSON.stringify({ irmNumber: `${' '.repeat(2_000)}x`, fcc: `NA${' '.repeat(2_000)}x` });
      const text = listOf(Array.from({ length: 1_500 }, () => padded).join(','));
      service.answer((_request, response) => raw(response, 200, text, 'application/json'));
      const status = await api.status({ platformCustomerId: CUSTOMER_ID, requestId: 'R' });
      expect(status.ebrcBulkGenStatusLst).toHaveLength(1_500);
    });
  });

  test('a request id that is a number too long for a double keeps its digits', async () => {
    const acknowledged = '{"success":true,"data":{"requestId":20260101123456789012';
    const beside = ['', ',"note":"a, 12345678901234567890 ,b"', ',"note":"a\\",12345678901234567890,\tb"'];
    for (const other of beside) {
      service.answer((_request, response) => raw(response, 200, `\ufeff${acknowledged}${other}}}`, 'application/json'));
      expect((await api.pushIrm(pushOf(), mayWrite)).parsed.requestId).toBe('20260101123456789012');
    }
  });

  const row = {
    serialNo: 1,
    irmNumber: 'I1',
    sbCumInvoiceNumber: '1',
    eBRCNumber: 'E1',
    processingStatus: 'Processed',
  };
  test.each<[string, unknown, number, number]>([
    ['an empty text', '', 0, 0],
    ['an empty record', {}, 0, 0],
    ['null', null, 0, 0],
    ['NA', 'NA', 0, 0],
    ['a list with null', [null, row], 1, 0],
    ['a list with an empty record', [row, {}], 1, 0],
    ['a list with a word', ['nothing', row], 1, 1],
    ['a list with a list', [row, [1]], 1, 1],
    ['one record', row, 1, 0],
    ['a record of records', { 0: row, 1: null }, 1, 0],
  ])('a status list that is %s is read', async (_what, ebrcBulkGenStatusLst, listed, unread) => {
    answer({ requestId: 'REQ1', processingStatus: 'PROCESSED', recordProCount: '1', ebrcBulkGenStatusLst });
    const status = await api.status(STATUS);
    expect(status).toMatchObject({ processingStatus: 'PROCESSED', recordProCount: 1, unreadEntries: unread });
    expect(status.ebrcBulkGenStatusLst).toHaveLength(listed);
    if (listed > 0) expect(status.ebrcBulkGenStatusLst[0]).toMatchObject({ serialNo: '1', eBRCNumber: 'E1' });
    expect(warnings).toEqual(unread > 0 ? [{ operation: 'status', count: unread }] : []);
  });

  const certificate = { eBRCNumber: 'E1', realisedValueFCC: '1,00,000.00', eBRCDate: '2026-01-05' };
  test.each<[string, unknown, number]>([
    ['a list with null and a word', [null, certificate, 'x'], 1],
    ['a page', { data: [certificate], meta: { total: 1 } }, 1],
    ['one certificate', certificate, 1],
    ['an empty list', [], 0],
    ['a page that counts none', { data: null, meta: { total: 0 } }, 0],
  ])('fetch-details that is %s is read', async (_what, body, found) => {
    answer(body);
    const { certificates, unread } = await api.fetchDetails(DETAILS);
    expect(certificates).toHaveLength(found);
    if (found === 0) expect(unread).toBe(0);
    else expect(certificates[0]).toMatchObject({ eBRCNumber: 'E1', realisedValueFCC: 100_000 });
  });

  const NOTHING = { certificates: [], unread: 0, noList: true };
  const UNREAD = { certificates: [], unread: 1 };
  test.each([
    [null, 200, NOTHING],
    ['', 200, NOTHING],
    ['NA', 200, NOTHING],
    [{}, 200, NOTHING],
    [{ message: 'No data available' }, 200, NOTHING],
    [{ message: 'No records found' }, 404, NOTHING],
    [{ message: 'Certificate not found for the given dates', errorCode: 'E_UPSTREAM' }, 404, NOTHING],
    [{ message: 'The portal is busy', errors: [] }, 200, UNREAD],
    [{ data: [], meta: { total: 3 } }, 200, UNREAD],
    [[null], 200, UNREAD],
    [{ data: [{}] }, 200, UNREAD],
    [{ message: 'x', errorCode: 'EBRC_NOT_FOUND' }, 502, UNREAD],
  ])('fetch-details of %j with %i lists nothing, and is no empty list: %j', async (body, status, expected) => {
    answer(body, status);
    expect(await api.fetchDetails(DETAILS)).toMatchObject(expected);
  });

  test('fetch-details without a body lists nothing, and is no empty list', async () => {
    service.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end();
    });
    expect(await api.fetchDetails(DETAILS)).toMatchObject(NOTHING);
  });

  test('fetch-details of EBRC_NOT_FOUND is an empty list', async () => {
    answer({ message: 'x', errorCode: 'EBRC_NOT_FOUND' }, 404);
    expect(await api.fetchDetails(DETAILS)).toEqual({ certificates: [], unread: 0, noList: false });
  });

  test('a page of fetch-details that says that there is more is no complete look', async () => {
    for (const meta of [{ total: 3 }, { total: 3, limit: 10 }, { total: 3, totalPages: 1 }, { totalPages: 2 }]) {
      answer({ data: [certificate], meta });
      expect(await api.fetchDetails(DETAILS)).toMatchObject({ certificates: [{ eBRCNumber: 'E1' }], unread: 1 });
    }
  });

  test('fetch-details of another shape is no empty list', async () => {
    const troubles = ['Service not available', 'No connection to fetch details', 'Exporter not found'];
    for (const body of [undefined, { status: 'busy' }, 'busy', 5, ...troubles.map((message) => ({ message }))]) {
      answer(body);
      expect((await errorOf(api.fetchDetails(DETAILS))).kind).toBe('bad_answer');
    }
  });

  test.each([
    ['Customer not found', 'customer_not_found'],
    ['Cannot POST /api/v1/genebrc/fetch-details', 'not_found'],
    ['no Route matched with those values', 'customer_not_found'],
    ['No credentials on file to fetch details', 'customer_not_found'],
    ['The data source is not reachable', 'customer_not_found'],
  ])('a 404 of fetch-details that says "%s" is not', async (message, kind) => {
    answer({ message }, 404);
    expect((await errorOf(api.fetchDetails(DETAILS))).kind).toBe(kind);
  });

  test('one item of a page that cannot be read hides neither the others nor the next page', async () => {
    const page = (from: number) =>
      Array.from({ length: 100 }, (_, index) => ({ id: `C${from + index}`, irmNumber: `I${from + index}` }));
    service.answer((request, response) => {
      const number = Number(new URL(request.url, service.baseUrl).searchParams.get('page'));
      if (number > 1) return json(response, 200, envelope(page(100).slice(0, 5)));
      return json(response, 200, envelope([...page(0).slice(0, 98), { name: 'no id' }, null]));
    });
    expect(await collect(api.listCustomers())).toHaveLength(103);
    expect(await collect(api.listIrms(CUSTOMER_ID))).toHaveLength(103);
    expect(warnings).toEqual([
      { operation: 'listCustomers', count: 2 },
      { operation: 'listIrms', count: 2 },
    ]);
  });

  test.each([
    [null, []],
    ['', []],
    [{ data: null, meta: { total: 0 } }, []],
    [{ data: null }, [{ operation: 'listIrms', count: 1 }]],
    [{ data: null, meta: { total: 12 } }, [{ operation: 'listIrms', count: 12 }]],
  ])('a page without a list, %j, is empty, with a warning unless it says so itself', async (body, expected) => {
    answer(body);
    expect(await collect(api.listIrms(CUSTOMER_ID))).toEqual([]);
    expect(warnings).toEqual(expected);
  });

  describe('any JSON document in place of an answer', () => {
    const names = fc.constantFrom(
      'id',
      'data',
      'message',
      'requestId',
      'ackStatus',
      'errorDetails',
      'errors',
      'ebrcBulkGenStatusLst',
      'eBRCNumber',
      'irmNumber',
      'irms',
      'meta',
      'total',
      'success',
      '__proto__',
    );
    const anything = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(null, '', 'NA', '-', {}, [], 0, -1, 1e308, true, 'Failed', HOSTILE, 'x'.repeat(5_000)),
        fc.string({ unit: 'binary' }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.array(tie('value'), { maxLength: 5 }),
        fc.dictionary(fc.oneof(names, fc.string({ unit: 'binary' })), tie('value'), { maxKeys: 6 }),
      ),
    })).value;

    const invocable = SERVICE_OPERATIONS.filter((operation) => !['downloadPdf', 'irmTemplate'].includes(operation));

    test.each(invocable)('%s ends in a small result or a small error of a known kind', async (operation: Operation) => {
      await fc.assert(
        fc.asyncProperty(
          anything,
          fc.constantFrom(200, 200, 200, 201, 400, 404, 409, 422, 500),
          fc.boolean(),
          async (body, status, enveloped) => {
            service.answer((_request, response) =>
              json(response, status, enveloped && status < 300 ? envelope(body) : body),
            );
            const outcome: unknown = await invoke(api, operation).catch((error: unknown) => error);
            if (outcome instanceof Error) {
              expect(outcome).toBeInstanceOf(ApiError);
              const error = outcome as ApiError;
              expect(isErrorKind(error.kind)).toBe(true);
              expect(error.kind).not.toBe('unexpected');
              expectStorable({ ...error, message: error.message, stack: undefined });
            } else if (OPERATIONS[operation].submits) {
              const { parsed, warnings: remarks } = outcome as Awaited<ReturnType<FilingApi['pushIrm']>>;
              expectStorable({ parsed, remarks });
            } else {
              expectStorable(outcome);
            }
            expect((JSON.stringify(outcome) ?? '').length).toBeLessThan(SMALL);
          },
        ),
        { numRuns: 60 },
      );
    });
  });
});
