/** What operators do to runs in the Temporal UI, and what they do by themselves, on a real Temporal server. */
import { randomUUID } from 'node:crypto';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import pino from 'pino';
import { getFiling } from '../../src/ledger/filings/filing';
import { startRun } from '../../src/temporal/runs';
import { sweepFilings } from '../../src/temporal/sweep';
import type { fileRemittances } from '../../src/workflows/file-remittances';
import { devServer } from '../support/temporal';
import { soon } from './acts';
import type { Filing } from './stage';
import { useFilingStage } from './use-stage';

/** A run continues as new after so many events, which is hours of a filing that somebody pokes all the time. */
const SHORT = { 'limit.historyCount.suggestContinueAsNew': 60 };

const stage = useFilingStage({
  env: async () => {
    const server = await devServer({ dynamicConfig: SHORT });
    const more = { sleep: () => Promise.resolve(), teardown: server.stop };
    return { ...(await server.environment()), ...more } as unknown as TestWorkflowEnvironment;
  },
  sandbox: { ackDelayMs: 1_500 },
  worker: { settings: { pollFirstMs: 500, pollMinMs: 500, pollMaxMs: 500 } },
});

const handleOf = ({ workflowId }: Filing) => stage.env.client.workflow.getHandle<typeof fileRemittances>(workflowId);

async function approve(filing: Filing): Promise<void> {
  for (const by of ['ravi', 'meera']) await stage.decide(filing, 'approve', { by });
}

/** Resets the newest run to the end of one of its workflow tasks. */
async function reset(filing: Filing, task: number): Promise<void> {
  const { client } = stage.env;
  const { runId } = await handleOf(filing).describe();
  const { events } = await handleOf(filing).fetchHistory();
  const tasks = (events ?? []).filter(({ workflowTaskCompletedEventAttributes: done }) => done);
  const { eventId } = tasks[Math.min(task, tasks.length - 1)] ?? {};
  await client.workflowService.resetWorkflowExecution({
    ...{ namespace: client.options.namespace, workflowExecution: { workflowId: filing.workflowId, runId } },
    ...{ reason: 'test', requestId: randomUUID(), workflowTaskFinishEventId: eventId },
  });
}

it('a run that is reset to any of its tasks, before and after its send, sends nothing again', async () => {
  const exporter = await stage.exporter();
  const filing = await stage.file(exporter, [stage.mapping(exporter)], { approval: true });
  const { filingId } = await stage.until(filing, 'awaiting_approval');
  await reset(filing, 0);
  await approve(filing);
  await soon(async () => (await stage.verdicts(filingId)).join() === 'accepted');
  for (const task of [1, 99]) await reset(filing, task);
  expect(await handleOf(filing).result()).toMatchObject({ state: 'certified' });
  const { events } = await handleOf(filing).fetchHistory();
  const tasks = (events ?? []).filter(({ workflowTaskCompletedEventAttributes: done }) => done).length;
  for (let task = 0; task < tasks; task += 1) {
    await reset(filing, task);
    expect(await handleOf(filing).result()).toMatchObject({ state: 'certified', filingId });
  }
  expect(stage.pushes(exporter)).toBe(1);
  expect(await stage.verdicts(filingId)).toEqual(['accepted']);
});

