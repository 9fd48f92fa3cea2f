import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import pino from 'pino';
import type { OpenFiling } from '../../src/ledger/runs';
import { describeRun, startRun } from '../../src/temporal/runs';
import { judgeRun, sweepFilings } from '../../src/temporal/sweep';
import { useTestDatabase } from '../support/postgres';
import { recordFilingByHand } from '../support/recorded-filing';
import { useDevServer } from '../support/temporal';

const filing = (maybeFiled: boolean) => ({ reference: 'R', n: 1, maybeFiled }) as OpenFiling;
const judge = (maybeFiled: boolean, status: string, taskAttempt = 0) =>
  judgeRun(filing(maybeFiled), { status: status as 'running', taskAttempt }).do;

it.each([
  ['running', 'nothing', 'nothing'],
  ['gone', 'report', 'start'],
  ['terminated', 'report', 'start'],
  ['cancelled', 'report', 'start'],
  ['failed', 'start', 'start'],
  ['timed out', 'start', 'start'],
  ['completed', 'start', 'start'],
])('judges a run that is %s: unsent %s, sent %s', (status, unsent, sent) => {
  expect([judge(false, status), judge(true, status)]).toEqual([unsent, sent]);
});

it('reports a run whose step fails again and again', () => {
  expect(judge(true, 'running', 9)).toBe('nothing');
  expect(judge(true, 'running', 10)).toBe('report');
});

describe('a sweep', () => {
  const server = useDevServer();
  const ledger = useTestDatabase();
  const taskQueue = 'sweep-test';
  let temporal: Client;
  beforeAll(async () => {
    temporal = await server.client();
  });
  const sweep = (failing = false) =>
    sweepFilings(
      { pool: ledger.pool, temporal, mode: 'test', taskQueue, logger: pino({ level: 'silent' }) },
      { failing },
    );
  const attempt = (filingId: string) =>
    ledger.pool.query(
      `INSERT INTO attempts (filing_id, number, mode, exporter_id, verdict, epoch, beat, settle_beats, settle_ms, timeout_ms)
       VALUES ($1, 1, 'test', 'E-test', 'unknown', 'e', 1, 1, 1, 1)`,
      [filingId],
    );
  const problems = () =>
    ledger.select(`SELECT filing_id, text FROM findings WHERE kind = 'filing_without_workflow' AND closed_at IS NULL`);

  it('starts a run for what may have arrived, and asks for a person about what somebody ended unsent', async () => {
    const sent = await recordFilingByHand(ledger.pool, { reference: 'sent', due: true });
    await attempt(sent.filingId);
    const unsent = await recordFilingByHand(ledger.pool, { reference: 'unsent', due: true });
    const early = await recordFilingByHand(ledger.pool, { reference: 'early' });
    const runs = await recordFilingByHand(ledger.pool, { reference: 'runs', due: true });
    await startRun(temporal, taskQueue, runs);

    expect(await sweep()).toEqual({ filings: 3, resumed: [sent.filingId], reported: [unsent.filingId] });
    expect(await describeRun(temporal, sent.workflowId)).toMatchObject({ status: 'running' });
    expect(await problems()).toEqual([
      { filing_id: unsent.filingId, text: expect.stringContaining('ebrc resume unsent') },
    ]);
    expect(await sweep()).toMatchObject({ resumed: [], reported: [] });

    // Ended in the Temporal UI, long before it is due.
    await startRun(temporal, taskQueue, early);
    await temporal.workflow.getHandle(early.workflowId).terminate('tried in a test');
    const listed = `WorkflowId = '${early.workflowId}' AND ExecutionStatus = 'Terminated'`;
    while ((await temporal.workflow.count(listed)).count === 0) await sleep(100);
    expect(await sweep(true)).toMatchObject({ reported: [] });
    expect(await sweep()).toMatchObject({ reported: [early.filingId] });

    // A problem ends with its cause, which the sweep of each minute sees.
    await startRun(temporal, taskQueue, unsent);
    await startRun(temporal, taskQueue, early);
    expect(await sweep(true)).toMatchObject({ filings: 2, resumed: [], reported: [] });
    expect(await problems()).toEqual([]);
  });
});
