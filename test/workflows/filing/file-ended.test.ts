/**
 * What is left of a filing that has ended: requests without an outcome, and what persons say of abandoned rows. And
 * filings whose ledger is put back.
 */
import { randomUUID } from 'node:crypto';
import { importSends } from '../../../src/ledger/sends/send-import';
import { sweepFilings } from '../../../src/temporal/sweep';
import { approveUpdate } from '../../../src/workflows/messages';
import { remember } from '../../ledger/sends/put-back';
import { eventually } from '../../support/processes';
import type { Filing, TestExporter } from './filing-stage';
import { operationsOf, useRealServerStage } from './use-filing-stage';

const stage = useRealServerStage({ settings: { settleAfterMs: 120_000 } });

const sweep = () =>
  sweepFilings({
    pool: stage.ledger.pool,
    temporal: stage.env.client,
    mode: 'test',
    taskQueue: stage.worker.taskQueue,
    logger: stage.worker.deps.logger,
    clock: Date.now,
  });

async function abandoned(filing: Filing): Promise<string> {
  await stage.untilAsleep(filing);
  await stage.abandon(filing);
  const { filingId } = await filing.result();
  return filingId ?? '';
}

it('asks about the requests of an ended filing until they have their outcome', async () => {
  const { exporter, filing } = await stage.start([['status', 'stale-status', { every: 1 }]]);
  await stage.until(filing, 'processing');
  await stage.abandon(filing);
  const { filingId } = await filing.result();
  expect(await stage.view(filing)).toMatchObject({ rows: [{ state: 'abandoned_after_send' }] });
  // A request that was asked about lately is left to whoever asked.
  const askedAt = (age: string) =>
    stage.ledger.pool.query(`UPDATE requests SET polled_at_age_ms = ${age} WHERE filing_id = $1`, [filingId]);
  await askedAt('extract(epoch FROM now() - since) * 1000');
  expect((await sweep()).followed).toEqual([]);
  stage.sandbox.clearFaults();
  const followed: string[] = [];
  // Asked before the authority has acknowledged the request, it is asked again by a later sweep.
  await eventually(async () => {
    const { state, counts } = await stage.view(filing);
    if (counts.archived === 1) return true;
    expect(state).toBe('abandoned');
    if (counts.certified === 0) {
      await askedAt('NULL');
      followed.push(...(await sweep()).followed);
    }
    return false;
  });
  expect([...new Set(followed)]).toEqual([filingId]);
  expect(await stage.view(filing)).toMatchObject({ state: 'abandoned', rows: [{ state: 'certified' }] });
  expect((await sweep()).followed).toEqual([]);
  expect(stage.pushes(exporter)).toBe(1);
});

describe('rows that were abandoned after the send', () => {
  it('are free on the word of a person, when its time has come', async () => {
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'drop-before-accept', { times: 1 });
    const rows = [stage.mapping(exporter)];
    const filing = await stage.file(exporter, rows);
    await stage.until(filing, 'outcome_unknown');
    const filingId = await abandoned(filing);
    const say = (more: object = {}) =>
      operationsOf(stage).resolve(filingId, { as: 'not-filed', by: 'ravi', note: 'not at the portal', ...more });
    await expect(say()).rejects.toMatchObject({ message: expect.stringContaining('settle window') as string });
    await stage.settleWindowOver(filing);
    stage.fault(exporter, 'fetch-details', 'html-body', { status: 413, every: 1 });
    const asked = async () => (await stage.view(filing)).questions.map(({ kind }) => kind);
    expect(await say({ unseen: true })).toMatchObject({ waitsForPerson: true, secondPerson: true });
    expect(await asked()).toContain('second_person');
    stage.sandbox.clearFaults();
    const { filing: freed } = await say();
    expect(await asked()).not.toContain('second_person');
    expect(freed).toMatchObject({ state: 'abandoned', needsAttention: true, rows: [{ state: 'needs_correction' }] });
    expect(stage.pushes(exporter)).toBe(1);
    const again = await stage.file(exporter, rows);
    expect(await again.result()).toMatchObject({ state: 'certified' });
  });

  it('are not free on one person’s word where the balance fell since the last look at it', async () => {
    const exporter = await stage.exporter();
    const { exporterId } = exporter;
    const { api } = stage.worker.deps;
    const hidden = () => stage.fault(exporter, 'fetch-details', 'empty-details', { every: 1 });
    hidden();
    stage.fault(exporter, 'refresh-irms', 'stale-balance', { every: 1, skip: 1 });
    stage.fault(exporter, 'push-irm', 'accept-then-drop', { times: 1 });
    const filing = await stage.file(exporter, [stage.mapping(exporter)]);
    await stage.until(filing, 'outcome_unknown');
    const filingId = await abandoned(filing);
    await stage.settleWindowOver(filing);
    stage.sandbox.clearFaults();
    hidden();
    await eventually(async () => {
      await api.refreshIrms(exporterId);
      for await (const { irmUtilizedAmt } of api.listIrms(exporterId)) if (Number(irmUtilizedAmt) > 0) return true;
      return false;
    });
    const said = await operationsOf(stage).resolve(filingId, { as: 'not-filed', by: 'ravi', note: 'looked' });
    expect(said).toMatchObject({ secondPerson: true, filing: { rows: [{ state: 'abandoned_after_send' }] } });
  });

  it('are certified by the request that a person names', async () => {
    const { exporter, filing } = await stage.start([
      ['push-irm', 'accept-then-drop', { times: 1 }],
      ['fetch-details', 'empty-details', { every: 1 }],
    ]);
    await stage.until(filing, 'outcome_unknown');
    const filingId = await abandoned(filing);
    const [requestId = ''] = await stage.requestsOf(exporter);
    const say = (request: string) =>
      operationsOf(stage).resolve(filingId, { as: 'filed', requestId: request, by: 'ravi', note: 'at the portal' });
    await expect(say('REQ-NOBODY')).rejects.toMatchObject({ message: expect.stringContaining('REQ-NOBODY') as string });
    stage.sandbox.clearFaults();
    // Whoever answers does not wait for a PDF that cannot be had yet.
    stage.fault(exporter, 'download-pdf', 'pdf-not-found', { every: 1 });
    await eventually(async () => {
      const { filing: after } = await say(requestId);
      return after.counts.certified === 1;
    });
    stage.sandbox.clearFaults();
    await eventually(async () => (await stage.view(filing)).counts.archived === 1);
    expect(await stage.view(filing)).toMatchObject({ state: 'abandoned', counts: { certified: 1, archived: 1 } });
    expect(stage.pushes(exporter)).toBe(1);
  });
});

