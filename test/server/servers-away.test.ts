/** PostgreSQL, Temporal or the workers away: 503 with Retry-After, and nothing half done. */
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { Client, Connection, ServiceError } from '@temporalio/client';
import { createPool } from '../../src/ledger/pool';
import type pg from 'pg';
import { LedgerUnavailableError } from '../../src/ledger/unavailable';
import { problemOf } from '../../src/server/http/failures';
import { refusal } from '../../src/starter/errors';
import { everyRoute } from './every-route';
import { askDoor, KAVERI, messageOf, onboard, openDoorStage, type DoorStage, type ProblemBody } from './door-stage';

let stage: DoorStage;
let token: string;

beforeAll(async () => {
  stage = await openDoorStage();
  await onboard(stage);
  token = await stage.principal(['maker', 'viewer']);
}, 300_000);
afterAll(() => stage?.close());

const filing = async (reference: string) => ({
  exporter: KAVERI.email,
  reference,
  message: await messageOf(stage, reference),
});

it('without PostgreSQL', async () => {
  const pool = createPool({ url: 'postgres://x:x@127.0.0.1:1/x', max: 2 });
  const door = await stage.another({ pool });
  try {
    const { status, headers, body } = await askDoor<ProblemBody>(door.url, 'GET', '/v1/filings', { token });
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'ledger_unavailable', '5']);
    expect(body.detail).not.toMatch(/127\.0\.0\.1|ECONN/);
    expect((await askDoor(door.url, 'GET', '/healthz')).status).toBe(200);
    expect((await askDoor(door.url, 'GET', '/readyz')).body).toMatchObject({
      ok: false,
      checks: [
        { name: 'postgresql', ok: false },
        { name: 'temporal', ok: true },
        { name: 'stopping', ok: true },
      ],
    });
  } finally {
    await door.close();
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
    (await whole.query('SELECT (SELECT count(*) FROM filings) + (SELECT count(*) FROM words) AS n')).rows;
  const before = await runs();
  const door = await stage.another({ pool });
  try {
    const answers = await Promise.all(
      routes.map(async ({ name, method, path, json }) => {
        const { status, headers, body } = await askDoor<ProblemBody>(door.url, method, path, {
          token: everything,
          json,
        });
        return [name, status, body.code, headers.get('retry-after')];
      }),
    );
    expect(answers).toEqual(routes.map(({ name }) => [name, 503, 'ledger_unavailable', '5']));
    expect(await runs()).toEqual(before);
  } finally {
    await door.close();
  }
});

it.each(['refuses', 'is silent'])('without a Temporal server that %s, and reads go on', async (how) => {
  // Silent: it takes connections, and never says a word.
  const taken: Socket[] = [];
  const silent = createServer((socket) => void taken.push(socket));
  await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
  const port = how === 'refuses' ? 1 : (silent.address() as AddressInfo).port;
  const connection = Connection.lazy({ address: `127.0.0.1:${port}`, interceptors: [] });
  const door = await stage.another({ temporal: new Client({ connection }) });
  try {
    const reference = `AWAY-${how.replace(' ', '-')}`;
    const json = await filing(reference);
    const { status, headers, body } = await askDoor<ProblemBody>(door.url, 'POST', '/v1/filings', { token, json });
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'temporal_unavailable', '5']);
    // Every change, and no look.
    const everything = await stage.principal(['viewer', 'maker', 'checker', 'admin']);
    const routes = await everyRoute(stage, { filing: 'NONE', message: json.message });
    for (const { name, method, path, json: body } of routes) {
      const answer = await askDoor<ProblemBody>(door.url, method, path, { token: everything, json: body });
      const away = { status: 503, code: 'temporal_unavailable', again: '5' };
      const said = { status: answer.status, code: answer.body.code, again: answer.headers.get('retry-after') };
      if (method === 'GET') expect([name, answer.status < 500]).toEqual([name, true]);
      else expect([name, said]).toEqual([name, away]);
      // A server that is silent is noticed once for all of them.
      if (how !== 'refuses' && method !== 'GET') break;
    }
    expect((await askDoor(door.url, 'GET', `/v1/filings/${reference}`, { token })).status).toBe(404);
    expect((await stage.ask('POST', '/v1/filings', { json })).status).toBe(201);
  } finally {
    await door.close();
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

it('without a worker', async () => {
  const door = await stage.another({ taskQueue: 'nobody-polls-this' });
  try {
    const json = await filing('AWAY-2');
    const { status, headers, body } = await askDoor<ProblemBody>(door.url, 'POST', '/v1/filings', { token, json });
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'no_worker', '15']);
  } finally {
    await door.close();
  }
});
