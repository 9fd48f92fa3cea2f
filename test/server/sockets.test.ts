/** Connections of somebody who wants the HTTP API to stop: pipelined, half closed, slow, never read, cut. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/processes';
import { askHttp, messageOf, onboard, useHttpStage, type ProblemBody } from './http-stage';

const stage = useHttpStage(onboard);

const MB = 1024 * 1024;
const JSON_TYPE = { 'content-type': 'application/json' };

function begin(url: string, text: string, { deaf = false } = {}): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      if (deaf) socket.pause();
      socket.write(text, () => resolve(socket));
    }).on('error', () => resolve(socket));
  });
}

/** All that a connection says until it ends. */
const allOf = (socket: Socket) =>
  new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (data: Buffer) => (text += data.toString('latin1'))).once('close', () => resolve(text));
  });

const head = (line: string, token?: string, spelling = 'Bearer') =>
  [`${line} HTTP/1.1`, 'Host: x', ...(token ? [`Authorization: ${spelling} ${token}`] : []), ''].join('\r\n');
const bodyOf = (token: string, length: string, spelling?: string) =>
  `${head('POST /v1/checks', token, spelling)}Content-Type: application/json\r\n${length}\r\n\r\n`;

/** Whether a body of 6 MB is read: it is refused because it is blank. */
async function takesLargeBodies(token?: string) {
  const { status, body } = await stage.ask<ProblemBody>('POST', '/v1/checks', {
    ...(token !== undefined && { token }),
    body: ' '.repeat(6 * MB),
    headers: JSON_TYPE,
  });
  return [status, body.code];
}

const READ = [400, 'not_json'];

describe('a caller without a token', () => {
  it('takes nothing for ever with requests that it pipelines and does not wait for', async () => {
    const many = (name: string) => `${head('GET /v1/openapi.json', name)}\r\n`.repeat(360);
    for (let round = 0; round < 3; round += 1) {
      const sockets = await Promise.all(['one', 'two'].map((name) => begin(stage.url, many(name), { deaf: true })));
      await sleep(2_000);
      for (const socket of sockets) socket.destroy();
    }
    await sleep(200);
    expect(await takesLargeBodies()).toEqual(READ);
    expect((await askHttp(stage.url, 'GET', '/readyz')).status).toBe(200);
  });

  it('has one request at a time on a connection', async () => {
    const two = `${head('GET /healthz')}\r\n`.repeat(2);
    expect((await allOf(await begin(stage.url, two))).split('HTTP/1.1 200').length - 1).toBeLessThan(2);
    // One after the other is as before.
    const socket = await begin(stage.url, `${head('GET /healthz')}\r\n`);
    const next = () => new Promise<string>((done) => socket.once('data', (data: Buffer) => done(data.toString())));
    expect(await next()).toMatch(/^HTTP\/1.1 200/u);
    socket.write(`${head('GET /healthz')}\r\n`);
    expect(await next()).toMatch(/^HTTP\/1.1 200/u);
    socket.destroy();
  });
});

