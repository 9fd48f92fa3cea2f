/** PostgreSQL, Temporal or the workers away: 503 with Retry-After, and nothing half done. */
import { createServer, type AddressInfo } from 'node:net';
import { Client, Connection } from '@temporalio/client';
import { createPool } from '../../src/ledger/pool';
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

it.each(['refuses', 'is silent'])('without a Temporal server that %s, and reads go on', async (how) => {
  // Silent: it takes connections, and never says a word.
  const silent = createServer();
  await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
  const port = how === 'refuses' ? 1 : (silent.address() as AddressInfo).port;
  const connection = Connection.lazy({ address: `127.0.0.1:${port}`, interceptors: [] });
  const door = await stage.another({ temporal: new Client({ connection }) });
  try {
    const reference = `AWAY-${how.replace(' ', '-')}`;
    const json = await filing(reference);
    const began = performance.now();
    const { status, headers, body } = await askDoor<ProblemBody>(door.url, 'POST', '/v1/filings', { token, json });
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'temporal_unavailable', '5']);
    expect(performance.now() - began).toBeLessThan(8_000);
    expect((await askDoor(door.url, 'GET', '/v1/filings', { token })).status).toBe(200);
    expect((await askDoor(door.url, 'GET', `/v1/filings/${reference}`, { token })).status).toBe(404);
    expect((await stage.ask('POST', '/v1/filings', { json })).status).toBe(201);
  } finally {
    await door.close();
    await connection.close();
    silent.close();
  }
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
