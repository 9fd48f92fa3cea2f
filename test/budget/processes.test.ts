import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { startLimitedServer } from '../../bench/support/limited-server';
import { useTestDatabase } from '../support/postgres';
import { eventually } from '../support/processes';
import type { ProcessOrder } from './budget-process';
import { fullestWindow, limitsOf } from './budget-support';

const TYPESCRIPT = join(__dirname, '..', '..', 'scripts', 'typescript.cjs');
const PROCESS = join(__dirname, 'budget-process.ts');
const WINDOW_MS = 1_000;
const LIMIT = 4;

const database = useTestDatabase();

function startProcess(order: ProcessOrder): ChildProcess {
  return spawn(process.execPath, ['-r', TYPESCRIPT, PROCESS, JSON.stringify(order)], { stdio: 'inherit' });
}

test('worker processes share one budget, and one that is killed holds up the others for no longer than its lease', async () => {
  const service = await startLimitedServer({
    windowMs: WINDOW_MS,
    limits: limitsOf(LIMIT),
    delayMs: () => Math.random() * 150,
    answerMs: () => Math.random() * 100,
  });
  const order = {
    databaseUrl: database.url,
    serviceUrl: service.url,
    keyHash: 'a key',
    windowMs: WINDOW_MS,
    limit: LIMIT,
  };
  const victim = startProcess({ ...order, calls: 30 });
  await eventually(() => service.calls.length >= LIMIT + 1);
  const survivors = [startProcess({ ...order, calls: 8 }), startProcess({ ...order, calls: 8 })];
  const ended = survivors.map((survivor) => once(survivor, 'exit'));
  await eventually(async () => {
    const { rows } = await database.pool.query('SELECT count(DISTINCT owner)::int AS n FROM budget_tickets');
    return rows[0].n === 3;
  });
  victim.kill('SIGKILL');
  expect(await Promise.all(ended)).toEqual([
    [0, null],
    [0, null],
  ]);
  const names = service.calls.map(({ name }) => name);
  const made = survivors.map(({ pid }) => names.filter((name) => name.startsWith(`${pid}-`)).length);
  expect(made).toEqual([8, 8]);
  expect(service.calls.filter(({ refused }) => refused)).toEqual([]);
  expect(
    fullestWindow(
      service.calls.map(({ at }) => at),
      WINDOW_MS,
    ),
  ).toBeLessThanOrEqual(LIMIT);
  await service.close();
});