/** A filing whose ledger is copied right before its push is marked. */
async function copied(more: { rows?: number; lost?: boolean } = {}) {
  const exporter = await stage.exporter();
  let putBack = (): Promise<void> => Promise.reject(new Error('nothing was copied'));
  stage.aroundPush(exporter, async (send, context) => {
    putBack = await remember(stage.ledger);
    return send(context);
  });
  if (more.lost) stage.fault(exporter, 'push-irm', 'accept-then-drop');
  const rows = Array.from({ length: more.rows ?? 1 }, () => stage.mapping(exporter));
  return { exporter, filing: await stage.file(exporter, rows), putBack: () => putBack() };
}

/** As `ebrc ledger restored` does. */
const bringBack = () => importSends(stage.ledger.pool, stage.worker.deps.documents, { at: new Date(), by: 'ravi' });

async function expectCertifiedOnce(filing: Filing, exporter: TestExporter): Promise<void> {
  const result = await filing.result();
  expect(result).toMatchObject({ state: 'certified', attention: null });
  expect((await stage.view(result)).submissions).toMatchObject([
    { requestId: (await stage.requestsOf(exporter))[0], state: 'settled' },
  ]);
  expect(stage.pushes(exporter)).toBe(1);
  const story = await stage.story(result.filingId);
  expect(story).toContain('imported');
  expect(story).not.toContain('asked');
}

describe('a filing whose ledger is put back to a state from before its send', () => {
  it('is followed under its request by the run that knows it, while the authority processes it', async () => {
    const { exporter, filing, putBack } = await copied();
    stage.fault(exporter, 'status', 'stale-status', { every: 1 });
    await stage.until(filing, 'processing');
    await putBack();
    await bringBack();
    stage.sandbox.clearFaults();
    await expectCertifiedOnce(filing, exporter);
  });

  it('is settled by its certificates where its answer was lost: what there was before came back with the send', async () => {
    const { exporter, filing, putBack } = await copied({ lost: true });
    stage.fault(exporter, 'fetch-details', 'empty-details', { every: 1 });
    const { filingId } = await stage.until(filing, 'outcome_unknown');
    await putBack();
    await bringBack();
    stage.sandbox.clearFaults();
    expect(await filing.result()).toMatchObject({ state: 'certified', requestId: null });
    expect(stage.pushes(exporter)).toBe(1);
    expect(await stage.story(filingId)).not.toContain('resolved');
  });
});

it('records a filing once more that was not sent and that the ledger does not hold any more', async () => {
  const exporter = await stage.exporter();
  // The ledger knows the exporter from another filing.
  await (await stage.file(exporter, [stage.mapping(exporter)])).result();
  const putBack = await remember(stage.ledger);
  const filing = await stage.file(exporter, [stage.mapping(exporter)], { approval: true });
  const { filingId } = await stage.until(filing, 'awaiting_approval');
  await putBack();
  // The grant went with the ledger too: the run records the filing again, and the approval has to be given once more.
  await filing.executeUpdate(approveUpdate, { args: [{ by: 'meera', grant: randomUUID() }] });
  await stage.until(filing, 'awaiting_approval');
  await stage.approve(filing, 'meera');
  expect(await filing.result()).toMatchObject({ state: 'certified', filingId });
  expect(stage.pushes(exporter)).toBe(2);
});

it('goes on where the ledger does not hold it although it was sent: workers bring back what was lost moments ago', async () => {
  const exporter = await stage.exporter();
  await (await stage.file(exporter, [stage.mapping(exporter)])).result();
  const putBack = await remember(stage.ledger);
  stage.fault(exporter, 'download-pdf', 'pdf-not-found', { every: 1 });
  const filing = await stage.file(exporter, [stage.mapping(exporter)]);
  await stage.until(filing, 'collecting');
  await putBack();
  stage.sandbox.clearFaults();
  const result = await filing.result();
  expect(result).toMatchObject({ state: 'certified', attention: null });
  expect(await stage.story(result.filingId)).toContain('imported');
  expect(stage.pushes(exporter)).toBe(2);
});