describe('a principal', () => {
  it('holds a bounded number of bodies however it spells its header, and others are served', async () => {
    const greedy = await stage.principal(['maker']);
    const refused = (socket: Socket) =>
      new Promise<string>((resolve) => socket.once('data', (data: Buffer) => resolve(data.toString())));
    const whole = `Content-Length: ${6 * MB}`;
    const spellings = ['Bearer', 'bearer', 'BEARER', 'Bearer ', 'bEARER'];
    const sockets = await Promise.all(spellings.map((spelling) => begin(stage.url, bodyOf(greedy, whole, spelling))));
    try {
      await sleep(300);
      const late = await begin(stage.url, bodyOf(greedy, 'Transfer-Encoding: chunked'));
      sockets.push(late);
      expect(await refused(late)).toMatch(/^HTTP\/1.1 503 [^]*retry-after: 2[^]*"code":"busy"/);
      // A small one of its own, and a large one of somebody else.
      expect((await stage.ask('POST', '/v1/checks', { token: greedy, json: {} })).status).toBe(400);
      expect(await takesLargeBodies()).toEqual(READ);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    // So do those that go before anybody has looked at their token, or say that they have no more to say.
    for (let nth = 0; nth < 20; nth += 1) (await begin(stage.url, bodyOf(greedy, whole))).destroy();
    const halves = await Promise.all([1, 2, 3, 4, 5].map(() => begin(stage.url, bodyOf(greedy, whole))));
    await Promise.all(halves.map((socket) => allOf(socket.end())));
    await eventually(async () => (await takesLargeBodies(greedy))[0] === 400);
  });

  it('holds a bounded number of answers that it does not read, and a bounded time', async () => {
    const { filing, token, documents } = await largeWorkbook(20 * MB);
    const patient = await stage.another({ documents });
    const strict = await stage.another({ documents }, { bounds: { takenWithinMs: 3_000 } });
    const get = `${head(`GET /v1/filings/${filing}/workbook`, token)}\r\n`;
    const code = async ({ url }: { url: string }) => {
      const path = `/v1/filings/${filing}/workbook`;
      // A busy machine may be late itself, and then its connection is closed.
      const answer = await askHttp<ProblemBody>(url, 'GET', path, { token }).catch(() => null);
      return answer?.body.code ?? answer?.status;
    };
    /** Asks, and reads nothing of the answer that has begun. */
    const deafTo = async ({ url }: { url: string }) => {
      const socket = await begin(url, get, { deaf: true });
      await once(socket, 'readable');
      return socket;
    };
    try {
      const deaf = await deafTo(patient);
      expect(await code(patient)).toBe('busy');
      deaf.destroy();
      await eventually(async () => (await code(patient)) === 200);
      // Half closed, and then silent.
      const half = await deafTo(strict);
      half.end();
      await eventually(async () => (await code(strict)) === 200);
      half.destroy();
      // A byte now and then keeps this one from being idle.
      const slow = await deafTo(strict);
      const trickle = setInterval(() => slow.read(1), 50);
      await sleep(6_000);
      clearInterval(trickle);
      expect((await allOf(slow.resume())).length).toBeLessThan(20 * MB);
    } finally {
      await Promise.all([patient.close(), strict.close()]);
    }
  });
});

it('refuses requests and is not ready while it is saturated, and lives', async () => {
  for (const bounds of [{ heapBytes: 1 }, { residentBytes: 1 }]) {
    const full = await stage.another({}, { bounds });
    try {
      await eventually(async () => (await askHttp(full.url, 'GET', '/readyz')).status === 503);
      const { status, body, headers } = await askHttp<ProblemBody>(full.url, 'GET', '/v1/filings');
      expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'busy', '2']);
      expect((await askHttp(full.url, 'GET', '/readyz')).body).toMatchObject({
        checks: [{}, {}, { name: 'running', ok: false, message: 'the server is saturated' }],
      });
      expect((await askHttp(full.url, 'GET', '/healthz')).status).toBe(200);
      expect((await askHttp(full.url, 'GET', '/metrics')).status).toBe(200);
    } finally {
      await full.close();
    }
  }
});

/** A filing whose annotated workbook has this size, in a store that is asked for nothing else. */
async function largeWorkbook(size: number) {
  const exporter = 'accounts@kaveri.example';
  const json = { exporter, reference: 'LARGE-1', approval: true, message: await messageOf(stage, 'LARGE-1') };
  const { body } = await stage.ask<{ filingId: string }>('POST', '/v1/filings', { json });
  const name = 'test.LARGE.xlsx';
  await stage.ledger.pool.query('UPDATE filings SET annotated = $1 WHERE filing_id = $2', [name, body.filingId]);
  const content = Buffer.alloc(size, 'x');
  const { documents: whole } = stage.deps;
  const documents = new Proxy(whole, {
    get: (target, key): unknown =>
      key === 'exists' || key === 'read'
        ? () => Promise.resolve(key === 'exists' || content)
        : Reflect.get(target, key),
  });
  return { filing: body.filingId, token: await stage.principal(['viewer']), documents };
}

it('reads no more of a body than its fields can have', async () => {
  const send = (path: string, bytes: number) =>
    stage.ask<ProblemBody>('POST', `/v1/${path}`, { body: `{"note": "${'x'.repeat(bytes)}"}`, headers: JSON_TYPE });
  for (const path of ['filings/NONE/abandon', 'filings/NONE/resume', 'exporters']) {
    const { status, body } = await send(path, 100_000);
    expect([path, status, body.code]).toEqual([path, 413, 'too_large']);
  }
  expect((await send('filings/NONE/abandon', 3_000)).status).toBe(400);
  // What names evidence or certificates of up to 999 rows may be longer.
  for (const path of ['filings/NONE/approve', 'filings/NONE/resolve'])
    expect([path, (await send(path, 100_000)).status]).toEqual([path, 400]);
});
