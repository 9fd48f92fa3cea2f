/**
 * Requests that are not served. Wrong ones: each is a problem that names the field and what is allowed, and nothing is
 * recorded. PostgreSQL, Temporal or the workers away: 503 with Retry-After, and nothing half done.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { Client, Connection, ServiceError } from '@temporalio/client';
import { createPool } from '../../src/ledger/pool';
import type pg from 'pg';
import { LedgerUnavailableError } from '../../src/ledger/unavailable';
import { problemOf } from '../../src/server/http/failures';
import { inApiTerms } from '../../src/server/http/problem';
import { refusal } from '../../src/starter/errors';
import { everyRoute } from './every-route';
import { askHttp, KAVERI, messageOf, onboard, useHttpStage, type ProblemBody, type Reply } from './http-stage';

const stage = useHttpStage(onboard);

const exporter = KAVERI.email;
const JSON_TYPE = { 'content-type': 'application/json' };
const post = (body: string | Buffer, headers: Record<string, string> = JSON_TYPE) =>
  stage.ask<ProblemBody>('POST', '/v1/filings', { body, headers });
const send = (json: unknown) => stage.ask<ProblemBody>('POST', '/v1/filings', { json });

/** What a problem says: its status, its code, and a field that it names. */
type Expected = readonly [status: number, code: string, field?: string];

/** A 4xx problem. */
async function refused(what: string, ask: () => Promise<Reply<ProblemBody>>, [expectedStatus, code, field]: Expected) {
  const { status, body, headers } = await ask();
  const fields = (body.errors ?? []).map(({ field }) => field);
  // The name of a class of ours is nothing to depend on.
  expect((body.errors ?? []).filter((error) => 'name' in error)).toEqual([]);
  expect({ what, status, code: body.code }).toEqual({ what, status: expectedStatus, code });
  if (field !== undefined) expect([what, fields]).toEqual([what, expect.arrayContaining([field])]);
  expect(headers.get('content-type')).toContain('application/problem+json');
  expect(body.request_id).toBe(headers.get('x-request-id'));
  expect(body.detail).not.toBe('');
}

