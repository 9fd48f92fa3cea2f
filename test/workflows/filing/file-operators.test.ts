/**
 * What Temporal's own UI offers may happen to a filing at any moment: it may cost a look, and never a second filing.
 */
import { Client, Connection } from '@temporalio/client';
import type { Principal } from '../../../src/domain/principal';
import { resumeInput } from '../../../src/domain/filing/run-judgement';
import { recordRunProblem } from '../../../src/ledger/filings/open-filings';
import { findFiling } from '../../../src/ledger/filings/filings';
import { importSends } from '../../../src/ledger/sends/send-import';
import { writeGrant } from '../../../src/ledger/principals/grants';
import { requireApproval } from '../../../src/starter/exporters/change';
import { sweepFilings } from '../../../src/temporal/sweep';
import type { fileRemittances } from '../../../src/workflows/file-remittances';
import { credentialsRenewedSignal } from '../../../src/workflows/messages';
import { principalOf } from '../../support/principals';
import { eventually } from '../../support/processes';
import type { Filing, TestExporter } from './filing-stage';
import { recordLostSend } from './lost-send';
import { operationsOf, useRealServerStage } from './use-filing-stage';

// A history counts as long soon, so that a filing which waits can be made to continue as new.
const stage = useRealServerStage({
  dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 150 },
});

const operations = (principal?: Principal) => operationsOf(stage, principal);

/** Keeps the exporter's filings in `processing` until the faults are cleared. */
const holdStatus = (exporter: TestExporter) => stage.fault(exporter, 'status', 'stale-status', { every: 1 });

describe('a run that was terminated', () => {
  it('sends nothing when the filing is given up afterwards, although it could', async () => {
    const { exporter, filing } = await stage.start([['push-irm', 'status-429', { every: 1 }]]);
    const { filingId } = await stage.until(filing, 'submitting');
    await eventually(async () => (await stage.story(filingId)).includes('not_sent'));
    await filing.terminate('an operator');
    stage.sandbox.clearFaults();
    const outcome = await operations().abandon(filingId ?? '', { by: 'ravi', note: 'not wanted' });
    expect(outcome.filing).toMatchObject({ state: 'abandoned', rows: [{ state: 'withdrawn' }] });
    expect(await stage.requestsOf(exporter)).toEqual([]);
  });

  it('leaves its question to the next one, which refuses what the ledger contradicts', async () => {
    const { exporter, filing, filingId } = await stage.filed('awaiting_approval', { approval: true });
    await filing.terminate('an operator');
    await expect(operations().approve(filingId ?? '', { by: ' ASHA ' })).rejects.toThrow(/somebody else/u);
    await expect(operations().approve(filingId ?? '', { by: ' ' })).rejects.toThrow(/names nobody/u);
    // A name is a claim: what stands in an update may have been written by anybody who reaches Temporal.
    await expect(operations().approve(filingId ?? '', { by: 'meera' })).rejects.toThrow(/EBRC_TOKEN/u);
    const meera = await principalOf(stage.ledger.pool, 'meera');
    const approved = await operations(meera).approve(filingId ?? '', { by: 'anybody' }, { wait: true });
    expect(approved.filing).toMatchObject({ state: 'certified' });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('leaves what a person asked to the next one', async () => {
    const { filing, filingId } = await stage.filed('awaiting_approval', { approval: true });
    await filing.terminate('an operator');
    await stage.ledger.pool.query(
      `INSERT INTO words (filing_id, kind, said_by, person_key, note, said_at) VALUES ($1, 'abandon', 'ravi', 'ravi', $2, now())`,
      [filingId, 'asked of the lost run'],
    );
    const again = await startAgain(filingId ?? '');
    expect(await again.result()).toMatchObject({ state: 'abandoned' });
    expect(
      await stage.ledger.select(
        'SELECT 1 FROM words w WHERE filing_id = $1 AND NOT EXISTS (SELECT FROM word_judgements j WHERE j.word_id = w.word_id)',
        filingId,
      ),
    ).toEqual([]);
  });
});

it('collects the certificates again when somebody terminates the collection', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'download-pdf', 'slow', { delayMs: 2_500, every: 1 });
  // A few PDFs would be collected without a child.
  const rows = Array.from({ length: 6 }, () => stage.mapping(exporter));
  const filing = await stage.file(exporter, rows);
  await stage.until(filing, 'collecting');
  const child = stage.env.client.workflow.getHandle(`${filing.workflowId}/certificates/1`);
  const running = async () => (await child.describe()).status.name === 'RUNNING';
  await eventually(() => running().catch(() => false));
  stage.sandbox.clearFaults();
  await child.terminate('an operator');
  expect(await filing.result()).toMatchObject({ state: 'certified', counts: { archived: 6 } });
});

