import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
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
} from './support/service';
import { TEST_TLS } from './support/tls';

/** What is known about a submission after it failed decides whether it may ever be sent again. */
describe('a submission', () => {
  const { service, tcp, client } = closedAfterEach();

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
    const bytes: string[] = [];
    let connected = false;
    const server = await tcp((socket) => {
      connected = true;
      socket.on('data', (piece) => {
        bytes.push(piece.toString());
        const body = JSON.stringify(envelope(acknowledgement));
        socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      });
    });
    const { api, budget } = client(server.baseUrl);
    let before: { connected: boolean; bytes: number; events: string[] } | null = null;

    await api.pushIrm(pushOf(), {
      beforeWrite: async () => {
        await sleep(50);
        before = { connected, bytes: bytes.length, events: [...budget.events] };
      },
    });

    expect(before).toEqual({ connected: true, bytes: 0, events: ['acquired'] });
    expect(bytes.length).toBeGreaterThan(0);
  });

  test('writes nothing when beforeWrite throws, and passes the error on', async () => {
    const bytes: Buffer[] = [];
    const server = await tcp((socket) => socket.on('data', (piece) => bytes.push(piece)));
    const { api, budget } = client(server.baseUrl);
    const fence = new Error('another worker closed this attempt');

    const error = await errorOf(api.pushIrm(pushOf(), { beforeWrite: () => Promise.reject(fence) }));
    expect(error.kind).toBe('attempt_closed');
    expect(error.cause).toBe(fence);

    const own = new ApiError({ kind: 'ledger_unavailable', operation: 'pushIrm', message: 'no ledger' });
    expect(await errorOf(api.pushIrm(pushOf(), { beforeWrite: () => Promise.reject(own) }))).toBe(own);

    await sleep(50);
    expect(bytes).toEqual([]);
    await api.close();
    expect(budget.events).toEqual(['acquired', 'unused', 'acquired', 'unused']);
  });

  describe('is not sent', () => {
    async function expectNotSent(baseUrl: string, options: Parameters<typeof clientOf>[1] = {}) {
      const { api, budget, audited } = client(baseUrl, options);
      const error = await errorOf(api.pushIrm(pushOf(), mayWrite));
      expect(error.kind).toBe('not_sent');
      await api.close();
      expect(budget.events).toEqual(['acquired', 'unused']);
      expect(audited).toMatchObject([{ kind: 'not_sent', status: null }]);
      return error;
    }

    test('when the connection is refused', async () => {
      const error = await expectNotSent(`http://127.0.0.1:${await closedPort()}/api/v1`);
      expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' });
    });

    test('when the name is unknown', async () => {
      await expectNotSent('http://no-such-host.invalid/api/v1');
    });

    test('when the certificate is not trusted', async () => {
      const server = await service((_request, response) => json(response, 200, envelope(acknowledgement)), TEST_TLS);
      await expectNotSent(server.baseUrl);
      expect(server.received).toEqual([]);
    });

    test('when the service hangs up during the TLS handshake', async () => {
      const server = await tcp((socket) => socket.once('data', () => socket.resetAndDestroy()));
      await expectNotSent(server.baseUrl.replace('http:', 'https:'));
    });

    test('when the TLS handshake never ends', async () => {
      const server = await tcp(() => undefined);
      await expectNotSent(server.baseUrl.replace('http:', 'https:'), { timeouts: { connectMs: 200 } });
    });

    test.each([
      ['closes', (socket: Socket) => socket.end()],
      ['resets', (socket: Socket) => socket.resetAndDestroy()],
    ])('when the service %s the connection while the mark is being set', async (_how, hangUp) => {
      const sockets: Socket[] = [];
      const bytes: Buffer[] = [];
      const server = await tcp((socket) => {
        sockets.push(socket);
        socket.on('data', (piece) => bytes.push(piece));
      });
      const { api } = client(server.baseUrl);
      let marks = 0;

      const error = await errorOf(
        api.pushIrm(pushOf(), {
          beforeWrite: async () => {
            marks += 1;
            for (const socket of sockets) hangUp(socket);
            await sleep(100);
          },
        }),
      );

      expect(error.kind).toBe('not_sent');
      expect({ marks, connections: sockets.length, bytes }).toEqual({ marks: 1, connections: 1, bytes: [] });
    });

    test('when the time is up before the mark is set, however late that comes', async () => {
      const server = await service((_request, response) => json(response, 200, envelope(acknowledgement)));
      const { api } = client(server.baseUrl, { timeouts: { totalMs: 100 } });
      let marked = false;
      const error = await errorOf(
        api.pushIrm(pushOf(), {
          beforeWrite: async () => {
            await sleep(250);
            marked = true;
          },
        }),
      );
      expect(error.kind).toBe('not_sent');
      await sleep(300);
      expect(marked).toBe(true);
      expect(server.received).toEqual([]);
    });

    test('when the process stood still between the mark and the write', async () => {
      const server = await service((_request, response) => json(response, 200, envelope(acknowledgement)));
      const { api } = client(server.baseUrl, { timeouts: { totalMs: 100 } });
      const error = await errorOf(
        api.pushIrm(pushOf(), {
          // Blocks the event loop: the time-out's timer cannot fire before the write would be made.
          beforeWrite: () => {
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
            return Promise.resolve();
          },
        }),
      );
      expect(error.kind).toBe('not_sent');
      await sleep(100);
      expect(server.received).toEqual([]);
    });

    test('when the client is closed before the write: nothing is written any more', async () => {
      const server = await tcp((socket) => socket.on('data', () => socket.resetAndDestroy()));
      const { api, budget } = client(server.baseUrl);
      let closing = Promise.resolve();
      const beforeWrite = async () => {
        closing = api.close();
        await sleep(10);
      };
      expect((await errorOf(api.pushIrm(pushOf(), { beforeWrite }))).kind).toBe('cancelled');
      await closing;
      expect((await errorOf(api.pushIrm(pushOf(), mayWrite))).kind).toBe('cancelled');
      expect(budget.events).toEqual(['acquired', 'unused', 'acquired', 'unused']);
    });

    test('with reason cancelled when the caller cancels before the write', async () => {
      const server = await service((_request, response) => json(response, 200, envelope(acknowledgement)));
      const { api, budget } = client(server.baseUrl);
      const cancel = new AbortController();
      const error = await errorOf(
        api.pushIrm(pushOf(), {
          signal: cancel.signal,
          beforeWrite: async () => {
            cancel.abort();
            await sleep(20);
          },
        }),
      );
      expect(error.kind).toBe('cancelled');
      await sleep(50);
      expect(server.received).toEqual([]);
      await api.close();
      expect(budget.events).toEqual(['acquired', 'unused']);
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

    test('when the connection is reset after the first byte', async () => {
      const server = await tcp((socket) => socket.once('data', () => socket.resetAndDestroy()));
      await expectUnknown(server.baseUrl);
    });

    test('when the service closes the connection without an answer', async () => {
      const server = await service((_request, response) => void response.socket?.end());
      await expectUnknown(server.baseUrl);
    });

    test('when the headers of the answer do not come', async () => {
      const server = await service(() => undefined);
      await expectUnknown(server.baseUrl, { timeouts: { totalMs: 1_500 } });
      await expectUnknown(server.baseUrl, { timeouts: { headersMs: 200 } });
    });

    test('when the body of the answer stalls or breaks off', async () => {
      const server = await service((_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 500 });
        response.write('{"success":true,"data":{"requestId":"REQ1"');
      });
      await expectUnknown(server.baseUrl, { timeouts: { totalMs: 1_500 } });
      await expectUnknown(server.baseUrl, { timeouts: { bodyMs: 200 } });
      server.answer((_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 500 });
        response.write('{"success":true', () => response.socket?.destroy());
      });
      await expectUnknown(server.baseUrl);
    });

    test('when the answer is not HTTP', async () => {
      const server = await tcp((socket) => socket.once('data', () => socket.end('220 mail.example.com ESMTP\r\n')));
      await expectUnknown(server.baseUrl);
    });

    test.each([500, 502, 503, 504])('when the answer is %i, whatever its body', async (status) => {
      const server = await service((_request, response) =>
        json(response, status, { statusCode: status, errorCode: 'DGFT_PORTAL_UNAVAILABLE', message: 'Portal' }),
      );
      const error = await expectUnknown(server.baseUrl);
      expect(error).toMatchObject({ status, errorCode: 'DGFT_PORTAL_UNAVAILABLE' });
    });

    test.each([404, 409])('when the answer is %i and says that a certificate is not there yet', async (status) => {
      const server = await service((_request, response) =>
        json(response, status, { statusCode: status, errorCode: 'EBRC_NOT_FOUND', message: 'Not there yet' }),
      );
      const error = await expectUnknown(server.baseUrl);
      expect(error).toMatchObject({ status, errorCode: 'EBRC_NOT_FOUND' });
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
      const error = await expectUnknown(server.baseUrl);
      expect(error.status).toBe(200);
    });

    test.each([400, 401, 403, 404, 409, 422])(
      'when a %i comes from a proxy and not from the service',
      async (status) => {
        const server = await service((_request, response) => raw(response, status, '<h1>blocked</h1>', 'text/html'));
        await expectUnknown(server.baseUrl);
      },
    );

    test.each([302, 307, 408, 418])('when the answer is %i, which the specification does not name', async (status) => {
      const server = await service((_request, response) =>
        json(response, status, { statusCode: status, message: 'x' }),
      );
      await expectUnknown(server.baseUrl);
    });

    test('when the client is closed after the first byte', async () => {
      const { api } = client((await service(() => api.close())).baseUrl);
      expect((await errorOf(api.pushIrm(pushOf(), mayWrite))).kind).toBe('outcome_unknown');
    });

    test('when the caller cancels after the first byte', async () => {
      const cancel = new AbortController();
      const server = await service(() => cancel.abort());
      const { api } = client(server.baseUrl);
      expect((await errorOf(api.pushIrm(pushOf(), { ...mayWrite, signal: cancel.signal }))).kind).toBe(
        'outcome_unknown',
      );
    });
  });

  test('a Failed acknowledgement is an answer, with or without a request id', async () => {
    const server = await service((_request, response) =>
      json(response, 200, envelope({ ackStatus: 'Failed', requestId: null, errorDetails: 'ERR08: count' })),
    );
    const { api } = client(server.baseUrl);
    const { parsed } = await api.pushIrm(pushOf(), mayWrite);
    expect(parsed).toMatchObject({ ackStatus: 'Failed', requestId: null, errorDetails: ['ERR08: count'] });
  });

  test('a refusal names rows by serialNo', async () => {
    const server = await service((_request, response) =>
      json(response, 400, {
        statusCode: 400,
        message: 'Validation failed',
        errors: ['ebrcBulkGenDtos.1.sbCumInvoiceNumber: is not a shipping bill number', 'something else'],
      }),
    );
    const { api } = client(server.baseUrl);
    const error = await errorOf(
      api.pushIrm(
        pushOf(mapping({ serialNo: 41 }), mapping({ serialNo: 42, sbCumInvoiceNumber: '7654321' })),
        mayWrite,
      ),
    );
    expect(error.kind).toBe('validation_failed');
    expect(error.fieldErrors).toEqual([
      {
        row: 42,
        field: 'sbCumInvoiceNumber',
        message: 'ebrcBulkGenDtos.1.sbCumInvoiceNumber: is not a shipping bill number',
      },
      { message: 'something else' },
    ]);
  });

  test.each([
    ['their serialNo', [{ serialNo: 42, field: 'irmDt' }], [{ row: 42, field: 'irmDt' }]],
    ['their place', [{ index: 1, field: 'irmDt' }, { index: '0' }], [{ row: 42, field: 'irmDt' }, { row: 41 }]],
    ['a path', [{ field: 'ebrcBulkGenDtos[1].irmDt' }], [{ row: 42, field: 'irmDt' }]],
    ['a place that may be counted from 1, and names no row', [{ index: 1 }, { index: 2 }], [{}, {}]],
  ])('a refusal of objects names rows by %s', async (_how, errors, named) => {
    const message = 'is not a date';
    const server = await service((_request, response) =>
      json(response, 400, {
        statusCode: 400,
        message: 'Validation failed',
        errors: errors.map((each) => ({ ...each, message })),
      }),
    );
    const { api } = client(server.baseUrl);
    const two = pushOf(mapping({ serialNo: 41 }), mapping({ serialNo: 42, sbCumInvoiceNumber: '7654321' }));
    const error = await errorOf(api.pushIrm(two, mayWrite));
    expect(error.fieldErrors).toEqual(named.map((each) => ({ ...each, message })));
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
    const server = await service((_request, response) => json(response, 200, envelope(acknowledgement)));
    const { api, budget } = client(server.baseUrl);
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
    const server = await service((_request, response) => json(response, 200, envelope(acknowledgement)));
    const { api } = client(server.baseUrl);
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