it('refuses every wrong body, and records nothing', async () => {
  const message = await messageOf(stage, 'BAD-1');
  const good = { exporter, reference: 'BAD-1', message };
  const with_ = (more: object) => () => send({ ...good, ...more });
  const invalid = (field: string): Expected => [400, 'invalid_request', field];
  const table: [string, () => Promise<Reply<ProblemBody>>, Expected][] = [
    ['no JSON', () => post('{"exporter":'), [400, 'not_json']],
    ['a reference twice', () => post('{"reference":"A","reference":"B"}'), [400, 'not_json']],
    ['nothing', () => post(''), invalid('reference')],
    ['a list', () => post('[]'), invalid('body')],
    ['a text', () => post('"x"'), invalid('body')],
    ['null', () => post('null'), [400, 'invalid_request']],
    ['a number', () => post('14'), invalid('body')],
    ['a number that would become another one', () => post('{"n":1e400}'), [400, 'number_not_exact']],
    ['no UTF-8', () => post(Buffer.from([0x22, 0xff, 0x22])), [400, 'not_utf8']],
    ['a workbook called JSON', () => post(Buffer.from('PK\u0003\u0004rest')), [400, 'not_json']],
    ['a million brackets', () => post('['.repeat(1_000_000)), [400, 'not_json']],
    ['a million levels', () => post(`${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`), [400, 'not_json']],
    ['fifty levels', () => post(`${'['.repeat(50)}${']'.repeat(50)}`), [400, 'too_deep']],
    ['two million values', () => post(`[${'{},'.repeat(1_900_000)}{}]`), [400, 'not_json']],
    [
      'another type',
      () => post('x=1', { 'content-type': 'application/x-www-form-urlencoded' }),
      [415, 'unsupported_media_type'],
    ],
    ['text/plain', () => post('{}', { 'content-type': 'text/plain' }), [415, 'unsupported_media_type']],
    ['XML', () => post('<a/>', { 'content-type': 'application/xml' }), [415, 'unsupported_media_type']],
    ['gzip', () => post(gzipSync('{}'), { ...JSON_TYPE, 'content-encoding': 'gzip' }), [400, 'not_utf8']],
    ['7 MB', () => post(`"${'x'.repeat(7_000_000)}"`), [413, 'too_large']],
    ['an unknown field', with_({ refernce: 'x' }), [400, 'invalid_request', 'refernce']],
    ['__proto__', () => post('{"__proto__": {"exporter": "x"}}'), [400, 'invalid_request', '__proto__']],
    ['a number for a text', with_({ reference: 7 }), invalid('reference')],
    ['an object for a text', with_({ exporter: {} }), invalid('exporter')],
    ['a text for an object', with_({ message: 'x' }), invalid('message')],
    ['a huge number', with_({ n: 1e300 }), invalid('n')],
    ['a fraction', with_({ n: 1.5 }), invalid('n')],
    ['another upload type', with_({ uploadType: 999 }), invalid('uploadType')],
    ['a wrong declaration', with_({ declaration: 'yes' }), invalid('declaration')],
    ['an empty reference', with_({ reference: '' }), invalid('reference')],
    ['a reference of 1,000 characters', with_({ reference: 'x'.repeat(1_000) }), invalid('reference')],
    ['a blank in a reference', with_({ reference: 'a b' }), invalid('reference')],
    ['NUL', with_({ reference: 'a\u0000b' }), [400, 'invalid_text', 'reference']],
    ['NUL in a row', with_({ message: { ...message, x: ['\u0000'] } }), [400, 'invalid_text', 'message.x.0']],
    ['half a character', () => post('{"reference": "\\ud800"}'), [400, 'invalid_text', 'reference']],
    ['a bidi override', with_({ reference: 'a\u202eb' }), invalid('reference')],
    ['an invisible character', with_({ reference: 'a\u00adb' }), invalid('reference')],
    ['a zero-width blank', with_({ reference: 'a\u200bb' }), invalid('reference')],
    ['a Hangul filler', with_({ reference: 'a\u3164' }), invalid('reference')],
    ['an empty Braille pattern', with_({ reference: 'a\u2800' }), invalid('reference')],
    ['a Cyrillic letter among Latin ones', with_({ reference: 'B\u0410D-1' }), invalid('reference')],
    [
      'an invisible character in a row',
      with_({ message: { ...message, ebrcBulkGenDtos: [{ ...message.ebrcBulkGenDtos[0], billNo: 'B\u2060-1' }] } }),
      [422, 'control_character', 'billNo'],
    ],
    ['an unknown exporter', with_({ exporter: 'nobody@x.example' }), [404, 'unknown_exporter']],
    ['.. for an exporter', with_({ exporter: '../../etc' }), [404, 'unknown_exporter']],
    ['neither message nor file', () => send({ exporter, reference: 'BAD-1' }), [400, 'invalid_request', 'message']],
    ['a message that is none', with_({ message: { rows: [] } }), [422, 'unknown_property']],
    ['a wrong permission', with_({ allowDuplicate: [{ row: 'x' }] }), invalid('allowDuplicate.0.row')],
  ];
  for (const [what, ask, expected] of table) await refused(what, ask, expected);
  expect((await post('{}')).body.detail).toContain('reference: is missing; allowed: a text');
  expect((await post('{"exporter": 5, "reference": {}, "x": 1}')).body.detail).toBe(
    'exporter: is a number; allowed: a text; reference: is an object; allowed: a text; x is not a field of this body',
  );
  expect(
    await stage.ledger.select(
      'SELECT (SELECT count(*) FROM filings)::int AS filings, (SELECT count(*) FROM filing_inputs)::int AS inputs',
    ),
  ).toEqual([{ filings: 0, inputs: 0 }]);
  expect((await send(good)).status).toBe(201);
}, 120_000);

