/** The feed under concurrent writers: what readers are given is what was committed, once and in order. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  feedEnd,
  readFeed,
  pruneEvents,
  type FeedEvent,
  type FeedMark,
  placeEvents,
  relayEvents,
} from '../../../src/ledger/events';
import { readinessOf } from '../../../src/domain/exporter/exporter';
import { lockFiling } from '../../../src/ledger/filings/lock';
import { moveFiling } from '../../../src/ledger/filings/move';
import { createPool, withTransaction } from '../../../src/ledger/pool';
import { useTestDatabase } from '../../support/postgres';
import { knowCompany, makeFiling } from '../filings/decision-support';

const ledger = useTestDatabase();
const filings: string[] = [];

const EXPORTER = 'exporter-1';

beforeAll(async () => {
  await knowCompany(ledger.pool);
  for (let n = 0; n < 12; n += 1) filings.push((await makeFiling(ledger.pool, { state: 'checking' })).filingId);
});

const all = { mode: 'test' as const, exporters: null, limit: 7 };

async function pageAfter(after?: FeedMark) {
  const page = await readFeed(ledger.pool, { ...all, after });
  if ('start' in page) throw new Error('the mark is gone');
  return page;
}

/** Everything behind a mark. */
async function readAll(after?: FeedMark, done: () => boolean = () => true): Promise<FeedEvent[]> {
  const read: FeedEvent[] = [];
  for (let mark = after; ;) {
    const over = done();
    const { events, next } = await pageAfter(mark);
    read.push(...events);
    mark = next;
    if (events.length === 0 && over) return read;
    if (events.length === 0) await sleep(2);
  }
}

const WRITERS = 50;
const TIMES = 8;

it('gives a reader that follows every committed event, once, and those of a filing in its order', async () => {
  await placeEvents(ledger.pool);
  const before = await feedEnd(ledger.pool);
  const pool = createPool({ url: ledger.url, max: WRITERS });
  const relays = new AbortController();
  const relaying = [relayEvents(pool, relays.signal), relayEvents(ledger.pool, relays.signal)];
  // Beside those that wake by the clock: one that is always at it finds what is committed in between.
  const eager = (async () => {
    while (!relays.signal.aborted) await placeEvents(ledger.pool);
  })();
  let written = false;
  const reading = readAll(before, () => written);

  const write = async (writer: number) => {
    for (let time = 0; time < TIMES; time += 1) {
      // Each filing has several writers; what they do first holds an early place in the order of writing for long.
      const filingId = filings[(writer * 7 + time) % filings.length] ?? '';
      const long = (writer + time) % 10 === 0;
      const own = withTransaction(pool, async (client) => {
        await client.query(`INSERT INTO events (mode, type, subject, data) VALUES ('test', 'ebrc.test', $1, '{}')`, [
          `${writer}/${time}`,
        ]);
        await client.query('SELECT pg_sleep($1)', [long ? 0.12 : Math.random() / 200]);
        const filing = await lockFiling(client, filingId);
        const state = filing.state === 'checking' ? 'submitting' : 'checking';
        await moveFiling(client, filing, { state, event: { kind: state, text: 'moved' } });
        if (time % 4 === 3) throw new Error('rolled back');
      });
      await own.catch((error: Error) => {
        if (error.message !== 'rolled back') throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  while ((await placeEvents(ledger.pool)) !== 0) await sleep(5);
  written = true;
  const read = await reading;
  relays.abort();
  await Promise.all([...relaying, eager]);
  await pool.end();

  const { rows } = await ledger.pool.query<{ id: string }>(
    'SELECT event_id AS id FROM events WHERE position > $1 AND type IS NOT NULL ORDER BY position',
    [before.position],
  );
  expect(rows).toHaveLength(WRITERS * TIMES * (3 / 4) * 2);
  expect(read.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
  for (const filingId of filings) {
    const moves = read.filter(({ data }) => data['filingId'] === filingId).map(({ data }) => Number(data['sequence']));
    expect(moves.length).toBeGreaterThan(3);
    expect(moves).toEqual(moves.map((_, at) => (moves[0] ?? 0) + at));
  }
}, 60_000);

it('says that a mark is gone when the ledger was put back, it lies ahead, or what follows was removed', async () => {
  const { next } = await pageAfter();
  const ahead = { ...next, position: String(BigInt(next.position) + 1_000n) };
  expect(await readFeed(ledger.pool, { ...all, after: ahead })).toHaveProperty('start');
  await ledger.pool.query('UPDATE ledger SET feed_epoch = gen_random_uuid()');
  const gone = await readFeed(ledger.pool, { ...all, after: next });
  if (!('start' in gone)) throw new Error('the mark counts on');
  expect(await readAll(gone.end)).toEqual([]);
  const kept = await readAll(gone.start);
  expect(await pruneEvents(ledger.pool, kept[9]?.at ?? new Date(), 1_000)).toBeGreaterThan(0);
  expect(await readFeed(ledger.pool, { ...all, after: gone.start })).toHaveProperty('start');
  expect((await readAll())[0]?.at.getTime()).toBeGreaterThanOrEqual(kept[9]?.at.getTime() ?? NaN);
});

it('has an event for each state that is entered, and none for a move within a state', async () => {
  const { filingId } = await makeFiling(ledger.pool, { state: 'checking' });
  for (const state of ['checking', 'submitting', 'outcome_unknown', 'outcome_unknown'] as const) {
    await withTransaction(ledger.pool, async (client) => {
      await moveFiling(client, await lockFiling(client, filingId), { state, event: { kind: state, text: state } });
    });
  }
  await placeEvents(ledger.pool);
  const own = (await readAll()).filter(({ data }) => data['filingId'] === filingId);
  expect(own.map(({ type, data }) => [type, data['sequence']])).toEqual([
    ['ebrc.filing.submitting', 2],
    ['ebrc.filing.outcome_unknown', 3],
  ]);
});

it('tells the readiness of an exporter as everything else does', async () => {
  const flags = [true, false].flatMap((isActive) =>
    [true, false].flatMap((hasCredentials) =>
      ['ACTIVATION_PENDING', ' activation_pending ', 'READY', null].map((apiState) => ({
        isActive,
        hasCredentials,
        apiState,
      })),
    ),
  );
  for (const { isActive, hasCredentials, apiState } of flags) {
    const { rows } = await ledger.pool.query<{ readiness: string }>(
      `SELECT readiness_of(jsonb_populate_record(NULL::exporters, $1::jsonb)) AS readiness`,
      [JSON.stringify({ is_active: isActive, has_credentials: hasCredentials, api_state: apiState })],
    );
    const { readiness } = readinessOf({ isActive, hasCredentials, apiState, activatesAt: null });
    expect([isActive, hasCredentials, apiState, rows[0]?.readiness]).toEqual([
      isActive,
      hasCredentials,
      apiState,
      readiness,
    ]);
  }
  await ledger.pool.query('UPDATE exporters SET is_active = false WHERE exporter_id = $1', [EXPORTER]);
  await placeEvents(ledger.pool);
  const [event] = (await readAll()).slice(-1);
  expect(event).toMatchObject({ type: 'ebrc.exporter.unvalidated', subject: EXPORTER });
});