it('continues as new while it waits, and keeps waiting for the same', async () => {
  const { exporter, filing, filingId } = await stage.filed('awaiting_approval', { approval: true });
  await untilNewRun(filing);
  const waiting = await stage.until(filing, 'awaiting_approval');
  expect(waiting).toMatchObject({ filingId, attention: expect.stringContaining('ebrc approve') as string });
  await stage.approve(filing, 'meera');
  expect(await filing.result()).toMatchObject({ state: 'certified', filingId });
  expect(stage.pushes(exporter)).toBe(1);
});

it('continues as new while its ledger is not whole, recorded or not, and is sent once it is', async () => {
  const bringBack = await loseASend();
  const { exporter, filing } = await stage.start();
  const unknown = await stage.env.client.workflow.start<typeof fileRemittances>('fileRemittances', {
    workflowId: 'file/test/NOT-HERE',
    taskQueue: stage.worker.taskQueue,
    args: [{ mode: 'test', exporterId: exporter.exporterId, resume: 'FNOTHERE' }],
  });
  const waits = ({ attention }: { attention: string | null }) => attention?.includes('put back') ?? false;
  const [waiting] = await Promise.all([stage.until(filing, waits), stage.until(unknown, waits)]);
  expect(waiting.attention).toContain('ebrc ledger restored');
  await untilNewRun(unknown);
  expect(await stage.until(unknown, waits)).toMatchObject({ filingId: null });
  await unknown.terminate('an operator');
  expect(stage.pushes(exporter)).toBe(0);
  await bringBack();
  // The run that waits would look again after a minute; the new one looks at once.
  await untilNewRun(filing);
  expect(await filing.result()).toMatchObject({ state: 'certified', attention: null });
  expect(stage.pushes(exporter)).toBe(1);
});

it('continues as new before anything of it is recorded, and keeps waiting for our own access', async () => {
  const exporter = await stage.exporter();
  await revoke(true);
  try {
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    await stage.until(filing, 'needs_access');
    await untilNewRun(filing);
    expect(await stage.until(filing, 'needs_access')).toMatchObject({ filingId: null });
    expect(await stage.abandon(filing)).toMatchObject({ state: 'refused', errors: [{ code: 'given_up' }] });
    expect(await filing.result()).toMatchObject({ state: 'refused', filingId: null });
  } finally {
    await revoke(false);
  }
});

