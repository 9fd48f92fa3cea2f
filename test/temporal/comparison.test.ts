import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { SEARCH_ATTRIBUTES } from '../../src/domain/names';
import { createSeenTime, readLedgerTime } from '../../src/ledger/time';
import { readLedgerStatus } from '../../src/ledger/went-back';
import { beatJob, compareLedger, comparisonJob } from '../../src/temporal/comparison';
import { describeRun, poke, pokeOrStart, startRun, startWith } from '../../src/temporal/runs';
import { closeAfterAll } from '../support/closing';
import { createTestDatabase, useTestDatabase, type TestDatabase } from '../support/postgres';
import { attemptByHand, recordFilingByHand, type RecordedFilingFacts } from '../support/recorded-filing';
import { useDevServer } from '../support/temporal';
import { stubBundle } from './support/stub-bundle';

const server = useDevServer();
const first = useTestDatabase();
const logger = pino({ level: 'silent' });
let temporal: Client;
let worker: { worker: Worker; ended: Promise<void> };
const taskQueue = 'compare-test';

beforeAll(async () => {
  temporal = await server.client();
  const made = await Worker.create({
    connection: await server.connectNative(),
    namespace: server.namespace,
    taskQueue,
    workflowBundle: await stubBundle(),
  });
  worker = { worker: made, ended: made.run() };
});
closeAfterAll(async () => {
  worker?.worker.shutdown();
  await worker?.ended;
});

const deps = (ledger: TestDatabase = first, of: Partial<{ temporal: Client; taskQueue: string }> = {}) => ({
  ...{ pool: ledger.pool, temporal, mode: 'test' as const, taskQueue, logger },
  ...of,
});
const compare = (ledger?: TestDatabase, of?: Parameters<typeof deps>[1]) =>
  compareLedger(deps(ledger, of), { lagMs: 0 });
const isWhole = async ({ pool }: TestDatabase) => (await readLedgerTime(pool, 'test')).whole;

/** A filing in the ledger, and its run. */
async function file(ledger: TestDatabase, facts: RecordedFilingFacts) {
  const filing = await recordFilingByHand(ledger.pool, facts);
  await attemptByHand(ledger.pool, filing);
  await startWith(temporal, taskQueue, filing, {});
  return filing;
}

/** Ends a run; waits until Temporal's list shows it. */
async function end(workflowId: string): Promise<void> {
  await poke(temporal, workflowId);
  await temporal.workflow.getHandle(workflowId).result();
  await shown(`WorkflowId = '${workflowId}' AND ExecutionStatus = 'Completed'`);
}

async function shown(query: string): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    if ((await temporal.workflow.count(query)).count > 0) return;
    await sleep(100);
  }
  throw new Error(`Temporal does not list ${query}.`);
}

