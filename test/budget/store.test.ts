import { randomUUID } from 'node:crypto';
import { createBudgetStore, readBudgetUsage, type TicketState } from '../../src/budget/store';
import { useTestDatabase } from '../support/postgres';

const LEASE_MS = 200_000;
const HOLD_MS = 300_000;
const LONG_MS = 600_000;

const database = useTestDatabase();
let keyHash: string;

beforeEach(() => {
  keyHash = randomUUID();
});

/** As if time had passed: no statement has to come within a time of another. */
async function elapse(ms: number): Promise<void> {
  const earlier = (column: string) => `${column} = ${column} - $2::float8 * interval '1 ms' WHERE key_hash = $1`;
  await database.pool.query(`UPDATE budget_slots SET ${earlier('free_at')}`, [keyHash, ms]);
  await database.pool.query(`UPDATE budget_tickets SET ${earlier('lease_until')}`, [keyHash, ms]);
}

/** The store as one process has it; `step` with one call per window unless told otherwise. */
function processStore() {
  const store = createBudgetStore({ pool: database.pool, keyHash, owner: randomUUID() });
  const step = (tickets: string[], options: { limit?: number; leaseMs?: number; holdMs?: number } = {}) =>
    store.step({ rateClass: 'pdf', limit: 1, leaseMs: LONG_MS, holdMs: LONG_MS, tickets, ...options });
  return { ...store, step };
}

const ticketsOf = (count: number) => Array.from({ length: count }, () => randomUUID());
const granted = (states: TicketState[]) => states.filter((state) => state.granted).map(({ ticket }) => ticket);

test('one in front who has not come for its slot holds up nobody for whom there is room', async () => {
  const [a, b] = [processStore(), processStore()];
  const [held, absent, present] = ticketsOf(3) as [string, string, string];
  await a.step([held]);
  await a.step([absent]);
  await b.step([present]);
  expect(granted(await b.step([present], { limit: 2 }))).toEqual([]);
  expect(granted(await b.step([present], { limit: 3 }))).toEqual([present]);
});

test('the ticket of a silent process leaves the queue when its lease ends', async () => {
  const [dead, alive] = [processStore(), processStore()];
  const [held, lost, next] = ticketsOf(3) as [string, string, string];
  await alive.step([held]);
  await dead.step([lost], { leaseMs: LEASE_MS });
  await alive.step([next]);
  await alive.leave([held]);
  expect(granted(await alive.step([next]))).toEqual([]);
  await elapse(LEASE_MS);
  expect(granted(await alive.step([next]))).toEqual([next]);
});

test('a slot that a process took before it stopped reporting may have been written: it counts for lease, window and guard', async () => {
  const [dead, alive] = [processStore(), processStore()];
  const [lost, next] = ticketsOf(2) as [string, string];
  await dead.step([lost], { leaseMs: LEASE_MS, holdMs: HOLD_MS });
  await elapse(LEASE_MS);
  expect(granted(await alive.step([next]))).toEqual([]);
  await elapse(HOLD_MS);
  expect(granted(await alive.step([next]))).toEqual([next]);
});

test('a taken slot is kept by renewals, a written one is not', async () => {
  const store = processStore();
  const [held, next] = ticketsOf(2) as [string, string];
  await store.step([held], { leaseMs: LEASE_MS, holdMs: HOLD_MS });
  await store.renew([held], LONG_MS, HOLD_MS);
  await elapse(LEASE_MS + HOLD_MS);
  expect(granted(await store.step([next]))).toEqual([]);
  await store.written(held, 'pdf', HOLD_MS, 0);
  await store.renew([held], LONG_MS, HOLD_MS);
  await elapse(HOLD_MS);
  expect(granted(await store.step([next]))).toEqual([next]);
});

test('a grant whose answer was lost is answered again and takes no second slot', async () => {
  const store = processStore();
  const [ticket] = ticketsOf(1) as [string];
  await store.step([ticket], { limit: 2 });
  expect(granted(await store.step([ticket], { limit: 2 }))).toEqual([ticket]);
  expect(await readBudgetUsage(database.pool, keyHash)).toMatchObject([{ used: 1, waiting: 0 }]);
});

test('a call that is written after its slot expired still counts', async () => {
  const store = processStore();
  const [late, other] = ticketsOf(2) as [string, string];
  await store.step([late], { leaseMs: 1, holdMs: 1 });
  await elapse(10);
  await store.step([other], { limit: 2 });
  await store.written(late, 'pdf', LONG_MS, 0);
  expect(await readBudgetUsage(database.pool, keyHash)).toMatchObject([{ used: 2 }]);
});

test('a call counts from when it was written, not from when that is stored', async () => {
  const store = processStore();
  const [ticket] = ticketsOf(1) as [string];
  await store.step([ticket]);
  await store.written(ticket, 'pdf', LONG_MS, LONG_MS / 2);
  expect(
    await database.select(
      `SELECT clock_timestamp() - written_at >= $2::interval AS "early", free_at - written_at AS "counts" FROM budget_slots WHERE ticket = $1`,
      ticket,
      `${LONG_MS / 2} ms`,
    ),
  ).toEqual([{ early: true, counts: expect.objectContaining({ minutes: 10 }) }]);
});

test('an answer that comes after its slot was freed takes none', async () => {
  const store = processStore();
  const [slow, other] = ticketsOf(2) as [string, string];
  await store.step([slow]);
  await store.written(slow, 'pdf', 1, 0);
  await elapse(10);
  await store.step([other]);
  await store.answered(slow, LONG_MS);
  expect(await readBudgetUsage(database.pool, keyHash)).toMatchObject([{ used: 1 }]);
});

test('forty processes that step at once are granted no more than the limit', async () => {
  const stores = Array.from({ length: 40 }, () => processStore());
  const states = await Promise.all(stores.map((store) => store.step([randomUUID()], { limit: 7 })));
  expect(granted(states.flat())).toHaveLength(7);
});
