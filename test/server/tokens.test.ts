/** Tokens of somebody who should not have them: guessed, only for reading, removed, seen in the feed. */
import { request as httpRequest } from 'node:http';
import { placeEvents } from '../../src/ledger/events';
import { addPrincipal, removePrincipal } from '../../src/starter/principals';
import { eventually } from '../support/processes';
import { askHttp, useHttpStage, watchedPool, type ProblemBody } from './http-stage';

const stage = useHttpStage();

const wrongToken = (nth: number) => `ebrc_test_${String(nth).padStart(43, '0')}`;

it('names 20 subjects of a principal a minute in the audit, and counts the rest', async () => {
  const token = await stage.principal(['viewer'], { name: 'prober' });
  const before = Math.floor(Date.now() / 60_000);
  for (let nth = 0; nth < 150; nth += 1) await stage.ask('GET', `/v1/filings/PROBE-${nth}`, { token });
  const read = async () =>
    (
      await stage.ledger.pool.query<{ rows: number; named: number; uses: number }>(
        `SELECT count(*)::int AS rows, count(subject)::int AS named, sum(uses)::int AS uses
           FROM audit_events WHERE principal = 'prober' AND outcome = 'refused'`,
      )
    ).rows[0]!;
  await eventually(async () => (await read()).named >= 20, 10_000);
  const minutes = Math.floor(Date.now() / 60_000) - before + 1;
  const { rows, named } = await read();
  expect(named).toBeLessThanOrEqual(20 * minutes);
  expect(rows).toBeLessThanOrEqual(22 * minutes);
});

it('looks up few wrong tokens of an address, and goes on with those that are known', async () => {
  let looks = 0;
  const pool = watchedPool(stage.ledger.pool, (statement, query) => {
    if (statement.includes('principal_tokens')) looks += 1;
    return query();
  });
  const httpApi = await stage.another({ pool }, { bounds: { wrongTokens: 5 } });
  const get = (token: string, headers = {}) =>
    askHttp<ProblemBody>(httpApi.url, 'GET', '/v1/filings', { token, headers });
  try {
    const good = await stage.principal(['viewer']);
    expect((await get(good)).status).toBe(200);
    looks = 0;
    const answers = [];
    for (let nth = 0; nth < 40; nth += 1) answers.push(await get(wrongToken(nth)));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(20);
    expect(refused[0]?.body.code).toBe('too_many_requests');
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(looks).toBeLessThan(20);
    expect((await get(good)).status).toBe(200);
    // Behind a proxy each caller has its own address, which it cannot choose.
    const other = { 'x-forwarded-for': '203.0.113.9' };
    expect((await get(wrongToken(99), other)).status).toBe(401);
  } finally {
    await httpApi.close();
  }
});

it('makes its description once, and sends it to nobody who has it', async () => {
  for (const path of ['/v1/openapi.json', '/docs']) {
    const first = await stage.ask('GET', path, { token: null });
    const etag = first.headers.get('etag') ?? '';
    expect([path, first.status, etag, first.headers.get('cache-control')]).toEqual([
      path,
      200,
      expect.stringMatching(/^"[\w-]{43}"$/u),
      'no-cache',
    ]);
    const again = await stage.ask('GET', path, { token: null, headers: { 'if-none-match': etag } });
    expect([again.status, again.bytes.length, again.headers.get('etag')]).toEqual([304, 0, etag]);
  }
});

it('ends the wait of a principal that is removed', async () => {
  const { token, name } = await addPrincipal(stage.deps, { name: 'leaver', roles: ['viewer'], by: 'a test' });
  const ask = (path: string) => stage.ask<ProblemBody & { next: string }>('GET', path, { token });
  let next = '';
  for (let left = 1; left > 0;) {
    const { body } = await stage.ask<{ items: unknown[]; next: string }>(
      'GET',
      `/v1/events?limit=500${next && `&after=${next}`}`,
      { token },
    );
    [next, left] = [body.next, body.items.length];
  }
  const began = performance.now();
  const waiting = ask(`/v1/events?after=${next}&wait=60`);
  await eventually(() => Promise.resolve(performance.now() - began > 500));
  await removePrincipal(stage.deps, { name, by: 'a test' });
  const { status, body } = await waiting;
  expect([status, body.code]).toEqual([401, 'unauthorized']);
  expect(performance.now() - began).toBeLessThan(40_000);
});

it('tells a principal of some exporters nothing about how much happens at the others', async () => {
  const { pool } = stage.ledger;
  const add = (id: string, email: string) =>
    pool.query(`INSERT INTO exporters (exporter_id, mode, name, email) VALUES ($1, 'test', 'X', $2)`, [id, email]);
  const own = 'bbbbbbbb-0000-4000-8000-000000000001';
  await add(own, 'own@x.example');
  const token = await stage.principal(['viewer'], { exporters: [own] });
  const cursor = async () => {
    while ((await placeEvents(pool)) !== 0);
    return (await stage.ask<{ next: string }>('GET', '/v1/events', { token })).body.next;
  };
  const [first, same] = [await cursor(), await cursor()];
  for (let nth = 2; nth < 200; nth += 1)
    await add(`bbbbbbbb-0000-4000-8000-${String(nth).padStart(12, '0')}`, `o${nth}@x.example`);
  const after = await cursor();
  // Equal places have other cursors too, so that a change of it says nothing.
  expect(new Set([first, same, after]).size).toBe(3);
  expect(new Set([first, same, after].map(({ length }) => length)).size).toBe(1);
  const { rows } = await pool.query<{ epoch: string; position: string }>(
    'SELECT feed_epoch AS epoch, feed_position::text AS position FROM ledger',
  );
  for (const place of [first, after]) {
    const text = Buffer.from(place, 'base64url').toString('latin1');
    expect(text).not.toContain(rows[0]!.position);
    expect(text).not.toContain(rows[0]!.epoch);
  }
  expect((await stage.ask('GET', `/v1/events?after=${after}`, { token })).status).toBe(200);
});

it('answers 405 to a method that is new, too', async () => {
  const { port, hostname } = new URL(stage.url);
  for (const method of ['QUERY', 'PROPFIND', 'TRACE']) {
    const status = await new Promise((resolve, reject) => {
      const asked = httpRequest({ port, hostname, method, path: '/v1/filings' }, (answer) => {
        answer.resume();
        resolve([method, answer.statusCode, answer.headers.allow]);
      });
      asked.once('error', reject).end();
    });
    expect(status).toEqual([method, 405, 'GET, HEAD, POST']);
  }
});
