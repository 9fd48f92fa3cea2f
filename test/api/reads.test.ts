import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import { BudgetStoppedError } from '../../src/budget/slot';
import { collect, invoke } from './support/invoke';
import { closedAfterEach, closedPort, CUSTOMER_ID, envelope, errorOf, json, raw } from './support/service';

const STATUS = { platformCustomerId: CUSTOMER_ID, requestId: 'REQ1' };

describe('reads', () => {
  const { service, tcp, client, answering } = closedAfterEach();

  test('share kept connections, with and without the envelope', async () => {
    const { server, api } = await answering({ requestId: 'REQ1' });
    await api.status(STATUS);
    // The pool takes a connection back one turn after its answer has ended.
    await sleep(20);
    server.answer((_request, response) => json(response, 200, { requestId: 'REQ1', recordResCount: '2' }));
    expect(await api.status(STATUS)).toMatchObject({ requestId: 'REQ1', recordResCount: 2, ebrcBulkGenStatusLst: [] });
    expect(server.connections()).toBe(1);
  });

  test.each(['at once', 'after a call on the same kept connection'])(
    'a connection that is reset after the write is connection_lost, %s',
    async (when) => {
      const { server, api, budget } = await answering({ requestId: 'REQ1' });
      if (when !== 'at once') await api.status(STATUS);
      server.answer((_request, response) => void response.socket?.resetAndDestroy());
      expect((await errorOf(api.status(STATUS))).kind).toBe('connection_lost');
      await api.close();
      expect(budget.events.slice(-2)).toEqual(['acquired', 'written']);
    },
  );

  test('a kept connection that the service closed meanwhile is replaced', async () => {
    const server = await service((_request, response) => {
      const { socket } = response;
      json(response, 200, envelope({ requestId: 'REQ1' }));
      setTimeout(() => socket?.end(), 20);
    });
    const { api } = client(server.baseUrl);
    await api.status(STATUS);
    await sleep(100);
    expect((await api.status(STATUS)).requestId).toBe('REQ1');
    expect(server.connections()).toBe(2);
  });

  test('a body that stalls is a timeout, by its own clock and by the total one', async () => {
    const server = await service((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"success":true,');
    });
    for (const timeouts of [{ bodyMs: 200 }, { totalMs: 200 }]) {
      const { api } = client(server.baseUrl, { timeouts });
      expect((await errorOf(api.status(STATUS))).kind).toBe('timeout');
    }
  });

  test('a body that drips for ever ends at the total time-out', async () => {
    const server = await service((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const drip = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(drip));
    });
    const { api } = client(server.baseUrl, { timeouts: { totalMs: 300 } });
    expect((await errorOf(api.status(STATUS))).kind).toBe('timeout');
  });

  test('nothing listening is not_sent, for every operation', async () => {
    const { api, budget } = client(`http://127.0.0.1:${await closedPort()}/api/v1`);
    for (const operation of ['createCustomer', 'listCustomers', 'status', 'downloadPdf', 'refreshIrms'] as const) {
      expect((await errorOf(invoke(api, operation))).kind).toBe('not_sent');
    }
    await api.close();
    expect(new Set(budget.events)).toEqual(new Set(['acquired', 'unused']));
  });

  test.each([
    ['an empty body', ''],
    ['HTML', '<html></html>'],
    ['JSON cut short', '{"success":true,"data":{'],
    ['a list where a record was asked for', '[]'],
    ['success: false', '{"success":false,"data":{}}'],
  ])('%s with status 200 is a bad answer', async (_what, body) => {
    const server = await service((_request, response) => raw(response, 200, body, 'text/html'));
    const { api } = client(server.baseUrl);
    expect((await errorOf(api.status(STATUS))).kind).toBe('bad_answer');
    expect((await errorOf(api.getCustomer(CUSTOMER_ID))).kind).toBe('bad_answer');
    if (body !== '[]') expect((await errorOf(collect(api.listCustomers()))).kind).toBe('bad_answer');
  });

  test('cancelling is prompt: while waiting for a slot, while connecting, while waiting for the answer', async () => {
    const server = await service(() => undefined);
    const silent = await tcp(() => undefined);
    const waiting = {
      acquire: (_rateClass: string, { signal }: { signal?: AbortSignal }) =>
        new Promise<never>((_resolve, reject) =>
          signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
        ),
    };
    for (const { api } of [
      client(server.baseUrl, { budget: waiting }),
      client(silent.baseUrl.replace('http:', 'https:')),
      client(server.baseUrl),
    ]) {
      const cancel = new AbortController();
      const call = errorOf(api.status(STATUS, { signal: cancel.signal }));
      await sleep(50);
      cancel.abort();
      expect((await call).kind).toBe('cancelled');
      expect((await errorOf(api.status(STATUS, { signal: cancel.signal }))).kind).toBe('cancelled');
    }
  });

  test('a budget that stops or cannot be reached means that nothing was sent', async () => {
    const server = await service((_request, response) => json(response, 200, envelope({})));
    const stopped = client(server.baseUrl, { budget: { acquire: () => Promise.reject(new BudgetStoppedError()) } });
    expect((await errorOf(stopped.api.status(STATUS))).kind).toBe('not_sent');
    const broken = client(server.baseUrl, { budget: { acquire: () => Promise.reject(new Error('no database')) } });
    const error = await errorOf(broken.api.status(STATUS));
    expect(error.kind).toBe('ledger_unavailable');
    expect(error.cause).toMatchObject({ message: 'no database' });
    expect(server.received).toEqual([]);
  });

  test('lists go through all pages, whatever their shape', async () => {
    const ids = Array.from({ length: 250 }, (_, index) => `C${index}`);
    const server = await service((request, response) => {
      const { searchParams } = new URL(request.url, server.baseUrl);
      const [page, limit] = [Number(searchParams.get('page')), Number(searchParams.get('limit'))];
      const items = ids.slice((page - 1) * limit, page * limit).map((id) => ({ id }));
      const meta = { total: ids.length, page, limit, totalPages: Math.ceil(ids.length / limit) };
      json(response, 200, envelope(searchParams.get('search') === 'array' ? items : { data: items, meta }));
    });
    const { api } = client(server.baseUrl);
    expect((await collect(api.listCustomers({ search: 'array' }))).map(({ id }) => id)).toEqual(ids);
    expect(server.received).toHaveLength(3);
    expect((await collect(api.listCustomers({ limit: 50 }))).map(({ id }) => id)).toEqual(ids);
    expect(server.received).toHaveLength(8);
  });

  test.each<[string, (items: object[], meta: object) => unknown]>([
    ['items beside the counts', (items, meta) => ({ items, ...meta })],
    ['items and pagination', (items, meta) => ({ items, pagination: meta })],
    ['a name of its own, and no number of pages', (customers, meta) => ({ customers, ...meta, totalPages: undefined })],
  ])('a list of an undocumented shape is read page by page: %s', async (_shape, shapeOf) => {
    const ids = ['C0', 'C1', 'C2', 'C3', 'C4'];
    const server = await service((request, response) => {
      const page = Number(new URL(request.url, server.baseUrl).searchParams.get('page'));
      const items = ids.slice((page - 1) * 2, page * 2).map((id) => ({ id }));
      json(response, 200, envelope(shapeOf(items, { total: 5, page, limit: 2, totalPages: 3 })));
    });
    const { api } = client(server.baseUrl);
    expect((await collect(api.listCustomers())).map(({ id }) => id)).toEqual(ids);
    expect(server.received).toHaveLength(3);
  });

  test('a list whose order changes between two pages is read again, until every record was shown', async () => {
    const irms = Array.from({ length: 150 }, (_, index) => ({ irmNumber: `I${index}`, updatedAt: `${index}` }));
    let calls = 0;
    const server = await service((request, response) => {
      const page = Number(new URL(request.url, server.baseUrl).searchParams.get('page'));
      calls += 1;
      // At the second call the last ones of the first page have moved to the second.
      const order = calls === 2 ? [...irms.slice(100), ...irms.slice(0, 100)] : irms;
      const meta = { total: 150, page, limit: 100, totalPages: 2 };
      // An unknown field that each answer has anew makes no other record of one that was shown.
      const data = order.slice((page - 1) * 100, page * 100).map((item) => ({ ...item, readAt: calls }));
      json(response, 200, envelope({ data, meta }));
    });
    const { api } = client(server.baseUrl);
    const shown = await collect(api.listIrms(CUSTOMER_ID));
    expect(shown.map(({ irmNumber }) => irmNumber)).toEqual(irms.map(({ irmNumber }) => irmNumber));
    expect(server.received).toHaveLength(4);
  });

  test('a list that never shows as many records as it names ends', async () => {
    const meta = { total: 7, page: 1, limit: 100, totalPages: 1 };
    const { server, api } = await answering({ data: [{ irmNumber: 'A' }, { irmNumber: 'B' }], meta });
    expect(await collect(api.listIrms(CUSTOMER_ID))).toHaveLength(2);
    expect(server.received).toHaveLength(2);
  });

  test('a list that ignores the page ends', async () => {
    const page = Array.from({ length: 100 }, (_, index) => ({ id: `C${index}` }));
    const { api } = await answering(page);
    expect(await collect(api.listCustomers())).toHaveLength(100);
  });

  test('a reader who stops early makes no further calls', async () => {
    const { server, api } = await answering({ data: [{ irmNumber: 'A' }], meta: { totalPages: 9 } });
    for await (const irm of api.listIrms(CUSTOMER_ID)) {
      expect(irm.irmNumber).toBe('A');
      break;
    }
    expect(server.received).toHaveLength(1);
  });

  test('any 2xx is a refresh', async () => {
    const server = await service((_request, response) => void response.writeHead(204).end());
    const { api } = client(server.baseUrl);
    await api.refreshIrms(CUSTOMER_ID);
    expect(server.received[0]?.body.toString()).toBe(JSON.stringify({ platformCustomerId: CUSTOMER_ID }));
  });

  test('path parameters are encoded', async () => {
    const server = await service((_request, response) => raw(response, 200, '%PDF', 'application/pdf'));
    const { api } = client(server.baseUrl);
    await api.downloadPdf({ eBRCNumber: 'A/../B?x=1', platformCustomerId: CUSTOMER_ID }, sink);
    expect(server.received[0]?.url).toBe(
      `/api/v1/genebrc/download-pdf/A%2F..%2FB%3Fx%3D1?platformCustomerId=${CUSTOMER_ID}`,
    );
  });

  describe('downloads', () => {
    const certificate = { eBRCNumber: 'EBRC1', platformCustomerId: CUSTOMER_ID };
    const pdf = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(300_000, 7), Buffer.from('\n%%EOF')]);

    test('are streamed to their sink, with what is known ahead', async () => {
      const server = await service((_request, response) => {
        response.writeHead(200, {
          'content-type': 'application/pdf',
          'content-length': pdf.length,
          'content-disposition': 'attachment; filename="EBRC1.pdf"',
        });
        response.end(pdf);
      });
      const { api } = client(server.baseUrl);
      const result = await api.downloadPdf(certificate, async (body, bytes) => ({ hash: await hash(body), bytes }));
      expect(result).toEqual({
        hash: createHash('sha256').update(pdf).digest('hex'),
        bytes: pdf.length,
      });
    });

    test('that break off are connection_lost, that stall a timeout; the sink sees its stream fail', async () => {
      const server = await service((_request, response) => {
        response.writeHead(200, { 'content-type': 'application/pdf', 'content-length': pdf.length });
        response.write(pdf.subarray(0, 100_000), () => response.socket?.destroy());
      });
      const { api } = client(server.baseUrl, { timeouts: { bodyMs: 200 } });
      expect((await errorOf(api.downloadPdf(certificate, sink))).kind).toBe('connection_lost');
      server.answer((_request, response) => {
        response.writeHead(200, { 'content-type': 'application/pdf', 'content-length': pdf.length });
        response.write(pdf.subarray(0, 100_000));
      });
      expect((await errorOf(api.downloadPdf(certificate, sink))).kind).toBe('timeout');
    });

    test('pass on what the sink throws', async () => {
      const server = await service((_request, response) => raw(response, 200, pdf, 'application/pdf'));
      const { api } = client(server.baseUrl);
      const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      const reading = async (body: Readable) => {
        for await (const _ of body) throw full;
      };
      await expect(api.downloadPdf(certificate, reading)).rejects.toBe(full);
      await expect(api.irmTemplate(CUSTOMER_ID, () => Promise.reject(full))).rejects.toBe(full);
    });

    test('that are a page or a JSON never reach the sink', async () => {
      const { api } = await answering({});
      const unused = jest.fn();
      expect((await errorOf(api.downloadPdf(certificate, unused))).kind).toBe('bad_answer');
      expect((await errorOf(api.irmTemplate(CUSTOMER_ID, unused))).kind).toBe('bad_answer');
      expect(unused).not.toHaveBeenCalled();
    });
  });
});

async function sink(body: Readable): Promise<void> {
  await hash(body);
}

async function hash(body: Readable): Promise<string> {
  const sum = createHash('sha256');
  for await (const piece of body as AsyncIterable<Buffer>) sum.update(piece);
  return sum.digest('hex');
}
