import { createBudgetGate, type BudgetGate, type GatePass } from '../../src/budget/gate';

const never = () => new AbortController().signal;

/** Whether the gate lets somebody in now; the pass goes back unused. */
async function isOpen(gate: BudgetGate): Promise<boolean> {
  const controller = new AbortController();
  const entered = gate.enter(controller.signal).then(
    () => true,
    () => false,
  );
  await new Promise((resolve) => setImmediate(resolve));
  controller.abort(new Error('only asking'));
  return entered;
}

async function startTask(gate: BudgetGate): Promise<GatePass> {
  const pass = await gate.enter(never());
  gate.started(pass);
  return pass;
}

test('the next task is asked for only when the last one holds its slot', async () => {
  const gate = createBudgetGate({ maxTasks: 5 });
  const asked = await gate.enter(never());
  expect(await isOpen(gate)).toBe(false);
  gate.started(asked);
  expect(await isOpen(gate)).toBe(false);
  gate.startsWaiting();
  expect(await isOpen(gate)).toBe(false);
  gate.stopsWaiting();
  expect(await isOpen(gate)).toBe(true);
});

test('slow calls overlap up to the most tasks', async () => {
  const gate = createBudgetGate({ maxTasks: 2 });
  const tasks = [];
  for (const _ of [1, 2]) {
    tasks.push(await startTask(gate));
    gate.startsWaiting();
    gate.stopsWaiting();
  }
  expect(await isOpen(gate)).toBe(false);
  gate.left(tasks[0]!);
  expect(await isOpen(gate)).toBe(true);
});

test('a task that ends without a call, and a poll that brings no task, open the gate again', async () => {
  const gate = createBudgetGate({ maxTasks: 5 });
  const failed = await startTask(gate);
  gate.left(failed);
  gate.left(failed);
  const pollWithoutTask = await gate.enter(never());
  gate.left(pollWithoutTask);
  expect(await isOpen(gate)).toBe(true);
});

test('a call that gives up waiting does not keep the gate shut', async () => {
  const gate = createBudgetGate({ maxTasks: 5 });
  const task = await startTask(gate);
  gate.startsWaiting();
  gate.stopsWaiting();
  gate.left(task);
  expect(await isOpen(gate)).toBe(true);
});

test('a second call of a running activity shuts the gate while it waits', async () => {
  const gate = createBudgetGate({ maxTasks: 5 });
  await startTask(gate);
  gate.startsWaiting();
  gate.stopsWaiting();
  gate.startsWaiting();
  expect(await isOpen(gate)).toBe(false);
  gate.stopsWaiting();
  expect(await isOpen(gate)).toBe(true);
});

test('an aborted reservation rejects with the very reason of its signal and leaves no trace', async () => {
  const gate = createBudgetGate({ maxTasks: 5 });
  const task = await startTask(gate);
  const controller = new AbortController();
  const entering = gate.enter(controller.signal);
  controller.abort('Request Cancelled');
  await expect(entering).rejects.toBe('Request Cancelled');
  await expect(gate.enter(controller.signal)).rejects.toBe('Request Cancelled');
  gate.left(task);
  expect(await isOpen(gate)).toBe(true);
});

test('a reservation that is given up after it was answered is not lost', async () => {
  const gate = createBudgetGate({ maxTasks: 5 });
  const controller = new AbortController();
  await gate.enter(controller.signal);
  controller.abort('Request Cancelled');
  expect(await isOpen(gate)).toBe(true);
});

test('those who wait at the gate are let in one by one', async () => {
  const gate = createBudgetGate({ maxTasks: 5 });
  const order: number[] = [];
  const entries = [1, 2].map((nth) =>
    gate.enter(never()).then((pass) => {
      order.push(nth);
      return pass;
    }),
  );
  const first = await entries[0]!;
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual([1]);
  gate.left(first);
  await entries[1];
  expect(order).toEqual([1, 2]);
});

test('a shut gate admits no further task', async () => {
  const gate = createBudgetGate({ maxTasks: 5 });
  const task = await startTask(gate);
  gate.shut();
  gate.left(task);
  expect(await isOpen(gate)).toBe(false);
});