describe('a run that is terminated', () => {
  const sweep = () => {
    const { pool } = stage.ledger;
    const deps = { pool, temporal: stage.env.client, mode: 'test', logger: pino({ level: 'silent' }) } as const;
    return sweepFilings({ ...deps, taskQueue: stage.worker.taskQueue });
  };
  /** Ended, also in Temporal's lists. */
  async function terminate(filing: Filing): Promise<void> {
    await handleOf(filing).terminate('test');
    const query = `WorkflowId = '${filing.workflowId}' AND ExecutionStatus = 'Terminated'`;
    await soon(async () => (await stage.env.client.workflow.count(query)).count > 0);
  }

  it('after its send gets another one from the sweep, which follows what was sent', async () => {
    const { filing, exporter } = await stage.start();
    const { filingId } = await stage.until(filing, 'processing');
    await terminate(filing);
    expect(await sweep()).toMatchObject({ resumed: [filingId] });
    expect(await handleOf(filing).result()).toMatchObject({ state: 'certified', filingId });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('before its send waits for `ebrc resume`, and is sent once', async () => {
    const exporter = await stage.exporter();
    const filing = await stage.file(exporter, [stage.mapping(exporter)], { approval: true });
    const { filingId } = await stage.until(filing, 'awaiting_approval');
    await terminate(filing);
    expect(await sweep()).toMatchObject({ resumed: [], reported: [filingId] });
    const recorded = await getFiling(stage.ledger.pool, filingId ?? '');
    if (recorded) await startRun(stage.env.client, stage.worker.taskQueue, recorded);
    await approve(filing);
    expect(await handleOf(filing).result()).toMatchObject({ state: 'certified', filingId });
    expect(stage.pushes(exporter)).toBe(1);
  });
});

describe('a run that is cancelled', () => {
  it('before its send is abandoned', async () => {
    const exporter = await stage.exporter();
    const filing = await stage.file(exporter, [stage.mapping(exporter)], { approval: true });
    await stage.until(filing, 'awaiting_approval');
    await filing.cancel();
    expect(await filing.result()).toMatchObject({ state: 'abandoned' });
    expect(stage.pushes(exporter)).toBe(0);
  });

  it('after its send goes on, and its story says so', async () => {
    const { filing, exporter } = await stage.start();
    const { filingId } = await stage.until(filing, 'processing');
    await filing.cancel();
    expect(await filing.result()).toMatchObject({ state: 'certified' });
    expect(await stage.story(filingId)).toContain('cancel_refused');
    expect(stage.pushes(exporter)).toBe(1);
  });
});

it('the run of a filing goes on where its worker was stopped and started, while it waits for a person and for the authority', async () => {
  const exporter = await stage.exporter();
  const filing = await stage.file(exporter, [stage.mapping(exporter)], { approval: true });
  await stage.until(filing, 'awaiting_approval');
  await stage.untilAsleep(filing);
  await stage.worker.stop();
  await stage.worker.start();
  await approve(filing);
  await stage.until(filing, 'processing');
  await stage.worker.stop();
  await stage.worker.start();
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  expect(stage.pushes(exporter)).toBe(1);
});

it('500 rows that somebody repeats all the time while their filing polls continue as new', async () => {
  const exporter = await stage.exporter();
  const rows = Array.from({ length: 500 }, () =>
    stage.mapping(exporter, { mappedIRMAmountFCC: 10, sbCumInvoiceValueinFCC: 10 }),
  );
  const reference = 'REPEATED-500';
  stage.fault(exporter, 'status', 'stale-status', { times: 1_000 });
  const filing = await stage.file(exporter, rows, { reference });
  const { filingId } = await stage.until(filing, 'processing');
  const { runId: first } = await handleOf(filing).describe();
  const again = async () =>
    (await stage.file(exporter, rows, { reference }, { workflowId: `again/${randomUUID()}` })).result();
  do {
    expect(await again()).toMatchObject({ filingId });
    for (let pokes = 0; pokes < 5; pokes += 1) await stage.poke(filing);
  } while ((await handleOf(filing).describe()).runId === first);
  stage.sandbox.clearFaults();
  await stage.until(filing, ({ counts }) => counts.certified === 500);
  // Its PDFs are not waited for.
  await stage.ledger.pool.query('UPDATE filings SET due_at = clock_timestamp() WHERE filing_id = $1', [filingId]);
  await stage.poke(filing);
  expect(await handleOf(filing).result()).toMatchObject({ state: 'certified', counts: { certified: 500 } });
  expect(await stage.requestsOf(exporter)).toHaveLength(1);
});