it('refuses wrong forms', async () => {
  const form = (parts: [string, string | Blob, string?][]) => {
    const made = new FormData();
    for (const [name, value, file] of parts) {
      if (typeof value === 'string') made.append(name, value);
      else made.append(name, value, file);
    }
    return () => stage.ask<ProblemBody>('POST', '/v1/filings', { body: made });
  };
  const book = new Blob([new Uint8Array(Buffer.from('no workbook'))]);
  const base: [string, string][] = [
    ['exporter', exporter],
    ['reference', 'BAD-2'],
    ['uploadType', '103'],
    ['declaration', 'Y'],
  ];
  const table: [string, () => Promise<Reply<ProblemBody>>, Expected][] = [
    ['no file', form(base), [400, 'invalid_request', 'message']],
    ['no workbook', form([...base, ['file', book, 'a.xlsx']]), [422, 'not_a_workbook']],
    ['another name', form([...base, ['file', book, 'a.exe']]), [400, 'unknown_file_type']],
    ['.. in a name', form([...base, ['file', book, '../../a.xlsx']]), [422, 'not_a_workbook']],
    ['a field twice', form([...base, ...base, ['file', book, 'a.xlsx']]), [400, 'invalid_field']],
    ['another part', form([...base, ['other', book, 'a.xlsx']]), [400, 'unknown_field', 'other']],
    ['an unknown field', form([...base, ['x', 'y'], ['file', book, 'a.xlsx']]), [400, 'invalid_request', 'x']],
    ['two files', form([...base, ['file', book, 'a.xlsx'], ['file', book, 'b.xlsx']]), [413, 'too_large']],
    [
      '50 fields',
      form([...Array.from({ length: 50 }, (_, at): [string, string] => [`f${at}`, 'x'])]),
      [413, 'too_large'],
    ],
    ['7 MB', form([...base, ['file', new Blob([new Uint8Array(7_000_000)]), 'a.xlsx']]), [413, 'too_large']],
    ['no boundary', () => post('x', { 'content-type': 'multipart/form-data' }), [400, 'bad_form']],
    ['a broken form', () => post('--b\r\nx', { 'content-type': 'multipart/form-data; boundary=b' }), [400, 'bad_form']],
    [
      'a form where none is taken',
      () => stage.ask<ProblemBody>('PUT', `/v1/exporters/${exporter}/credentials`, { body: new FormData() }),
      [415, 'unsupported_media_type'],
    ],
  ];
  for (const [what, ask, expected] of table) await refused(what, ask, expected);
});

it('refuses wrong addresses and queries', async () => {
  const table: [string, string, Expected][] = [
    ['no route', '/v1/nothing', [404, 'no_such_route']],
    ['another root', '/v2/filings', [404, 'no_such_route']],
    ['.. encoded', '/v1/filings/%2e%2e%2f%2e%2e%2fetc', [404, 'unknown_filing']],
    ['1,000 characters', `/v1/filings/${'x'.repeat(1_000)}`, [400, 'invalid_request', 'filing']],
    ['5,000 characters', `/v1/filings/${'x'.repeat(5_000)}`, [414, 'bad_request']],
    ['NUL', '/v1/filings/a%00b', [400, 'invalid_text', 'filing']],
    ['half an escape', '/v1/filings/%zz', [400, 'bad_request']],
    ['a bidi override', '/v1/filings/a%E2%80%AEb', [400, 'invalid_request', 'filing']],
    ['SQL', "/v1/filings/'%20OR%201=1%20--", [404, 'unknown_filing']],
    ['an unknown query', '/v1/filings?stat=x', [400, 'invalid_request', 'stat']],
    ['an unknown state', '/v1/filings?state=x', [400, 'invalid_request', 'state']],
    ['a query twice', '/v1/filings?state=certified&state=rejected', [400, 'invalid_request', 'state']],
    ['a limit of 0', '/v1/filings?limit=0', [400, 'invalid_request', 'limit']],
    ['a limit of many', '/v1/filings?limit=1e9', [400, 'invalid_request', 'limit']],
    ['no time', '/v1/filings?since=yesterday', [400, 'invalid_request', 'since']],
    ['no cursor', '/v1/filings?cursor=%FF', [400, 'bad_cursor']],
    ['a foreign cursor', `/v1/filings?cursor=${Buffer.from('[1,2]').toString('base64url')}`, [400, 'bad_cursor']],
    [
      'a cursor of SQL',
      `/v1/filings?cursor=${Buffer.from('["now()","x"]').toString('base64url')}`,
      [400, 'bad_cursor'],
    ],
    [
      'a cursor of a NUL',
      `/v1/exporters?cursor=${Buffer.from('"\\u0000"').toString('base64url')}`,
      [400, 'bad_cursor'],
    ],
    [
      'a time that is none',
      `/v1/filings?cursor=${Buffer.from('["-1","x"]').toString('base64url')}`,
      [400, 'bad_cursor'],
    ],
    ['no day', '/v1/reports/daily?on=2026-02-30', [400, 'invalid_request', 'on']],
    ['GET where POST is meant', '/v1/findings/x/acknowledge', [405, 'method_not_allowed']],
  ];
  for (const [what, path, [expectedStatus, code, field]] of table) {
    const { status, body } = await stage.ask<ProblemBody>('GET', path);
    expect({ what, status, code: body.code }).toEqual({ what, status: expectedStatus, code });
    if (field) expect([what, body.errors.map((each) => each.field)]).toEqual([what, [field]]);
  }
  const { body } = await stage.ask<ProblemBody>('GET', '/v1/filings?state=x');
  expect(body.detail).toContain('state: allowed: checking, awaiting_approval, submitting');
});

