/** The feed of events over HTTP. */
import { placeEvents, relayEvents } from '../../src/ledger/events';
import { endRestore } from '../../src/ledger/restore';
import { markBad } from '../../src/ledger/vault/credentials';
import { closeAfterAll } from '../support/closing';
import { eventually } from '../support/processes';
import { KAVERI, messageOf, onboard, useHttpStage, type ProblemBody } from './http-stage';

interface Feed {
  items: {
    id: string;
    type: string;
    subject: string;
    time: string;
    data: Record<string, unknown> & { link: string };
  }[];
  next: string;
}

let exporterId: string;
const relay = new AbortController();
let relaying: Promise<void>;
const stage = useHttpStage(async (opened) => {
  relaying = relayEvents(opened.ledger.pool, relay.signal);
  exporterId = await onboard(opened);
});
closeAfterAll(() => {
  relay.abort();
  return relaying;
});

const feed = <T = Feed>(query = '', token?: string) =>
  stage.ask<T>('GET', `/v1/events${query}`, token === undefined ? {} : { token });

/** Where the feed ends, once everything that happened has its place. */
async function end(): Promise<string> {
  while ((await placeEvents(stage.ledger.pool)) !== 0);
  for (let next = ''; ;) {
    const { body } = await feed(next && `?after=${next}`);
    next = body.next;
    if (body.items.length === 0) return next;
  }
}

async function file(reference: string): Promise<{ filingId: string }> {
  const json = { exporter: exporterId, reference, message: await messageOf(stage, reference) };
  const { body } = await stage.ask<{ filingId: string }>('POST', '/v1/filings', {
    json,
    headers: { prefer: 'wait=60' },
  });
  return body;
}

it('tells the story of a filing to who waits for it, and of nobody by name', async () => {
  const before = await end();
  const waiting = feed(`?after=${before}&wait=30`);
  const { filingId } = await file('FEED-1');
  const first = (await waiting).body;
  expect(first.items[0]).toMatchObject({
    specversion: '1.0',
    type: 'ebrc.filing.checking',
    subject: 'FEED-1',
    data: { filingId, exporterId, state: 'checking', sequence: 1, link: `/v1/filings/${filingId}` },
  });
  const all = [...first.items];
  for (let next = first.next; !all.some(({ type }) => type === 'ebrc.filing.certified');) {
    const { body } = await feed(`?after=${next}&wait=30`);
    all.push(...body.items);
    next = body.next;
  }
  expect(all.map(({ type }) => type)).toEqual([
    'ebrc.filing.checking',
    'ebrc.filing.submitting',
    'ebrc.filing.processing',
    'ebrc.filing.collecting',
    'ebrc.certificate.archived',
    'ebrc.filing.certified',
  ]);
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  const told = JSON.stringify(await feed());
  for (const secret of ['Kaveri', KAVERI.email, KAVERI.iec, KAVERI.username]) expect(told).not.toContain(secret);
});

it('shows a principal the events of its own exporters, and passes the others by', async () => {
  const { pool } = stage.ledger;
  const other = 'aaaaaaaa-0000-4000-8000-000000000002';
  await pool.query(
    `INSERT INTO exporters (exporter_id, mode, name, email) VALUES ($1, 'test', 'Other', 'o@x.example')`,
    [other],
  );
  const last = await end();
  const [own, others] = await Promise.all(
    [[exporterId], [other]].map((exporters) => stage.principal(['viewer'], { exporters })),
  );
  const types = async (token?: string) => new Set((await feed('?limit=500', token)).body.items.map(({ type }) => type));
  expect(await types(others)).toEqual(new Set(['ebrc.exporter.created']));
  expect((await types(own)).size).toBeGreaterThan(5);
  const { body } = await feed('', others);
  // Its cursor stands behind what it may not see, and whoever reads on from there misses nothing.
  for (const next of [last, body.next]) expect((await feed(`?after=${next}`)).body.items).toEqual([]);
});

it('tells of an exporter what the API answers: bad credentials, others, a login that went bad later', async () => {
  const email = 'ops@meridian.example';
  const login = { username: 'meridian.exports', password: 'Meridian#2026' };
  const before = await end();
  const path = `/v1/exporters/${email}`;
  const becomes = (state: string) =>
    eventually(async () => (await stage.ask('GET', path)).body['state'] === state, 60_000);

  const customer = { name: 'Meridian', email, iec: 'AAGCM4521K' };
  await stage.ask('POST', '/v1/exporters', { json: { ...customer, ...login, password: 'wrong' } });
  await becomes('needs_credentials');
  await stage.ask('PUT', `${path}/credentials`, { json: login });
  await becomes('ready');
  const meridian = String((await stage.ask('GET', path)).body['exporterId']);
  await markBad(stage.ledger.pool, meridian, 2, 'credentials_invalid');
  await becomes('needs_credentials');

  const last = await end();
  expect(last).not.toBe(before);
  const { items } = (await feed(`?after=${before}`)).body;
  const told = items.filter(({ type, data }) => type.startsWith('ebrc.exporter.') && data['exporterId'] === meridian);
  const states = told.map(({ data }) => data['state']);
  expect(told.map(({ type }) => type)).toEqual(states.map((state) => `ebrc.exporter.${String(state)}`));
  expect(states).toEqual(['created', 'needs_credentials', 'created', 'ready', 'needs_credentials']);
});

it('answers 410 after the ledger was put back, with where to start again', async () => {
  const before = await end();
  await endRestore(stage.ledger.pool, 'test', 'a test');
  const gone = await feed<ProblemBody & { start: string; end: string }>(`?after=${before}`);
  expect([gone.status, gone.body.code, gone.body.detail]).toEqual([
    410,
    'cursor_gone',
    expect.stringMatching(/start/u),
  ]);
  expect((await feed(`?after=${gone.body.end}`)).body.items).toEqual([]);
  expect((await feed(`?after=${gone.body.start}&limit=1`)).body.items).toHaveLength(1);
  for (const wrong of ['x', Buffer.from('["a","b"]').toString('base64url'), 'y'.repeat(2_000)]) {
    expect((await feed<ProblemBody>(`?after=${wrong}`)).status).toBe(400);
  }
  for (const wrong of ['wait=61', 'wait=-1', 'limit=0', 'cursor=x']) expect((await feed(`?${wrong}`)).status).toBe(400);
});
