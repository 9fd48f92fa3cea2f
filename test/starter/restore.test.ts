import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { mapping, messageOf } from '../../dev/sample-mapping';
import { filingSettings, loadConfig } from '../../src/config/config';
import { filingWorkflowId, searchAttributes } from '../../src/domain/names';
import { beginReading } from '../../src/ledger/readings';
import { readLedgerTime } from '../../src/ledger/time';
import { readLedgerStatus } from '../../src/ledger/went-back';
import { nothingLost, restoreLedger } from '../../src/starter/restore';
import { compareLedger } from '../../src/temporal/comparison';
import { startWith } from '../../src/temporal/runs';
import { closeAfterAll } from '../support/closing';
import { listCertificate } from '../ledger/filings/recording';
import { useTestDatabase } from '../support/postgres';
import { recordFilingByHand } from '../support/recorded-filing';
import { useDevServer } from '../support/temporal';
import { stubBundle } from '../temporal/support/stub-bundle';
import type { StubEnd } from '../temporal/support/stub-workflows';

const server = useDevServer();
const ledger = useTestDatabase();
const taskQueue = 'restore-test';
const settings = filingSettings(loadConfig({}, { need: ['tuning', 'filing'] }));
let temporal: Client;
let runs = 0;
let worker: { worker: Worker; ended: Promise<void> };

