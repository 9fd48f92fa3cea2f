/**
 * Questions about a filing: opened by a fact, closed by a fact. And waits: each ends, and past its deadline somebody is
 * asked.
 */
import { resumeInput } from '../../../src/domain/filing/run-judgement';
import { acknowledgeFinding } from '../../../src/ledger/reconciliation/findings';
import { needFiling } from '../../../src/ledger/filings/filings';
import { pageOfFilings } from '../../../src/ledger/filings/filing-pages';
import type { fileRemittances } from '../../../src/workflows/file-remittances';
import { eventually } from '../../support/processes';
import { HOUR_MS, type Filing, type FilingStage, type TestExporter } from './filing-stage';
import { SHORT_SETTLE, useFilingStage } from './use-filing-stage';

let stage: FilingStage;

// A state that only calls explain has 180 rate windows: three hours.
useFilingStage((opened) => (stage = opened), SHORT_SETTLE);

/** The service says that it read other rows than were sent. */
const misread = (exporter: TestExporter) =>
  stage.aroundPush(exporter, async (push, context) => {
    const answer = await push(context);
    return { ...answer, parsed: { ...answer.parsed, recordResCount: 7 } };
  });

const asking = async () =>
  (await pageOfFilings(stage.ledger.pool, { mode: 'test', attention: true, limit: 100 })).map(
    ({ filingId }) => filingId,
  );

it('stay when the filing ends, until somebody acknowledges them', async () => {
  const exporter = await stage.exporter();
  misread(exporter);
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  const result = await filing.result();
  expect(result).toMatchObject({
    state: 'certified',
    attention: expect.stringContaining('read other rows than were sent') as string,
  });
  const view = await stage.view(result);
  expect(view).toMatchObject({
    needsAttention: true,
    questionCount: 1,
    questions: [{ kind: 'upload_mismatch', actions: ['acknowledge'], attemptId: null }],
  });
  expect(await asking()).toContain(result.filingId);
  const [question] = view.questions;
  const said = { mode: 'test', id: question?.id ?? '', by: 'ravi', note: 'compared', at: new Date() };
  expect(await acknowledgeFinding(stage.ledger.pool, said)).toMatchObject({ kind: 'upload_mismatch' });
  expect(await stage.view(result)).toMatchObject({ needsAttention: false, attention: null, questions: [] });
  expect(await asking()).not.toContain(result.filingId);
});

it('are closed by a correction that takes the rows over only where they ask for one', async () => {
  const exporter = await stage.exporter();
  const rows = [stage.mapping(exporter), stage.mapping(exporter)];
  const match = { document: rows[1]?.sbCumInvoiceNumber };
  await fetch(`${stage.sandbox.controlUrl}/outcomes`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ match, processingStatus: 'Errored', errorDetails: ['ERR28: date'], times: 1 }),
  });
  misread(exporter);
  const filing = await stage.file(exporter, rows, { reference: 'MISREAD' });
  const parent = await filing.result();
  expect(parent.state).toBe('partly_certified');
  const kinds = async () => (await stage.view(parent)).questions.map(({ kind }) => kind);
  expect(await kinds()).toEqual(['needs_correction', 'upload_mismatch']);
  const message = {
    recordResCount: 1,
    uploadType: '101',
    decalarationFlag: 'Y',
    ebrcBulkGenDtos: [{ ...rows[1], serialNo: 2 }],
  };
  const child = await stage.file(exporter, [], {
    reference: 'MISREAD',
    n: 2,
    corrects: parent.filingId ?? '',
    message,
  });
  expect(await child.result()).toMatchObject({ state: 'certified', attention: null });
  expect(await kinds()).toEqual(['upload_mismatch']);
});

it('are not answered by what was refused because the filing had changed', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'push-irm', 'drop-before-accept');
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  await stage.until(filing, 'outcome_unknown');
  await stage.pass(0.02);
  const { filingId } = await stage.until(filing, ({ asked }) => asked);
  const { pool } = stage.ledger;
  await pool.query('UPDATE filings SET seq = seq + 1 WHERE filing_id = $1', [filingId]);
  const refused = { cause: { message: expect.stringMatching(/has changed in the meantime/u) as string } };
  await expect(stage.resolve(filing, 'not-filed', undefined, { by: 'meera' })).rejects.toMatchObject(refused);
  await stage.pass(0.02);
  await eventually(async () => (await stage.story(filingId)).includes('taken_up'));
  expect(stage.pushes(exporter)).toBe(1);
  await stage.resolve(filing, 'not-filed');
  expect(await filing.result()).toMatchObject({ state: 'certified' });
  const { rows } = await pool.query<{ who: string }>(
    `SELECT who FROM filing_events WHERE filing_id = $1 AND kind = 'resolved'`,
    [filingId],
  );
  expect(rows).toEqual([{ who: 'ravi' }]);
});

