import { createBudgetGate, type BudgetGate, type GatePass } from '../../src/budget/gate';

const never = () => new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));
const gateOf = (maxTasks = 5) => createBudgetGate({ maxTasks });

/** The gate lets somebody in now, or nobody; the pass goes back unused. */
async function expectOpen(gate: BudgetGate, open: boolean): Promise<void> {
  const controller = new AbortController();
  const entered = gate.enter(controller.signal).then(
    () => true,
    () => false,
  );
  await turn();
  controller.abort(new Error('only asking'));
  expect(await entered).toBe(open);
}

async function startTask(gate: BudgetGate): Promise<GatePass> {
  const pass = await gate.enter(never());
  gate.started(pass);
  return pass;
}
/** A task that has waited for its slot, and holds it. */
async function callingTask(gate: BudgetGate): Promise<GatePass> {
  const pass = await startTask(gate);
  gate.startsWaiting();
  gate.stopsWaiting();
  return pass;
}

test('the next task is asked for only when the last one holds its slot', async () => {
  const gate = gateOf();
  const asked = await gate.enter(never());
  await expectOpen(gate, false);
  gate.started(asked);
  await expectOpen(gate, false);
  gate.startsWaiting();
  await expectOpen(gate, false);
  gate.stopsWaiting();
  await expectOpen(gate, true);
});

test('slow calls overlap up to the most tasks', async () => {
  const gate = gateOf(2);
  const [first] = [await callingTask(gate), await callingTask(gate)];
  await expectOpen(gate, false);
  gate.left(first);
  await expectOpen(gate, true);
});

test('a task that ends without a call, a poll that brings no task, and a call that gives up open the gate again', async () => {
  const gate = gateOf();
  const failed = await startTask(gate);
  gate.left(failed);
  gate.left(failed);
  gate.left(await gate.enter(never()));
  gate.left(await callingTask(gate));
  await expectOpen(gate, true);
});

test('a second call of a running activity shuts the gate while it waits', async () => {
  const gate = gateOf();
  await callingTask(gate);
  gate.startsWaiting();
  await expectOpen(gate, false);
  gate.stopsWaiting();
  await expectOpen(gate, true);
});

test('an aborted reservation rejects with the very reason of its signal and leaves no trace', async () => {
  const gate = gateOf();
  const task = await startTask(gate);
  const controller = new AbortController();
  const entering = gate.enter(controller.signal);
  controller.abort('Request Cancelled');
  await expect(entering).rejects.toBe('Request Cancelled');
  await expect(gate.enter(controller.signal)).rejects.toBe('Request Cancelled');
  gate.left(task);
  await expectOpen(gate, true);
});

test('a reservation that is given up after it was answered is not lost', async () => {
  const gate = gateOf();
  const controller = new AbortController();
  await gate.enter(controller.signal);
  controller.abort('Request Cancelled');
  await expectOpen(gate, true);
});

test('those who wait at the gate are let in one by one', async () => {
  const gate = gateOf();
  const order: number[] = [];
  const [one, two] = [1, 2].map(async (nth) => {
    const pass = await gate.enter(never());
    order.push(nth);
    return pass;
  });
  const first = await one!;
  await turn();
  expect(order).toEqual([1]);
  gate.left(first);
  await two;
  expect(order).toEqual([1, 2]);
});

test('a shut gate admits no further task', async () => {
  const gate = gateOf();
  const task = await startTask(gate);
  gate.shut();
  gate.left(task);
  await expectOpen(gate, false);
});