beforeAll(async () => {
  temporal = await server.client();
  const connection = await server.connectNative();
  const made = await Worker.create({
    connection,
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

const deps = () => ({ pool: ledger.pool, temporal, mode: 'test' as const, taskQueue, settings });

const comparing = () => ({ ...deps(), logger: pino({ level: 'silent' }) });
const documentOf = (nth: number) => String(nth + 1_000_000);

/** A run that the ledger lacks: it has the rows, and ends as told. */
async function run(reference: string, state: string, ended?: StubEnd, requestId?: string): Promise<string> {
  const workflowId = filingWorkflowId('test', reference);
  const documentNumber = documentOf((runs += 1));
  const row = mapping({ irmNumber: `IRM${reference}`, sbCumInvoiceNumber: documentNumber, billNo: `B${reference}` });
  const input = { mode: 'test', exporterId: 'E-test', reference, message: messageOf([row]) };
  const attributes = searchAttributes({ mode: 'test', exporterId: 'E-test', reference, state, requestId });
  await temporal.workflow.start('fileRemittances', {
    ...{ workflowId, taskQueue, args: [input], typedSearchAttributes: attributes },
  });
  if (ended) {
    await temporal.workflow.getHandle(workflowId).signal('poke', ended);
    await temporal.workflow.getHandle(workflowId).result();
  }
  const listed = `WorkflowId = '${workflowId}' AND ExecutionStatus = '${ended ? 'Completed' : 'Running'}'`;
  while ((await temporal.workflow.count(listed)).count === 0) await sleep(100);
  return workflowId;
}

it('brings back what Temporal knows, holds its rows, and lets work go on', async () => {
  const since = new Date(Date.now() - 60_000);
  // In the backup: an open filing that nobody has run since.
  const kept = await recordFilingByHand(ledger.pool, { reference: 'kept', state: 'submitting' });
  const accepted = await run('accepted', 'processing', {
    end: 'certified',
    result: { state: 'certified', requestId: 'REQ-1', dgftAckId: 'ACK-1' },
  });
  const unknown = await run('unknown', 'submitting', {
    end: 'certified',
    result: { state: 'certified', requestId: null },
  });
  const abandoned = await run('abandoned', 'checking', {
    end: 'abandoned',
    result: { state: 'abandoned', requestId: null },
  });
  const open = await run('open', 'submitting');
  const followed = await run('followed', 'processing', undefined, 'REQ-2');
  const compared = await compareLedger(comparing(), { lagMs: 0 });
  expect(compared).toMatchObject({ whole: false });
  expect(compared.missing).toHaveLength(5);

  const moved = await nothingLost(deps(), 'somebody');
  expect(moved).toMatchObject({ state: 'recovering' });
  expect(moved.missing).toHaveLength(5);

  // Their own certificates may be read before they are brought back.
  for (const nth of [1, 4]) await listCertificate(ledger, `E-${nth}`, { sbCumInvoiceNumber: documentOf(nth) });
  // The backup was taken while somebody read a company.
  const company = { mode: 'test', iec: 'IEC0000001', exporterId: 'E-test' } as const;
  await beginReading(ledger.pool, company, 'lost');
  const before = await readLedgerTime(ledger.pool, 'test');
  const restored = await restoreLedger(deps(), { since, by: 'somebody' });
  expect(restored.lost).toEqual([]);
  const sends = Object.fromEntries(restored.filings.map((filing) => [filing.workflowId, filing.sends]));
  expect(sends).toEqual({
    [accepted]: 'accepted',
    [unknown]: 'unknown',
    [abandoned]: 'abandoned',
    [open]: 'recorded',
    [followed]: 'accepted',
    [kept.workflowId]: 'unknown',
  });
  expect(restored).toMatchObject({ state: 'whole', missing: [] });
  expect(restored.restoredAt).not.toBeNull();
  expect(await beginReading(ledger.pool, company, 'next')).not.toBeNull();
  expect((await readLedgerTime(ledger.pool, 'test')).epoch).not.toBe(before.epoch);

  const attempts = await ledger.select(
    `SELECT f.reference, a.verdict, a.request_id, a.marked_at + a.settle_ms * interval '1 ms' > now() + interval '3 h 59 min' AS settles,
            (SELECT string_agg(state, ',') FROM filing_rows r WHERE r.filing_id = f.filing_id) AS rows, f.state
       FROM filings f LEFT JOIN attempts a USING (filing_id) ORDER BY 1`,
  );
  expect(attempts).toEqual([
    { reference: 'abandoned', verdict: null, request_id: null, settles: null, rows: 'released', state: 'abandoned' },
    {
      reference: 'accepted',
      verdict: 'accepted',
      request_id: 'REQ-1',
      settles: true,
      rows: 'sent',
      state: 'processing',
    },
    {
      reference: 'followed',
      verdict: 'accepted',
      request_id: 'REQ-2',
      settles: true,
      rows: 'sent',
      state: 'processing',
    },
    { reference: 'kept', verdict: 'unknown', request_id: null, settles: true, rows: 'sent', state: 'outcome_unknown' },
    { reference: 'open', verdict: null, request_id: null, settles: null, rows: 'planned', state: 'checking' },
    {
      reference: 'unknown',
      verdict: 'unknown',
      request_id: null,
      settles: true,
      rows: 'sent',
      state: 'outcome_unknown',
    },
  ]);
  // What closed before is not missed again, though the ledger does not know its end yet. The open ones ended since.
  const { missing } = await compareLedger(comparing(), { lagMs: 0 });
  expect(missing.filter(({ workflowId }) => ![open, followed].includes(workflowId))).toEqual([]);
  const again = await restoreLedger(deps(), { since, by: 'somebody' });
  expect(again).toMatchObject({ state: 'whole', lost: [] });
});

it('names what it cannot bring back', async () => {
  const workflowId = filingWorkflowId('test', 'gone');
  const about = { mode: 'test', exporterId: 'E-test', reference: 'gone', n: 1, state: 'processing' } as const;
  const input = { mode: 'test', exporterId: 'E-test', reference: 'gone', inputRef: 'in-the-lost-ledger' };
  await startWith(temporal, taskQueue, { ...about, workflowId }, input);
  while ((await temporal.workflow.count(`WorkflowId = '${workflowId}'`)).count === 0) await sleep(100);
  const restored = await restoreLedger(deps(), { since: new Date(), by: 'somebody' });
  expect(restored.lost).toEqual([
    { workflowId, state: 'processing', why: expect.stringContaining('in-the-lost-ledger') },
  ]);
  expect(await readLedgerStatus(ledger.pool, 'test')).toMatchObject({ state: 'whole' });
});