describe('a comparison of the ledger with Temporal', () => {
  it('finds everything, and what is missing or has not ended, until it is there', async () => {
    const here = await file(first, { reference: 'R1' });
    await file(first, { reference: 'R/2', n: 3 });
    await shown(`WorkflowId = '${here.workflowId}'`);
    expect(await compare()).toMatchObject({ whole: true, missing: [], problem: null });

    await end(here.workflowId);
    expect(await compare()).toMatchObject({
      whole: false,
      missing: [{ workflowId: here.workflowId, completed: true }],
    });
    expect(await isWhole(first)).toBe(false);
    const status = await readLedgerStatus(first.pool, 'test');
    expect(status).toMatchObject({ state: 'recovering', missing: [{ workflowId: here.workflowId }] });

    await first.pool.query(`UPDATE filings SET state = 'certified', closed_at = now() WHERE filing_id = $1`, [
      here.filingId,
    ]);
    expect(await compare()).toMatchObject({ whole: true, missing: [] });
    expect(await readLedgerStatus(first.pool, 'test')).toMatchObject({ state: 'whole', missing: [] });
  });

  it('takes a run under another id for its reference, and refused runs for nothing', async () => {
    const mode = 'test' as const;
    const about = { mode, exporterId: 'E-test', n: 1, state: 'processing' };
    await startWith(temporal, taskQueue, { ...about, workflowId: `own-${randomUUID()}`, reference: 'R1' }, {});
    await startWith(
      temporal,
      taskQueue,
      { ...about, workflowId: 'file/test/refused', state: undefined, reference: 'refused' },
      {},
    );
    await shown(`EbrcReference = 'refused'`);
    expect(await compare()).toMatchObject({ whole: true, missing: [] });
  });

  it('lets a second ledger send nothing before it has what the first one had', async () => {
    const second = await createTestDatabase();
    try {
      const { missing, whole } = await compare(second);
      expect(whole).toBe(false);
      expect(missing.map(({ reference }) => reference).sort()).toEqual(['R/2', 'R1', 'R1']);
      await attemptByHand(
        second.pool,
        await recordFilingByHand(second.pool, { reference: 'R1', state: 'certified', closed: true }),
      );
      const open = await recordFilingByHand(second.pool, { reference: 'R/2', n: 3 });
      // Its run shows that it was sent.
      expect((await compare(second)).missing.map(({ reference }) => reference)).toEqual(['R/2']);
      await attemptByHand(second.pool, open);
      expect(await compare(second)).toMatchObject({ whole: true, missing: [] });
    } finally {
      await second.drop();
    }
  });

  it('keeps a missing run in mind that Temporal has forgotten', async () => {
    const second = await createTestDatabase();
    try {
      const gone = await file(first, { reference: 'gone' });
      await end(gone.workflowId);
      await first.pool.query(`UPDATE filings SET state = 'certified' WHERE filing_id = $1`, [gone.filingId]);
      expect((await compare(second)).missing.map(({ reference }) => reference)).toContain('gone');
      const forgotten = { workflowId: gone.workflowId };
      await temporal.workflowService.deleteWorkflowExecution({
        namespace: server.namespace,
        workflowExecution: forgotten,
      });
      while ((await temporal.workflow.count(`WorkflowId = '${gone.workflowId}'`)).count > 0) await sleep(100);
      expect((await compare(second)).missing.map(({ reference }) => reference)).toContain('gone');
    } finally {
      await second.drop();
    }
  });

  it('changes nothing where Temporal has no search attributes, and says so while the ledger is not whole', async () => {
    const second = await createTestDatabase();
    const namespace = `bare-${randomUUID()}`;
    const workflowExecutionRetentionPeriod = { seconds: 86_400 as never };
    await temporal.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
    const bare = new Client({ connection: temporal.connection, namespace });
    try {
      const answer = async () => {
        for (;;) {
          const compared = await compare(second, { temporal: bare });
          if (!compared.problem?.includes('not found')) return compared;
          await sleep(500);
        }
      };
      expect((await answer()).problem).toContain('search attributes are not registered');
      expect(await isWhole(second)).toBe(true);
      await second.pool.query(`UPDATE ledger SET branch = '/other'`);
      expect(await compare(second, { temporal: bare })).toMatchObject({ whole: false });
      const status = await readLedgerStatus(second.pool, 'test');
      expect(status).toMatchObject({ state: 'recovering', missing: [{ workflowId: null }] });
      expect(status.missing[0]?.text).toContain('search attributes are not registered');
      const searchAttributes = Object.fromEntries(
        Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => [name, type === 'Bool' ? 5 : 2]),
      );
      await temporal.connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
      let compared = await compare(second, { temporal: bare });
      for (; compared.problem !== null; compared = await compare(second, { temporal: bare })) await sleep(500);
      expect(compared).toMatchObject({ whole: true });
    } finally {
      await second.drop();
    }
  });

  it('is made by a job at its start, and when the beat of the ledger fell', async () => {
    const second = await createTestDatabase();
    const own = deps(second, { taskQueue: 'nothing-runs-here' });
    const signal = new AbortController().signal;
    try {
      const comparison = comparisonJob({ ...own, settleAfterMs: 4_000, lagMs: 0 });
      const beatOf = () => beatJob({ ...own, seen: createSeenTime(), settleAfterMs: 40 });
      const beat = beatOf();
      await comparison.run(signal);
      await beat.run();
      const before = await readLedgerTime(second.pool, 'test');
      expect(before).toMatchObject({ whole: true });
      await second.pool.query('UPDATE ledger SET beat = 40');
      await sleep(20);
      await beat.run();
      // An older copy is brought back.
      await second.pool.query('UPDATE ledger SET beat = 7');
      await beat.run();
      expect(await isWhole(second)).toBe(false);
      await comparison.run(signal);
      const after = await readLedgerTime(second.pool, 'test');
      expect(after).toMatchObject({ whole: true });
      expect(after.epoch).not.toBe(before.epoch);
      // A copy that is one beat older, which another worker has raised already.
      await sleep(20);
      await beat.run();
      await second.pool.query(`UPDATE ledger SET beat = beat - 1, beat_at = beat_at - interval '1 s'`);
      await beatOf().run();
      expect(await isWhole(second)).toBe(true);
      await beat.run();
      expect(await isWhole(second)).toBe(false);
    } finally {
      await second.drop();
    }
  });
});

describe('runs of recorded filings', () => {
  it('are woken, started where there is none, and replaced where asked', async () => {
    const filing = await recordFilingByHand(first.pool, { reference: 'run' });
    expect(await describeRun(temporal, filing.workflowId)).toMatchObject({ status: 'gone' });
    expect(await poke(temporal, filing.workflowId)).toBe(false);
    expect(await startRun(temporal, 'nobody-polls', filing)).toBe(true);
    expect(await startRun(temporal, 'nobody-polls', filing)).toBe(false);
    const { firstExecutionRunId } = await temporal.workflow
      .getHandle(filing.workflowId)
      .describe()
      .then(({ raw }) => ({
        firstExecutionRunId: raw.workflowExecutionInfo?.execution?.runId,
      }));
    await pokeOrStart(temporal, 'nobody-polls', filing);
    const history = await temporal.workflow
      .getHandle(filing.workflowId, firstExecutionRunId ?? undefined)
      .fetchHistory();
    expect(JSON.stringify(history.events?.map(({ eventType }) => eventType))).toContain('26');
    expect(await startRun(temporal, taskQueue, filing, { terminate: true })).toBe(true);
    expect(await describeRun(temporal, filing.workflowId)).toMatchObject({ status: 'running', taskQueue });
    await end(filing.workflowId);
    expect(await describeRun(temporal, filing.workflowId)).toMatchObject({ status: 'completed' });
    await pokeOrStart(temporal, 'nobody-polls', filing);
    expect(await describeRun(temporal, filing.workflowId)).toMatchObject({ status: 'running' });
    await temporal.workflow.getHandle(filing.workflowId).terminate();
  });
});