it('of a state keep their age while the filing is in it, and go with it', async () => {
  const exporter = await stage.exporter();
  stage.fault(exporter, 'push-irm', 'drop-before-accept');
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  await stage.until(filing, 'outcome_unknown');
  const [first] = (await stage.view(filing)).questions;
  await stage.pass(0.02);
  await stage.until(filing, ({ asked }) => asked);
  expect((await stage.view(filing)).questions).toMatchObject([
    { id: first?.id, kind: 'outcome_unknown', since: first?.since, actions: ['resolve', 'abandon'] },
  ]);
  await stage.resolve(filing, 'not-filed');
  const result = await filing.result();
  expect(result).toMatchObject({ state: 'certified', attention: null });
  expect(await stage.view(result)).toMatchObject({ needsAttention: false, questions: [] });
});

const dueAtOf = async (filingId: string | null) => (await needFiling(stage.ledger.pool, filingId ?? '')).dueAt;
const isLooked = async (filing: Filing, looks: number) => {
  const { filingId } = await stage.view(filing);
  return (await stage.story(filingId)).filter((kind) => kind === 'activation_pending').length >= looks;
};

describe('a wait for API access', () => {
  it('that only the push reports has its deadline from the first look, which a new run keeps', async () => {
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'activation-pending', { every: 1 });
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const { filingId } = await stage.until(filing, ({ filingId: id }) => id !== null);
    while (!(await isLooked(filing, 1))) await stage.pass(0.01);
    const due = await dueAtOf(filingId);
    expect(due).not.toBeNull();
    await stage.pass(1);
    expect(await isLooked(filing, 3)).toBe(true);
    expect(await dueAtOf(filingId)).toBe(due);
    await stage.untilAsleep(filing);
    await filing.terminate();
    const resumed = await stage.env.client.workflow.start<typeof fileRemittances>('fileRemittances', {
      workflowId: filing.workflowId,
      taskQueue: stage.worker.taskQueue,
      args: [resumeInput(await needFiling(stage.ledger.pool, filingId ?? ''))],
    });
    await stage.until(resumed, 'submitting');
    expect(await dueAtOf(filingId)).toBe(due);
    expect((await stage.view(resumed)).needsAttention).toBe(false);
    await stage.pass(2.1);
    expect(await stage.env.currentTimeMs()).toBeGreaterThan(due ?? Infinity);
    const asking = await stage.until(resumed, ({ attention }) => attention !== null);
    expect(asking).toMatchObject({ state: 'submitting', attention: expect.stringMatching(/API access/u) as string });
    // The wait goes on, and what was asked stays.
    await stage.pass(1);
    expect(await stage.view(resumed)).toMatchObject({ state: 'submitting', needsAttention: true });
    stage.sandbox.clearFaults();
    expect(await resumed.result()).toMatchObject({ state: 'certified', attention: null });
  });

  it('that is put off at the authority has its deadline from the time that was named first', async () => {
    const exporter = await stage.exporter();
    const connection = (await stage.sandbox.state()).customers.get(exporter.exporterId)?.connection;
    if (!connection) throw new Error('the client is not validated');
    const opens = (await stage.env.currentTimeMs()) + HOUR_MS;
    connection.activatesAt = opens;
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    const { filingId } = await stage.until(filing, ({ filingId: id }) => id !== null);
    while (!(await isLooked(filing, 1))) await stage.pass(0.01);
    connection.activatesAt = opens + 20 * HOUR_MS;
    await stage.pass(3);
    expect(await isLooked(filing, 2)).toBe(true);
    expect((await stage.view(filing)).needsAttention).toBe(false);
    await stage.pass(1.5);
    await stage.until(filing, ({ attention }) => attention?.includes('API access') ?? false);
    expect(await stage.view(filing)).toMatchObject({ state: 'checking', needsAttention: true });
    connection.activatesAt = 0;
    const result = await filing.result();
    expect(result).toMatchObject({ state: 'certified', attention: null });
    expect((await stage.story(filingId)).filter((kind) => kind === 'not_moving')).toHaveLength(1);
  });
});