it('answers 405 to another method of a known address, whatever it brings', async () => {
  const table: [method: string, path: string, allow: string][] = [
    ['DELETE', '/v1/filings', 'GET, HEAD, POST'],
    ['PATCH', '/v1/filings/F0000000000000000/rows', 'GET, HEAD'],
    ['PUT', '/v1/filings/F0000000000000000/approve', 'POST'],
    ['OPTIONS', '/v1/events', 'GET, HEAD'],
  ];
  for (const [method, path, allow] of table) {
    const body = method === 'PUT' ? 'no JSON' : undefined;
    const reply = await stage.ask<ProblemBody>(method, path, { body });
    expect([method, reply.status, reply.body.code]).toEqual([method, 405, 'method_not_allowed']);
    expect(reply.headers.get('allow')).toBe(allow);
  }
});

it('answers a problem for what is no request, too', async () => {
  const headers = await stage.ask<ProblemBody>('GET', '/v1/filings', { headers: { x: 'x'.repeat(20_000) } });
  expect([headers.status, headers.body.code]).toEqual([431, 'headers_too_large']);
  const { hostname, port } = new URL(stage.url);
  const socket = connect(Number(port), hostname, () => socket.write('GET / HTTP/1.1\nBad Header: x\n\n'));
  const answer = await new Promise<string>((done) => socket.once('data', (data: Buffer) => done(data.toString())));
  expect(answer).toMatch(/^HTTP\/1.1 400 [^]*application\/problem\+json[^]*"code":"bad_request"/u);
});

it('ends who is slow, silent or never reads, and serves others', async () => {
  const strict = await stage.another({}, { bounds: { requestWithinMs: 600, connections: 60 } });
  const impatient = await stage.another({}, { bounds: { idleMs: 300 } });
  const token = await stage.principal(['maker']);
  const begin = (url: string, text: string) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname, () => socket.write(text)).on('error', () => undefined);
    return socket;
  };
  const allOf = (socket: Socket) =>
    new Promise<string>((resolve) => {
      let text = '';
      socket.on('data', (data: Buffer) => (text += data.toString('latin1'))).once('close', () => resolve(text));
    });
  const head = 'POST /v1/filings HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n';
  const heads = [head, `${head}Authorization: Bearer ${token}\r\n\r\n{`];
  const slow = heads.flatMap((text) => Array.from({ length: 10 }, () => begin(strict.url, text)));
  const bytes = setInterval(() => slow.forEach((socket) => socket.write(' ')), 50);
  const slowEnds = Promise.all(slow.map(allOf));
  const deaf = begin(impatient.url, 'GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(200)).pause();
  try {
    await slowEnds;
    // More than it takes: some are closed at once, the others when they have said nothing for long enough.
    await Promise.all(Array.from({ length: 100 }, () => allOf(begin(strict.url, ''))));
    expect((await fetch(`${strict.url}/healthz`)).status).toBe(200);
    await sleep(600);
    expect((await allOf(deaf.resume())).split('HTTP/1.1 200').length - 1).toBeLessThan(200);
  } finally {
    clearInterval(bytes);
    await Promise.all([strict.close(), impatient.close()]);
  }
}, 20_000);

