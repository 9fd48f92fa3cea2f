import type { Client } from '@temporalio/client';
import pino from 'pino';
import { listFilings } from '../../src/ledger/views/lists';
import type { OpenFiling } from '../../src/ledger/runs';
import { createEbrcClient } from '../../src/starter/client';
import { describeRun, startRun, type RunStatus } from '../../src/temporal/runs';
import { judgeRun, sweepFilings } from '../../src/temporal/sweep';
import { useTestDatabase } from '../support/postgres';
import { eventually } from '../support/processes';
import { recordFilingByHand } from '../support/recorded-filing';
import { useDevServer } from '../support/temporal';
import { startBuild, type Build } from './support/builds';

const filing = (maybeFiled: boolean) => ({ reference: 'R', n: 1, maybeFiled }) as OpenFiling;
const judge = (maybeFiled: boolean, status: string, more: Partial<RunStatus> = {}) =>
  judgeRun(filing(maybeFiled), { status: status as 'running', taskAttempt: 0, calls: [], ...more });

it.each([
  ['running', 'nothing', 'nothing'],
  ['gone', 'report', 'start'],
  ['terminated', 'report', 'start'],
  ['cancelled', 'report', 'start'],
  ['failed', 'start', 'start'],
  ['timed out', 'start', 'start'],
  ['completed', 'start', 'start'],
])('judges a run that is %s: unsent %s, sent %s', (status, unsent, sent) => {
  expect([judge(false, status).do, judge(true, status).do]).toEqual([unsent, sent]);
});

it('looks into a run whose tasks fail, and reports a call with a defect, but no expected failure', () => {
  expect(judge(true, 'running', { taskAttempt: 2 }).do).toBe('nothing');
  expect(judge(true, 'running', { taskAttempt: 3 }).do).toBe('look');
  const call = { name: 'readCompany', attempt: 5 };
  expect(judge(true, 'running', { calls: [{ ...call, defect: null }] }).do).toBe('nothing');
  expect(judge(true, 'running', { calls: [{ ...call, defect: 'TypeError: x' }] })).toMatchObject({
    do: 'report',
    problem: { kind: 'run_failing', text: expect.stringMatching(/readCompany fails .*4 so far.*TypeError: x/u) },
  });
});

