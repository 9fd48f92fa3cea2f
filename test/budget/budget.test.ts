import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBudget, hashOfKey, type StoppableBudget } from '../../src/budget/budget';
import { BudgetUnavailableError } from '../../src/budget/ticket-queue';
import { BudgetStoppedError } from '../../src/budget/slot';
import { createBudgetStore, readBudgetUsage, type BudgetStore, type TicketState } from '../../src/budget/store';
import { budgetTiming } from '../../src/budget/timing';
import { createPool } from '../../src/ledger/pool';
import { useTestDatabase } from '../support/postgres';
import { startTcpProxy } from '../support/tcp-proxy';
import fc from 'fast-check';
import { budgetOfProcess, fullestWindow, limitsOf, type ProcessOptions } from './budget-support';

const WINDOW_MS = 300;
/** Longer than a test may take: a slot that comes has not waited for its window to pass. */
const LONG_WINDOW_MS = 600_000;
const FREE_WITHIN_MS = 60_000;

const database = useTestDatabase();
let keyHash: string;
const open: StoppableBudget[] = [];

beforeEach(() => {
  keyHash = hashOfKey(`dev_${randomUUID()}`);
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((budget) => budget.close()));
});

function start(options: Partial<ProcessOptions> & { limit: number }): StoppableBudget {
  const budget = budgetOfProcess({ pool: database.pool, keyHash, windowMs: WINDOW_MS, ...options });
  open.push(budget);
  return budget;
}

/** Resolves when `count` tickets are in the queue, so that the order of the next one is known. */
async function lineOf(count: number): Promise<void> {
  const tickets = 'SELECT FROM budget_tickets WHERE key_hash = $1';
  while ((await database.select(tickets, keyHash)).length !== count) await sleep(5);
}

/** How long the only call of a key counts, once its stamp is stored. */
async function countedFor(key: string): Promise<number> {
  const counts = `SELECT extract(epoch FROM free_at - written_at)::float8 * 1000 AS ms FROM budget_slots`;
  for (;;) {
    const [slot] = await database.select(`${counts} WHERE key_hash = $1 AND written_at IS NOT NULL`, key);
    if (slot) return Number(slot['ms']);
    await sleep(5);
  }
}

async function call(budget: StoppableBudget): Promise<number> {
  const slot = await budget.acquire('pdf', {});
  const at = performance.now();
  await slot.written();
  await slot.answered();
  return at;
}

test('no window at the clock of the service ever holds more calls than the limit, for random arrivals over several processes', async () => {
  const arrival = fc.record({
    process: fc.nat(2),
    startMs: fc.nat(400),
    connectMs: fc.nat(20),
    networkMs: fc.nat(120),
    answerMs: fc.oneof(fc.nat(20), fc.nat(500)),
    fate: fc.constantFrom('answered', 'answered', 'answered', 'silent', 'unused'),
  });
  const arrivalsOfOneKey = fc.record({
    limit: fc.integer({ min: 1, max: 4 }),
    arrivals: fc.array(arrival, { minLength: 4, maxLength: 16 }),
  });
  type Arrivals = typeof arrivalsOfOneKey extends fc.Arbitrary<infer T> ? T : never;
  const expectWithinLimit = async ({ limit, arrivals }: Arrivals): Promise<void> => {
    const ownKey = hashOfKey(`dev_${randomUUID()}`);
    const processes = [0, 1, 2].map(() => start({ limit, keyHash: ownKey }));
    const counted: number[] = [];
    await Promise.all(
      arrivals.map(async ({ process, startMs, connectMs, networkMs, answerMs, fate }) => {
        await sleep(startMs);
        const slot = await processes[process]!.acquire('pdf', {});
        await sleep(connectMs);
        if (fate === 'unused') return slot.unused();
        const written = slot.written();
        await sleep(networkMs);
        counted.push(performance.now());
        await sleep(answerMs);
        if (fate === 'answered') await slot.answered();
        return written;
      }),
    );
    expect(fullestWindow(counted, WINDOW_MS)).toBeLessThanOrEqual(limit);
    expect(counted).toHaveLength(arrivals.filter(({ fate }) => fate !== 'unused').length);
  };
  // Keys share nothing, so that four of them wait for their windows at the same time.
  await fc.assert(
    fc.asyncProperty(fc.array(arrivalsOfOneKey, { minLength: 4, maxLength: 4 }), async (keys) => {
      await Promise.all(keys.map(expectWithinLimit));
    }),
    { numRuns: 3, interruptAfterTimeLimit: 40_000, markInterruptAsFailure: false },
  );
});