it('says what to do in fields and routes, and never in options of a command', async () => {
  const message = await messageOf(stage, 'WORDS-1');
  const row = message.ebrcBulkGenDtos[0]!;
  const filing = (reference: string, more: object = {}) => ({ exporter, reference, message, approval: true, ...more });
  const held = await send(filing('WORDS-1'));
  const { decalarationFlag: _, ...undeclared } = message;
  const said = [
    held,
    await stage.ask('GET', '/v1/filings/WORDS-1'),
    await send(filing('WORDS-2')),
    await send(filing('WORDS-1', { message: { ...message, ebrcBulkGenDtos: [{ ...row, mappedIRMAmountFCC: 11 }] } })),
    await send(filing('WORDS-3', { n: 4 })),
    await send(filing('WORDS-4', { message: undeclared })),
    await stage.ask('POST', '/v1/filings/WORDS-1/resolve', { json: { as: 'not-filed', note: 'looked' } }),
    await stage.ask('POST', '/v1/filings/WORDS-1/abandon', { json: { note: 'enough' } }),
    await stage.ask('POST', '/v1/filings/WORDS-1/approve', { json: {} }),
    await stage.ask('GET', '/v1/filings/NOWHERE'),
    await stage.ask('GET', '/v1/exporters/nobody@x.example/irms'),
  ];
  const texts = said.map(({ status, bytes }) => `${status} ${bytes.toString()}`);
  for (const text of texts) expect(text).not.toMatch(/ --[a-z]|ebrc [a-z]/);
  expect(texts[1]).toContain('"actions":["approve","abandon"]');
  expect(texts[2]).toContain('"allowDuplicate":"1=REASON"');
  expect(texts[2]).toContain('`allowDuplicate` for row 1, with a reason');
  expect(texts[3]).toContain('/correct.');
  expect(texts.at(-2)).toContain('GET /v1/filings shows them');
  expect(texts.at(-1)).toContain('POST /v1/exporters adds one');
});

