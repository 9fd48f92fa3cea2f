/** Every wait ends: past its deadline somebody is asked, and the wait goes on. */
import type { fileRemittances } from '../../../src/workflows/file-remittances';
import { resumeInput } from '../../../src/domain/filing/run-judgement';
import { needFiling } from '../../../src/ledger/filings/filings';
import { HOUR_MS, type Filing, type FilingStage } from './filing-stage';
import { SHORT_SETTLE, useFilingStage } from './use-filing-stage';

let stage: FilingStage;

// A state that only calls explain has 180 rate windows: three hours.
useFilingStage((opened) => (stage = opened), SHORT_SETTLE);

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