test('a window with room lets a burst through, and no call more', async () => {
  const budget = start({ limit: 3, windowMs: 60_000 });
  await Promise.all([1, 2, 3].map(() => call(budget)));
  await expectNoRoom(budget);
});

test('the call beyond the limit waits for a window to pass', async () => {
  const budget = start({ limit: 2, windowMs: 1_000 });
  const times = await Promise.all([1, 2, 3].map(() => call(budget)));
  expect(times[2]! - times[0]!).toBeGreaterThanOrEqual(1_000);
});

test('slots are granted in the order in which the callers came, over all processes', async () => {
  const [first, second] = [start({ limit: 1, windowMs: 1_200 }), start({ limit: 1, windowMs: 1_200 })];
  const held = await first.acquire('pdf', {});
  const order: number[] = [];
  const calls: Promise<unknown>[] = [];
  for (const nth of [0, 1, 2, 3, 4]) {
    const budget = nth % 2 === 0 ? second : first;
    calls.push(
      budget.acquire('pdf', {}).then((slot) => {
        order.push(nth);
        return slot.unused();
      }),
    );
    await lineOf(nth + 1);
  }
  await held.unused();
  await Promise.all(calls);
  expect(order).toEqual([0, 1, 2, 3, 4]);
});

test('callers of one process keep the order in which they asked, also when they asked in the same moment', async () => {
  const budget = start({ limit: 2 });
  const order: number[] = [];
  await Promise.all([0, 1, 2, 3, 4].map((nth) => call(budget).then(() => order.push(nth))));
  expect(order.slice(2).sort()).toEqual([2, 3, 4]);
  expect(order.indexOf(4)).toBe(4);
});

/** A call of a class gets a slot, although its window is long. */
const expectRoom = (budget: StoppableBudget) =>
  expect(budget.acquire('pdf', { signal: AbortSignal.timeout(FREE_WITHIN_MS) })).resolves.toBeDefined();
const expectNoRoom = (budget: StoppableBudget) =>
  expect(budget.acquire('pdf', { signal: AbortSignal.timeout(200) })).rejects.toThrow();

test('keys and classes have budgets of their own', async () => {
  const budget = start({ limit: 1, windowMs: LONG_WINDOW_MS });
  const other = start({ limit: 1, windowMs: LONG_WINDOW_MS, keyHash: hashOfKey(`dev_${randomUUID()}`) });
  const asked = [budget.acquire('pdf', {}), budget.acquire('push', {}), other.acquire('pdf', {})];
  expect(await Promise.all(asked)).toHaveLength(3);
});

test('an unused slot is free at once', async () => {
  const budget = start({ limit: 1, windowMs: LONG_WINDOW_MS });
  const slot = await budget.acquire('pdf', {});
  await slot.unused();
  await expectRoom(budget);
});

test('a slot that was written cannot become unused', async () => {
  const budget = start({ limit: 1, windowMs: 60_000 });
  const slot = await budget.acquire('pdf', {});
  await slot.written();
  await slot.unused();
  await expectNoRoom(budget);
});

test('a slot whose answer never comes counts for the window and the guard', async () => {
  const guardMs = 700;
  const budget = start({ limit: 1, guardMs });
  const from = performance.now();
  await (await budget.acquire('pdf', {})).written();
  expect(Math.abs((await countedFor(keyHash)) - (WINDOW_MS + guardMs))).toBeLessThan(10);
  await budget.acquire('pdf', {});
  expect(performance.now() - from).toBeGreaterThanOrEqual(WINDOW_MS + guardMs);
});

test('a stamp comes a little later with its age, at once where the lease may be over, and not at all after an answer', async () => {
  const written: number[] = [];
  const store = createBudgetStore({ pool: database.pool, keyHash, owner: randomUUID() });
  const seen: typeof store = {
    ...store,
    renew: () => Promise.reject(new Error('away')),
    written: (ticket, rateClass, holdMs, agoMs) => {
      written.push(agoMs ?? 0);
      return store.written(ticket, rateClass, holdMs, agoMs);
    },
  };
  const windowMs = 8_000;
  const budget = createBudget({ store: seen, windowMs, limits: limitsOf(5) });
  const acquired = () => budget.acquire('pdf', {});
  const [quick, slow, late] = [await acquired(), await acquired(), await acquired()];
  await slow.written();
  await quick.written();
  await quick.answered();
  expect(written).toEqual([]);
  const { leaseMs } = budgetTiming({ windowMs });
  await sleep(leaseMs * 0.9);
  expect(written).toEqual([expect.any(Number)]);
  expect(written[0]).toBeGreaterThan(0.05 * leaseMs);
  await late.written();
  expect(written).toHaveLength(2);
  await budget.close();
});

