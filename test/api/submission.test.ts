import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FilingApi } from '../../src/api/client';
import { ApiError } from '../../src/api/errors/api-error';
import {
  acknowledgement,
  closedAfterEach,
  type clientOf,
  closedPort,
  CUSTOMER_ID,
  envelope,
  errorOf,
  json,
  mapping,
  mayWrite,
  pushOf,
  raw,
  type Handler,
} from './support/service';
import { TEST_TLS } from './support/tls';

/** What is known about a submission after it failed decides whether it may ever be sent again. */
describe('a submission', () => {
  const { service, tcp, client, answering } = closedAfterEach();

  test('is answered on a connection of its own that is closed afterwards, and keeps the answer word for word', async () => {
    const noise = { traceId: '81cefeed-3d0a-4fc3-800d-6584716f4b3c', meta: { v: 1 } };
    const said = { ...acknowledgement, observations: ['IRM has no held record'], note: 'seen', empty: [] };
    const answer = { ...(envelope({ ...said, ...noise }) as object), ...noise };
    const server = await service((_request, response) => json(response, 200, answer));
    const { api, budget, audited } = client(server.baseUrl);

    const first = await api.pushIrm(pushOf(), { ...mayWrite, exporterId: 'E1', attempt: 2 });
    await api.pushIrm(pushOf(), mayWrite);
    await api.close();

    expect(first.parsed).toMatchObject(acknowledgement);
    expect(first.status).toBe(200);
    expect(first.warnings).toEqual(['IRM has no held record', 'seen']);
    expect(server.received.map((request) => request.connection)).toEqual([1, 2]);
    expect(server.received[0]?.headers.connection).toBe('close');
    expect(JSON.parse(server.received[0]?.body.toString() ?? '')).toEqual(pushOf());
    expect(budget.classes).toEqual(['push', 'push']);
    expect(budget.events).toEqual(['acquired', 'written', 'answered', 'acquired', 'written', 'answered']);
    expect(audited[0]).toMatchObject({ operation: 'pushIrm', status: 200, kind: null, exporterId: 'E1', attempt: 2 });
  });

  test('runs beforeWrite when the connection is up and nothing is written', async () => {
    const seen: string[] = [];
    const server = await tcp((socket) => {
      seen.push('connected');
      socket.on('data', () => {
        seen.push('bytes');
        const body = JSON.stringify(envelope(acknowledgement));
        socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      });
    });
    const { api, budget } = client(server.baseUrl);
    let before: string[] = [];
    await api.pushIrm(pushOf(), {
      beforeWrite: async () => {
        await sleep(50);
        before = [...seen, ...budget.events];
      },
    });
    expect(before).toEqual(['connected', 'acquired']);
    expect(seen).toContain('bytes');
  });

  describe('is not sent', () => {
    const taking = (tls?: typeof TEST_TLS) =>
      service((_request, response) => json(response, 200, envelope(acknowledgement)), tls);
    const overTls = async (onConnection: (socket: Socket) => void) =>
      (await tcp(onConnection)).baseUrl.replace('http:', 'https:');

    test.each<[string, () => Promise<string>, { connectMs?: number }?]>([
      ['the connection is refused', async () => `http://127.0.0.1:${await closedPort()}/api/v1`],
      ['the name is unknown', () => Promise.resolve('http://no-such-host.invalid/api/v1')],
      ['the certificate is not trusted', async () => (await taking(TEST_TLS)).baseUrl],
      [
        'the service hangs up during the TLS handshake',
        () => overTls((socket) => socket.once('data', () => socket.resetAndDestroy())),
      ],
      ['the TLS handshake never ends', () => overTls(() => undefined), { connectMs: 200 }],
    ])('when %s', async (_when, start, timeouts = {}) => {
      const { api, budget, audited } = client(await start(), { timeouts });
      expect((await errorOf(api.pushIrm(pushOf(), mayWrite))).kind).toBe('not_sent');
      await api.close();
      expect(budget.events).toEqual(['acquired', 'unused']);
      expect(audited).toMatchObject([{ kind: 'not_sent', status: null }]);
    });

    /** What the service got of a push that `beforeWrite` holds up. @returns its error, too */
    async function heldUp(
      beforeWrite: (sockets: Socket[], api: FilingApi) => Promise<void>,
      options: Parameters<typeof clientOf>[1] & { signal?: AbortSignal } = {},
    ) {
      const sockets: Socket[] = [];
      let bytes = 0;
      let marks = 0;
      const server = await tcp((socket) => sockets.push(socket.on('data', (piece) => (bytes += piece.length))));
      const { api, budget } = client(server.baseUrl, options);
      const held = async () => {
        await beforeWrite(sockets, api);
        marks += 1;
      };
      const error = await errorOf(api.pushIrm(pushOf(), { signal: options.signal, beforeWrite: held }));
      await sleep(300);
      await api.close();
      return { error, kind: error.kind, got: { connections: sockets.length, bytes }, marks, budget: budget.events };
    }
    const NOTHING = { got: { connections: 1, bytes: 0 }, budget: ['acquired', 'unused'] };

    test.each<[string, (socket: Socket) => unknown]>([
      ['closes', (socket) => socket.end()],
      ['resets', (socket) => socket.resetAndDestroy()],
    ])('when the service %s the connection while the mark is being set', async (_how, hangUp) => {
      const held = await heldUp(async (sockets) => {
        sockets.forEach(hangUp);
        await sleep(100);
      });
      expect(held).toMatchObject({ ...NOTHING, kind: 'not_sent', marks: 1 });
    });

    test('when the service closed the connection in the same turn in which the mark is set', async () => {
      const clients: Socket[] = [];
      const onClient = (message: unknown) => clients.push((message as { socket: Socket }).socket);
      subscribe('net.client.socket', onClient);
      const held = await heldUp(async (sockets) => {
        while (sockets.length === 0) await sleep(1);
        const closed = Promise.all(clients.map((socket) => once(socket, 'end')));
        sockets.forEach((socket) => socket.end());
        // The socket is not destroyed yet: without a look at its state, undici would write, and the outcome be unknown.
        await closed;
        expect(clients.map(({ destroyed }) => destroyed)).toEqual([false]);
      });
      unsubscribe('net.client.socket', onClient);
      expect(held).toMatchObject({ ...NOTHING, kind: 'not_sent', marks: 1 });
    });

    test('when the time is up before the mark is set, however late that comes', async () => {
      expect(await heldUp(() => sleep(250), { timeouts: { totalMs: 100 } })).toMatchObject({
        ...{ ...NOTHING, kind: 'not_sent', marks: 1 },
      });
    });

    test('when the process stood still between the mark and the write', async () => {
      // Blocks the event loop: the time-out's timer cannot fire before the write would be made.
      const standStill = () => {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
        return Promise.resolve();
      };
      expect(await heldUp(standStill, { timeouts: { totalMs: 100 } })).toMatchObject({ ...NOTHING, kind: 'not_sent' });
    });

    test('when beforeWrite throws, whose error is passed on', async () => {
      const fence = new Error('another worker closed this attempt');
      const closed = await heldUp(() => Promise.reject(fence));
      expect(closed).toMatchObject({ ...NOTHING, kind: 'attempt_closed', error: { cause: fence } });
      const own = new ApiError({ kind: 'ledger_unavailable', operation: 'pushIrm', message: 'no ledger' });
      const failed = await heldUp(() => Promise.reject(own));
      expect(failed).toMatchObject(NOTHING);
      expect(failed.error).toBe(own);
    });

    test('when the client is closed before the write, nor after it', async () => {
      let closing = Promise.resolve();
      const held = await heldUp(async (_sockets, api) => {
        closing = api.close();
        await sleep(10);
      });
      expect(held).toMatchObject({ ...NOTHING, kind: 'cancelled' });
      await closing;
      const { api, budget } = client((await taking()).baseUrl);
      await api.close();
      expect((await errorOf(api.pushIrm(pushOf(), mayWrite))).kind).toBe('cancelled');
      expect(budget.events).toEqual(['acquired', 'unused']);
    });

    test('when the caller cancels before the write', async () => {
      const cancel = new AbortController();
      const cancelled = () => (cancel.abort(), sleep(20));
      const held = await heldUp(cancelled, { signal: cancel.signal });
      expect(held).toMatchObject({ ...NOTHING, kind: 'cancelled' });
    });
  });

  describe('has an unknown outcome', () => {
    async function expectUnknown(baseUrl: string, options: Parameters<typeof clientOf>[1] = {}) {
      const { api, budget } = client(baseUrl, options);
      const error = await errorOf(api.pushIrm(pushOf(), mayWrite));
      expect(error.kind).toBe('outcome_unknown');
      await api.close();
      expect(budget.events.slice(0, 2)).toEqual(['acquired', 'written']);
      expect(budget.events).not.toContain('unused');
      return error;
    }
    /** Headers, and the beginning of a body; the rest never comes. */
    const begin: Handler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 500 });
      response.write('{"success":true,"data":{"requestId":"REQ1"');
    };

    test.each<[string, Handler, Parameters<typeof clientOf>[1]?]>([
      ['the connection is reset after the first byte', (_, response) => void response.socket?.resetAndDestroy()],
      ['the service closes the connection without an answer', (_, response) => void response.socket?.end()],
      ['the headers of the answer do not come in all its time', () => undefined, { timeouts: { totalMs: 1_500 } }],
      ['the headers of the answer do not come in theirs', () => undefined, { timeouts: { headersMs: 200 } }],
      ['the body of the answer stalls for all its time', begin, { timeouts: { totalMs: 1_500 } }],
      ['the body of the answer stalls', begin, { timeouts: { bodyMs: 200 } }],
      [
        'the body of the answer breaks off',
        (request, response, message) => {
          void begin(request, response, message);
          response.write(' ', () => response.socket?.destroy());
        },
      ],
      ['the answer is not HTTP', (_, response) => void response.socket?.end('220 mail.example.com ESMTP\r\n')],
    ])('when %s', async (_when, handler, options = {}) => {
      await expectUnknown((await service(handler)).baseUrl, options);
    });

    const PORTAL = { errorCode: 'DGFT_PORTAL_UNAVAILABLE', message: 'Portal' };
    const NOT_THERE = { errorCode: 'EBRC_NOT_FOUND', message: 'Not there yet' };
    test.each<[number, string, object]>([
      ...[500, 502, 503, 504].map((status): [number, string, object] => [status, 'whatever its body', PORTAL]),
      [404, 'which says that a certificate is not there yet', NOT_THERE],
      [409, 'which says that a certificate is not there yet', NOT_THERE],
      ...[302, 307, 408, 418].map((status): [number, string, object] => [status, 'which nobody documents', {}]),
    ])('when the answer is %i, %s', async (status, _what, body) => {
      const server = await service((_request, response) => json(response, status, { statusCode: status, ...body }));
      expect(await expectUnknown(server.baseUrl)).toMatchObject(
        'errorCode' in body ? { status, ...body, message: expect.any(String) as string } : {},
      );
    });

    test.each([
      ['is empty', ''],
      ['is HTML', '<html>ok</html>'],
      ['is cut short', '{"success":true,"data":{"requestId":"R'],
      ['is no object', '"ok"'],
      ['has no data', '{"success":true,"data":null,"statusCode":200}'],
      ['has success: false', '{"success":false,"data":{"requestId":"R"}}'],
      ['is an error with the id of the call', '{"statusCode":502,"message":"Portal","requestId":"trace-1"}'],
      ['has an error as data', '{"success":true,"data":{"errorCode":"DGFT_PORTAL_UNAVAILABLE","requestId":"trace-1"}}'],
      ['is an error as its schema has it', '{"code":502,"message":"Portal","requestId":"trace-1"}'],
      ['is an error in words', '{"success":true,"data":{"message":"Portal unreachable","requestId":"trace-1"}}'],
      ['has the status of an error', '{"success":true,"statusCode":502,"data":{"requestId":"trace-1"}}'],
      ['has the status of an error in its data', '{"success":true,"data":{"statusCode":502,"requestId":"trace-1"}}'],
      ['names no request', '{"success":true,"data":{"ackStatus":"Validated"}}'],
    ])('when a 200 %s', async (_what, body) => {
      const server = await service((_request, response) => raw(response, 200, body, 'application/json'));
      expect((await expectUnknown(server.baseUrl)).status).toBe(200);
    });

    test.each([400, 401, 403, 404, 409, 422])(
      'when a %i comes from a proxy and not from the service',
      async (status) => {
        const server = await service((_request, response) => raw(response, status, '<h1>blocked</h1>', 'text/html'));
        await expectUnknown(server.baseUrl);
      },
    );

    test('when the client is closed, or the caller cancels, after the first byte', async () => {
      const closed = client((await service(() => closed.api.close())).baseUrl);
      expect((await errorOf(closed.api.pushIrm(pushOf(), mayWrite))).kind).toBe('outcome_unknown');
      const cancel = new AbortController();
      const { api } = client((await service(() => cancel.abort())).baseUrl);
      const { kind } = await errorOf(api.pushIrm(pushOf(), { ...mayWrite, signal: cancel.signal }));
      expect(kind).toBe('outcome_unknown');
    });
  });

  test('a Failed acknowledgement is an answer, with or without a request id', async () => {
    const { api } = await answering({ ackStatus: 'Failed', requestId: null, errorDetails: 'ERR08: count' });
    const { parsed } = await api.pushIrm(pushOf(), mayWrite);
    expect(parsed).toMatchObject({ ackStatus: 'Failed', requestId: null, errorDetails: ['ERR08: count'] });
  });

  const NO_BILL = 'ebrcBulkGenDtos.1.sbCumInvoiceNumber: is not a shipping bill number';
  const message = 'is not a date';
  test.each<[string, unknown[], object[]]>([
    ['a text', [NO_BILL, 'else'], [{ row: 42, field: 'sbCumInvoiceNumber', message: NO_BILL }, { message: 'else' }]],
    ['their serialNo', [{ serialNo: 42, field: 'irmDt', message }], [{ row: 42, field: 'irmDt', message }]],
    [
      'their place',
      [
        { index: 1, field: 'irmDt', message },
        { index: '0', message },
      ],
      [
        { row: 42, field: 'irmDt', message },
        { row: 41, message },
      ],
    ],
    ['a path', [{ field: 'ebrcBulkGenDtos[1].irmDt', message }], [{ row: 42, field: 'irmDt', message }]],
    [
      'a place that may be counted from 1, and names no row',
      [
        { index: 1, message },
        { index: 2, message },
      ],
      [{ message }, { message }],
    ],
  ])('a refusal names rows by %s', async (_how, errors, named) => {
    const body = { statusCode: 400, message: 'Validation failed', errors };
    const server = await service((_request, response) => json(response, 400, body));
    const two = pushOf(mapping({ serialNo: 41 }), mapping({ serialNo: 42, sbCumInvoiceNumber: '7654321' }));
    const error = await errorOf(client(server.baseUrl).api.pushIrm(two, mayWrite));
    expect(error).toMatchObject({ kind: 'validation_failed', fieldErrors: named });
    expect(error.fieldErrors).toHaveLength(named.length);
  });

  test('a 429 whose body never ends is still a 429', async () => {
    const server = await service((_request, response) => {
      response.writeHead(429, { 'content-length': 100 });
      response.write('{');
    });
    const { api, budget } = client(server.baseUrl, { timeouts: { totalMs: 1_500 } });
    expect((await errorOf(api.pushIrm(pushOf(), mayWrite))).kind).toBe('rate_limited');
    await api.close();
    expect(budget.events).toEqual(['acquired', 'written', 'refused']);
  });

  test('a message that breaks the contract is not sent, and every wrong field is named', async () => {
    const { server, api, budget } = await answering(acknowledgement);
    const bad = { ...pushOf(mapping({ serialNo: 7, irmDt: '2026-01-05', isGstAvail: 'X' })), extra: 1 };
    const error = await errorOf(api.pushIrm(bad, mayWrite));
    expect(error.kind).toBe('validation_failed');
    expect(error.fieldErrors).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ row: 7, field: 'irmDt' }),
        expect.objectContaining({ row: 7, field: 'isGstAvail' }),
        expect.objectContaining({ field: 'extra' }),
      ]),
    );
    expect(budget.events).toEqual([]);
    expect(server.received).toEqual([]);
  });

  test('works over TLS, with the mark set after the handshake', async () => {
    const server = await service((_request, response) => json(response, 200, envelope(acknowledgement)), TEST_TLS);
    const { api } = client(server.baseUrl, { ca: TEST_TLS.cert });
    await api.pushIrm(pushOf(), {
      beforeWrite: async () => {
        // The client's side of the handshake ends first.
        while (server.connections() === 0) await sleep(5);
        expect(server.received).toEqual([]);
      },
    });
    expect(server.received).toHaveLength(1);
  });

  test('is not harmed by a budget or an audit that fails', async () => {
    const server = await service((_request, response) => json(response, 200, envelope(acknowledgement)));
    const broken = () => Promise.reject(new Error('no database'));
    const warnings: string[] = [];
    const { api } = client(server.baseUrl, {
      budget: {
        acquire: () => Promise.resolve({ written: broken, answered: broken, refused: broken, unused: broken }),
      },
      audit: () => {
        throw new Error('no database');
      },
      logger: { warn: (_details, message) => warnings.push(message) },
    });
    expect((await api.pushIrm(pushOf(), mayWrite)).parsed.requestId).toBe('REQ1');
    await api.close();
    expect(warnings).toHaveLength(3);
  });

  test('uploads a workbook whole, as one multipart request', async () => {
    const server = await service((_request, response) =>
      json(
        response,
        200,
        envelope({
          ...acknowledgement,
          parsedRowCount: '1',
          irmNumbers: ['IRM1'],
          irms: [{ serialNo: '1', irmNumber: 'IRM1' }],
        }),
      ),
    );
    const { api, budget } = client(server.baseUrl);
    const content = Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.from([0, 13, 10, 255, 45, 45])]);
    const { parsed, warnings } = await api.bulkUpload(
      {
        platformCustomerId: CUSTOMER_ID,
        uploadType: '101',
        decalarationFlag: 'Y',
        file: content,
        fileName: 'rows.xlsx',
      },
      mayWrite,
    );
    expect(parsed).toMatchObject({ parsedRowCount: 1, irms: [{ serialNo: 1, irmNumber: 'IRM1' }] });
    expect(warnings).toEqual([]);
    const [request] = server.received;
    expect(request?.url).toBe(
      `/api/v1/genebrc/bulk-upload?platformCustomerId=${CUSTOMER_ID}&uploadType=101&decalarationFlag=Y`,
    );
    const form = await new Response(new Uint8Array(request?.body ?? []), {
      headers: { 'content-type': request?.headers['content-type'] ?? '' },
    }).formData();
    const file = form.get('file') as File;
    expect(file.name).toBe('rows.xlsx');
    expect(Buffer.from(await file.arrayBuffer()).equals(content)).toBe(true);
    expect(Number(request?.headers['content-length'])).toBe(request?.body.length);
    expect(budget.classes).toEqual(['bulk']);
  });

  test('a workbook that is too big or empty is not sent', async () => {
    const { server, api } = await answering(acknowledgement);
    for (const file of [Buffer.alloc(5 * 1024 * 1024 + 1), Buffer.alloc(0)]) {
      const input = {
        platformCustomerId: CUSTOMER_ID,
        uploadType: '101',
        decalarationFlag: 'Y',
        file,
        fileName: 'a.xlsx',
      } as const;
      const error = await errorOf(api.bulkUpload(input, mayWrite));
      expect(error).toMatchObject({ kind: 'validation_failed', fieldErrors: [{ field: 'file' }] });
    }
    expect(server.received).toEqual([]);
  });
});