describe('a sweep', () => {
  const server = useDevServer();
  const ledger = useTestDatabase();
  const taskQueue = 'sweep-test';
  let temporal: Client;
  const stops: (() => Promise<void>)[] = [];
  let logged: Record<string, unknown>[] = [];
  beforeAll(async () => {
    temporal = await server.client();
  });
  beforeEach(async () => {
    logged = [];
    await ledger.pool.query('UPDATE filings SET closed_at = clock_timestamp() WHERE closed_at IS NULL');
  });
  const logger = pino({ level: 'warn' }, { write: (line) => void logged.push(JSON.parse(line) as never) });
  const sweep = (queue = taskQueue) =>
    sweepFilings({ pool: ledger.pool, temporal, mode: 'test', taskQueue: queue, logger });
  const attempt = (filingId: string) =>
    ledger.pool.query(
      `INSERT INTO attempts (filing_id, number, mode, exporter_id, verdict, epoch, beat, settle_beats, settle_ms, timeout_ms)
       VALUES ($1, 1, 'test', 'E-test', 'unknown', 'e', 1, 1, 1, 1)`,
      [filingId],
    );
  const problems = () => ledger.select(`SELECT filing_id, kind, text FROM findings WHERE closed_at IS NULL`);

  it('starts a run for what may have arrived, and asks for a person about what somebody ended unsent', async () => {
    const sent = await recordFilingByHand(ledger.pool, { reference: 'sent' });
    await attempt(sent.filingId);
    const unsent = await recordFilingByHand(ledger.pool, { reference: 'unsent' });
    const ended = await recordFilingByHand(ledger.pool, { reference: 'ended' });
    const runs = await recordFilingByHand(ledger.pool, { reference: 'runs' });
    await startRun(temporal, taskQueue, runs);
    await startRun(temporal, taskQueue, ended);
    await temporal.workflow.getHandle(ended.workflowId).terminate('tried in a test');

    expect(await sweep()).toMatchObject({
      filings: 4,
      resumed: [sent.filingId],
      reported: expect.arrayContaining([unsent.filingId, ended.filingId]) as string[],
    });
    expect(await describeRun(temporal, sent.workflowId)).toMatchObject({ status: 'running' });
    const shown = await temporal.workflow.getHandle(sent.workflowId).describe();
    expect(await shown.staticSummary()).toBe('1 row, N, sent');
    expect(await shown.staticDetails()).toContain('ebrc show sent');
    expect(await problems()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ filing_id: unsent.filingId, text: expect.stringContaining('ebrc resume unsent') }),
        expect.objectContaining({ filing_id: ended.filingId, text: expect.stringContaining('was terminated') }),
      ]),
    );
    expect(await sweep()).toMatchObject({ resumed: [], reported: [] });

    // A problem ends with its cause, or with its filing.
    await startRun(temporal, taskQueue, unsent);
    await ledger.pool.query('UPDATE filings SET closed_at = clock_timestamp() WHERE filing_id = $1', [ended.filingId]);
    expect(await sweep()).toMatchObject({ resumed: [], reported: [] });
    expect(await problems()).toEqual([]);
  });

  const build = async (which: Build, queue: string) => {
    const stop = await startBuild(server, which, queue);
    stops.push(stop);
    return stop;
  };
  afterEach(() => Promise.all(stops.map((stop) => stop())));

  it('shows runs that a build cannot replay, and replaces them once one begins in the build in charge', async () => {
    const queue = 'sweep-builds';
    const filings = await Promise.all(
      ['one', 'two', 'three'].map((reference) => recordFilingByHand(ledger.pool, { reference })),
    );
    const ids = filings.map(({ filingId }) => filingId).sort();
    let stop = await build('waits', queue);
    for (const each of filings) await startRun(temporal, queue, each);
    const begun = async () =>
      (
        await Promise.all(filings.map(({ workflowId }) => temporal.workflow.getHandle(workflowId).fetchHistory()))
      ).every(({ events }) => events?.some((event) => event.workflowTaskCompletedEventAttributes));
    await eventually(begun);
    await stop();
    const runsOf = () =>
      Promise.all(
        filings.map(async ({ workflowId }) => (await temporal.workflow.getHandle(workflowId).describe()).runId),
      );
    const failing = async (wanted = true) => {
      const described = await Promise.all(filings.map(({ workflowId }) => describeRun(temporal, workflowId)));
      return described.every(({ taskAttempt }) => taskAttempt >= 3) === wanted;
    };
    const first = await runsOf();

    // A build that breaks at once: it is shown, and only one run is tried anew.
    stop = await build('breaks', queue);
    for (const { workflowId } of filings) await temporal.workflow.getHandle(workflowId).signal('poke');
    await eventually(failing);
    const broken = await sweep(queue);
    expect(broken.reported.sort()).toEqual(ids);
    expect(broken.replaced).toHaveLength(1);
    expect(await problems()).toEqual(
      filings.map(() =>
        expect.objectContaining({
          kind: 'run_failing',
          text: expect.stringContaining('TypeError: this build is broken'),
        }),
      ),
    );
    const listed = await listFilings(ledger.pool, { mode: 'test', attention: true, limit: 10 });
    expect(listed.map(({ filingId, actions }) => [filingId, actions.includes('resume')]).sort()).toEqual(
      ids.map((id) => [id, true]),
    );
    expect(logged[0]).toMatchObject({ problem: 'TypeError: this build is broken' });
    await stop();

    // Another order of steps than the histories have: each is replaced, as the first that was tried begins.
    stop = await build('sleeps', queue);
    await eventually(async () => {
      const { replaced } = await sweep(queue);
      return replaced.length === 0 && (await problems()).length === 0;
    });
    const last = await runsOf();
    expect(last.filter((run) => first.includes(run))).toEqual([]);
    await stop();
  });

  it('resumes a run that fails, when a person says so', async () => {
    const queue = 'sweep-resume';
    const one = await recordFilingByHand(ledger.pool, { reference: 'resumed' });
    const stop = await build('breaks', queue);
    await startRun(temporal, queue, one);
    await eventually(async () => (await describeRun(temporal, one.workflowId)).taskAttempt >= 3);
    await stop();
    const client = createEbrcClient({ temporal, pool: ledger.pool, mode: 'test', taskQueue: queue } as never);
    const resumed = await client.resume('resumed');
    expect(resumed).toMatchObject({ resumed: true, message: expect.stringContaining('this build is broken') });
    expect(await client.resume('resumed')).toMatchObject({ resumed: false, message: 'Its run goes on.' });
  });
});
