import { randomUUID } from 'node:crypto';
import { importSends } from '../../../src/ledger/sends/send-import';
import { approveUpdate } from '../../../src/workflows/messages';
import { remember } from '../../ledger/sends/put-back';
import { type Filing, type FilingStage, type TestExporter } from './filing-stage';
import { useRealServerStage } from './use-filing-stage';

let stage: FilingStage;

useRealServerStage((opened) => (stage = opened), { settings: { settleAfterMs: 120_000 } });

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

  it('has its request asked about again where its certificates were being collected', async () => {
    const { exporter, filing, putBack } = await copied({ rows: 2 });
    stage.fault(exporter, 'download-pdf', 'pdf-not-found', { every: 1 });
    await stage.until(filing, 'collecting');
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