describe('a run that is started by hand', () => {
  it('for a filing that has ended answers its recorded outcome', async () => {
    const { exporter, filing } = await stage.start();
    const { filingId, requestId } = await filing.result();
    const again = await startAgain(filingId ?? '');
    expect(await again.result()).toMatchObject({ state: 'certified', filingId, requestId });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('for a filing that the ledger does not hold fails, with the reason', async () => {
    const workflowId = 'file/test/NO-SUCH';
    const args = [{ mode: 'test' as const, exporterId: 'nobody', resume: 'FNOSUCH' }] as const;
    const started = stage.env.client.workflow.start<typeof fileRemittances>('fileRemittances', {
      workflowId,
      taskQueue: stage.worker.taskQueue,
      args: [...args],
    });
    await expect((await started).result()).rejects.toMatchObject({
      cause: { type: 'unknown_filing', message: expect.stringContaining('FNOSUCH') as string },
    });
  });
});

/** Makes a filing's history long, until the filing goes on in a new run. */
async function untilNewRun(filing: Filing): Promise<void> {
  const { runId } = await filing.describe();
  await eventually(async () => {
    await filing.signal(credentialsRenewedSignal, { version: 1 });
    return (await filing.describe()).runId !== runId;
  });
}

/** As if the ledger were an older copy: the store holds a send above its number, an hour old. @returns what mends it */
async function loseASend(): Promise<() => Promise<void>> {
  const { documents } = stage.worker.deps;
  const { pool } = stage.ledger;
  await recordLostSend(stage, { above: 1, at: new Date(Date.now() - 3_600_000) });
  return async () => void (await importSends(pool, documents, { at: new Date(), by: 'ravi' }));
}

/** The search attributes that a workflow was started with, which cost no write of their own. */
async function startedWith(filing: Filing): Promise<Record<string, unknown>> {
  const { events } = await filing.fetchHistory();
  const fields = events?.[0]?.workflowExecutionStartedEventAttributes?.searchAttributes?.indexedFields ?? {};
  return Object.fromEntries(
    Object.entries(fields).map(([name, { data }]) => [name, JSON.parse(Buffer.from(data ?? []).toString())]),
  );
}

/** Our own API key at the sandbox. */
const revoke = (revoked: boolean) => stage.control('POST', '/keys', { key: 'dev_sandbox_key', revoked });

it('waits for approval if its exporter requires it, whatever its request, and takes principals alone', async () => {
  const { exporter, filing: first } = await stage.start();
  await stage.until(first, ({ filingId }) => filingId !== null);
  const { pool } = stage.ledger;
  const { exporterId } = exporter;
  const set = (required: boolean, principal?: Principal) =>
    requireApproval({ pool, mode: 'test', principal }, exporterId, { required, by: 'ravi' });
  expect(await set(true)).toMatchObject({ exporter: { requiresApproval: true }, waits: null });
  const asha = await principalOf(pool, 'asha');
  const grant = await writeGrant(pool, asha, { action: 'file', exporterId, filingId: null, shown: 'of other rows' });
  for (const [more, code] of [
    [{ approval: false }, 'grant_needed'],
    [{ grant }, 'grant_refused'],
  ] as const) {
    const refused = await stage.file(exporter, [stage.mapping(exporter)], more);
    expect(await refused.result()).toMatchObject({ state: 'refused', errors: [{ code }] });
  }
  // Off takes two, who may change a policy.
  await expect(set(false)).rejects.toThrow(/two principals/u);
  await expect(set(false, asha)).rejects.toThrow(/admin/u);
  const lata = await principalOf(pool, 'lata', ['admin']);
  for (const times of [1, 2]) expect([times, (await set(false, lata)).waits]).toEqual([times, expect.any(String)]);
  expect(await set(false, await principalOf(pool, 'usha', ['admin']))).toMatchObject({ waits: null });
  expect(
    await stage.ledger.select(
      'SELECT approval, changed_by AS by FROM policy_changes WHERE exporter_id = $1',
      exporterId,
    ),
  ).toEqual([
    { approval: 'required', by: 'ravi' },
    { approval: 'off', by: 'usha' },
  ]);
  expect(await first.result()).toMatchObject({ state: 'certified' });
});

describe('the sweep', () => {
  const sweep = (temporal = stage.env.client, options: { reported?: boolean } = {}) => {
    const { ledger, worker } = stage;
    const { logger } = worker.deps;
    const deps = { pool: ledger.pool, temporal, mode: 'test', taskQueue: worker.taskQueue, logger } as const;
    return sweepFilings({ ...deps, clock: Date.now }, options);
  };

  it('follows what was sent with a new run, and lets nothing happen to the others', async () => {
    const exporter = await stage.exporter();
    holdStatus(exporter);
    const lost = await stage.file(exporter, [stage.mapping(exporter)]);
    const { filingId } = await stage.until(lost, 'processing');
    await lost.terminate('an operator');
    stage.sandbox.clearFaults();
    const swept = await sweep();
    expect(swept.resumed).toEqual([filingId]);
    const followed = stage.env.client.workflow.getHandle<typeof fileRemittances>(lost.workflowId);
    expect(await startedWith(followed)).toMatchObject({ EbrcState: 'processing', EbrcExporter: exporter.exporterId });
    expect(await followed.result()).toMatchObject({ state: 'certified', filingId });
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('finds within minutes a run that its caller let time out, under an id of the caller’s own', async () => {
    const exporter = await stage.exporter();
    const own = { workflowId: `${exporter.username} 7`, workflowRunTimeout: 2_000 };
    const more = { reference: 'OWN-ID', approval: true };
    const filing = await stage.file(exporter, [stage.mapping(exporter)], more, own);
    const { filingId } = await stage.until(filing, 'awaiting_approval');
    await eventually(async () => (await sweep(undefined, { reported: true })).reported.includes(filingId ?? ''));
    expect((await filing.describe()).status.name).toBe('TIMED_OUT');
    expect(await stage.view(filing)).toMatchObject({ attention: expect.stringContaining('timed out') as string });
    const { workflowId } = own;
    const { filing: abandoned } = await operations().abandon('OWN-ID', { by: 'ravi', note: 'not wanted' });
    expect(abandoned).toMatchObject({ workflowId, state: 'abandoned' });
  });

  it('lets an unsent filing wait whose run somebody ended, until it is resumed', async () => {
    const { filing, filingId } = await stage.filed('awaiting_approval', { approval: true });
    expect((await sweep()).reported).not.toContain(filingId);
    // What was said of a run that works again is taken back, without a look at the others.
    const problem = { filingId: filingId ?? '', problem: 'Its workflow tasks keep failing', at: new Date() };
    await recordRunProblem(stage.ledger.pool, problem);
    expect(await sweep(undefined, { reported: true })).toMatchObject({ filings: 1, reported: [filingId] });
    expect((await findFiling(stage.ledger.pool, 'test', filingId ?? ''))?.attention).not.toContain('keep failing');
    expect(await sweep(undefined, { reported: true })).toMatchObject({ filings: 0 });
    await filing.terminate('an operator');
    expect((await sweep()).reported).toContain(filingId);
    expect((await sweep()).reported).toEqual([]);
    expect(await findFiling(stage.ledger.pool, 'test', filingId ?? '')).toMatchObject({
      needsAttention: true,
      attention: expect.stringMatching(/Nothing of it was sent.*ebrc resume.*ebrc approve/u) as string,
    });
    const operator = operations();
    expect(await operator.resume(filingId ?? '')).toMatchObject({ resumed: true, state: 'awaiting_approval' });
    expect(await startedWith(filing)).toMatchObject({ EbrcState: 'awaiting_approval', EbrcNeedsAttention: true });
    expect(await operator.resume(filingId ?? '')).toMatchObject({ resumed: false });
    expect(await operator.resumeAll()).toEqual([]);
    await stage.until(filing, 'awaiting_approval');
    const after = await findFiling(stage.ledger.pool, 'test', filingId ?? '');
    expect(after?.attention).not.toMatch(/Nothing of it was sent/u);
    await operations().abandon(filingId ?? '', { by: 'ravi', note: 'enough' });
  });

  it('concludes nothing while Temporal does not answer', async () => {
    const { filingId } = await stage.filed('awaiting_approval', { approval: true });
    const connection = Connection.lazy({ address: '127.0.0.1:9', connectTimeout: '1s' });
    const nobody = new Client({ connection });
    await expect(nobody.withDeadline(Date.now() + 500, () => sweep(nobody))).rejects.toThrow();
    expect((await findFiling(stage.ledger.pool, 'test', filingId ?? ''))?.attention).not.toMatch(/workflow/u);
    await connection.close();
    await operations().abandon(filingId ?? '', { by: 'ravi', note: 'enough' });
  });
});

it('shows in the ledger and in the lists that its workflow failed', async () => {
  const { filing, filingId } = await stage.filed('awaiting_approval', { approval: true });
  // As a defect would leave it: a state from which no move of the workflow is allowed, without a move that led there.
  await stage.ledger.pool.query(`UPDATE filings SET state = 'collecting' WHERE filing_id = $1`, [filingId]);
  // The approval and the move that it causes are one step: neither is recorded, and the request of it is kept.
  await expect(stage.approve(filing, 'meera')).rejects.toThrow();
  await expect(filing.result()).rejects.toThrow();
  expect(await findFiling(stage.ledger.pool, 'test', filingId ?? '')).toMatchObject({
    needsAttention: true,
    approvedBy: null,
    attention: expect.stringMatching(/workflow failed.*ebrc resume/u) as string,
  });
  const { searchAttributes } = await filing.describe();
  expect(searchAttributes).toMatchObject({ EbrcNeedsAttention: [true] });
  // What the facts say is where it goes on, and what was asked of it is carried out then.
  expect(await operations().resume(filingId ?? '')).toMatchObject({ resumed: true });
  expect(await (await startAgain(filingId ?? '', 'USE_EXISTING')).result()).toMatchObject({ state: 'certified' });
});

it('asks for attention when it has not moved for longer than its state explains', async () => {
  const exporter = await stage.exporter();
  let go: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (go = resolve));
  stage.aroundPush(exporter, async (send, context) => {
    await held;
    return send(context);
  });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  const asking = await stage.until(filing, ({ attention }) => attention !== null);
  expect(asking).toMatchObject({ state: 'submitting', attention: expect.stringContaining('has not moved') as string });
  expect(await stage.view(filing)).toMatchObject({ needsAttention: true });
  go();
  expect(await filing.result()).toMatchObject({ state: 'certified', attention: null });
  expect(stage.pushes(exporter)).toBe(1);
});

async function startAgain(filingId: string, workflowIdConflictPolicy?: 'USE_EXISTING'): Promise<Filing> {
  const found = await findFiling(stage.ledger.pool, 'test', filingId);
  if (!found) throw new Error('the ledger does not hold the filing');
  return stage.env.client.workflow.start<typeof fileRemittances>('fileRemittances', {
    workflowId: found.workflowId,
    taskQueue: stage.worker.taskQueue,
    args: [resumeInput(found)],
    ...(workflowIdConflictPolicy ? { workflowIdConflictPolicy } : {}),
  });
}