describe('while a server is away', () => {
  let token: string;
  beforeAll(async () => {
    token = await stage.principal(['maker', 'viewer']);
  });

  const filing = async (reference: string) => ({
    exporter: KAVERI.email,
    reference,
    message: await messageOf(stage, reference),
  });

  it('without PostgreSQL', async () => {
    const pool = createPool({ url: 'postgres://x:x@127.0.0.1:1/x', max: 2 });
    const httpApi = await stage.another({ pool });
    try {
      const { status, headers, body } = await askHttp<ProblemBody>(httpApi.url, 'GET', '/v1/filings', { token });
      expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'ledger_unavailable', '5']);
      expect(body.detail).not.toMatch(/127\.0\.0\.1|ECONN/);
      expect((await askHttp(httpApi.url, 'GET', '/healthz')).status).toBe(200);
      expect((await askHttp(httpApi.url, 'GET', '/readyz')).body).toMatchObject({
        status: 'failing',
        checks: [
          { name: 'postgresql', ok: false },
          { name: 'temporal', ok: true },
          { name: 'running', ok: true, message: 'takes requests' },
        ],
      });
    } finally {
      await httpApi.close();
      await pool.end();
    }
  });

  it('answers 503 on every route while PostgreSQL is lost behind the check of the token, and does nothing', async () => {
    const { pool: whole } = stage.ledger;
    const lost = () => Promise.reject(new LedgerUnavailableError('57P01', false, new Error('terminated')));
    const pool = {
      options: { connectionString: 'postgres://x:x@127.0.0.1:1/x' },
      connect: lost,
      query: (text: string, values: unknown[]) =>
        /principal_tokens|audit_events/.test(text) ? whole.query(text, values) : lost(),
    } as unknown as pg.Pool;
    const everything = await stage.principal(['viewer', 'maker', 'checker', 'admin']);
    const routes = await everyRoute(stage, { filing: 'AWAY-1', message: await messageOf(stage, 'EVERY-1') });
    const runs = async () =>
      (await whole.query('SELECT (SELECT count(*) FROM filings) + (SELECT count(*) FROM decisions) AS n')).rows;
    const before = await runs();
    const httpApi = await stage.another({ pool });
    try {
      const answers = await Promise.all(
        routes.map(async ({ name, method, path, json }) => {
          const { status, headers, body } = await askHttp<ProblemBody>(httpApi.url, method, path, {
            token: everything,
            json,
          });
          return [name, status, body.code, headers.get('retry-after')];
        }),
      );
      // An address that no webhook may have is refused before the ledger is asked.
      const refused = ['addWebhook', 400, 'bad_address', null];
      expect(answers).toEqual(
        routes.map(({ name }) => (name === refused[0] ? refused : [name, 503, 'ledger_unavailable', '5'])),
      );
      expect(await runs()).toEqual(before);
    } finally {
      await httpApi.close();
    }
  });

  it.each(['refuses', 'is silent'])('without a Temporal server that %s, and reads go on', async (how) => {
    // Silent: it takes connections, and never says a word.
    const taken: Socket[] = [];
    const silent = createServer((socket) => void taken.push(socket));
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    const port = how === 'refuses' ? 1 : (silent.address() as AddressInfo).port;
    const connection = Connection.lazy({ address: `127.0.0.1:${port}`, interceptors: [] });
    const httpApi = await stage.another({ temporal: new Client({ connection }) });
    try {
      const reference = `AWAY-${how.replace(' ', '-')}`;
      const json = await filing(reference);
      const { status, headers, body } = await askHttp<ProblemBody>(httpApi.url, 'POST', '/v1/filings', { token, json });
      expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'temporal_unavailable', '5']);
      // Every change, and no look.
      const everything = await stage.principal(['viewer', 'maker', 'checker', 'admin']);
      const routes = await everyRoute(stage, { filing: 'NONE', message: json.message });
      for (const { name, method, path, json: body } of routes) {
        const answer = await askHttp<ProblemBody>(httpApi.url, method, path, { token: everything, json: body });
        const away = { status: 503, code: 'temporal_unavailable', again: '5' };
        const said = { status: answer.status, code: answer.body.code, again: answer.headers.get('retry-after') };
        if (method === 'GET') expect([name, answer.status < 500]).toEqual([name, true]);
        else expect([name, said]).toEqual([name, away]);
        // A server that is silent is noticed once for all of them.
        if (how !== 'refuses' && method !== 'GET') break;
      }
      expect((await askHttp(httpApi.url, 'GET', `/v1/filings/${reference}`, { token })).status).toBe(404);
      expect((await stage.ask('POST', '/v1/filings', { json })).status).toBe(201);
    } finally {
      await httpApi.close();
      await connection.close();
      for (const socket of taken) socket.destroy();
      silent.close();
    }
  });

  it('answers an update that Temporal refuses while the tasks of its run time out with 503', () => {
    const busy = { code: 9, details: 'workflow task in failed state', metadata: {} };
    const refused = Object.assign(new Error('9 FAILED_PRECONDITION'), busy);
    const problem = problemOf(new ServiceError('Workflow Update failed', { cause: refused }));
    expect(problem).toMatchObject({ status: 503, code: 'temporal_unavailable' });
  });

  it('answers what the filing service refuses for now with 503, and what is wrong with a request with 422', () => {
    const answer = (code: string) => problemOf(refusal(code, 'dgft-7: connect ECONNREFUSED'));
    for (const code of ['not_sent', 'timeout', 'server_error', 'portal_unavailable', 'forbidden']) {
      expect(answer(code)).toMatchObject({ status: 503, code: 'service_unavailable' });
      expect(answer(code).more.headers).toEqual({ 'retry-after': '60' });
      expect(answer(code).detail).not.toMatch(/ECONN/);
    }
    expect(answer('validation_failed')).toMatchObject({ status: 422, code: 'validation_failed' });
  });

  it('names the routes for the commands of a text', () => {
    const shown = inApiTerms('Look at the evidence in `ebrc show`, and at `ebrc show`.');
    expect(shown).toBe('Look at the evidence in GET /v1/filings/{filing}/evidence, and at GET /v1/filings/{filing}.');
  });

  it('without a worker', async () => {
    const httpApi = await stage.another({ taskQueue: 'nobody-polls-this' });
    try {
      const json = await filing('AWAY-2');
      const { status, headers, body } = await askHttp<ProblemBody>(httpApi.url, 'POST', '/v1/filings', { token, json });
      expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'not_recorded_yet', '10']);
      expect(body.detail).toMatch(/worker.*nothing is filed twice/u);
    } finally {
      await httpApi.close();
    }
  });
});