test('a slot that was answered counts for the window alone', async () => {
  const budget = start({ limit: 1, guardMs: LONG_WINDOW_MS });
  await call(budget);
  await expectRoom(budget);
});

test('an abort ends the wait promptly with its own reason, and gives the place to the next', async () => {
  const budget = start({ limit: 1, windowMs: 60_000 });
  const held = await budget.acquire('pdf', {});
  const controller = new AbortController();
  const reason = new Error('the operator cancelled');
  const aborted = budget.acquire('pdf', { signal: controller.signal });
  await lineOf(1);
  const next = budget.acquire('pdf', {});
  await lineOf(2);
  controller.abort(reason);
  await expect(aborted).rejects.toBe(reason);
  await lineOf(1);
  await held.unused();
  await next;
  await expect(budget.acquire('pdf', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

test('a slot that is granted to a caller who has just gone is given back', async () => {
  const store = createBudgetStore({ pool: database.pool, keyHash, owner: randomUUID() });
  const controller = new AbortController();
  const slow: BudgetStore = {
    ...store,
    async step(options) {
      const states = await store.step(options);
      controller.abort(new Error('gone'));
      await sleep(20);
      return states;
    },
  };
  const budget = createBudget({ store: slow, windowMs: 60_000, limits: limitsOf(1) });
  await expect(budget.acquire('pdf', { signal: controller.signal })).rejects.toThrow('gone');
  await budget.close();
  expect(await readBudgetUsage(database.pool, keyHash)).toMatchObject([{ used: 0, waiting: 0 }]);
});

test('waiting callers are notified how many are ahead of them', async () => {
  const [first, second] = [start({ limit: 1, windowMs: 8_000 }), start({ limit: 1, windowMs: 8_000 })];
  await first.acquire('pdf', {});
  const heard: number[] = [];
  const controller = new AbortController();
  const waiting = [
    first.acquire('pdf', { signal: controller.signal }),
    second.acquire('pdf', {
      signal: controller.signal,
      onWaiting: (ahead) => {
        heard.push(ahead);
        if (heard.length === 3) controller.abort(new Error('heard enough'));
      },
    }),
  ];
  await lineOf(2);
  await Promise.all(waiting.map((wait) => expect(wait).rejects.toThrow('heard enough')));
  expect(heard.at(-1)).toBeLessThanOrEqual(1);
  expect(heard).toHaveLength(3);
});

test('a 429 shuts the class for one window in every process, is counted, and leaves other classes alone', async () => {
  const refused: string[] = [];
  const metrics = { granted: () => undefined, refused: (rateClass: string) => refused.push(rateClass) };
  const windowMs = 1_500;
  const [first, second] = [start({ limit: 5, windowMs, metrics }), start({ limit: 5, windowMs })];
  const slot = await first.acquire('pdf', {});
  await slot.written();
  const from = performance.now();
  await slot.refused();
  await slot.refused();
  const order: string[] = [];
  const shut = second.acquire('pdf', {}).then(() => order.push('pdf'));
  await second.acquire('push', {}).then(() => order.push('push'));
  const usage = await readBudgetUsage(database.pool, keyHash);
  expect(usage.find(({ rateClass }) => rateClass === 'pdf')).toMatchObject({
    refusals: 1,
    closedUntil: expect.any(Date),
    refusedAt: expect.any(Date),
  });
  await shut;
  expect(performance.now() - from).toBeGreaterThanOrEqual(windowMs);
  expect(order).toEqual(['push', 'pdf']);
  expect(refused).toContain('pdf');
});

test('a class that is refused again and again is shut for longer each time, up to fifteen windows, until it goes well', async () => {
  const store = createBudgetStore({ pool: database.pool, keyHash, owner: randomUUID() });
  const { pool } = database;
  await pool.query(`INSERT INTO budget_classes (key_hash, rate_class) VALUES ($1, 'pdf')`, [keyHash]);
  const windowMs = 60_000;
  const shutFor = async () => {
    const [row] = await database.select(
      `SELECT round(extract(epoch FROM closed_until - refused_at) / 60) AS windows FROM budget_classes WHERE key_hash = $1`,
      keyHash,
    );
    return Number(row?.['windows']);
  };
  /** The shut time and so many windows more pass. */
  const pass = (windows: number) =>
    pool.query(
      `UPDATE budget_classes SET closed_until = clock_timestamp() - $2 * interval '1 minute' WHERE key_hash = $1`,
      [keyHash, windows],
    );
  const shut: number[] = [];
  for (let time = 0; time < 6; time += 1) {
    await store.refused(randomUUID(), 'pdf', windowMs);
    shut.push(await shutFor());
    await pass(1);
  }
  expect(shut).toEqual([1, 2, 4, 8, 15, 15]);
  await pass(11);
  await store.refused(randomUUID(), 'pdf', windowMs);
  expect(await shutFor()).toBe(1);
  // Another call that was refused at the same time makes it no longer.
  await store.refused(randomUUID(), 'pdf', windowMs);
  expect(await shutFor()).toBe(1);
});

test('stop rejects all waiting callers with its own error and removes their tickets', async () => {
  const budget = start({ limit: 1, windowMs: 60_000 });
  const held = await budget.acquire('pdf', {});
  const waiting = [budget.acquire('pdf', {}), budget.acquire('pdf', {})];
  await lineOf(2);
  const stopped = budget.stop();
  await Promise.all(waiting.map((wait) => expect(wait).rejects.toBeInstanceOf(BudgetStoppedError)));
  await stopped;
  await expect(budget.acquire('pdf', {})).rejects.toBeInstanceOf(BudgetStoppedError);
  expect(await readBudgetUsage(database.pool, keyHash)).toMatchObject([{ used: 1, waiting: 0 }]);
  await held.written();
  await held.answered();
});

test('stop and close return although PostgreSQL swallows every packet, and every caller is sent away', async () => {
  const proxy = await startTcpProxy(database.url);
  const pool = createPool({ url: proxy.inFrontOf(database.url) });
  const budget = budgetOfProcess({ pool, keyHash, limit: 1, windowMs: 60_000 });
  const held = await budget.acquire('pdf', {});
  const waiting = budget.acquire('pdf', {});
  await lineOf(1);
  proxy.swallow(true);
  const report = held.written();
  await Promise.all([budget.stop(), expect(waiting).rejects.toBeInstanceOf(BudgetStoppedError)]);
  await budget.close();
  proxy.swallow(false);
  await report;
  await pool.end();
  await proxy.close();
});

describe('when PostgreSQL is away', () => {
  /** A store that fails while `away` is set. */
  function fragileStore() {
    const store = createBudgetStore({ pool: database.pool, keyHash, owner: randomUUID() });
    const state = { away: false };
    const fragile = Object.fromEntries(
      Object.entries(store).map(([name, statement]) => [
        name,
        (...args: never[]) => {
          if (state.away) return Promise.reject(new Error('connection terminated'));
          return (statement as (...all: never[]) => unknown)(...args);
        },
      ]),
    ) as unknown as BudgetStore;
    return { fragile, state };
  }

  test('a short interruption keeps the waiting caller, a long one fails it as not sent', async () => {
    const { fragile, state } = fragileStore();
    const budget = createBudget({ store: fragile, windowMs: WINDOW_MS, limits: limitsOf(1) });
    state.away = true;
    const patient = budget.acquire('pdf', {});
    await sleep(300);
    state.away = false;
    await patient;
    state.away = true;
    await expect(budget.acquire('pdf', {})).rejects.toBeInstanceOf(BudgetUnavailableError);
    state.away = false;
    await budget.close();
  });

  test('a report that cannot be stored is no error for the call, and is stored when PostgreSQL is back', async () => {
    const { fragile, state } = fragileStore();
    const budget = createBudget({ store: fragile, windowMs: 60_000, limits: limitsOf(1) });
    const slot = await budget.acquire('pdf', {});
    state.away = true;
    await slot.written();
    await slot.answered();
    state.away = false;
    await budget.close();
    const stored = `SELECT written_at AS written, answered_at AS answered, free_at - answered_at < '61 s' AS freed FROM budget_slots`;
    expect(await database.select(`${stored} WHERE key_hash = $1`, keyHash)).toEqual([
      { written: expect.any(Date), answered: expect.any(Date), freed: true },
    ]);
  });
});

describe('the store', () => {
  const LEASE_MS = 200_000;
  const HOLD_MS = 300_000;
  const LONG_MS = 600_000;

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
});
